"""Write those files of the set that a script makes: `python -m tests.table_set.make_files`; the others are by hand.

Each table has a random generator of its own, seeded by its name, so that a change of one leaves the others.
"""

from __future__ import annotations

import csv
import html
import io
import random
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import xlsxwriter
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

FILES = Path(__file__).parent / "files"
MADE = datetime(2025, 1, 15, 9, 0)  # noqa: DTZ001 - a stamp of the file, without a zone
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula of a cell and the value that the program stored with it."""

    text: str
    value: float | str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet: all rows from the first on, row numbers from 0 that are hidden, merged ranges, formats of columns."""

    name: str
    rows: Sequence[Row]
    hidden: Sequence[int] = ()
    merged: Sequence[str] = ()
    formats: Mapping[int, str] | None = None


def listed(text: str) -> list[str]:
    """A list that is written in one line."""
    return text.split(", ")


def seeded(name: str) -> random.Random:
    return random.Random(f"table set, {name}")


def days(rng: random.Random, first: date, last: date, count: int) -> list[date]:
    """So many days between two, in order; a day may occur twice."""
    return sorted(first + timedelta(rng.randrange((last - first).days + 1)) for _ in range(count))


def german(value: Any, places: int = 2) -> str:
    """A cell as a German program writes it."""
    if isinstance(value, float):
        return f"{value:,.{places}f}".translate(str.maketrans(",.", ".,"))
    if isinstance(value, date):
        return f"{value:%d.%m.%Y}"
    return str(value)


def english(value: Any, places: int = 2) -> str:
    """A cell as an English program writes it, dates as in ISO 8601."""
    return f"{value:.{places}f}" if isinstance(value, float) else str(value)


def clock(minutes: float) -> str:
    """Minutes as h:mm."""
    return f"{int(minutes) // 60}:{int(minutes) % 60:02}"


def write_csv(
    path: str, rows: Iterable[Row], delimiter: str = ",", write: Any = english, encoding: str = "utf-8"
) -> None:
    found = io.StringIO()
    csv.writer(found, delimiter=delimiter, lineterminator="\n").writerows([write(cell) for cell in row] for row in rows)
    target = FILES / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(found.getvalue().encode(encoding))


def write_xlsx(path: str, sheets: Sequence[Sheet]) -> None:
    target = FILES / path
    target.parent.mkdir(parents=True, exist_ok=True)
    book = xlsxwriter.Workbook(str(target), {"default_date_format": "yyyy-mm-dd"})
    book.set_properties({"created": MADE})
    bold = book.add_format({"bold": True})
    for sheet in sheets:
        page = book.add_worksheet(sheet.name)
        formats = {at: book.add_format({"num_format": text}) for at, text in (sheet.formats or {}).items()}
        for number, row in enumerate(sheet.rows):
            for column, cell in enumerate(row):
                style = formats.get(column) if not isinstance(cell, str) else None
                if isinstance(cell, Formula):
                    page.write_formula(number, column, cell.text, style, cell.value)
                elif cell is not None:
                    page.write(number, column, cell, style)
        for number in sheet.hidden:
            page.set_row(number, None, None, {"hidden": True})
        for span in sheet.merged:
            first = span.split(":")[0]
            column, number = ord(first[0]) - 65, int(first[1:]) - 1
            page.merge_range(span, sheet.rows[number][column], bold)
    book.close()


def write_ods(path: str, name: str, rows: Iterable[Row], unit: str = "") -> None:
    """Numbers have an amount's type where there is a *unit*, a currency's code."""
    book, table = OpenDocumentSpreadsheet(), Table(name=name)
    for row in rows:
        line = TableRow()
        for cell in row:
            if isinstance(cell, date):
                made = TableCell(valuetype="date", datevalue=cell.isoformat())
            elif isinstance(cell, float) and unit:
                made = TableCell(valuetype="currency", currency=unit, value=str(cell))
            elif isinstance(cell, (int, float)):
                made = TableCell(valuetype="float", value=str(cell))
            else:
                made = TableCell(valuetype="string")
            made.addElement(P(text=german(cell) if unit else english(cell)))
            line.addElement(made)
        table.addElement(line)
    book.spreadsheet.addElement(table)
    (FILES / path).parent.mkdir(parents=True, exist_ok=True)
    book.save(str(FILES / path))


def write_html(path: str, title: str, tables: Sequence[tuple[str, Row, Sequence[Row], Row]]) -> None:
    """A page of tables: caption, header, rows, and a footer that may be empty."""
    parts = [f"<!doctype html>\n<html lang=en><head><title>{title}</title></head><body><h1>{title}</h1>"]
    for caption, header, rows, footer in tables:
        body = [f"<tr>{''.join(f'<td>{html.escape(english(cell))}</td>' for cell in row)}</tr>" for row in rows]
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
        foot = "".join(f"<td>{html.escape(english(cell))}</td>" for cell in footer)
        end = [f"<tfoot><tr>{foot}</tr></tfoot>"] if footer else []
        start = f"<table><caption>{caption}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>"
        parts += [start, *body, "</tbody>", *end, "</table>"]
    (FILES / path).parent.mkdir(parents=True, exist_ok=True)
    (FILES / path).write_text("\n".join([*parts, "</body></html>\n"]), encoding="utf-8")


def write_docx(path: str, title: str, text: str, rows: Iterable[Row]) -> None:
    """A document of a heading, a paragraph and a table."""
    paragraph = "<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>"
    plain: Any = lambda cell: paragraph.format(style="", text=escape(english(cell)))  # noqa: E731
    lines = [f"<w:tr>{''.join(f'<w:tc>{plain(cell)}</w:tc>' for cell in row)}</w:tr>" for row in rows]
    heading = paragraph.format(style='<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>', text=escape(title))
    body = f"{heading}{plain(text)}<w:tbl>{''.join(lines)}</w:tbl>{plain('')}"
    space = "http://schemas.openxmlformats.org/"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{space}package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
        'wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{space}package/2006/relationships"><Relationship Id="rId1" '
        f'Type="{space}officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        "word/document.xml": f'<w:document xmlns:w="{space}wordprocessingml/2006/main"><w:body>{body}</w:body>'
        "</w:document>",
    }
    (FILES / path).parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(FILES / path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(zipfile.ZipInfo(name, (2025, 1, 15, 9, 0, 0)), '<?xml version="1.0"?>' + content)


def total(values: Iterable[float]) -> float:
    return round(sum(values), 2)


# 1 Household budgets and bank statements


def household_budget() -> None:
    """Two years; months are columns below two merged halves, totals are formulas."""
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    usual = {
        "Rent": (980, 0),
        "Electricity": (74, 6),
        "Gas heating": (95, 60),
        "Internet": (39.9, 0),
        "Groceries": (430, 70),
        "Eating out": (110, 60),
        "Dog": (68, 35),
        "Car": (150, 110),
        "Insurance": (88, 0),
        "Clothes": (60, 55),
        "Kids": (120, 45),
        "Holidays": (140, 140),
        "Gifts": (35, 30),
        "Phone": (24.99, 0),
    }
    sheets = []
    for year, factor in (("2023", 1.0), ("2024", 1.06)):
        rng = seeded(f"household-budget {year}")
        body: list[list[Any]] = []
        for at, (name, (middle, spread)) in enumerate(usual.items(), start=4):
            values = [round(middle * factor + rng.uniform(-spread, spread), 2) for _ in months]
            body.append([name, *values, Formula(f"=SUM(B{at}:M{at})", total(values))])
        columns = [total(row[at] for row in body) for at in range(1, 13)]
        last = 3 + len(body)
        sums = [Formula(f"=SUM({chr(65 + at)}4:{chr(65 + at)}{last})", value) for at, value in enumerate(columns, 1)]
        head = [["Household budget " + year + " (EUR)"], ["", "First half", *[""] * 5, "Second half", *[""] * 5, ""]]
        end = ["Total", *sums, Formula(f"=SUM(N4:N{last})", total(columns))]
        rows = [*head, ["Category", *months, "Year total"], *body, end]
        formats = dict.fromkeys(range(1, 14), '#,##0.00 "€"')
        sheets.append(Sheet(year, rows, merged=("B2:G2", "H2:M2"), formats=formats))
    write_xlsx("household-budget.xlsx", sheets)


def checking_account() -> None:
    rng = seeded("checking-account")
    shops = [
        ("Tesco", "Groceries", 18, 95),
        ("Lidl", "Groceries", 12, 70),
        ("Shell", "Fuel", 35, 70),
        ("Boots", "Health", 5, 40),
        ("Greggs", "Eating out", 3, 12),
        ("Nando's", "Eating out", 18, 60),
        ("Amazon", "Shopping", 6, 140),
        ("Trainline", "Travel", 9, 85),
        ("Vue Cinema", "Leisure", 8, 32),
        ("Waterstones", "Leisure", 7, 35),
        ("Pets at Home", "Cat", 10, 55),
        ("Cash machine", "Cash", 20, 100),
    ]
    fixed = [
        (1, "Skyline Lettings", "Rent", -875.0),
        (3, "Octopus Energy", "Utilities", -96.4),
        (5, "Thames Water", "Utilities", -31.2),
        (8, "Council Tax", "Tax", -142.0),
        (12, "Vodafone", "Phone", -22.5),
        (15, "PureGym", "Leisure", -24.99),
        (28, "Northwind Ltd", "Salary", 2465.3),
    ]
    rows: list[list[Any]] = [
        [date(2024, month, day), who, kind, "Direct debit" if value < 0 else "Monthly pay", value]
        for month in range(1, 13)
        for day, who, kind, value in fixed
    ]
    for day in days(rng, date(2024, 1, 1), date(2024, 12, 31), 230):
        who, kind, low, high = rng.choice(shops)
        value = float(-10 * rng.randint(2, 10)) if kind == "Cash" else -round(rng.uniform(low, high), 2)
        rows.append([day, who, kind, "Card payment" if kind != "Cash" else "Withdrawal", value])
    rows.append([date(2024, 7, 19), "HMRC", "Tax", "Refund", 318.4])
    balance, lines = 1204.55, []
    for row in sorted(rows, key=lambda row: row[0]):
        balance = round(balance + row[4], 2)
        lines.append([*row, balance])
    write_csv("checking-account-2024.csv", [["Date", "Payee", "Category", "Memo", "Amount", "Balance"], *lines])


def kontoauszug() -> None:
    """A statement of a bank: lines about the account stand before the header."""
    rng = seeded("kontoauszug")
    shops = [
        ("REWE Markt", "Lebensmittel", 15, 90),
        ("EDEKA", "Lebensmittel", 10, 80),
        ("dm-drogerie", "Drogerie", 5, 45),
        ("Aral Tankstelle", "Auto", 40, 85),
        ("Deutsche Bahn", "Reisen", 15, 120),
        ("Bäckerei Kolb", "Lebensmittel", 3, 14),
        ("Tierarztpraxis am Park", "Hund", 35, 160),
        ("Fressnapf", "Hund", 12, 60),
        ("Gasthaus Linde", "Restaurant", 20, 75),
        ("OBI Baumarkt", "Haus", 8, 150),
    ]
    fixed = [
        (1, "Wohnbau eG", "Miete", "Miete Wohnung 12", -1045.0),
        (2, "Stadtwerke", "Strom", "Abschlag Strom", -83.0),
        (10, "Telekom", "Internet", "Festnetz und Internet", -44.95),
        (15, "HUK-COBURG", "Versicherung", "Kfz-Versicherung", -61.37),
        (27, "Müller GmbH", "Gehalt", "Lohn/Gehalt", 3128.44),
    ]
    rows: list[list[Any]] = [
        [date(2024, month, day), who, text, kind, value]
        for month in range(1, 13)
        for day, who, kind, text, value in fixed
    ]
    for day in days(rng, date(2024, 1, 2), date(2024, 12, 30), 150):
        who, kind, low, high = rng.choice(shops)
        rows.append([day, who, "Kartenzahlung", kind, -round(rng.uniform(low, high), 2)])
    rows.append([date(2024, 9, 12), "Finanzamt", "Einkommensteuer 2023 Erstattung", "Steuer", 1214.0])
    ordered = [
        [row[0], row[0] + timedelta(rng.randrange(2)), *row[1:], "EUR"] for row in sorted(rows, key=lambda r: r[0])
    ]
    header = ["Buchungstag", "Wertstellung", "Empfänger", "Verwendungszweck", "Kategorie", "Betrag", "Währung"]
    about = [["Girokonto", "Nr. 4711"], ["Zeitraum", "01.01.2024 - 31.12.2024"], []]
    write_csv("kontoauszug-2024.csv", [*about, header, *ordered], ";", german)


def haushaltsbuch() -> None:
    rng = seeded("haushaltsbuch")
    things = {
        "Lebensmittel": ("Wocheneinkauf", "Markt", "Bäcker", "Getränke"),
        "Auto": ("Tanken", "Werkstatt", "Parken"),
        "Garten": ("Pflanzen", "Erde", "Werkzeug"),
        "Kinder": ("Schulsachen", "Schuhe", "Sportverein"),
        "Freizeit": ("Kino", "Schwimmbad", "Bücher"),
        "Katze": ("Futter", "Streu", "Tierarzt"),
        "Geschenke": ("Geburtstag", "Hochzeit"),
    }
    rows: list[list[Any]] = []
    for day in days(rng, date(2023, 1, 1), date(2023, 12, 31), 150):
        kind = rng.choice(list(things))
        rows.append(
            [day, kind, rng.choice(things[kind]), rng.choice(("Anna", "Jonas", "Mia")), round(rng.uniform(4, 140), 2)]
        )
    end = ["Summe", "", "", "", total(row[4] for row in rows)]
    write_ods(
        "haushaltsbuch-2023.ods",
        "Ausgaben",
        [["Datum", "Kategorie", "Beschreibung", "Person", "Betrag (€)"], *rows, end],
        "EUR",
    )


# 2 Sports and travel logs


def bike_tours() -> None:
    rng = seeded("bike-tours")
    tours = listed(
        "Lake loop, Commute by the river, Forest ridge, Vineyard ride, Club ride, Castle climb, Night "
        "ride, Moor and back, Pass of the three oaks"
    )
    rows = []
    for day in days(rng, date(2023, 2, 11), date(2024, 11, 24), 120):
        far = round(rng.choice((rng.uniform(12, 45), rng.uniform(30, 85), rng.uniform(70, 164))), 1)
        minutes = far / rng.uniform(19, 29) * 60
        climb = int(far * rng.uniform(3, 16))
        speed = round(far / int(minutes) * 60, 1)
        rows.append(
            [day, rng.choice(tours), rng.choice(("Gravel", "Road", "Road", "City")), far, climb, clock(minutes), speed]
        )
    header = ["Date", "Tour", "Bike", "Distance (km)", "Climb (m)", "Moving time", "Avg speed (km/h)"]
    write_csv("bike-tours.csv", [header, *([english(cell, 1) for cell in row] for row in rows)])


def running_log() -> None:
    sheets = []
    for year, count in ((2023, 74), (2024, 92)):
        rng = seeded(f"running-log {year}")
        rows: list[Row] = [["Date", "Type", "Distance (mi)", "Time", "Avg heart rate", "Shoes", "Notes"]]
        for day in days(rng, date(year, 1, 2), date(year, 12, 30), count):
            kind, low, high = rng.choice(
                (("Easy", 2, 6), ("Long", 8, 20), ("Intervals", 3, 7), ("Race", 3.1, 13.1), ("Easy", 3, 6))
            )
            far = round(rng.uniform(low, high), 1)
            seconds = int(far * rng.uniform(430, 620))
            shoes = rng.choice(("Brooks Ghost", "Saucony Ride", "Hoka Clifton"))
            note = rng.choice(("", "", "", "rain", "knee sore", "with Sam", "track"))
            rows.append([day, kind, far, timedelta(seconds=seconds), rng.randint(128, 178), shoes, note])
        formats = {0: "dd mmm yyyy", 2: "0.0", 3: "[h]:mm:ss"}
        sheets.append(Sheet(str(year), rows, formats=formats))
    write_xlsx("running-log.xlsx", sheets)


def reisekosten() -> None:
    rng = seeded("reisekosten")
    goals = {
        "Wien": "Österreich",
        "Zürich": "Schweiz",
        "Hamburg": "Deutschland",
        "Prag": "Tschechien",
        "Paris": "Frankreich",
        "Graz": "Österreich",
        "Lyon": "Frankreich",
        "Leipzig": "Deutschland",
    }
    rows: list[list[Any]] = []
    for start in days(rng, date(2023, 1, 9), date(2024, 12, 9), 44):
        goal, nights, way = rng.choice(list(goals)), rng.randint(1, 5), rng.choice(("Bahn", "Bahn", "Flug", "Auto"))
        costs = [
            round(nights * rng.uniform(70, 140), 2),
            round((nights + 1) * rng.uniform(18, 38), 2),
            round(rng.uniform(48, 390), 2),
        ]
        rows.append([start, start + timedelta(nights), goal, goals[goal], way, nights, *costs, total(costs)])
    header = listed(
        "Beginn, Ende, Reiseziel, Land, Verkehrsmittel, Nächte, Übernachtung (€), Verpflegung (€), "
        "Fahrtkosten (€), Gesamt (€)"
    )
    end = ["Summe", *[""] * 4, sum(row[5] for row in rows), *(total(row[at] for row in rows) for at in range(6, 10))]
    write_csv("reisekosten.csv", [header, *rows, end], ";", german, "utf-8-sig")


def swim_sessions() -> None:
    rng = seeded("swim-sessions")
    rows = []
    for day in days(rng, date(2024, 1, 3), date(2024, 12, 28), 64):
        pool, length = rng.choice((("Leisure centre", 25), ("Lido", 50), ("School pool", 20)))
        lengths = rng.randint(20, 80)
        metres, stroke = lengths * length, rng.choice(("Crawl", "Crawl", "Breast", "Back", "Mixed"))
        seconds = int(metres * rng.uniform(1.25, 1.95))
        rows.append(
            [day, pool, stroke, lengths, metres, f"{seconds // 60}:{seconds % 60:02}", rng.choice((24, 25, 26, 27, 28))]
        )
    write_csv(
        "swim-sessions.tsv",
        [["Date", "Pool", "Stroke", "Lengths", "Metres", "Duration (mm:ss)", "Water °C"], *rows],
        "\t",
    )


def flights() -> None:
    rng = seeded("flights")
    ways = [
        ("London", "Berlin", 930),
        ("Berlin", "London", 930),
        ("London", "New York", 5540),
        ("New York", "London", 5540),
        ("London", "Lisbon", 1585),
        ("Lisbon", "London", 1585),
        ("London", "Oslo", 1155),
        ("Oslo", "London", 1155),
        ("London", "Tokyo", 9560),
        ("Tokyo", "London", 9560),
        ("Berlin", "Rome", 1180),
        ("Rome", "Berlin", 1180),
    ]
    rows: list[list[Any]] = []
    for day in days(rng, date(2022, 1, 10), date(2024, 12, 20), 46):
        start, end, far = rng.choice(ways)
        line = (
            rng.choice(("British Airways", "easyJet", "Lufthansa", "Ryanair"))
            if far < 5000
            else rng.choice(("British Airways", "Virgin Atlantic", "ANA"))
        )
        price = round(far * rng.uniform(0.05, 0.16) + rng.uniform(15, 60), 2)
        rows.append([f"{day:%d %b %Y}", start, end, line, f"{far:,}", clock(35 + far / 13), f"£{price:,.2f}"])
    fares = f"£{sum(float(row[6][1:].replace(',', '')) for row in rows):,.2f}"
    far_all = f"{sum(int(row[4].replace(',', '')) for row in rows):,}"
    header = ("Date", "From", "To", "Airline", "Distance (km)", "Duration (h:mm)", "Fare")
    write_html(
        "flights.html",
        "My flights",
        [("Flights 2022 to 2024", header, rows, ("Total", "", "", "", far_all, "", fares))],
    )


KINDS_1_AND_2 = (
    household_budget, checking_account, kontoauszug, haushaltsbuch, bike_tours, running_log,
    reisekosten, swim_sessions, flights,
)  # fmt: skip


def main() -> None:
    from tests.table_set.kinds_3_to_5 import KINDS_3_TO_5
    from tests.table_set.kinds_6_to_8 import KINDS_6_TO_8

    for make in (*KINDS_1_AND_2, *KINDS_3_TO_5, *KINDS_6_TO_8):
        make()


if __name__ == "__main__":
    main()
