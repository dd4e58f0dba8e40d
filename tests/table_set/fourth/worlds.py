"""The twelve tables of the fourth set: each function writes a file and returns the rows behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import xlwt

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
    write_html,
    write_ods,
    write_xlsx,
)
from tests.table_set.second.worlds_tuning import Rows, markdown, placed, slashed, write_text


def pounds(cell: Any) -> str:
    return f"£{cell:,.2f}" if isinstance(cell, float) else english(cell)


def permits(folder: Path) -> Rows:
    """Applications, the dates in two ways as two clerks write them; open ones have no decision."""
    rng = seeded("fourth, permits")
    works = {"Loft conversion": 412, "Rear extension": 528, "Garage": 206, "Dormer": 318, "Shopfront": 640, "Fence": 96}
    people = listed("Mr Achebe, Mrs Lindgren, Ms Okafor, Tanner Homes Ltd, Mr Whitlock, Dr Voss, Crown Bakery Ltd")
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 1, 8), date(2025, 2, 20), 42), start=118):
        work = rng.choice(list(works))
        outcome = rng.choices(("granted", "refused", "withdrawn", "pending"), (6, 2, 1, 2))[0]
        decided = day + timedelta(rng.randint(18, 96)) if outcome in {"granted", "refused"} else ""
        ward = rng.choice(("Eastgate", "Millfields", "St John's", "Harbour"))
        clerk = rng.choice(("Farrow", "Iqbal"))
        fee = works[work] * rng.choice((1.0, 1.0, 2.0)) if outcome != "withdrawn" else ""
        rows.append([f"BP/{number}", day, rng.choice(people), work, ward, clerk, outcome, decided, fee])
    header = ["Ref", "Received", "Applicant", "Type of work", "Ward", "Case officer", "Decision", "Decided on", "Fee"]
    shown = [[r[0], *(f"{c:%d %b %Y}" if r[5] == "Iqbal" and isinstance(c, date) else c for c in r[1:])] for r in rows]
    write: Callable[[Any], str] = lambda cell: pounds(cell) if isinstance(cell, float) else slashed(cell)  # noqa: E731
    write_csv(str(folder / "building-permits.csv"), [header, *shown], write=write)
    return placed("ref day who work ward clerk outcome decided fee", rows)


def trees(folder: Path) -> Rows:
    rng = seeded("fourth, trees")
    kinds = {"Lime": 24, "London plane": 30, "Hornbeam": 16, "Field maple": 12, "Ginkgo": 14, "Rowan": 9, "Oak": 26}
    streets = listed("Station Road, Quay Street, Chapel Lane, Park Avenue, Mercer Row")
    rows: list[Row] = []
    for number in range(301, 351):
        kind = rng.choice(list(kinds))
        planted = rng.choice((1936, 1958, 1974, 1987, 1999, 2008, 2015, 2021))
        tall = round(min(kinds[kind], 2 + (2025 - planted) * 0.42) * rng.uniform(0.75, 1.1), 1)
        state = rng.choices(("good", "fair", "poor", "dead"), (6, 4, 2, 1))[0]
        todo = {"poor": "crown reduction", "dead": "fell"}.get(state) or rng.choice(("", "", "", "remove ivy", "prune"))
        seen = date(2024, 4, 2) + timedelta(rng.randrange(300))
        girth = round(tall * rng.uniform(5, 12))
        rows.append([f"T{number}", kind, rng.choice(streets), planted, tall, girth, state, seen, todo])
    header = listed("Tree no., Species, Street, Planted, Height (m), Girth (cm), Condition, Last inspected, Action")
    write_csv(str(folder / "street-trees.csv"), [header, *rows], ";", lambda cell: english(cell, 1))
    return placed("id kind street planted tall girth state seen todo", rows)


def lifts(folder: Path) -> Rows:
    rng = seeded("fourth, lifts")
    places = {
        "A-01": "Rathaus",
        "A-02": "Rathaus",
        "A-03": "Stadtbad",
        "A-04": "Parkhaus Mitte",
        "A-05": "Klinikum",
        "A-06": "Klinikum",
    }
    parts = {"Türantrieb": 640, "Tragseil": 2150, "Notrufmodul": 380, "Steuerplatine": 1275}
    rows: list[Row] = []
    for day in days(rng, date(2023, 3, 6), date(2025, 1, 30), 40):
        lift, kind = rng.choice(list(places)), rng.choice(("Wartung", "Wartung", "Störung", "TÜV-Prüfung"))
        part = rng.choice(list(parts)) if kind == "Störung" and rng.random() < 0.8 else ""
        down = rng.randint(5, 460) / 10 if kind == "Störung" else rng.choice((1.5, 2.0, 3.5))
        cost = round((parts[part] if part else 0) + rng.uniform(120, 490), 2)
        who = rng.choice(("Schindler", "Otis", "Hausmeister Krug"))
        rows.append([day, lift, places[lift], kind, who, part, german(down, 1), cost])
    end = ["Summe", *[""] * 6, total(row[7] for row in rows)]
    header = ["Datum", "Aufzug", "Gebäude", "Einsatzart", "Firma", "Ersatzteil", "Stillstand (Std.)", "Kosten (€)"]
    write_csv(str(folder / "aufzugsbuch.csv"), [header, *rows, end], ";", german, "utf-8-sig")
    plain = [[*r[:6], float(r[6].replace(",", ".")), r[7]] for r in rows]
    return placed("day lift place kind firm part down cost", plain)


def podcast(folder: Path) -> Rows:
    """American dates and dollars, an export with tabs."""
    rng = seeded("fourth, podcast")
    titles = listed(
        "Salt Roads, Night Trains, The Lighthouse Tax, Paper Money, Lost Recipes, Whale Songs, The Ice Trade, "
        "Clockmakers, Border Towns, Postal Codes, Rubber Soles, The Great Stink, Canary Girls, Glass Eyes, Windmills, "
        "Coffee Wars, Ghost Stations, The Cork Oak, Map Traps, Silent Cinema, Peat, Barbed Wire, Pencil Factory, "
        "The Dead Sea, Tulip Mania, Sign Painters, Moon Rocks, Bridge Keepers"
    )
    guests = listed("Dr Amy Sato, Luis Ortega, Hannah Briggs, none, Prof. Okoye")
    rows: list[Row] = []
    for number, (title, day) in enumerate(zip(titles, days(rng, date(2023, 9, 4), date(2025, 2, 24), 28), strict=True)):
        guest, sponsor = rng.choice(guests), rng.choice(("Brewly", "Northbank", "Inkwell Pens", ""))
        heard = rng.randint(900, 41_000)
        money = round(heard * rng.uniform(0.011, 0.03), 2) if sponsor else ""
        rows.append(
            [31 + number, title, day, "" if guest == "none" else guest, rng.randint(24, 88), heard, sponsor, money]
        )
    header = ["Episode", "Title", "Released", "Guest", "Length (min)", "Downloads", "Sponsor", "Ad revenue ($)"]
    shown = [[*r[:2], f"{r[2]:%b} {r[2].day}, {r[2].year}", *r[3:5], f"{r[5]:,}", *r[6:]] for r in rows]
    write_csv(str(folder / "podcast-stats.tsv"), [header, *shown], "\t")
    return placed("number title day guest minutes heard sponsor money", rows)


def dialysis(folder: Path) -> Rows:
    rng = seeded("fourth, dialysis")
    things = {
        "Dialyser FX 80": "Filters",
        "Dialyser FX 100": "Filters",
        "Endotoxin filter": "Filters",
        "Blood line set": "Tubing",
        "Infusion line": "Tubing",
        "Fistula needle 15G": "Needles",
        "Fistula needle 16G": "Needles",
        "Heparin syringe": "Needles",
        "Acid concentrate": "Fluids",
        "Bicarbonate cartridge": "Fluids",
        "Saline 1000 ml": "Fluids",
        "Citric acid": "Fluids",
        "Dressing pack": "Dressings",
        "Gauze swabs": "Dressings",
        "Haemostatic plaster": "Dressings",
        "Nitrile gloves": "Protection",
        "Face shield": "Protection",
        "Apron": "Protection",
    }
    rows: list[Row] = []
    stores = ("Room 2", "Cellar", "Corridor")
    for thing, kind in things.items():
        least = rng.choice((4, 6, 10, 12))
        until = date(2025, 3, 31) + timedelta(rng.randrange(900)) if kind != "Protection" else ""
        maker = rng.choice(("Fresenius", "Nipro", "B. Braun"))
        stock, last = rng.randint(0, 30), date(2025, 2, 1) + timedelta(rng.randrange(40))
        pieces, price, store = rng.choice((20, 24, 50, 100)), rng.randint(480, 21000) / 100, rng.choice(stores)
        rows.append([thing, kind, maker, pieces, stock, least, price, until, store, last])
    header = [
        *("Item", "Category", "Manufacturer", "Pieces per box", "Boxes on hand", "Reorder level", "Price per box (€)"),
        *("Expires", "Store", "Counted"),
    ]
    sheet = Sheet("Stock", [["Dialysis ward, consumables"], ["Printed 14.03.2025"], [], header, *rows],
                  merged=("A1:J1",), formats={6: '#,##0.00 "€"', 7: "dd.mm.yyyy", 9: "dd.mm.yyyy"})  # fmt: skip
    write_xlsx(str(folder / "dialysis-stock.xlsx"), [sheet])
    return placed("item kind maker pieces stock least price until store counted", rows, 5)


def grant(folder: Path) -> Rows:
    """Two sheets: lines of the budget with sums, and the partners."""
    rng = seeded("fourth, grant")
    partners: list[Row] = [
        ["Uni Ghent", "Belgium", "Prof. De Smet", 14, date(2024, 1, 1)],
        ["TU Brno", "Czechia", "Dr Havel", 9, date(2024, 1, 1)],
        ["Marine Institute", "Ireland", "Dr Byrne", 22, date(2024, 3, 1)],
        ["Algae Works", "Portugal", "Ms Teixeira", 6, date(2024, 6, 15)],
        ["City of Turku", "Finland", "Mr Salonen", 4, date(2024, 9, 1)],
    ]
    packages = {"WP1": "Management", "WP2": "Sampling", "WP3": "Modelling", "WP4": "Outreach"}
    lines: list[list[Any]] = []
    for code, name in packages.items():
        for kind in ("Staff", "Travel", "Equipment", "Subcontracts"):
            who = rng.choice([row[0] for row in partners])
            plan = float(rng.randint(30, 1800) * 100)
            spent = round(plan * rng.choice((0.0, 0.35, 0.6, 0.85, 1.15)) * rng.uniform(0.9, 1.0), 2)
            lines.append([code, name, kind, who, plan, spent, round(plan - spent, 2)])
    shown = [[*row[:6], Formula(f"=E{at}-F{at}", row[6])] for at, row in enumerate(lines, start=2)]
    end = ["Total", "", "", "", *(Formula(f"=SUM({c}2:{c}17)", total(r[k] for r in lines)) for c, k in
                                  (("E", 4), ("F", 5), ("G", 6)))]  # fmt: skip
    header = ["WP", "Work package", "Cost type", "Partner", "Budget (EUR)", "Spent (EUR)", "Left (EUR)"]
    money = dict.fromkeys((4, 5, 6), "#,##0.00")
    second: Row = ["Partner", "Country", "Lead scientist", "Person-months", "Joined"]
    sheets = [Sheet("Costs", [header, *shown, end], formats=money), Sheet("Partners", [second, *partners])]
    write_xlsx(str(folder / "seagrass-grant.xlsx"), sheets)
    return placed("code name kind who plan spent left", lines, part="costs") + placed(
        "who country lead months joined", partners, part="partners"
    )


def energy(folder: Path) -> Rows:
    """A header of two rows, the years merged above; buildings without gas have blanks."""
    rng = seeded("fourth, energy")
    sites = {
        "Town hall": "Office",
        "Library": "Culture",
        "Fire station": "Services",
        "Swimming pool": "Leisure",
        "Sports hall": "Leisure",
        "Primary school": "School",
        "High school": "School",
        "Nursery": "School",
        "Theatre": "Culture",
        "Depot": "Services",
        "Bus garage": "Services",
        "Cemetery chapel": "Culture",
        "Museum store": "Culture",
        "Ice rink": "Leisure",
        "Tourist office": "Office",
    }
    rows: list[list[Any]] = []
    for name, kind in sites.items():
        power = rng.randint(9, 410) * 1000
        gas: Any = rng.randint(12, 900) * 1000 if rng.random() < 0.75 else ""
        row: list[Any] = [name, kind, rng.randint(140, 7800)]
        for factor in (1.0, rng.uniform(0.8, 1.15)):
            used = int(power * factor)
            burnt: Any = int(gas * factor * 0.96) if gas else ""
            row += [used, burnt, round(used * 0.29 + (burnt or 0) * 0.11, 2)]
        rows.append(row)
    end = ["Total", "", *(total(row[k] or 0 for row in rows) for k in range(2, 9))]
    head: list[Row] = [
        ["", "", "", "2023", "", "", "2024", "", ""],
        ["Building", "Use", "Floor area (m²)", *("Electricity (kWh)", "Gas (kWh)", "Cost (£)") * 2],
    ]
    formats = dict.fromkeys((5, 8), "#,##0.00") | dict.fromkeys((3, 4, 6, 7), "#,##0")
    write_xlsx(
        str(folder / "municipal-energy.xlsx"),
        [Sheet("Energy", [*head, *rows, end], merged=("D1:F1", "G1:I1"), formats=formats)],
    )
    return placed("site kind area power23 gas23 cost23 power24 gas24 cost24", rows, 3)


def orchard(folder: Path) -> Rows:
    rng = seeded("fourth, orchard")
    fruits = {
        "Boskoop": "Apfel",
        "Elstar": "Apfel",
        "Topaz": "Apfel",
        "Conference": "Birne",
        "Williams": "Birne",
        "Hauszwetschge": "Zwetschge",
        "Cydora": "Quitte",
    }
    prices = {"Apfel": 1.4, "Birne": 1.9, "Zwetschge": 2.2, "Quitte": 2.6}
    rows: list[Row] = []
    for day in days(rng, date(2024, 8, 21), date(2024, 10, 26), 44):
        name = rng.choice(list(fruits))
        kilos, buyer = float(rng.randint(12, 340)), rng.choice(("Mosterei Benz", "Hofladen", "Wochenmarkt", ""))
        grade = rng.choice(("I", "II", "Most"))
        money = round(kilos * prices[fruits[name]] * {"I": 1.0, "II": 0.7, "Most": 0.25}[grade], 2) if buyer else ""
        rows.append([day, name, fruits[name], grade, kilos, rng.randint(1, 5), buyer, money])
    header = ["Gepflückt am", "Sorte", "Obstart", "Handelsklasse", "Menge (kg)", "Helfer", "Abnehmer", "Erlös (€)"]
    write_ods(str(folder / "obsternte-2024.ods"), "Ernte", [header, *rows])
    return placed("day name kind grade kilos helpers buyer money", rows)


def roastery(folder: Path) -> Rows:
    """The old format of Excel, with a title; batches that were not tasted have no points."""
    rng = seeded("fourth, roastery")
    beans = {
        "Yirgacheffe": "Äthiopien",
        "Huila": "Kolumbien",
        "Santos": "Brasilien",
        "Sidamo": "Äthiopien",
        "Antigua": "Guatemala",
        "Malabar": "Indien",
    }
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 9, 2), date(2025, 1, 31), 36), start=700):
        bean, green = rng.choice(list(beans)), float(rng.choice((6, 10, 12, 15)))
        level = rng.choice(("hell", "mittel", "dunkel"))
        out = round(green * {"hell": 0.88, "mittel": 0.855, "dunkel": 0.82}[level] * rng.uniform(0.985, 1.01), 2)
        points = rng.randint(158, 181) / 2 if rng.random() < 0.7 else ""
        who = rng.choice(("Ayşe", "Benno", "Clara"))
        rows.append([number, day, bean, beans[bean], level, who, green, out, rng.randint(195, 232), points])
    header = listed(
        "Charge, Röstdatum, Bohne, Herkunft, Röstgrad, Röster, Rohkaffee (kg), Röstkaffee (kg), Temperatur (°C), Punkte"
    )
    book = xlwt.Workbook()
    page, day_format = book.add_sheet("Röstungen"), xlwt.easyxf(num_format_str="DD.MM.YYYY")
    page.write_merge(0, 0, 0, 9, "Röstprotokoll Herbst und Winter")
    for at, row in enumerate([header, *rows], start=1):
        for column, cell in enumerate(row):
            if cell != "":
                page.write(at, column, cell, day_format if isinstance(cell, date) else xlwt.easyxf())
    folder.mkdir(parents=True, exist_ok=True)
    book.save(str(folder / "roestungen.xls"))
    return placed("id day bean land level who green out heat points", rows, 3)


def vets(folder: Path) -> Rows:
    rng = seeded("fourth, vets")
    pets: Mapping[str, tuple[str, str, float]] = {
        "Biscuit": ("dog", "Mrs Doyle", 12.4),
        "Pepper": ("cat", "Mr Hale", 4.1),
        "Olive": ("cat", "Ms Kaur", 3.6),
        "Rufus": ("dog", "Mr Hale", 31.0),
        "Thumper": ("rabbit", "Mrs Nkemelu", 2.2),
        "Captain": ("parrot", "Mr Silva", 0.5),
        "Mabel": ("dog", "Ms Kaur", 8.7),
        "Socks": ("cat", "Mrs Doyle", 5.2),
        "Nibbles": ("hamster", "Mrs Nkemelu", 0.1),
    }
    reasons = {"vaccination": 48, "dental": 210, "limping": 85, "check-up": 42, "ear infection": 64, "skin": 72}
    rows: list[Row] = []
    for day in days(rng, date(2024, 11, 4), date(2025, 3, 14), 44):
        name, why = rng.choice(list(pets)), rng.choice(list(reasons))
        bill = round(reasons[why] * rng.uniform(0.85, 1.4), 2)
        kind, owner, usual = pets[name]
        vet, paid = rng.choice(("Dr Reyes", "Dr Molloy")), rng.choice(("card", "cash", "insurance", "unpaid"))
        weight = round(usual * rng.uniform(0.93, 1.07), 1)
        rows.append([day, name, kind, owner, why, vet, rng.choice((15, 20, 30, 45, 60)), f"{weight:.1f}", bill, paid])
    header = ["Date", "Animal", "Species", "Owner", "Reason", "Vet", "Minutes", "Weight (kg)", "Bill", "Paid by"]
    shown = [[f"{r[0].day} {r[0]:%B %Y}", *r[1:8], pounds(r[8]), r[9]] for r in rows]
    end = ["Total", *[""] * 7, pounds(total(row[8] for row in rows)), ""]
    write_html(str(folder / "surgery-diary.html"), "Willow Lane vets", [("Surgery diary", header, shown, end)])
    return placed("day pet kind owner why vet minutes weight bill paid", [[*r[:7], float(r[7]), *r[8:]] for r in rows])


def lifeboat(folder: Path) -> Rows:
    rng = seeded("fourth, lifeboat")
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2022, 5, 1), date(2024, 11, 30), 34), start=1):
        craft = rng.choice(("yacht", "kayak", "fishing boat", "swimmer", "jet ski", "paddleboard"))
        cause = rng.choice(("engine failure", "capsized", "adrift", "false alarm", "medical"))
        saved = 0 if cause == "false alarm" else rng.randint(1, 6)
        cox = rng.choice(("Tregear", "Penrose", "Nance"))
        sea = rng.choice(("calm", "moderate", "rough", ""))
        boat, crew = rng.choice(("Mary Hope", "Atlantic 85")), rng.randint(3, 8)
        minutes = rng.choice((25, 40, 55, 70, 95, 130, 185, 240))
        rows.append([number, f"{day.day}/{day.month}/{day.year}", craft, cause, boat, cox, crew, saved, minutes, sea])
    header = [
        "No.",
        "Launched",
        "Casualty craft",
        "Cause",
        "Lifeboat",
        "Coxswain",
        "Crew",
        "Rescued",
        "At sea (min)",
        "Sea",
    ]
    text = "Service record of the station, May 2022 to November 2024. Volunteers only."
    write_docx(str(folder / "lifeboat-launches.docx"), "Lifeboat launches", text, [header, *rows])
    plain = [[r[0], date(*map(int, reversed(r[1].split("/")))), *r[2:]] for r in rows]
    return placed("id day craft cause boat cox crew saved minutes sea", plain)


def auction(folder: Path) -> Rows:
    rng = seeded("fourth, auction")
    things: Mapping[str, str] = {
        "Mahogany bureau": "furniture",
        "Windsor chair": "furniture",
        "Oak settle": "furniture",
        "Card table": "furniture",
        "Silver teapot": "silver",
        "Pair of candlesticks": "silver",
        "Snuff box": "silver",
        "Christening mug": "silver",
        "Carriage clock": "clocks",
        "Longcase clock": "clocks",
        "Pocket barometer": "clocks",
        "Harbour scene, oil": "pictures",
        "Portrait of a lady": "pictures",
        "Botanical print": "pictures",
        "Sheep in snow, watercolour": "pictures",
        "Majolica jug": "ceramics",
        "Blue dish": "ceramics",
        "Pair of spaniels": "ceramics",
        "Toby jug": "ceramics",
        "Kelim": "rugs",
        "Prayer rug": "rugs",
        "Runner": "rugs",
        "Opal brooch": "jewellery",
        "Garnet ring": "jewellery",
        "Jet necklace": "jewellery",
        "Rocking horse": "toys",
    }
    rows: list[Row] = []
    for lot, (thing, kind) in enumerate(things.items(), start=201):
        low = rng.choice((40, 60, 80, 120, 200, 300, 500, 800))
        sold = rng.random() < 0.78
        hammer: Any = 10 * round(low * rng.uniform(0.8, 2.4) / 10) if sold else ""
        buyer = rng.choice(("Room", "Internet", "Telephone", "Commission bid")) if sold else ""
        seller = rng.choice(("Estate of Miss Pym", "Dr Garland", "Rectory House"))
        rows.append([lot, thing, kind, seller, low, round(low * 1.5), hammer, buyer])
    header = ["Lot", "Description", "Category", "Vendor", "Low estimate", "High estimate", "Hammer price", "Bidder"]
    shown = [[*r[:4], *(f"£{c:,}" if c else "unsold" for c in r[4:7]), r[7]] for r in rows]
    text = "Sale of Saturday 8 February 2025. Prices are without the buyer's premium."
    write_text(folder / "auction-results.md", markdown("Auction results", text, header, shown))
    return placed("lot thing kind seller low high hammer bidder", rows)


WORLDS: Mapping[str, Callable[[Path], Rows]] = {
    "permits": permits,
    "trees": trees,
    "lifts": lifts,
    "podcast": podcast,
    "dialysis": dialysis,
    "grant": grant,
    "energy": energy,
    "orchard": orchard,
    "roastery": roastery,
    "vets": vets,
    "lifeboat": lifeboat,
    "auction": auction,
}
