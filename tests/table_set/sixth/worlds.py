"""The thirteen tables of the sixth set: each function writes files and returns the rows behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from tests.table_set.make_files import (
    Formula,
    Row,
    Sheet,
    clock,
    days,
    english,
    german,
    listed,
    seeded,
    total,
    write_csv,
    write_docx,
    write_html,
    write_ods,
    write_xlsx,
)
from tests.table_set.second.worlds_tuning import Rows, markdown, placed, slashed, write_text


def lamps(folder: Path) -> Rows:
    """A city's street lamps; one that nobody has inspected has no day."""
    rng = seeded("sixth, lamps")
    streets = {
        "Quarry Lane": "Northgate",
        "Mill Road": "Northgate",
        "Station Parade": "Centre",
        "Cathedral Close": "Centre",
        "Harbour Street": "Docks",
        "Ropewalk": "Docks",
        "Beech Avenue": "Hillside",
    }
    powers = {
        "LED": ((28, 36, 54), 2014, 2023),
        "sodium": ((70, 100, 150), 1988, 2009),
        "mercury": ((80, 125), 1969, 1985),
    }
    rows: list[Row] = []
    number = 1040
    for _ in range(46):
        number += rng.choice((1, 1, 2, 5))
        street, kind = rng.choice(list(streets)), rng.choices(list(powers), (5, 4, 1))[0]
        watts, first, last = powers[kind]
        up = date(rng.randint(first, last), rng.randint(1, 12), rng.randint(1, 28))
        seen: Any = date(2024, 2, 5) + timedelta(rng.randrange(600)) if rng.random() < 0.87 else ""
        state = rng.choices(("working", "dark", "flickering", "leaning"), (8, 3, 2, 1))[0]
        dims = rng.choice(("yes", "no")) if kind == "LED" else "no"
        note = rng.choice(("", "", "", "", "wasps in the cap", "door missing", "tree in front", "hit by a van"))
        height = rng.choice((4.5, 6.0, 6.0, 8.0, 10.0))
        rows.append(
            [f"L-{number}", street, streets[street], kind, rng.choice(watts), height, up, seen, state, dims, note]
        )
    header = [
        *("Ref", "Street", "District", "Light source", "Watts", "Mast (m)", "Put up", "Inspected", "Condition"),
        *("Dimmable", "Notes"),
    ]
    shown = [[*r[:5], english(r[5], 1), *map(slashed, r[6:8]), *r[8:]] for r in rows]
    write_csv(str(folder / "street-lamps.csv"), [header, *shown])
    return placed("id street area kind watts tall up seen state dims note", rows)


def lost(folder: Path) -> Rows:
    """A lost property office; what nobody came for has no day of return, and a thing without a price no worth."""
    rng = seeded("sixth, lost")
    things = {
        "umbrella": (4, 30),
        "glove": (3, 15),
        "phone": (60, 700),
        "rucksack": (15, 90),
        "keys": (0, 0),
        "violin": (300, 900),
        "scarf": (5, 60),
        "glasses": (20, 250),
    }
    rows: list[Row] = []
    for at, day in enumerate(days(rng, date(2025, 1, 7), date(2025, 6, 27), 48)):
        thing = rng.choices(list(things), (7, 4, 6, 4, 5, 1, 4, 3))[0]
        low, high = things[thing]
        worth: Any = float(rng.randint(low, high)) if high else ""
        back: Any = day + timedelta(rng.randint(1, 40)) if rng.random() < 0.45 else ""
        rows.append(
            [
                f"LP{310 + at}",
                thing,
                rng.choice(listed("black, black, red, blue, green, grey, striped")),
                rng.choice(listed("tram 4, tram 9, bus 61, Central Station, ice rink, town library")),
                day,
                rng.choice(listed("driver, driver, cleaner, passenger, police")),
                worth,
                back,
                rng.choice("ABCD"),
            ]
        )
    header = ["Tag", "Article", "Colour", "Picked up at", "Arrived", "Handed in by", "Worth (£)", "Reclaimed", "Shelf"]
    shown = [
        [*r[:4], f"{r[4]:%d %B %Y}", r[5], f"{r[6]:.2f}" if r[6] else "", f"{r[7]:%d %B %Y}" if r[7] else "", r[8]]
        for r in rows
    ]
    write_html(
        str(folder / "lost-property.html"), "Lost property, first half of 2025", [("Brought in", header, shown, ())]
    )
    return placed("id thing colour where day who worth back shelf", rows)


def gritting(folder: Path) -> Rows:
    """Two rows of headers with merged cells and a row of sums; hours as h:mm."""
    rng = seeded("sixth, gritting")
    rounds = {"Moor Top": 46, "Ring Road": 31, "Hospital Hill": 18, "Villages East": 58}
    rows: list[Row] = []
    for night in days(rng, date(2024, 11, 18), date(2025, 3, 6), 41):
        way, lorry = rng.choice(list(rounds)), rng.choice(listed("Snowy, Gritney, Salter"))
        plan = rng.choice((2.5, 3.0, 4.0, 5.5, 6.0))
        salt = round(plan * rng.uniform(0.7, 1.25), 1)
        far, empty = rounds[way] + rng.randint(-3, 6), rng.randint(3, 17)
        minutes = int((far + empty) / 32 * 60) + rng.randint(5, 55)
        cold = rng.randint(-92, 9) / 10
        note = rng.choice(("", "", "", "black ice", "snow from two", "blade changed", "car in the way"))
        driver = rng.choice(listed("Olu, Maureen, Gethin, Big Dave"))
        rows.append([night, way, driver, lorry, plan, salt, far, empty, minutes, cold, note])
    head: list[Row] = [
        ["", "", "", "", "Salt (t)", "", "Kilometres", "", "", "", ""],
        ["Night", "Round", "Driver", "Lorry", "Planned", "Spread", "Treated", "Empty", "Out for (h:mm)", "Road (°C)",
         "Remarks"],
    ]  # fmt: skip
    last = len(rows) + 2
    sums = [Formula(f"=SUM({c}3:{c}{last})", total(row[at] for row in rows)) for at, c in enumerate("EFGH", start=4)]
    shown = [[*r[:8], clock(r[8]), *r[9:]] for r in rows]
    lines: list[Row] = [*head, *shown, ["Total", "", "", "", *sums, "", "", ""]]
    formats = {0: "dd/mm/yyyy", 4: "0.0", 5: "0.0", 9: "0.0"}
    write_xlsx(
        str(folder / "gritting.xlsx"), [Sheet("Winter 24-25", lines, merged=("E1:F1", "G1:H1"), formats=formats)]
    )
    plain = [[*r[:8], r[8] * 60, *r[9:]] for r in rows]
    return placed("day way driver lorry plan salt far empty time cold note", plain, 3)


def rota(folder: Path) -> Rows:
    """Two sheets: shifts, and the nurses' contracts; whoever worked no overtime has no minutes."""
    rng = seeded("sixth, rota")
    tongues = {
        "Aoife Brennan": "Irish",
        "Marcus Bell": "none",
        "Yetunde Alli": "Yoruba",
        "Tom Pryce": "Welsh",
        "Katya Orlova": "Russian",
        "Sunil Perera": "Sinhala",
        "Wen Zhao": "Cantonese",
    }
    staff: list[Row] = []
    for name, tongue in tongues.items():
        joined = date(2009, 4, 1) + timedelta(rng.randrange(5400))
        week, rate = rng.choice((18.0, 24.0, 30.0, 37.5)), rng.randint(1750, 2790) / 100
        staff.append([name, rng.choice((5, 5, 6, 7)), joined, week, rate, tongue, rng.choice(("yes", "yes", "no"))])
    rows: list[Row] = []
    hours = {"early": 7.5, "late": 7.0, "night": 10.5}
    for day in days(rng, date(2025, 3, 1), date(2025, 4, 30), 62):
        kind = rng.choice(list(hours))
        extra: Any = rng.choice((10, 15, 25, 40, 75)) if rng.random() < 0.35 else ""
        ward = rng.choice(("Heron", "Heron", "Kestrel", "Wren"))
        covered = rng.choice(("yes", "no", "no", "no"))
        nurse = rng.choice([row[0] for row in staff if kind != "night" or row[6] == "yes"])
        rows.append([day, nurse, ward, kind, hours[kind], rng.randint(4, 19), extra, covered])
    header = ["Day", "Nurse", "Ward", "Turn", "Hours", "Patients", "Overtime (min)", "Swapped"]
    about = ["Name", "Band", "Joined", "Contract (h/week)", "Rate (£/h)", "Second language", "Does nights"]
    sheets = [
        Sheet("Turns", [header, *rows], formats={0: "dd mmm yyyy", 4: "0.0"}),
        Sheet("Staff", [about, *staff], formats={2: "dd mmm yyyy", 3: "0.0", 4: "0.00"}),
    ]
    write_xlsx(str(folder / "ward-rota.xlsx"), sheets)
    return placed("day nurse ward turn hours patients extra swapped", rows, part="turns") + placed(
        "name band joined week rate tongue nights", staff, part="staff"
    )


def dives(folder: Path) -> Rows:
    rng = seeded("sixth, dives")
    sites = {
        "Stoney Quay": 22,
        "SS Kyarra": 31,
        "Vobster": 25,
        "Blue Grotto": 40,
        "Farne Islands": 18,
        "Um El Faroud": 36,
    }
    sea = {"SS Kyarra", "Farne Islands", "Um El Faroud"}
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2023, 5, 6), date(2025, 9, 7), 44), start=133):
        site = rng.choice(list(sites))
        deep = round(sites[site] * rng.uniform(0.45, 1.0), 1)
        minutes = max(17, int(70 - deep + rng.randint(-11, 9)))
        warm: Any = rng.randint(7, 16) + (9 if site in {"Blue Grotto", "Um El Faroud"} else 0)
        start = rng.randint(188, 232)
        end = max(35, start - int(minutes * (1 + deep / 10) * rng.uniform(0.75, 1.15)))
        clear: Any = rng.randint(2, 25) if rng.random() < 0.88 else ""
        gas = rng.choice(("air", "air", "nitrox 32", "nitrox 36"))
        buddy, boat = rng.choice(listed("Pippa, Rohan, Gwen, Lars")), "yes" if site in sea else "no"
        rows.append([number, day, site, buddy, deep, minutes, warm, clear, start, end, gas, boat])
    header = [
        *("No", "Date", "Site", "Buddy", "Max depth (m)", "Bottom time (min)", "Water temperature (°C)"),
        *("Visibility (m)", "Pressure in (bar)", "Pressure out (bar)", "Gas", "From a boat"),
    ]
    write_csv(str(folder / "dive-log.csv"), [header, *[[*r[:4], english(r[4], 1), *r[5:]] for r in rows]])
    return placed("id day site buddy deep minutes warm clear start end gas boat", rows)


def quartet(folder: Path) -> Rows:
    """What a string quartet spent on tour: three currencies, one in each cell."""
    rng = seeded("sixth, quartet")
    towns = {"Basel": "CHF ", "Bern": "CHF ", "Ghent": "€", "Lille": "€", "Trier": "€", "York": "£", "Durham": "£"}
    usual = {"train": 48.0, "supper": 61.0, "hotel": 212.0, "strings": 37.0, "taxi": 19.0, "page turner": 30.0}
    rows: list[Row] = []
    stops = ["York", "Durham", "Lille", "Ghent", "Trier", "Basel", "Bern"]
    for at, day in enumerate(days(rng, date(2025, 5, 2), date(2025, 6, 8), 43)):
        town = stops[min(6, at * 7 // 43)]
        what = rng.choice(list(usual))
        money = round(usual[what] * rng.uniform(0.5, 1.7) * (1.4 if town in {"Basel", "Bern"} else 1), 2)
        who = rng.choice(listed("Leonie, Tomasz, Hye-jin, Ruth"))
        slip = rng.choice(("yes", "yes", "yes", "lost"))
        rows.append([day, town, what, who, money, slip, rng.choice(("", "", "", "shared with the hall", "late"))])
    header = ["When", "Town", "Spent on", "Advanced by", "Sum", "Receipt", "Remark"]
    shown = [[f"{r[0]:%d %b %Y}", *r[1:4], f"{towns[r[1]]}{r[4]:.2f}", *r[5:]] for r in rows]
    text = "Tour of May and June 2025. We settle up at home; nobody has been paid back yet."
    write_text(folder / "quartet-tour.md", markdown("Quartet on tour", text, header, shown))
    return placed("day town what who paid slip note", rows)


def regatta(folder: Path) -> Rows:
    """Times as min:s; a boat that did not finish has neither time nor place."""
    rng = seeded("sixth, regatta")
    clubs = {"Otter": "Tideway", "Kingfisher": "Tideway", "Grebe": "Marlow Reach", "Pike": "Marlow Reach",
             "Heron": "St Osyth", "Teal": "St Osyth", "Coot": "Wharfside"}  # fmt: skip
    classes = {"single": 475, "double": 440, "four": 402, "eight": 368}
    rows: list[list[Any]] = []
    for race in range(1, 10):
        kind = rng.choice(list(classes))
        boats = rng.sample(list(clubs), 5)
        ends = rng.sample(range(classes[kind] - 9, classes[kind] + 44), 5)
        for lane, (boat, end) in enumerate(zip(boats, ends, strict=True), start=1):
            half = end // 2 - rng.randint(1, 13)
            out = rng.random() < 0.08
            note = rng.choice(("capsized", "broken oar")) if out else rng.choice(("", "", "", "false start", "clashed"))
            rows.append([race, kind, boat, clubs[boat], lane, half, "" if out else end, "", note])
    for row in rows:
        faster = [each for each in rows if each[0] == row[0] and each[6] and row[6] and each[6] < row[6]]
        row[7] = len(faster) + 1 if row[6] else ""
    pace: Callable[[Any], str] = lambda value: f"{value // 60}:{value % 60:02}" if value else ""  # noqa: E731
    header = ["Heat", "Class", "Boat", "Club", "Lane", "Half way (min:s)", "Finish (min:s)", "Place", "Umpire"]
    shown = [[*r[:5], pace(r[5]), pace(r[6]), *r[7:]] for r in rows]
    write_html(str(folder / "regatta.html"), "Midsummer regatta, 21 June 2025", [("Results", header, shown, ())])
    return placed("race kind boat club lane half time place note", rows)


def band(folder: Path) -> Rows:
    """A brass band's rehearsals; the cellar's were never recorded, and some evenings had no cake."""
    rng = seeded("sixth, band")
    rows: list[Row] = []
    night = date(2024, 9, 3)
    while night < date(2025, 6, 20):
        hall = rng.choice(("drill hall", "drill hall", "school gym", "pub cellar"))
        head = rng.choice(("Enid", "Enid", "Mr Lark", "Stefan"))
        piece = rng.choice(listed("Gallant Fox, Slow Air, Harvest Suite, March of the Dairymen, Northern Lights"))
        here, sorry = rng.randint(11, 27), rng.randint(0, 8)
        minutes, taped = rng.choice((75, 90, 90, 105, 120)), "no" if hall == "pub cellar" else rng.choice(("yes", "no"))
        cake = rng.choice(listed("Doris, Ken, Bashir, -, -"))
        rows.append([night, hall, head, piece, here, sorry, minutes, cake.replace("-", ""), taped])
        night += timedelta(rng.choice((7, 7, 7, 7, 3, 10, 14)))
    header = ["Evening", "Venue", "Baton", "Main piece", "Players", "Excused", "Minutes", "Cake from", "Recorded"]
    write_ods(str(folder / "brass-band.ods"), "Rehearsals", [header, *rows])
    return placed("day hall head piece here sorry minutes cake taped", rows)


def cheese(folder: Path) -> Rows:
    """Wheels in a cellar with notes; what is not sold has neither buyer nor price."""
    rng = seeded("sixth, cheese")
    sorts = {
        "Old Biddy": ("cow", 7.4),
        "Nettle Crown": ("cow", 4.1),
        "Ewe Tarn": ("sheep", 3.2),
        "Ashen Nan": ("goat", 1.9),
    }
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 8, 5), date(2025, 4, 25), 37), start=612):
        sort = rng.choice(list(sorts))
        milk, usual = sorts[sort]
        heavy = round(usual * rng.uniform(0.88, 1.14), 2)
        light = round(heavy * rng.uniform(0.81, 0.96), 2)
        buyer = rng.choice(("", "", "Deli Marchand", "The Plough", "farm shop", "market"))
        price: Any = round(light * rng.uniform(17, 31), 2) if buyer else ""
        note = rng.choice(("", "", "", "cracked rind", "a bit salty", "mites", "prize winner"))
        rows.append([number, sort, milk, day, rng.choice("ABC"), heavy, light, buyer, price, note])
    header = [
        *("Wheel", "Sort", "Milk", "Made", "Rack", "Fresh (kg)", "Now (kg)", "Buyer", "Price (£)", "Cellar notes")
    ]
    shown = [[*r[:3], f"{r[3]:%d/%m/%Y}", *r[4:8], f"{r[8]:.2f}" if r[8] else "", r[9]] for r in rows]
    write_docx(str(folder / "cheese-cellar.docx"), "Cheese cellar", "Weighed on 30 April 2025.", [header, *shown])
    return placed("id sort milk day rack heavy light buyer price note", rows)


TASKS = """
Kindergarten Regenbogen; Soziales; ja; 412 | Grundschule; Soziales; ja; 297 | Freibad; Sport; nein; 184
Turnhalle; Sport; nein; 63 | Gemeindebücherei; Kultur; nein; 48 | Heimatmuseum; Kultur; nein; 21
Musikschule; Kultur; nein; 92 | Winterdienst; Bauhof; ja; 57 | Straßenunterhalt; Bauhof; ja; 238
Straßenbeleuchtung; Bauhof; ja; 71 | Grünpflege; Bauhof; nein; 66 | Friedhof; Bauhof; ja; 39
Wasserwerk; Bauhof; ja; 205 | Feuerwehr; Ordnung; ja; 117 | Standesamt; Ordnung; ja; 44 | Wahlen; Ordnung; ja; 14
Seniorentreff; Soziales; nein; 17 | Jugendhaus; Soziales; nein; 83 | Dorffest; Kultur; nein; 9
Ratsarbeit; Ordnung; ja; 33 | Breitband; Bauhof; nein; 149 | Partnerschaft Lannion; Kultur; nein; 6
"""


def budget(folder: Path) -> Rows:
    """A title, two rows of headers with years merged above, a row of sums, German numbers."""
    rng = seeded("sixth, budget")
    rows: list[Row] = []
    tasks = [each.strip().split("; ") for line in TASKS.strip().splitlines() for each in line.split(" | ")]
    for at, task in enumerate(tasks):
        plan = round(int(task[3]) * rng.uniform(960, 1040), -2)
        spent = round(plan * rng.uniform(0.72, 1.28), 2)
        future = round(spent * rng.uniform(0.9, 1.15), -2)
        grant: Any = round(future * rng.uniform(0.1, 0.4), -1) if rng.random() < 0.4 else ""
        rows.append([1100 + 20 * at + rng.randrange(9), *task[:2], plan, spent, future, grant, task[2]])
    last = len(rows) + 4
    sums = [Formula(f"=SUM({c}5:{c}{last})", total(r[at] or 0 for r in rows)) for at, c in enumerate("DEFG", start=3)]
    head: list[Row] = [
        ["Haushaltsplan der Gemeinde Lauchheim am Berg"],
        [],
        ["", "", "", "2024", "", "2025", "", ""],
        ["Kostenstelle", "Aufgabe", "Amt", "Ansatz (€)", "Ergebnis (€)", "Ansatz (€)", "Landeszuschuss (€)", "Pflicht"],
    ]
    lines: list[Row] = [*head, *rows, ["Summe", "", "", *sums, ""]]
    formats = dict.fromkeys(range(3, 7), "#,##0.00")
    page = Sheet("Haushalt", lines, merged=("A1:H1", "D3:E3", "F3:G3"), formats=formats)
    write_xlsx(str(folder / "gemeindehaushalt.xlsx"), [page])
    return placed("id task office plan24 real24 plan25 grant must", rows, 5)


def brigade(folder: Path) -> Rows:
    """A fire brigade's calls: German days, hours as Std:Min; no water was needed at most of them."""
    rng = seeded("sixth, brigade")
    kinds = {
        "Zimmerbrand": 150,
        "Flächenbrand": 190,
        "Ölspur": 75,
        "Türöffnung": 35,
        "Sturmschaden": 120,
        "Tierrettung": 60,
    }
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 1, 5), date(2024, 12, 28), 45), start=1):
        kind = rng.choice(list(kinds))
        place = rng.choice(listed("Oberdorf, Unterdorf, Weiler, Bahnhofsviertel"))
        water: Any = rng.randrange(400, 9_000, 50) if kind.endswith("brand") else ""
        leader = rng.choice(listed("Schröder, Yildiz, Baumann, Kessler"))
        minutes, crew = int(kinds[kind] * rng.uniform(0.5, 1.6)), rng.randint(4, 31)
        alarm, wrong = rng.randrange(1440), rng.choice(("ja", "nein", "nein", "nein", "nein"))
        rows.append(
            [
                f"E{number:02}",
                day,
                alarm,
                kind,
                place,
                crew,
                (crew + 7) // 8 + rng.randint(0, 1),
                minutes,
                water,
                leader,
                wrong,
            ]
        )
    header = [
        *("Nr.", "Datum", "Alarmzeit", "Stichwort", "Ortsteil", "Kräfte", "Fahrzeuge", "Dauer (Std:Min)"),
        *("Löschwasser (l)", "Leitung", "Fehlalarm"),
    ]
    litres: Callable[[Any], str] = lambda value: f"{value:,}".replace(",", ".") if value else ""  # noqa: E731
    shown = [[*r[:2], f"{r[2] // 60:02}:{r[2] % 60:02}", *r[3:7], clock(r[7]), litres(r[8]), *r[9:]] for r in rows]
    write_csv(str(folder / "einsaetze-2024.csv"), [header, *shown], ";", german)
    plain = [[*r[:2], r[2] * 60, *r[3:7], r[7] * 60, *r[8:]] for r in rows]
    return placed("id day alarm kind place crew cars time water leader wrong", plain)


def farm_shop(folder: Path) -> Rows:
    """Goods of four units: kilograms, litres, pieces and bunches."""
    rng = seeded("sixth, farm shop")
    goods = {
        "Kartoffeln": ("Gemüse", "kg", 1.8),
        "Möhren": ("Gemüse", "kg", 2.4),
        "Radieschen": ("Gemüse", "Bund", 1.6),
        "Äpfel": ("Obst", "kg", 2.9),
        "Apfelsaft": ("Getränke", "Liter", 2.2),
        "Milch": ("Getränke", "Liter", 1.4),
        "Eier": ("Tierisches", "Stück", 0.45),
        "Honig": ("Tierisches", "Stück", 6.5),
    }
    rows: list[Row] = []
    for day in days(rng, date(2025, 8, 1), date(2025, 10, 30), 56):
        ware = rng.choice(list(goods))
        group, unit, usual = goods[ware]
        much = (
            float(rng.randint(4, 60)) if ware == "Eier" else rng.randint(2, 24) / (2 if unit in {"kg", "Liter"} else 1)
        )
        money = round(much * usual * rng.uniform(0.9, 1.2), 2)
        bio = rng.choice(("ja", "nein")) if group != "Getränke" else "nein"
        rows.append([day, ware, group, much, unit, money, rng.choice(("bar", "bar", "Karte", "Anschreiben")),
                     rng.choice(("Hof Wegner", "Hof Wegner", "Nachbar Ihde", "Genossenschaft")), bio])  # fmt: skip
    header = ["Tag", "Ware", "Warengruppe", "Menge", "Einheit", "Erlös (€)", "Zahlart", "Erzeuger", "Bio"]
    write_csv(str(folder / "hofladen.csv"), [header, *[[*r[:3], german(r[3], 1), *r[4:]] for r in rows]], ";", german)
    return placed("day ware group much unit money how maker bio", rows)


def dues(folder: Path) -> Rows:
    """What members of a club owe for 2025; what has not come has no day."""
    rng = seeded("sixth, dues")
    names = listed(
        "Ahlers, Bachmann, Celik, Dittrich, Engel, Fröhlich, Gerdes, Hinrichs, Iwanow, Jessen, Kowalski, Lüders, "
        "Mertens, Nowak, Oltmanns, Petersen, Quast, Rademacher, Sievers, Tjarks, Ulrich, Voss, Wiemann, Zander"
    )
    usual = {"Tischtennis": 96.0, "Turnen": 72.0, "Kanu": 138.0, "Schach": 48.0}
    rows: list[Row] = []
    for name in names:
        sport, less = rng.choice(list(usual)), rng.choice(("ja", "nein", "nein"))
        since = date(1987, 3, 1) + timedelta(rng.randrange(13_500))
        due = round(usual[sport] * (0.6 if less == "ja" else 1) + rng.choice((0, 0, 6, 12.5)), 2)
        paid: Any = date(2025, 1, 8) + timedelta(rng.randrange(170)) if rng.random() < 0.74 else ""
        way = rng.choice(("Lastschrift", "Lastschrift", "Überweisung", "bar"))
        rows.append(
            [name, sport, since, due, less, way, paid, rng.choice((0, 0, 0, 1, 2)) if paid else rng.randint(1, 3)]
        )
    header = ["Mitglied", "Sparte", "Eintritt", "Jahresbeitrag", "Ermäßigt", "Zahlweise", "Eingegangen", "Mahnungen"]
    shown = [[*r[:2], german(r[2]), f"{german(r[3])} €", *r[4:6], german(r[6]), r[7]] for r in rows]
    text = "Stand: 30. Juni 2025. Wer nicht gezahlt hat, steht ohne Tag in der Liste."
    write_text(folder / "vereinsbeitraege.md", markdown("Vereinsbeiträge 2025", text, header, shown))
    return placed("who sport since due less way paid dunned", rows)


WORLDS: Mapping[str, Callable[[Path], Rows]] = {
    "lamps": lamps,
    "lost": lost,
    "gritting": gritting,
    "rota": rota,
    "dives": dives,
    "quartet": quartet,
    "regatta": regatta,
    "band": band,
    "cheese": cheese,
    "budget": budget,
    "brigade": brigade,
    "farm_shop": farm_shop,
    "dues": dues,
}
