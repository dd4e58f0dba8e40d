"""The twelve tables of the second set's final half: each function writes a file and returns the rows behind it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import xlwt

from tests.table_set.make_files import (
    Row,
    Sheet,
    days,
    english,
    german,
    listed,
    seeded,
    total,
    write_csv,
    write_ods,
    write_xlsx,
)
from tests.table_set.second.worlds_tuning import Rows, markdown, placed, write_notes, write_text


def bee_log(folder: Path) -> Rows:
    rng = seeded("second, bee-log")
    rows: list[Row] = []
    for day in days(rng, date(2024, 3, 16), date(2024, 9, 28), 44):
        honey = rng.randint(20, 190) / 10 if 5 <= day.month <= 8 and rng.random() < 0.4 else ""
        cure = rng.choice(("formic acid", "drone brood removal", "", "", "")) if day.month >= 6 else ""
        note = rng.choice(("calm", "nervous", "swarm cells", "", "", "fed 2 l syrup"))
        hive = rng.choice(("Linden", "Orchard", "Wall", "Pond", "Church"))
        rows.append(
            [day, hive, rng.choice(("yes", "yes", "no")), rng.randint(1, 9), honey, rng.randint(0, 24), cure, note]
        )
    header = ["Date", "Hive", "Queen seen", "Brood frames", "Honey (kg)", "Varroa drop per day", "Treatment", "Remark"]
    shown: Callable[[Any], str] = lambda c: f"{c.day} {c:%B %Y}" if isinstance(c, date) else english(c, 1)  # noqa: E731
    write_csv(str(folder / "bee-log.csv"), [header, *rows], write=shown)
    return placed("day hive queen brood honey varroa cure note", rows)


def meters(folder: Path) -> Rows:
    """Readings with their units in the cells; two lines stand before the header, a row of totals ends it."""
    rng = seeded("second, meters")
    people = listed("Steger, Yildiz, Hartwig, Novak, Lindner, Abadi, Reuter, Castelli")
    kinds = {"Kaltwasser": ("m³", 4.3, 30, 140), "Warmwasser": ("m³", 9.8, 12, 60), "Strom": ("kWh", 0.34, 900, 3900)}
    rows: list[Row] = []
    shown: list[Row] = []
    for number, who in enumerate(people, start=1):
        for kind, (unit, price, low, high) in kinds.items():
            old, used = rng.randint(100, 42_000), rng.randint(low, high)
            cost = round(used * price, 2)
            rows.append([f"W{number:02}", who, kind, old, old + used, used, cost])
            cells = [f"{value:,}".replace(",", ".") for value in (old, old + used, used)]
            shown.append([f"W{number:02}", who, kind, *cells[:2], f"{cells[2]} {unit}", cost])
    end = ["Gesamt", *[""] * 5, total(row[6] for row in rows)]
    header = ["Wohnung", "Mieter", "Zählerart", "Stand 01.01.2024", "Stand 31.12.2024", "Verbrauch", "Kosten (€)"]
    about: list[Row] = [["Ablesung 2024", "Lindenstraße 8"], []]
    write_csv(str(folder / "ablesung-2024.csv"), [*about, header, *shown, end], ";", german, "utf-8-sig")
    return placed("flat who kind old new used cost", rows, 4)


def ski_lifts(folder: Path) -> Rows:
    rng = seeded("second, ski-lifts")
    lifts = {"Gondelbahn": 3200, "Sesselbahn Alp": 2400, "Schlepplift Rot": 900, "Kinderlift": 380}
    rows: list[Row] = []
    for step in range(12):
        day, depth = date(2025, 1, 25) + timedelta(step), 60 + rng.randint(-8, 30)
        for lift, most in lifts.items():
            if rng.random() < 0.12:
                rows.append([day, lift, "", "", "", depth])
                continue
            people = rng.randint(most // 4, most)
            rows.append(
                [day, lift, people, rng.choice((5.5, 7.0, 7.5, 8.0)), round(people * rng.uniform(2, 9), 2), depth]
            )
    swiss: Callable[[Any], str] = lambda c: (  # noqa: E731
        f"{c:%d.%m.%Y}"
        if isinstance(c, date)
        else f"{c:,.2f}".replace(",", "'")
        if isinstance(c, float) and c > 10
        else f"{c:,}".replace(",", "'")
        if isinstance(c, int)
        else str(c)
    )
    header = ["Datum", "Anlage", "Fahrgäste", "Betriebsstunden", "Umsatz (CHF)", "Schneehöhe (cm)"]
    write_csv(str(folder / "bergbahn.csv"), [header, *rows], ";", swiss)
    return placed("day lift people hours money depth", rows)


def marathon(folder: Path) -> Rows:
    """A title, a header of two rows, times as times, and runners who did not finish."""
    rng = seeded("second, marathon")
    names = listed(
        "Amelie Roth, Ben Carter, Carlos Ibarra, Dagny Olsen, Emeka Obi, Frida Holm, Gary Moss, Hiro Tanaka, "
        "Ilse Bakker, Jonas Weber, Kemal Aydin, Lucy Hart, Marta Silva, Nils Berg, Olga Petrenko, Paul Dubois, "
        "Quentin Lang, Rita Gomes, Stefan Kraus, Tara Singh, Umar Farooq, Vera Novak, Will Dunn, Xenia Pappas, "
        "Yusuf Demir, Zoe Allen, Anton Huber, Bridget Shaw, Cyril Petit, Dora Kiss"
    )
    rows: list[Row] = []
    for bib, name in zip(rng.sample(range(100, 999), len(names)), names, strict=True):
        pace = rng.randint(205, 375)
        club = rng.choice(("Harriers", "Road Runners", "City AC", ""))
        country = rng.choice(("GBR", "GER", "NOR", "ESP", "FRA"))
        group = rng.choice(("M20", "M40", "M50", "W20", "W40"))
        ten, half = timedelta(seconds=pace * 10), timedelta(seconds=int(pace * 21.0975 * rng.uniform(0.98, 1.03)))
        whole: Any = timedelta(seconds=int(pace * 42.195 * rng.uniform(1.0, 1.1)))
        status = "finished"
        if rng.random() < 0.15:
            whole, status = "", "DNF"
        rows.append([bib, name, club, country, group, ten, half, whole, status])
    rows.sort(key=lambda row: row[7] or timedelta(days=1))
    header: list[Row] = [
        ["Lakeside Marathon, 13 October 2024"],
        ["", "", "", "", "", "Splits", "", "", ""],
        ["Bib", "Runner", "Club", "Country", "Age group", "10 km", "Half way", "Finish time", "Status"],
    ]
    times = dict.fromkeys((5, 6, 7), "[h]:mm:ss")
    write_xlsx(
        str(folder / "marathon.xlsx"), [Sheet("Results", [*header, *rows], merged=("A1:I1", "F2:G2"), formats=times)]
    )
    plain = [[*r[:5], *(t.total_seconds() if t != "" else "" for t in r[5:8]), r[8]] for r in rows]
    return placed("bib name club country age ten half time status", plain, 4)


def museum(folder: Path) -> Rows:
    rng = seeded("second, museum")
    rows: list[Row] = []
    for step in range(30):
        day = date(2024, 6, 1) + timedelta(step)
        if day.weekday():  # closed on Mondays
            adults, children, groups = rng.randint(30, 260), rng.randint(5, 120), rng.randint(0, 5)
            income = adults * 9.0 + children * 4.5 + groups * 60
            rows.append([day, f"{day:%A}", adults, children, groups, income, round(rng.uniform(40, 900), 2)])
    end = ["Total", "", *(total(row[k] for row in rows) for k in range(2, 7))]
    header = ["Day", "Weekday", "Adults", "Children", "Groups", "Tickets (€)", "Shop (€)"]
    formats = {0: "ddd dd mmm yyyy", 5: "#,##0.00", 6: "#,##0.00"}
    write_xlsx(str(folder / "museum-june.xlsx"), [Sheet("June 2024", [header, *rows, end], formats=formats)])
    return placed("day weekday adults children groups tickets shop", rows)


def school_trip(folder: Path) -> Rows:
    spent: list[Row] = [
        [date(2024, 5, 13), "Coach", "Ms Ferreira", "Transport", 1240.0],
        [date(2024, 5, 13), "Motorway picnic", "Mr Boyd", "Food", 86.4],
        [date(2024, 5, 13), "Hostel, deposit", "Ms Ferreira", "Lodging", 500.0],
        [date(2024, 5, 14), "Castle tickets", "Mr Boyd", "Entry", 168.0],
        [date(2024, 5, 14), "Ice cream", "Mr Boyd", "Food", 57.6],
        [date(2024, 5, 14), "Plasters", "Ms Ferreira", "Other", 7.85],
        [date(2024, 5, 15), "Boat hire", "Ms Ferreira", "Entry", 310.0],
        [date(2024, 5, 15), "Pizza evening", "Mr Boyd", "Food", 294.5],
        [date(2024, 5, 16), "Museum of mining", "Ms Ferreira", "Entry", 96.0],
        [date(2024, 5, 16), "Local bus", "Mr Boyd", "Transport", 62.5],
        [date(2024, 5, 17), "Hostel, rest", "Ms Ferreira", "Lodging", 1730.0],
        [date(2024, 5, 17), "Packed lunch", "Ms Ferreira", "Food", 112.0],
    ]
    pupils: list[Row] = [
        ["Ada", "9B", 220.0, "vegetarian", "yes"],
        ["Bashir", "9A", 220.0, "halal", "yes"],
        ["Callum", "9A", 150.0, "", "no"],
        ["Dana", "9B", 220.0, "", "yes"],
        ["Ewan", "9C", 0.0, "", "yes"],
        ["Fatou", "9C", 220.0, "halal", "no"],
        ["Gwen", "9A", 220.0, "vegan", "yes"],
        ["Henry", "9B", 100.0, "no nuts", "yes"],
        ["Isla", "9C", 220.0, "vegetarian", "no"],
        ["Jakub", "9A", 220.0, "", "yes"],
        ["Kaya", "9B", 180.0, "vegan", "yes"],
        ["Liam", "9C", 220.0, "", "no"],
        ["Mina", "9A", 220.0, "vegetarian", "yes"],
        ["Noel", "9B", 0.0, "", "yes"],
    ]
    end: Row = ["Total", "", "", "", total(row[4] for row in spent)]
    first: Row = ["Date", "What", "Paid by", "Category", "Amount (€)"]
    second: Row = ["Pupil", "Class", "Paid (€)", "Food needs", "Can swim"]
    sheets = [
        Sheet("Expenses", [first, *spent, end], formats={0: "d mmm yyyy", 4: "#,##0.00"}),
        Sheet("Pupils", [second, *pupils], formats={2: "0.00"}),
    ]
    write_xlsx(str(folder / "class-trip.xlsx"), sheets)
    return placed("day what payer kind amount", spent, part="spent") + placed(
        "name form paid food swims", pupils, part="pupils"
    )


def fleet(folder: Path) -> Rows:
    cars: list[Row] = [
        ["KA-FW 101", "VW Caddy", "Transporter", "Diesel", 84210, 6.8, date(2025, 3, 1), 4310.55, "Hof"],
        ["KA-FW 102", "VW Caddy", "Transporter", "Diesel", 121940, 7.1, date(2025, 11, 1), 5122.1, "Hof"],
        ["KA-FW 103", "Renault Zoe", "Pkw", "Strom", 38500, 17.2, date(2026, 2, 1), 1980.0, "Büro"],
        [
            "KA-FW 104",
            "Mercedes Sprinter",
            "Transporter",
            "Diesel",
            203775,
            9.9,
            date(2024, 12, 1),
            9874.3,
            "Werkstatt",
        ],
        ["KA-FW 105", "Skoda Octavia", "Pkw", "Benzin", 66320, 6.2, date(2025, 7, 1), 3455.0, "Büro"],
        ["KA-FW 106", "Skoda Octavia", "Pkw", "Benzin", 91250, 6.4, date(2025, 9, 1), 3780.25, "Außendienst"],
        ["KA-FW 107", "MAN TGL", "Lkw", "Diesel", 310480, 21.5, date(2025, 1, 1), 18420.0, "Hof"],
        ["KA-FW 108", "Tesla Model 3", "Pkw", "Strom", 52110, 15.8, date(2026, 8, 1), 2140.75, "Außendienst"],
        ["KA-FW 109", "Ford Transit", "Transporter", "Diesel", 145600, 8.7, date(2025, 5, 1), 7015.4, "Werkstatt"],
        ["KA-FW 110", "Fiat Panda", "Pkw", "Benzin", 27980, 5.3, date(2026, 4, 1), 1620.9, "Büro"],
        ["KA-FW 111", "Opel Vivaro", "Transporter", "Diesel", 98340, 7.6, date(2025, 6, 1), 5290.0, "Außendienst"],
        ["KA-FW 112", "Piaggio Ape", "Kleinwagen", "Benzin", 8120, 4.1, date(2026, 1, 1), 655.2, "Hof"],
    ]
    header = listed(
        "Kennzeichen, Modell, Art, Antrieb, Kilometerstand, Verbrauch je 100 km, HU fällig, Kosten 2024, Standort"
    )
    book = xlwt.Workbook()
    page, money, day = book.add_sheet("Fuhrpark"), xlwt.easyxf(num_format_str='#,##0.00 "€"'), xlwt.easyxf()
    day.num_format_str = "DD.MM.YYYY"
    page.write_merge(0, 0, 0, 8, "Fuhrpark Fellner & Wirth, Stand 31.12.2024")
    for number, row in enumerate([header, *cars], start=1):
        for column, cell in enumerate(row):
            style = day if isinstance(cell, date) else money if column == 7 and number > 1 else xlwt.easyxf()
            page.write(number, column, cell, style)
    folder.mkdir(parents=True, exist_ok=True)
    book.save(str(folder / "fuhrpark.xls"))
    return placed("plate model kind fuel km use due cost place", cars, 3)


def food_bank(folder: Path) -> Rows:
    rng = seeded("second, food-bank")
    goods = {
        "Rice": "dry",
        "Pasta": "dry",
        "Lentils": "dry",
        "Apples": "fresh",
        "Carrots": "fresh",
        "Yoghurt": "chilled",
        "Cheese": "chilled",
        "Tinned tomatoes": "tins",
        "Tinned peaches": "tins",
    }
    rows: list[Row] = []
    for day in days(rng, date(2024, 10, 1), date(2024, 12, 20), 50):
        item = rng.choice(list(goods))
        donor = rng.choice(("Bright Market", "St Anne's", "Allotment society", "Corner Bakery", "Anonymous"))
        long = {"dry": 400, "tins": 700, "fresh": 12, "chilled": 20}[goods[item]]
        until = day + timedelta(rng.randint(long // 2, long)) if rng.random() < 0.9 else ""
        rows.append(
            [day, donor, item, goods[item], rng.randint(5, 640) / 10, until, f"{rng.choice('ABC')}{rng.randint(1, 6)}"]
        )
    header = ["Received", "From", "Product", "Type", "Kilos", "Use by", "Shelf"]
    write_ods(str(folder / "food-bank.ods"), "Intake", [header, *rows])
    return placed("day donor item kind kilos until shelf", rows)


def campsite(folder: Path) -> Rows:
    rng = seeded("second, campsite")
    guests = listed(
        "Almeida, Bos, Chevalier, Dunne, Eriksson, Ferrari, Grant, Hoekstra, Ivanov, Jung, Kelly, Lopez, Meyer, "
        "Nowicki, Okoye, Paulsen, Quinn, Romano, Sato, Tremblay, Ueda, Vermeulen"
    )
    rows: list[Row] = []
    for guest, day in zip(guests, days(rng, date(2024, 6, 28), date(2024, 8, 25), len(guests)), strict=True):
        nights, people = rng.randint(1, 21), rng.randint(1, 6)
        kind = rng.choice(("tent", "caravan", "motorhome"))
        price = nights * (12.0 + 6.5 * people + {"tent": 0, "caravan": 9, "motorhome": 11}[kind])
        paid = rng.choice(("card", "cash", "open"))
        rows.append([guest, kind, rng.randint(1, 40), day, day + timedelta(nights), nights, people, price, paid])
    shown = [[*r[:3], f"{r[3]:%d/%m/%Y}", f"{r[4]:%d/%m/%Y}", r[5], r[6], f"€{r[7]:,.2f}", r[8]] for r in rows]
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in shown)
    head = "".join(
        f"<th>{n}</th>" for n in listed("Guest, Unit, Pitch, Arrival, Departure, Nights, Persons, Price, Paid by")
    )
    nights, people = sum(row[5] for row in rows), sum(row[6] for row in rows)
    end = ["Total", "", "", "", "", nights, people, f"€{sum(row[7] for row in rows):,.2f}", ""]
    foot = "".join(f"<td>{cell}</td>" for cell in end)
    write_text(
        folder / "campsite.html",
        "<!doctype html>\n<html lang=en><head><title>Bookings</title></head><body>"
        "<h1>Lakeside camping, summer 2024</h1>\n"
        f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n<tfoot><tr>{foot}</tr></tfoot></table>\n"
        "</body></html>\n",
    )
    return placed("guest kind pitch start end nights people price paid", rows)


def film_club(folder: Path) -> Rows:
    lines = """
2024-01-11; The Third Man; Carol Reed; UK; 1949; 104; 61; 8.4
2024-01-25; Tokyo Story; Yasujiro Ozu; Japan; 1953; 136; 38; 8.9
2024-02-08; Some Like It Hot; Billy Wilder; USA; 1959; 121; 92; 8.7
2024-02-22; Cléo from 5 to 7; Agnès Varda; France; 1962; 90; 44; 7.9
2024-03-07; Playtime; Jacques Tati; France; 1967; 124; 57; 7.6
2024-03-21; Harakiri; Masaki Kobayashi; Japan; 1962; 133; 29; 9.1
2024-04-11; Don't Look Now; Nicolas Roeg; UK; 1973; 110; 48; 7.2
2024-04-25; The Apartment; Billy Wilder; USA; 1960; 125; 83; 8.8
2024-05-09; Paper Moon; Peter Bogdanovich; USA; 1973; 102; 66; 8.1
2024-05-23; Wings of Desire; Wim Wenders; Germany; 1987; 128; 71; 7.7
2024-06-06; Local Hero; Bill Forsyth; UK; 1983; 111; 75; 8.3
2024-06-20; Toni Erdmann; Maren Ade; Germany; 2016; 162; 35; 6.8
2024-09-12; Vagabond; Agnès Varda; France; 1985; 105; 26; 7.4
2024-09-26; Ikiru; Akira Kurosawa; Japan; 1952; 143; 41;
2024-10-10; Babette's Feast; Gabriel Axel; Denmark; 1987; 103; 88; 8.6
2024-10-24; Paris, Texas; Wim Wenders; Germany; 1984; 145; 54;
"""
    rows: list[Row] = []
    for line in lines.strip().splitlines():
        day, film, maker, land, year, minutes, crowd, mark = (cell.strip() for cell in line.split(";"))
        grade = float(mark) if mark else ""
        rows.append([date.fromisoformat(day), film, maker, land, int(year), int(minutes), int(crowd), grade])
    header = ["Shown", "Film", "Director", "Country", "Made in", "Length (min)", "Audience", "Members' mark"]
    shown = [[f"{row[0].day} {row[0]:%B %Y}", *row[1:]] for row in rows]
    write_text(folder / "film-club.md", markdown("Film club 2024", "Thursdays at half past seven.", header, shown))
    return placed("day film maker land year minutes crowd mark", rows)


def hens(folder: Path) -> Rows:
    rng = seeded("second, hens")
    rows: list[Row] = []
    for step in range(36):
        day = date(2024, 4, 1) + timedelta(2 * step)
        feed = rng.choice((0.8, 0.9, 1.1, 1.2, 1.4))
        sold = rng.choice((0, 0, 6, 10))
        coop = rng.choice(("sonnig", "Regen", "bewölkt", "Gewitter"))
        rows.append(
            [day, rng.randint(1, 11), sold, feed, sold * 0.4 if sold else "", coop, rng.choice(("Oma", "Jule", "Piet"))]
        )
    shown = [[german(r[0]), *r[1:3], german(r[3], 1), f"{german(r[4])} €" if r[4] else "", *r[5:]] for r in rows]
    header = ["Tag", "Eier", "Verkauft", "Futter (kg)", "Einnahmen", "Wetter", "Stalldienst"]
    write_text(folder / "huehner.md", markdown("Hühnerstall", "Alle zwei Tage eingetragen.", header, shown))
    return placed("day eggs sold feed money weather who", rows)


def recipes(folder: Path) -> Rows:
    return write_notes(
        folder / "recipes",
        """
borscht; Borscht; soup, winter; tried; 2024-01-14; 90
ramen; Miso ramen; soup, noodles; to try; 2024-11-20; 60
dal; Red lentil dal; vegan, quick; tried; 2024-02-03; 35
focaccia; Focaccia; bread, vegan; tried; 2024-03-17; 150
rye-sourdough; Rye sourdough; bread; to try; 2024-12-01; 600
plum-cake; Plum cake; dessert, autumn; tried; 2024-09-08; 75
apple-crumble; Apple crumble; dessert, autumn, quick; tried; 2024-10-06; 45
gazpacho; Gazpacho; soup, vegan, summer; tried; 2024-07-19; 20
moussaka; Moussaka; casserole; failed; 2024-05-25; 120
pad-thai; Pad thai; noodles, quick; to try; 2025-01-10; 30
panna-cotta; Panna cotta; dessert; failed; 2024-06-30; 25
minestrone; Minestrone; soup, vegan; to try; 2025-02-02; 55
pretzels; Soft pretzels; bread, snack; tried; 2024-04-21; 110
hummus; Hummus; vegan, snack, quick; tried; 2024-08-11; 15
""",
        "minutes",
    )


FINAL: dict[str, Callable[[Path], Rows]] = {
    "bee-log": bee_log,
    "meters": meters,
    "ski-lifts": ski_lifts,
    "marathon": marathon,
    "museum": museum,
    "school-trip": school_trip,
    "fleet": fleet,
    "food-bank": food_bank,
    "campsite": campsite,
    "film-club": film_club,
    "hens": hens,
    "recipes": recipes,
}
