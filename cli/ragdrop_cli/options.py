"""Options that several commands share."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from typing import Annotated, Literal

import typer

from ragdrop_cli.output import note
from ragdrop_cli.session import Session

JSON_REQUESTED = "ragdrop_cli.json_requested"  # in the context's `meta`, which a command shares with the root


def _note_json(context: typer.Context, requested: bool) -> bool:  # noqa: FBT001 -- Typer calls it with the option's value
    context.meta[JSON_REQUESTED] = requested
    return requested


AsJson = Annotated[
    bool, typer.Option("--json", callback=_note_json, help="Print the API's body unchanged, an error's too.")
]
AsObject = Annotated[
    bool, typer.Option("--json", callback=_note_json, help="Print one JSON object on one line, for an error too.")
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        help="Answer from the documents of then, within 30 days: yesterday, 2h ago, a date, or a time of RFC 3339.",
        show_default="now",
    ),
]
InStage = Annotated[
    str | None, typer.Option("--stage", help="Answer as if this stage were promoted.", show_default="live")
]
ManyVaults = Annotated[
    list[str] | None, typer.Option("--vault", help="Only this vault; may be given several times.", show_default="all")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before deleting.")]
AllowMassDelete = Annotated[
    bool, typer.Option("--allow-mass-delete", help="Accept that over 20 % and over 20 documents are deleted.")
]
TimeoutS = Annotated[float, typer.Option("--timeout-s", min=0, help="Seconds to wait without any progress.")]

_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_AGO = re.compile(r"(\d{1,5}|an?)\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?|w|weeks?)\s+ago", re.ASCII)
_DAY_AND_TIME = re.compile(r"([\w-]+?)(?:[t\s]+(\d{1,2}:\d{2}(?::\d{2})?))?", re.ASCII)


def split_name(name: str) -> tuple[str, str]:
    """Vault and path of `VAULT/PATH`. Raises typer.BadParameter if there is no path.

    >>> split_name("team/notes/a.md")
    ('team', 'notes/a.md')
    """
    vault, _, path = name.partition("/")
    if not vault or not path:
        raise typer.BadParameter(f"{name!r} is not VAULT/PATH, for example team/notes/pump.md")
    return vault, path


def time_in_words(text: str, now: datetime, *, day: Literal["start", "end"] = "end") -> datetime | None:
    """The moment that *text* names; None for all else, as a time of RFC 3339 with its offset.

    *text* is `now`; `today`, `yesterday` or a date, each with a time of day or without; `2h ago` or `3 days ago`.  Days
    are in the time zone of *now*; *day* is which end of a day without a time is meant, *now* being the end of today.

    >>> from datetime import UTC
    >>> now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    >>> [time_in_words(text, now).isoformat()[:16] for text in ("yesterday", "2h ago", "2026-01-02 10:30", "today")]
    ['2026-01-30T23:59', '2026-01-31T10:00', '2026-01-02T10:30', '2026-01-31T12:00']
    >>> time_in_words("2026-01-02", now, day="start").isoformat(), time_in_words("2026-01-31T10:00:00Z", now)
    ('2026-01-02T00:00:00+00:00', None)
    """
    words = text.strip().lower()
    if words == "now":
        return now
    if ago := _AGO.fullmatch(words):
        return now - timedelta(seconds=(int(ago[1]) if ago[1].isdigit() else 1) * _UNITS_S[ago[2][0]])
    found = _DAY_AND_TIME.fullmatch(words)
    if found is None:
        return None
    try:
        named = {"today": now.date(), "yesterday": now.date() - timedelta(days=1)}.get(found[1])
        named = named or date.fromisoformat(found[1])
        clock = time.fromisoformat((found[2] or "00:00").zfill(5))
    except ValueError:
        return None
    moment = datetime.combine(named, clock, tzinfo=now.tzinfo)
    if found[2] is None and day == "end" and moment <= now:
        return min(moment + timedelta(days=1, seconds=-1), now)
    return moment


def as_rfc3339(session: Session, text: str | None, *, day: Literal["start", "end"] = "end") -> str | None:
    """*text* as the API takes it; words become a time of RFC 3339, which is printed on standard error."""
    moment = None if text is None else time_in_words(text, session.now(), day=day)
    if moment is None:
        return text
    shown = moment.isoformat(timespec="seconds")
    note(f"{text}: {shown}")
    return shown
