"""The twelve tables of the second set's tuning half: each function writes a file and returns the rows behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.table_set.make_files import (
    Formula,
    Row,
    Sheet,
    days,
    english,
    german,
    listed,
    seeded,
    total,
    write_csv,
    write_docx,
    write_ods,
    write_xlsx,
)

Rows = list[SimpleNamespace]


def placed(names: str, rows: Sequence[Row], first: int = 2, **more: Any) -> Rows:
    """The source rows with names of columns; `row` is the row of the file, counted from *first*; "" is no value."""
    return [
        SimpleNamespace(
            sheet="", row=number, **more, **{k: None if v == "" else v for k, v in zip(names.split(), row, strict=True)}
        )
        for number, row in enumerate(rows, start=first)
    ]


def slashed(cell: Any) -> str:
    return f"{cell:%d/%m/%Y}" if isinstance(cell, date) else english(cell)


def markdown(title: str, text: str, header: Row, rows: Sequence[Row]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return f"# {title}\n\n{text}\n\n" + "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_notes(folder: Path, notes: str, body: str) -> Rows:
    """Notes from lines of `file; title; tags; status; day; number`, the day as `due`, the number by *body*'s name."""
    found = []
    for line in notes.strip().splitlines():
        name, title, tags, status, day, number = line.split("; ")
        head = [f"title: {title}", f"tags: [{tags}]", f"status: {status}"]
        head += [f"due: {day}"] if day != "-" else []
        head += [f"{body}: {number}"] if number != "-" else []
        text = "\n".join(["---", *head, "---", f"# {title}", "", "See the list on the desk.", ""])
        write_text(folder / f"{name}.md", text)
        due = date.fromisoformat(day) if day != "-" else None
        value = float(number) if number != "-" else None
        found.append(
            SimpleNamespace(
                sheet="", row=f"{name}.md", title=title, tags=tags.split(", "), status=status, due=due, value=value
            )
        )
    return found


def school_lending(folder: Path) -> Rows:
    rng = seeded("second, school-lending")
    things = {
        "Laptop": ("IT", 80.0),
        "Tablet": ("IT", 60.0),
        "Calculator": ("IT", 10.0),
        "Violin": ("Instrument", 95.0),
        "Clarinet": ("Instrument", 70.0),
        "Trumpet": ("Instrument", 65.0),
        "Hockey stick": ("Sport", 12.5),
        "Tennis racket": ("Sport", 15.0),
    }
    pupils = listed("Aaliyah, Bilal, Chloe, Dylan, Esme, Finley, Greta, Hamza, Imran, Jess, Keira, Lewis")
    classes = {name: ("7A", "7B", "8A", "8C")[number % 4] for number, name in enumerate(pupils)}
    rows: list[Row] = []
    for day in days(rng, date(2024, 9, 3), date(2025, 3, 20), 43):
        who, thing = rng.choice(pupils), rng.choice(list(things))
        kind, deposit = things[thing]
        back = day + timedelta(rng.randint(3, 40)) if rng.random() < 0.7 else ""
        rows.append([who, classes[who], thing, kind, day, day + timedelta(28), back, deposit])
    rows[17] = [
        "Keira",
        "8A",
        "Cello",
        "Instrument",
        rows[17][4],
        rows[17][4] + timedelta(28),
        date(2024, 12, 19),
        140.0,
    ]
    header = ["Pupil", "Class", "Item", "Category", "Lent on", "Due", "Returned", "Deposit (£)"]
    write_csv(str(folder / "lending-list.csv"), [header, *rows], write=slashed)
    return placed("who form item kind out due back deposit", rows)


def ship_arrivals(folder: Path) -> Rows:
    rng = seeded("second, ship-arrivals")
    ships = {
        "Nordic Star": ("Container ship", "Norway"),
        "Maria Lund": ("Bulk carrier", "Denmark"),
        "Santa Clara": ("Container ship", "Panama"),
        "Baltic Trader": ("General cargo", "Latvia"),
        "Petrol Dawn": ("Tanker", "Liberia"),
        "Cape Finn": ("Bulk carrier", "Finland"),
        "Gulf Heron": ("Tanker", "Malta"),
        "Azura Queen": ("Cruise ship", "Italy"),
        "Hanse Express": ("Container ship", "Germany"),
    }
    rows: list[Row] = []
    for day in days(rng, date(2024, 2, 1), date(2024, 6, 29), 48):
        name = rng.choice(list(ships))
        kind, flag = ships[name]
        cruise = kind == "Cruise ship"
        cargo = "" if cruise else f"{100 * rng.randint(18, 420):,}"
        port = rng.choice(("Rotterdam", "Gdansk", "Bilbao", "Riga", "Hull"))
        when = datetime(day.year, day.month, day.day, rng.randrange(24), 15 * rng.randrange(4))  # noqa: DTZ001
        stay = rng.randint(6, 14) if cruise else rng.randint(12, 70)
        rows.append([name, flag, kind, port, when, rng.randint(1, 7), rng.randint(58, 131) / 10, cargo, stay])
    rows.sort(key=lambda row: row[4])
    header = ["Vessel", "Flag", "Type", "Last port", "Arrived", "Berth", "Draught (m)", "Cargo (t)", "Stay (h)"]
    shown: Callable[[Any], str] = lambda c: f"{c:%Y-%m-%d %H:%M}" if isinstance(c, datetime) else english(c, 1)  # noqa: E731
    write_csv(str(folder / "arrivals.csv"), [header, *rows], write=shown)
    plain = [[*r[:4], r[4].date(), *r[5:7], float(r[7].replace(",", "")) if r[7] else "", r[8]] for r in rows]
    return placed("ship flag kind port day berth draught cargo stay", plain)


def allotments(folder: Path) -> Rows:
    rng = seeded("second, allotments")
    people = listed(
        "Familie Okafor, Brandl, Ehepaar Nguyen, Schuster, Pfeiffer, Familie Demir, Haas, Lorenz, Kowalski, Ziegler, "
        "Familie Rossi, Behrens, Thoma, Arslan, Winkler, Jansen, Ehepaar Vogt, Maurer, Sailer, Petrovic, Engel, Kuhn, "
        "Familie Ott, Baumann"
    )
    rows: list[Row] = []
    for number, who in enumerate(people, start=1):
        area = rng.randint(220, 560)
        power = float(rng.randint(30, 1400)) if rng.random() < 0.7 else ""
        paid = date(2024, 2, 1) + timedelta(rng.randrange(80)) if rng.random() < 0.8 else ""
        rows.append(
            [number, who, area, round(area * 0.38, 2), rng.randint(30, 480) / 10, power, rng.randint(0, 14), paid]
        )
    sums = [sum(row[2] for row in rows), *(total(row[k] or 0 for row in rows) for k in (3, 4, 5))]
    end = ["Summe", "", *sums, sum(row[6] for row in rows), ""]
    header = listed("Parzelle, Pächter, Fläche (m²), Pacht (€), Wasser (m³), Strom (kWh), Arbeitsstunden, Bezahlt am")
    lines = [[*row[:4], german(row[4], 1), german(row[5], 0) if row[5] else "", *row[6:]] for row in rows]
    last = [*end[:4], german(end[4], 1), german(end[5], 0), *end[6:]]
    write_csv(str(folder / "parzellen-2024.tsv"), [header, *lines, last], "\t", german)
    return placed("plot who area rent water power hours paid", rows)


def lab_samples(folder: Path) -> Rows:
    rng = seeded("second, lab-samples")
    sites = {
        "Mill pond": "surface water",
        "Well North": "groundwater",
        "Well South": "groundwater",
        "Canal lock": "surface water",
        "Quarry": "soil leachate",
    }
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 4, 2), date(2024, 7, 26), 40)):
        site = rng.choice(list(sites))
        lead = "n.d." if rng.random() < 0.25 else rng.randint(4, 190) / 10
        status = rng.choices(("released", "in progress", "rejected"), (6, 2, 2))[0]
        who = rng.choice(("Petra", "Oyelaran", "Marcus"))
        values = [rng.randint(20, 780) / 10, rng.randint(610, 860) / 100]
        rows.append([f"L-{1001 + number}", day, site, sites[site], lead, *values, who, status])
    header = ["Sample", "Taken", "Site", "Matrix", "Lead (µg/l)", "Nitrate (mg/l)", "pH", "Analyst", "Status"]
    sheet = Sheet("Samples", [["Water laboratory, list of samples"], [], header, *rows], formats={1: "dd.mm.yyyy"})
    write_xlsx(str(folder / "samples.xlsx"), [sheet])
    return placed("id day site matrix lead nitrate ph who status", rows, 4)


def bakery(folder: Path) -> Rows:
    """Two tables of one sheet, the upper with a merged header."""
    rng = seeded("second, bakery")
    goods = listed("Pretzel, Croissant, Rye loaf, Baguette, Spelt roll, Poppy bun, Walnut bread, Cheese stick")
    sold: list[list[Any]] = [[name, *(rng.randint(18, 190) for _ in range(6)), rng.randint(0, 25)] for name in goods]
    lines = [
        [*row[:7], Formula(f"=SUM(B{number}:G{number})", sum(row[1:7])), row[7]]
        for number, row in enumerate(sold, start=4)
    ]
    sums = [sum(row[k] for row in sold) for k in range(1, 7)]
    end = ["Total", *sums, sum(sums), sum(row[7] for row in sold)]
    stock: list[Row] = [
        ["Wheat flour 550", "Kessler Mill", 25, 17.9, 14],
        ["Rye flour 1150", "Kessler Mill", 25, 19.4, 6],
        ["Spelt flour 630", "Biomühle Au", 25, 38.5, 3],
        ["Butter", "Allgäu Dairy", 10, 72.0, 4],
        ["Yeast", "Henkel & Sohn", 0.5, 1.35, 22],
        ["Poppy seed", "Henkel & Sohn", 5, 27.8, 1],
        ["Walnuts", "Henkel & Sohn", 5, 61.5, 2],
        ["Gouda, grated", "Allgäu Dairy", 2, 15.6, 5],
        ["Salt", "Salina", 10, 4.2, 2],
    ]
    head: list[Row] = [
        ["Bakery, week 14 of 2024 (1 to 6 April)"],
        ["", "Pieces sold", *[""] * 6, ""],
        [*listed("Product, Mon, Tue, Wed, Thu, Fri, Sat, Week, Returned")],
    ]
    lower: Row = ["Ingredient", "Supplier", "Pack (kg)", "Price per pack (€)", "Packs used"]
    rows = [*head, *lines, end, [], ["Ingredients used in the week"], lower, *stock]
    write_xlsx(str(folder / "bakery-week-14.xlsx"), [Sheet("Week 14", rows, merged=("B2:H2",))])
    weekly: list[Row] = [[*row[:7], sum(row[1:7]), row[7]] for row in sold]
    upper = placed("name mon tue wed thu fri sat week back", weekly, 4, part="sold")
    return upper + placed("name supplier pack price used", stock, 4 + len(lines) + 4, part="stock")


def theatre(folder: Path) -> Rows:
    props: list[Row] = [
        ["Skull", "Act 5", "Town museum", 45.0, "no"],
        ["Rapier, blunt", "Act 5", "Fencing club", 120.0, "yes"],
        ["Goblet", "Act 5", "Own stock", 8.5, "yes"],
        ["Letter with seal", "Act 4", "Own stock", 2.0, "yes"],
        ["Throne", "Act 1", "Parish hall", 260.0, "no"],
        ["Lantern", "Act 1", "Own stock", 14.0, "yes"],
        ["Crown", "Act 1", "Costume hire Lamb", 75.0, "no"],
        ["Spade", "Act 5", "Parish hall", 18.0, "yes"],
        ["Flute", "Act 3", "Music school", 190.0, "no"],
        ["Curtain, red", "Act 3", "Parish hall", 85.0, "yes"],
    ]
    clothes: list[Row] = [
        ["Black doublet", "Hamlet", "M", 22.0, date(2025, 6, 2)],
        ["Royal robe", "Claudius", "XL", 48.0, date(2025, 6, 2)],
        ["Green gown", "Gertrude", "S", 39.5, date(2025, 6, 9)],
        ["White dress", "Ophelia", "S", 31.0, date(2025, 6, 9)],
        ["Armour", "Ghost", "L", 65.0, date(2025, 5, 30)],
        ["Grey coat", "Polonius", "L", 17.5, date(2025, 6, 16)],
        ["Travelling cloak", "Horatio", "M", 19.0, date(2025, 6, 16)],
        ["Fool's cap", "Gravedigger", "M", 6.0, date(2025, 6, 2)],
    ]
    rows = [
        ["Props"],
        ["Prop", "Scene", "Owner", "Value (£)", "Given back"],
        *props,
        [],
        ["Costumes on hire"],
        ["Costume", "Character", "Size", "Hire (£)", "Due back"],
        *clothes,
    ]
    write_xlsx(str(folder / "hamlet-fundus.xlsx"), [Sheet("Fundus", rows)])
    first = placed("name scene owner value back", props, 3, part="props")
    return first + placed("name character size hire due", clothes, 6 + len(props), part="clothes")


def repair_cafe(folder: Path) -> Rows:
    rng = seeded("second, repair-cafe")
    things = {
        "Toaster": "Electrical",
        "Hair dryer": "Electrical",
        "Lamp": "Electrical",
        "Radio": "Electrical",
        "Bicycle": "Bikes",
        "Scooter": "Bikes",
        "Jeans": "Textiles",
        "Zip of a jacket": "Textiles",
        "Wooden chair": "Furniture",
        "Drawer": "Furniture",
    }
    evenings = [date(2024, 1, 12), date(2024, 2, 9), date(2024, 3, 8), date(2024, 4, 12), date(2024, 5, 10)]
    rows: list[Row] = []
    for day in evenings:
        for _ in range(rng.randint(8, 11)):
            thing = rng.choice(list(things))
            outcome = rng.choices(("repaired", "part needed", "beyond repair"), (6, 2, 2))[0]
            gift = float(rng.choice((2, 3, 5, 10, 20))) if rng.random() < 0.7 else ""
            helper = rng.choice(("Walter", "Dilek", "Hugo", "Ines"))
            rows.append(
                [day, thing, things[thing], helper, outcome, 5 * rng.randint(2, 24), rng.randint(2, 180) / 10, gift]
            )
    header = ["Evening", "Object", "Category", "Fixer", "Result", "Minutes", "Weight (kg)", "Donation (€)"]
    write_ods(str(folder / "repair-cafe.ods"), "Visits", [header, *rows])
    return placed("day thing kind who result minutes weight gift", rows)


def observing_log(folder: Path) -> Rows:
    """A page with a header of two rows and no words but the table's."""
    rng = seeded("second, observing-log")
    sky = {
        "Andromeda Galaxy": ("galaxy", 3.4),
        "Orion Nebula": ("nebula", 4.0),
        "Ring Nebula": ("nebula", 8.8),
        "Jupiter": ("planet", -2.4),
        "Saturn": ("planet", 0.7),
        "Double Cluster": ("open cluster", 4.3),
        "M13": ("globular cluster", 5.8),
        "Albireo": ("double star", 3.1),
        "Whirlpool Galaxy": ("galaxy", 8.4),
    }
    rows: list[Row] = []
    for day in days(rng, date(2023, 9, 1), date(2024, 8, 30), 30):
        name = rng.choice(list(sky))
        scope = rng.choice(("8-inch Dobsonian", "80 mm refractor", "10x50 binoculars"))
        lens = "" if "bino" in scope else rng.choice((6, 10, 17, 25, 32))
        seen = rng.choice(("poor", "fair", "good", "excellent"))
        rows.append([day, name, *sky[name], scope, lens, seen, rng.randint(5, 90)])
    cells = [[f"{row[0]:%d %b %Y}", *row[1:3], f"{row[3]:.1f}", *row[4:]] for row in rows]
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    write_text(
        folder / "observing-log.html",
        "<!doctype html>\n<html lang=en><head><title>Observing log</title></head><body><h1>Observing log</h1>\n<table>"
        '<thead><tr><th rowspan="2">Night</th><th colspan="3">Target</th><th colspan="2">Optics</th>'
        '<th rowspan="2">Seeing</th><th rowspan="2">Time at the eyepiece (min)</th></tr>\n'
        "<tr><th>Object</th><th>Type</th><th>Magnitude</th><th>Telescope</th><th>Eyepiece (mm)</th></tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></body></html>\n",
    )
    return placed("day name kind mag scope lens seeing minutes", rows, 3)


def canteen(folder: Path) -> Rows:
    dishes = """
Lentil stew; 520; 4.20; vegan; celery; 84
Chicken curry; 710; 5.90; meat; milk; 131
Cheese spaetzle; 890; 5.10; vegetarian; milk, wheat, egg; 117
Fish fingers with mash; 640; 5.50; fish; fish, wheat, milk; 98
Pumpkin soup; 380; 3.60; vegan; none; 62
Beef goulash; 780; 6.80; meat; wheat; 143
Falafel bowl; 590; 5.40; vegan; sesame; 109
Pasta bolognese; 820; 5.60; meat; wheat, celery; 158
Spinach lasagne; 760; 5.30; vegetarian; milk, wheat; 92
Salmon with dill rice; 690; 7.40; fish; fish, milk; 87
Bean chilli; 560; 4.50; vegan; none; 101
Schnitzel with chips; 980; 6.90; meat; wheat, egg; 176
Potato pancakes; 730; 4.40; vegetarian; egg, wheat; 125
Tofu stir-fry; 540; 5.20; vegan; soya; 71
Turkey ragout; 660; 6.10; meat; milk; 112
Caesar salad; 450; 5.70; fish; fish, egg, milk; 66
Mushroom risotto; 610; 5.30; vegetarian; milk; 94
Lamb meatballs; 840; 7.20; meat; wheat, egg; 89
Carrot soup; 340; 3.50; vegan; none; 58
Pizza margherita; 870; 5.00; vegetarian; wheat, milk; 164
"""
    rows: list[Row] = []
    for number, line in enumerate(dishes.strip().splitlines()):
        name, kcal, price, diet, allergens, portions = line.split("; ")
        day = date(2024, 3, 4) + timedelta(number // 2 + 2 * (number // 10))
        rows.append([day, name, int(kcal), float(price), diet, allergens, int(portions)])
    shown = [[f"{row[0]:%a %d %b %Y}", *row[1:3], f"{row[3]:.2f}".replace(".", ","), *row[4:]] for row in rows]
    header = ["Day", "Dish", "Energy (kcal)", "Price €", "Diet", "Allergens", "Portions sold"]
    write_docx(str(folder / "canteen-march.docx"), "Canteen, 4 to 15 March 2024", "Two dishes a day.", [header, *shown])
    return placed("day dish kcal price diet allergens portions", rows)


def knitting(folder: Path) -> Rows:
    lines = """
Striped scarf; Dad; Drops Karisma; navy; 4.5; 210; 18.60; 2023-10-02; 2023-11-19
Baby cardigan; Noah; Rico Baby; yellow; 3.0; 140; 14.25; 2023-11-05; 2024-01-07
Cable hat; me; Malabrigo Rios; teal; 5.0; 95; 16.90; 2023-12-01; 2023-12-09
Mittens; Gran; Drops Nepal; red; 4.0; 80; 7.80; 2023-12-10; 2023-12-23
Aran jumper; Tom; West Yorkshire Spinners; cream; 4.5; 720; 68.40; 2024-01-08;
Lace shawl; Gran; Malabrigo Lace; plum; 3.5; 100; 21.50; 2024-01-20; 2024-04-14
Socks, plain; me; Opal; grey; 2.5; 98; 9.95; 2024-02-03; 2024-02-25
Socks, cabled; Dad; Regia; green; 2.5; 104; 8.75; 2024-03-01; 2024-03-30
Tea cosy; school fair; Drops Nepal; orange; 5.0; 110; 9.40; 2024-03-11; 2024-03-15
Toy rabbit; Noah; Rico Baby; white; 3.0; 60; 6.10; 2024-04-02; 2024-04-09
Vest; Tom; Drops Karisma; navy; 4.0; 340; 30.15; 2024-04-20;
Baby blanket; Aisha; Rico Baby; mint; 4.0; 380; 38.00; 2024-05-01; 2024-06-16
Headband; me; Malabrigo Rios; plum; 5.0; 45; 8.45; 2024-05-18; 2024-05-19
Cowl; school fair; Opal; teal; 3.5; 120; 11.20; 2024-06-01;
"""
    rows: list[Row] = []
    for line in lines.strip().splitlines():
        name, who, yarn, colour, size, grams, cost, began, ended = (cell.strip() for cell in line.split(";"))
        end = date.fromisoformat(ended) if ended else ""
        rows.append([name, who, yarn, colour, float(size), int(grams), float(cost), date.fromisoformat(began), end])
    shown = [[*row[:6], f"£{row[6]:.2f}", row[7], row[8]] for row in rows]
    header = ["Project", "For", "Yarn", "Colour", "Needles (mm)", "Wool (g)", "Cost", "Started", "Finished"]
    write_text(folder / "knitting.md", markdown("Knitting", "What is on the needles and what is off.", header, shown))
    return placed("name who yarn colour size grams cost began ended", rows)


def reading_notes(folder: Path) -> Rows:
    return write_notes(
        folder / "reading-notes",
        """
dune; Dune; novel, science fiction; finished; 2024-02-11; 5
sapiens; Sapiens; history; finished; 2024-03-02; 3
middlemarch; Middlemarch; novel, classic; reading; 2024-12-31; -
emma; Emma; novel, classic; finished; 2024-01-20; 4
guns-germs; Guns, Germs, and Steel; history; abandoned; 2024-04-05; 2
solaris; Solaris; novel, science fiction; finished; 2024-05-17; 4
spqr; SPQR; history, rome; reading; 2024-11-15; -
meditations; Meditations; philosophy, rome; finished; 2024-06-08; 5
neuromancer; Neuromancer; novel, science fiction; to read; 2025-02-01; -
silent-spring; Silent Spring; nature; finished; 2024-07-21; 4
walden; Walden; nature, classic; abandoned; 2024-08-30; 2
h-is-for-hawk; H is for Hawk; nature, memoir; to read; 2025-01-15; -
educated; Educated; memoir; finished; 2024-09-12; 5
persuasion; Persuasion; novel, classic; to read; 2025-03-10; -
""",
        "rating",
    )


def travel_ideas(folder: Path) -> Rows:
    return write_notes(
        folder / "reiseideen",
        """
lofoten; Lofoten im Winter; insel, norden; Idee; 2025-02-10; 1900
elberadweg; Elberadweg; fahrrad; erledigt; 2024-06-14; 640
zugspitze; Zugspitze über das Höllental; wandern, berge; geplant; 2025-07-05; 220
amrum; Amrum mit den Kindern; insel, familie; erledigt; 2024-08-03; 1350
lissabon; Lissabon; stadt; geplant; 2025-04-18; 780
schwarzwald; Westweg im Schwarzwald; wandern; Idee; 2025-09-01; 410
hiddensee; Hiddensee; insel; Idee; 2025-05-29; 560
bodensee; Bodensee-Rundweg; fahrrad, familie; geplant; 2025-08-11; 530
dresden; Dresden an Advent; stadt; erledigt; 2024-12-06; 295
watzmann; Watzmannhaus; wandern, berge; verworfen; 2024-09-20; 180
korsika; Korsika zu Fuß; insel, wandern; Idee; 2026-06-01; 1480
weimar; Weimar; stadt; geplant; 2025-03-08; 240
""",
        "kosten",
    )


TUNING: dict[str, Callable[[Path], Rows]] = {
    "school-lending": school_lending,
    "ship-arrivals": ship_arrivals,
    "allotments": allotments,
    "lab-samples": lab_samples,
    "bakery": bakery,
    "theatre": theatre,
    "repair-cafe": repair_cafe,
    "observing-log": observing_log,
    "canteen": canteen,
    "knitting": knitting,
    "reading-notes": reading_notes,
    "travel-ideas": travel_ideas,
}
