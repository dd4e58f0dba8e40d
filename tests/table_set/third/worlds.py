"""The twelve tables of the third set: each function writes a file and returns the rows behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from pathlib import Path

from tests.table_set.make_files import (
    Row,
    Sheet,
    days,
    english,
    german,
    listed,
    seeded,
    write_csv,
    write_html,
    write_xlsx,
)
from tests.table_set.second.worlds_tuning import Rows, markdown, placed, slashed, write_text


def climbing(folder: Path) -> Rows:
    rng = seeded("third, climbing")
    routes = {
        "Green Mile": ("4a", "Slab"),
        "Pocket Money": ("5b", "Main wall"),
        "Crimson Tide": ("6a", "Overhang"),
        "Lost Property": ("6b", "Main wall"),
        "Gravity Bill": ("7a", "Overhang"),
        "Toe Jam": ("5c", "Slab"),
        "Chalk Talk": ("6c", "Cave"),
    }
    rows: list[Row] = []
    for day in days(rng, date(2024, 10, 2), date(2025, 4, 27), 52):
        route = rng.choice(list(routes))
        tries = rng.randint(1, 9)
        result = "flash" if tries == 1 else rng.choice(("top", "top", "fall", "project"))
        who = rng.choice(("Anouk", "Ben", "Chidi", "Dana", "Emil"))
        rows.append([day, who, route, *routes[route], tries, result, rng.choice(("lead", "top rope"))])
    header = ["Date", "Climber", "Route", "Grade", "Sector", "Attempts", "Outcome", "Style"]
    write_csv(str(folder / "climbing-log.csv"), [header, *rows])
    return placed("day who route grade sector tries result style", rows)


def consignments(folder: Path) -> Rows:
    rng = seeded("third, consignments")
    towns = listed("Antwerp, Lyon, Graz, Porto, Aarhus, Brno")
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2025, 1, 6), date(2025, 5, 30), 38), start=4410):
        sender = rng.choice(("Halvorsen Tools", "Bright & Sons", "Mistral Foods", "Oakline Furniture"))
        pallets = rng.randint(1, 22)
        weight = pallets * rng.randint(180, 520)
        status = rng.choice(("delivered", "delivered", "delivered", "in transit", "damaged"))
        arrived = day + timedelta(rng.randint(1, 9)) if status != "in transit" else ""
        carrier = rng.choice(("Rhenus", "DSV", "Gebrüder Weiss"))
        charge = round(weight * rng.uniform(0.08, 0.2), 2)
        rows.append([f"C-{number}", sender, rng.choice(towns), carrier, day, arrived, pallets, weight, charge, status])
    header = [
        *("Consignment", "Shipper", "Destination", "Haulier", "Dispatched", "Delivered", "Pallets"),
        *("Gross weight (kg)", "Freight (EUR)", "Status"),
    ]
    write_xlsx(str(folder / "consignments.xlsx"), [Sheet("Outbound 2025", [header, *rows])])
    return placed("id sender town carrier out back pallets weight charge status", rows)


def payroll(folder: Path) -> Rows:
    rng = seeded("third, payroll")
    people = listed(
        "Adler Ines, Bauer Tom, Cetin Ayla, Dorn Felix, Ebert Maja, Funk Oskar, Gruber Lea, Hoang Minh, Iwanow Sergej, "
        "Jung Petra, Kessler Uwe, Lang Rosa, Mertens Jan, Nowak Ewa, Opitz Karl"
    )
    rows: list[Row] = []
    for number, name in enumerate(people, start=201):
        wage = rng.randint(1450, 3900) / 100
        hours = float(rng.randint(60, 174))
        extra = float(rng.choice((0, 0, 2, 4, 6, 11, 15)))
        gross = round(wage * (hours + extra), 2)
        part = rng.choice(("Lager", "Verkauf", "Werkstatt", "Büro"))
        since = date(rng.randint(2009, 2024), rng.randint(1, 12), 1)
        rows.append([number, name, part, since, wage, hours, extra, gross, round(gross * rng.uniform(0.62, 0.78), 2)])
    header = [
        *("Pers.-Nr.", "Mitarbeiter", "Abteilung", "Eintritt", "Stundenlohn (€)", "Stunden", "Überstunden"),
        *("Bruttolohn (€)", "Nettolohn (€)"),
    ]
    sums = ["Summe", "", "", "", "", *(round(sum(row[at] for row in rows), 2) for at in (5, 6, 7, 8))]
    lines = [header, *rows, sums]
    write_csv(str(folder / "lohnliste-maerz-2025.csv"), lines, ";", german, "utf-8-sig")
    return placed("id who part since wage hours extra gross net", rows)


def library(folder: Path) -> Rows:
    rng = seeded("third, library")
    books = {
        "The Dispossessed": ("Ursula Le Guin", "science fiction"),
        "Kindred": ("Octavia Butler", "science fiction"),
        "The Hobbit": ("J. R. R. Tolkien", "fantasy"),
        "Beloved": ("Toni Morrison", "novel"),
        "Persuasion": ("Jane Austen", "novel"),
        "Maus": ("Art Spiegelman", "comic"),
        "Persepolis": ("Marjane Satrapi", "comic"),
        "A Wizard of Earthsea": ("Ursula Le Guin", "fantasy"),
        "Wild Swans": ("Jung Chang", "biography"),
    }
    rows: list[Row] = []
    for day in days(rng, date(2024, 5, 3), date(2025, 2, 26), 44):
        title = rng.choice(list(books))
        late = rng.random() < 0.3
        back = day + timedelta(rng.randint(29, 60) if late else rng.randint(2, 28))
        out = rng.random() < 0.15
        fine = "" if out else (round(0.2 * ((back - day).days - 28), 2) if late else 0.0)
        who = rng.choice(("Mrs Abara", "Mr Colley", "Ms Dietrich", "Mr Faulks", "Mrs Hussain", "Ms Ito"))
        rows.append([who, title, *books[title], day, "" if out else back, rng.randint(0, 3), fine])
    header = ["Reader", "Title", "Author", "Genre", "Issued", "Brought back", "Renewals", "Fine (£)"]
    write_html(str(folder / "library-loans.html"), "Branch library, loans", [("Loans", header, rows, [])])
    return placed("who title author genre out back renewals fine", rows)


def wards(folder: Path) -> Rows:
    rng = seeded("third, wards")
    names = {
        "Ward 1A": ("Cardiology", "North", "Dr Osei"),
        "Ward 1B": ("Stroke unit", "North", "Dr Lindqvist"),
        "Ward 2A": ("Surgery", "North", "Mr Pritchard"),
        "Ward 2B": ("Orthopaedics", "North", "Ms Achterberg"),
        "Ward 3A": ("Paediatrics", "South", "Dr Ferrante"),
        "Ward 3B": ("Maternity", "South", "Dr Bello"),
        "Ward 4": ("Oncology", "South", "Dr Hashemi"),
        "Ward 5": ("Geriatrics", "Annexe", "Dr Quayle"),
        "ICU": ("Intensive care", "North", "Dr Osei"),
        "Day unit": ("Surgery", "South", "Mr Pritchard"),
    }
    rows: list[Row] = []
    for name, (field, wing, head) in names.items():
        beds = rng.randint(8, 34)
        closed = rng.choice((0, 0, 1, 2, 4))
        taken = rng.randint(beds // 2, beds - closed)
        rows.append([name, field, wing, head, beds, taken, closed, rng.randint(2, 9), rng.randint(8, 190) / 10])
    header = ["Ward", "Specialty", "Wing", "Consultant", "Beds", "Occupied", "Closed", "Nurses", "Mean stay (days)"]
    text = "Bed state on 3 March 2025 at 07:00."
    write_text(folder / "bed-state.md", markdown("Bed state", text, header, rows))
    return placed("ward field wing head beds taken closed nurses stay", rows)


def tea_shop(folder: Path) -> Rows:
    rng = seeded("third, tea")
    teas = {
        "Assam": ("black", "India"),
        "Darjeeling": ("black", "India"),
        "Ceylon": ("black", "Sri Lanka"),
        "Keemun": ("black", "China"),
        "Sencha": ("green", "Japan"),
        "Gyokuro": ("green", "Japan"),
        "Gunpowder": ("green", "China"),
        "Silver Needle": ("white", "China"),
        "Rooibos": ("herbal", "South Africa"),
        "Peppermint": ("herbal", "Morocco"),
        "Camomile": ("herbal", "Egypt"),
        "Tieguanyin": ("oolong", "China"),
    }
    rows: list[Row] = []
    for name, (kind, land) in teas.items():
        for size in rng.sample((50, 100, 250), 2):
            cost = round(size * rng.uniform(0.03, 0.16), 2)
            until = date(2025, 6, 30) + timedelta(rng.randint(0, 700))
            supplier = rng.choice(("Leaf & Co", "Hamburg Tea", "Kyoto Direct"))
            price = round(cost * rng.uniform(1.4, 2.3), 2)
            rows.append([name, kind, land, supplier, size, rng.randint(0, 60), cost, price, until])
    header = ["Tea", "Type", "Origin", "Supplier", "Pack (g)", "In stock", "Cost price (£)", "Shelf price (£)"]
    write_csv(str(folder / "tea-stock.csv"), [[*header, "Best before"], *rows], write=slashed)
    return placed("tea kind land supplier size stock cost price until", rows)


def blood_tests(folder: Path) -> Rows:
    rng = seeded("third, blood")
    tests = {
        "Ferritin": ("µg/l", 30, 300),
        "Haemoglobin": ("g/dl", 12, 16),
        "Vitamin D": ("nmol/l", 50, 125),
        "TSH": ("mU/l", 0.4, 4),
        "LDL cholesterol": ("mmol/l", 0.5, 3),
        "Glucose": ("mmol/l", 3.9, 5.6),
    }
    rows: list[Row] = []
    for day in (date(2023, 3, 14), date(2023, 10, 2), date(2024, 4, 22), date(2024, 11, 19), date(2025, 3, 4)):
        for name, (unit, low, high) in tests.items():
            value = round(rng.uniform(low * 0.7, high * 1.15), 1)
            flag = "low" if value < low else "high" if value > high else "normal"
            rows.append([day, name, value, unit, low, high, flag, rng.choice(("Dr Moss", "City lab"))])
    header = ["Taken on", "Test", "Result", "Unit", "Lower limit", "Upper limit", "Flag", "Laboratory"]
    write_csv(str(folder / "blood-tests.csv"), [header, *rows], write=lambda cell: english(cell, 1))
    return placed("day test value unit low high flag lab", rows)


def marks(folder: Path) -> Rows:
    rng = seeded("third, marks")
    teachers = {"Maths": "Mr Rowe", "Physics": "Mrs Lal", "French": "Mme Giraud", "History": "Mr Teague"}
    pupils = listed("Amira, Callum, Efe, Freya, Isla, Jonah, Lottie, Marek, Nadia, Rhys")
    rows: list[Row] = []
    for at, name in enumerate(pupils):
        for subject, teacher in teachers.items():
            written, spoken = rng.randint(31, 98), rng.randint(40, 100)
            rows.append([name, ("10X", "10Y")[at % 2], subject, teacher, written, spoken, rng.randint(0, 7)])
    header = ["Pupil", "Set", "Subject", "Teacher", "Written (%)", "Oral (%)", "Days absent"]
    write_xlsx(str(folder / "summer-marks.xlsx"), [Sheet("Summer term", [["Summer term 2025"], [], header, *rows])])
    return placed("who form subject teacher written spoken absent", rows, first=4)


def journeys(folder: Path) -> Rows:
    rng = seeded("third, journeys")
    towns = {"Vienna": 1240, "Milan": 960, "Bergen": 1050, "Seville": 1700, "Prague": 1030, "Cork": 560}
    rows: list[Row] = []
    for day in days(rng, date(2023, 2, 1), date(2025, 5, 20), 30):
        town = rng.choice(list(towns))
        mode = rng.choice(("train", "plane", "ferry", "coach"))
        nights, fare = rng.randint(1, 12), rng.randint(1900, 42000) / 100
        purpose = rng.choice(("holiday", "work", "family"))
        rows.append([f"{day:%Y-%m-%d}", town, mode, purpose, nights, towns[town], f"£{fare:.2f}", rng.randint(1, 5)])
    header = ["Left", "Destination", "By", "Purpose", "Nights", "Distance (km)", "Fare", "Rating"]
    body = markdown("Journeys", "All journeys from home since 2023.", header, rows)
    write_text(folder / "journeys.md", body)
    plain = [[date.fromisoformat(row[0]), *row[1:6], float(row[6][1:]), row[7]] for row in rows]
    return placed("day town mode purpose nights km fare stars", plain)


def solar(folder: Path) -> Rows:
    rng = seeded("third, solar")
    rows: list[Row] = []
    for year in (2023, 2024):
        for month in range(1, 13):
            gain = round(60 + 620 * (1 - abs(month - 6.5) / 6.5) + rng.uniform(-40, 40), 1)
            own = round(gain * rng.uniform(0.25, 0.5), 1)
            fed = round(gain - own, 1)
            bought = round(rng.uniform(90, 330), 1)
            rows.append([date(year, month, 1), gain, own, fed, bought, round(fed * 0.082, 2)])
    header = ["Monat", "Ertrag (kWh)", "Eigenverbrauch (kWh)", "Einspeisung (kWh)", "Netzbezug (kWh)", "Vergütung (€)"]
    sheet = Sheet("PV-Anlage", [header, *rows], formats={0: "mm.yyyy"})
    write_xlsx(str(folder / "photovoltaik.xlsx"), [sheet])
    return placed("month gain own fed bought money", rows)


def cinema(folder: Path) -> Rows:
    rng = seeded("third, cinema")
    films = {
        "Night Ferry": ("thriller", "16", 118),
        "Paper Lions": ("animation", "6", 92),
        "The Long Tide": ("drama", "12", 141),
        "Borrowed Shoes": ("comedy", "6", 104),
        "Zero Hour Baker": ("comedy", "12", 99),
    }
    rows: list[Row] = []
    for day in days(rng, date(2025, 2, 3), date(2025, 3, 30), 46):
        film = rng.choice(list(films))
        kind, age, minutes = films[film]
        sold = rng.randint(4, 180)
        version = rng.choice(("dubbed", "original", "original with subtitles"))
        screen = rng.choice(("Screen 1", "Screen 2", "Studio"))
        rows.append([day, film, kind, age, minutes, screen, version, sold, round(sold * rng.uniform(7, 11), 2)])
    header = ["Day", "Film", "Genre", "Age limit", "Minutes", "Auditorium", "Version", "Tickets", "Box office (€)"]
    write_html(str(folder / "screenings.html"), "Screenings", [("February and March 2025", header, rows, [])])
    return placed("day film kind age minutes screen version sold money", rows)


def dishes(folder: Path) -> Rows:
    rng = seeded("third, dishes")
    names: Mapping[str, tuple[str, str, str]] = {
        "Linsensuppe": ("Suppe", "Türkei", "ja"),
        "Gulasch": ("Hauptgericht", "Ungarn", "nein"),
        "Ratatouille": ("Hauptgericht", "Frankreich", "ja"),
        "Kaiserschmarrn": ("Nachtisch", "Österreich", "ja"),
        "Tiramisu": ("Nachtisch", "Italien", "ja"),
        "Minestrone": ("Suppe", "Italien", "ja"),
        "Saltimbocca": ("Hauptgericht", "Italien", "nein"),
        "Coq au vin": ("Hauptgericht", "Frankreich", "nein"),
        "Tzatziki": ("Vorspeise", "Griechenland", "ja"),
        "Vitello tonnato": ("Vorspeise", "Italien", "nein"),
        "Crème brûlée": ("Nachtisch", "Frankreich", "ja"),
        "Käsespätzle": ("Hauptgericht", "Deutschland", "ja"),
        "Sauerbraten": ("Hauptgericht", "Deutschland", "nein"),
        "Borschtsch": ("Suppe", "Ukraine", "nein"),
    }
    rows: list[Row] = []
    for name, (course, land, veggie) in names.items():
        minutes, portions, kcal = rng.randint(3, 40) * 5, rng.randint(1, 4) * 2, rng.randint(140, 890)
        rows.append([name, course, land, minutes, portions, kcal, rng.randint(250, 2400) / 100, veggie])
    header = ["Gericht", "Gang", "Herkunft", "Dauer (min)", "Portionen", "Kalorien", "Zutatenkosten (€)", "vegetarisch"]
    write_csv(str(folder / "kochbuch.csv"), [header, *rows], ";", german)
    return placed("dish course land minutes portions kcal cost veggie", rows)


WORLDS: Mapping[str, Callable[[Path], Rows]] = {
    "climbing": climbing,
    "consignments": consignments,
    "payroll": payroll,
    "library": library,
    "wards": wards,
    "tea": tea_shop,
    "blood": blood_tests,
    "marks": marks,
    "journeys": journeys,
    "solar": solar,
    "cinema": cinema,
    "dishes": dishes,
}
