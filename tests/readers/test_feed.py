"""Feeds: entries with their titles, links, dates and authors."""

from __future__ import annotations

import pytest

from ragdrop.models.splitter import SemanticSplitter
from readers.read_errors import EmptyFileError, UnsafeFileError
from tests.reading import parse

RSS = (
    '<?xml version="1.0" encoding="iso-8859-1"?><?xml-stylesheet href="a.xsl"?><!-- made by hand -->\n'
    '<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>Gates &amp; doors</title>'
    "<link>https://example.org/</link><description>All &lt;i&gt;gates&lt;/i&gt;</description>"
    "<item><title>The gate is “shut”</title><link>https://example.org/1</link><dc:creator>Zoë</dc:creator>"
    "<pubDate>Sat, 02 May 2026 09:00:00 CEST</pubDate><category>north</category><description>Short.</description>"
    "<content:encoded><![CDATA[<p>It is <b>shut</b> since May.</p><ul><li>one</li></ul>]]></content:encoded></item>"
    "<item><guid>https://example.org/2</guid><description>&lt;p&gt;The caf&eacute; is &lt;b&gt;open&lt;/b&gt; & warm."
    "&lt;/p&gt;</description></item></channel></rss>"
)


ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><title>Gates</title><updated>2026-05-02T09:00:00Z</updated>'
    '<link rel="self" href="https://example.org/feed"/><entry><title type="html">Shut &amp;amp; open</title>'
    '<link rel="alternate" href="https://example.org/1"/><author><name>Zoë</name><uri>x</uri></author>'
    '<published>2026-05-01T09:00:00Z</published><updated>2026-05-02T09:00:00Z</updated><content type="xhtml">'
    '<div xmlns="http://www.w3.org/1999/xhtml"><p>It is <b>shut</b>.</p></div></content></entry>'
    "<entry><title>Plain</title><summary>The tag &lt;gate&gt; stays.</summary></entry></feed>"
)


RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    "<channel><title>Gates</title></channel><item><title>Shut</title><link>https://example.org/1</link>"
    "<description>Since May.</description></item></rdf:RDF>"
)


JSON = (
    '{"version": "https://jsonfeed.org/version/1.1", "title": "Gates", "items": [{"id": "1", "title": "Shut", '
    '"url": "https://example.org/1", "content_html": "<p>Since <b>May</b>.</p>", "authors": [{"name": "Zoë"}]}]}'
)


def test_the_entries_of_rss_stand_under_their_titles_with_what_is_known_of_them() -> None:
    document = parse(RSS.encode("cp1252"))

    assert document.text == (
        "# Gates & doors\n\nLink: https://example.org/\n\nAll gates\n\n"
        "## The gate is “shut”\n\nLink: https://example.org/1\nDate: 2026-05-02T09:00:00+02:00\nAuthor: Zoë\n"
        "Topics: north\n\nIt is shut since May.\n\n- one\n\n"
        "## https://example.org/2\n\nLink: https://example.org/2\n\nThe café is open & warm.\n"
    )
    assert (document.media_type, document.warnings) == ("application/rss+xml", ())


def test_the_entries_of_atom_are_read_with_their_pages_and_plain_text_is_unchanged() -> None:
    document = parse(ATOM, "feed")

    assert document.text == (
        "# Gates\n\nDate: 2026-05-02T09:00:00+00:00\n\n"
        "## Shut & open\n\nLink: https://example.org/1\nDate: 2026-05-01T09:00:00+00:00\nAuthor: Zoë\n\nIt is shut.\n\n"
        "## Plain\n\nThe tag <gate> stays.\n"
    )
    assert document.metadata["date"] == "2026-05-02T09:00:00+00:00"


@pytest.mark.parametrize(("body", "name"), [(RDF, "a.rdf"), (JSON, "feed.json")])
def test_rss_1_and_json_feed_are_feeds_too(body: str, name: str) -> None:
    document = parse(body, name)

    assert document.text.startswith("# Gates\n\n## Shut\n\nLink: https://example.org/1\n")
    assert document.text.endswith("\n\nSince May.\n")


def test_a_quote_of_an_entry_has_its_number_as_its_place() -> None:
    (chunk,) = SemanticSplitter(lambda: None).split(parse(ATOM), max_tokens=2_000, overlap_tokens=0)

    start = chunk.text.index("stays")
    assert chunk.place_at(start, start + 5) == "entry 2"


def test_the_entries_before_a_damage_are_read_with_a_warning() -> None:
    document = parse(RSS.encode("cp1252")[:-120])

    assert "## The gate is “shut”" in document.text
    assert "truncated or damaged" in document.warnings[0]


@pytest.mark.parametrize(
    "body",
    [
        '<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss version="2.0"><channel>&a;</channel></rss>',
        '<rss version="2.0"><channel>' + "<a>" * 5_000 + "</channel></rss>",
    ],
)
def test_entities_and_endless_nesting_are_refused(body: str) -> None:
    with pytest.raises(UnsafeFileError):
        parse(body, "a.rss")


def test_a_feed_without_text_is_empty() -> None:
    with pytest.raises(EmptyFileError):
        parse('<rss version="2.0"><channel><title/></channel></rss>')


def test_other_xml_stays_as_it_is() -> None:
    assert parse("<note><to>Ann</to></note>").text == "<note><to>Ann</to></note>"


MEDIA = "<media:title>m</media:title><media:description>n</media:description>"


def of_item(inner: str) -> str:
    """The text of a feed of one item, without its titles."""
    spaces = " ".join(
        f'xmlns:{name}="{space}"'
        for name, space in (
            ("media", "http://search.yahoo.com/mrss/"),
            ("content", "http://purl.org/rss/1.0/modules/content/"),
        )
    )
    document = parse(
        f'<rss version="2.0" {spaces}><channel><title>Pier</title><item>{inner}</item></channel></rss>', "a.xml"
    )
    return document.text.removeprefix("# Pier\n\n## ")


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (
            "<title>A</title><description>It leaks.</description><content:encoded>&lt;p&gt;</content:encoded>",
            "A\n\nIt leaks.\n",
        ),
        (f"{MEDIA}<title>A</title><description>It leaks.</description>", "A\n\nIt leaks.\n"),
        (
            "<title>A</title><media:group><media:description>It leaks.</media:description></media:group>",
            "A\n\nIt leaks.\n",
        ),
        (
            "<title>Use List&lt;String&gt; and &lt;b&gt;B&lt;/b&gt;</title><description>x</description>",
            "Use List<String> and B\n\nx\n",
        ),
    ],
)
def test_an_entry_has_its_own_title_and_the_content_that_says_something(inner: str, text: str) -> None:
    assert of_item(inner) == text
