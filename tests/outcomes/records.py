"""JSON, JSON Lines, CSV and subtitles: good files and bad ones."""

from __future__ import annotations

import json

from tests.outcomes.case import CORRUPT, EMPTY, INDEXED, OUTSIDE, UNSAFE, UNSUPPORTED, Case
from tests.outcomes.texts import PNG, RUSSIAN

JSON = [
    Case("records", "plain.json", lambda: b'[{"pump": {"code": "QX-1"}}, {"pump": {"code": "QX-2"}}]',
         holds="pump.code: QX-2"),
    Case("keys of other scripts", "ключи.json", lambda: json.dumps({"Насос": {"水泵": "течёт", "": 1}}).encode(),
         holds="Насос.水泵: течёт"),
    Case("90 levels, and 50,000 records", "nested.json", lambda: json.dumps(
         [json.loads('{"a":' * 90 + '"deep"' + "}" * 90), *({"part": n} for n in range(50_000))]).encode(),
         holds="part: 49999"),
    Case("no value", "empty.json", lambda: b"{}", EMPTY),
    Case("cut in the middle", "cut.json", lambda: b'[{"pump": "leaks"}, {"pump": "do', INDEXED, ("not valid JSON",),
         holds="leaks"),
    Case("100,000 levels", "deep.json", lambda: b"[" * 100_000 + b"]" * 100_000, UNSAFE),
    Case("four million empty lists and maps", "lists.json", lambda: b"[" + b"[],{}, " * 2_000_000 + b'"x"]',
         holds="x"),
    Case("a number of 100,000 digits", "number.json", lambda: b'{"pump": ' + b"9" * 100_000 + b"}", INDEXED,
         ("not valid JSON",), holds="pump"),
    Case("48 MB, read as text", "huge.json", lambda: b"[" + b'{"pump": "leaks since May"},\n' * 1_650_000 + b"1]",
         INDEXED, ("too long to be taken apart",), holds="since May", long=True),
    Case("a picture named .json", "picture.json", lambda: PNG, UNSUPPORTED),
]  # fmt: skip

JSON_LINES = [
    Case("records", "plain.jsonl", lambda: b'{"pump": "leaks"}\n{"valve": "shut"}\n', holds="valve: shut"),
    Case("other scripts, Windows line ends", "строки.jsonl", '{"Насос": "течёт"}\r\n{"水泵": "漏"}\r\n'.encode,
         holds="水泵: 漏"),
    Case("100,000 records", "long.jsonl", lambda: b"".join(b'{"part": %d}\n' % n for n in range(100_000)),
         holds="part: 99999"),
    Case("no value", "empty.jsonl", lambda: b"null\n{}\n", EMPTY),
    Case("the last line cut", "cut.jsonl", lambda: b'{"pump": "leaks"}\n{"valve": "sh', INDEXED, ("not valid JSON",),
         holds="pump: leaks"),
    Case("a line of 100,000 levels", "deep.jsonl", lambda: b'{"pump": 1}\n' + b"[" * 100_000 + b"\n", UNSAFE),
    Case("prose named .jsonl", "prose.jsonl", lambda: b"The pump leaks.\nCall Ann.\n", INDEXED, ("not valid JSON",),
         holds="Call Ann"),
    Case("bytes with NULs", "binary.jsonl", lambda: b'{"a": "\0\x01\x02"}\n', UNSUPPORTED),
]  # fmt: skip

CSV = [
    Case("rows", "plain.csv", lambda: b"part,price\nseal,3\n", holds="| seal | 3 |"),
    Case("semicolons, other scripts, an odd name", "цены;2026.csv", 'часть;цена\nнасос;"3,50"\n'.encode,
         holds="| насос | 3,50 |"),
    Case("50,000 rows", "long.csv", lambda: b"part,price\n" + b"".join(b"part %d,%d\n" % (n, n) for n in range(50_000)),
         holds="part 49999"),
    Case("48 MB of rows", "huge.csv", lambda: b"part,note\n" + (b"seal," + b"the-red-pump-" * 40 + b"\n") * 91_000,
         holds="red-pump", long=True),
    Case("empty cells alone", "empty.csv", lambda: b",,\n,,\n", EMPTY),
    Case("a cell of over a million characters", "cell.csv", lambda: b"a,b\n1," + b"x" * 1_000_001 + b"\n", CORRUPT),
    Case("100,000 columns", "wide.csv", lambda: b",".join(b"c%d" % n for n in range(100_000)) + b"\n", INDEXED,
         ("first 500 columns",), holds="c499"),
    Case("a quote that never closes", "quote.csv", lambda: b'part,note\nseal,"3 inch\nrotor,x\n',
         holds="| rotor | x |"),
    Case("rows of unequal length, cut", "cut.csv", lambda: b"part,price,note\nseal,3,a\nrot", INDEXED, ("columns",),
         holds="seal"),
    Case("formulas that open programs", "formula.csv", lambda: b"part,price\n=cmd|' /C calc'!A0,1\n", holds="=cmd"),
    Case("a picture named .csv", "picture.csv", lambda: PNG, UNSUPPORTED),
]  # fmt: skip


def cues(count: int, comma: str) -> bytes:
    """So many cues of a second each."""
    times = ((n // 3600, n // 60 % 60, n % 60) for n in range(count))
    return "".join(
        f"{n}\n{h:02d}:{m:02d}:{s:02d}{comma}000 --> {h:02d}:{m:02d}:{s:02d}{comma}900\nLine {n} of the pump.\n\n"
        for n, (h, m, s) in enumerate(times, start=1)
    ).encode()


VTT = [
    Case("cues with speakers", "plain.vtt", lambda: b"WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ann>It leaks.\n",
         holds="Ann: It leaks."),
    Case("other scripts, notes and styles", "субтитры.vtt",
         "WEBVTT\n\nNOTE x\n\nSTYLE\n::cue {}\n\n00:01.000 --> 00:02.000\nНасос течёт &amp; 漏\n".encode,
         holds="Насос течёт & 漏"),
    Case("20,000 cues", "long.vtt", lambda: b"WEBVTT\n\n" + cues(20_000, "."), holds="Line 20000"),
    Case("a head and nothing else", "empty.vtt", lambda: b"WEBVTT\n\n", EMPTY),
    Case("cut within a time", "cut.vtt", lambda: b"WEBVTT\n\n00:01.000 --> 00:02.000\nIt leaks.\n\n00:03.0", INDEXED,
         ("cannot be read",), holds="It leaks."),
    Case("100,000 open tags", "tags.vtt", lambda: b"WEBVTT\n\n00:01.000 --> 00:02.000\npump" + b"<v <" * 100_000,
         holds="pump"),
    Case("times that go back, and beyond 99 hours", "times.vtt", lambda: b"WEBVTT\n\n999:00:00.000 --> 00:00.000\n"
         b"It leaks.\n\n00:01.000 --> 00:02.000\nSince May.\n", holds="Since May"),
    Case("prose named .vtt", "prose.vtt", lambda: b"The pump leaks.\n", holds="The pump leaks."),
]  # fmt: skip

SRT = [
    Case("cues", "plain.srt", lambda: b"1\n00:00:01,000 --> 00:00:02,000\nIt leaks.\n", holds="It leaks."),
    Case("Russian in its old encoding", "Насос.srt", lambda: ("1\n00:00:01,000 --> 00:00:02,000\n" + RUSSIAN * 40)
         .encode("cp1251"), warns=("windows-1251",), holds="Насос течёт"),
    Case("20,000 cues", "long.srt", lambda: cues(20_000, ","), holds="Line 20000"),
    Case("times without words", "empty.srt", lambda: b"1\n00:00:01,000 --> 00:00:02,000\n\n2\n00:00:03,000 --> "
         b"00:00:04,000\n", EMPTY),
    Case("cut within a time", "cut.srt", lambda: cues(3, ",")[:-45], INDEXED, ("cannot be read",), holds="Line 2"),
    Case("lines that are in no cue", "damaged.srt", lambda: b"1\n00:00:01,000 --> 00:00:02,000\nIt leaks.\n\n2\nno time"
         b"\nCall Ann.\n", INDEXED, ("cannot be read",), holds="It leaks."),
    Case("a picture named .srt", "picture.srt", lambda: PNG, UNSUPPORTED),
]  # fmt: skip


def feed(entries: int, text: str = "It leaks at valve {}.") -> bytes:
    """A feed of RSS whose entries hold escaped HTML."""
    items = (
        f"<item><title>Part {n}</title><description>&lt;p&gt;{text.format(n)}&lt;/p&gt;</description></item>"
        for n in range(entries)
    )
    return f'<rss version="2.0"><channel><title>Pumps</title>{"".join(items)}</channel></rss>'.encode()


FEED = [
    Case("RSS", "plain.rss", lambda: feed(2), holds="valve 1."),
    Case("Atom in Russian in its old encoding", "лента.xml", lambda: (
         '<?xml version="1.0" encoding="koi8-r"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Насос</title><entry>'
         f"<summary>{RUSSIAN}</summary></entry></feed>").encode("koi8-r"), holds="Насос течёт"),
    Case("2,000 entries", "long.xml", lambda: feed(2_000), holds="valve 1999."),
    Case("no words", "empty.rss", lambda: b'<rss version="2.0"><channel><title/></channel></rss>', EMPTY),
    Case("cut within an entry", "cut.xml", lambda: feed(3)[:-60], INDEXED, ("truncated",), holds="valve 1."),
    Case("entities out of entities", "bomb.rss", lambda: b'<!DOCTYPE rss [<!ENTITY a "x"><!ENTITY b "&a;&a;">]>'
         + feed(1), UNSAFE),
    Case("an entity outside", "outside.xml", lambda: f'<!DOCTYPE rss [<!ENTITY a SYSTEM "{OUTSIDE}">]>'.encode()
         + feed(1, "&amp;a; {}"), UNSAFE),
    Case("100,000 elements within each other", "deep.rss", lambda: b'<rss version="2.0">' + b"<a>" * 100_000, UNSAFE),
    Case("prose named .rss", "prose.rss", lambda: b"The pump leaks.\n", holds="The pump leaks."),
]  # fmt: skip
