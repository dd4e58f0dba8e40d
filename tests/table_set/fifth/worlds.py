"""The twelve tables of the fifth set: each function writes files and returns the rows behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
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
from tests.table_set.second.worlds_tuning import Rows, markdown, placed, write_notes, write_text


def ferry(folder: Path) -> Rows:
    """A timetable of three crossings; the small boat takes no cars."""
    rng = seeded("fifth, ferry")
    ways = {
        ("Oban", "Craignure"): (50, 18.4, 4.9, listed("Loch Aline, Isle of Rum")),
        ("Craignure", "Oban"): (50, 18.4, 4.9, listed("Loch Aline, Isle of Rum")),
        ("Oban", "Lismore"): (55, 15.2, 3.6, ["Loch Aline"]),
        ("Lismore", "Oban"): (55, 15.2, 3.6, ["Loch Aline"]),
        ("Port Appin", "Lismore"): (10, "", 2.5, ["Kittiwake"]),
        ("Lismore", "Port Appin"): (10, "", 2.5, ["Kittiwake"]),
        ("Oban", "Coll"): (165, 37.9, 8.2, ["Lord of the Sound"]),
        ("Coll", "Tiree"): (60, 22.0, 5.1, ["Lord of the Sound"]),
    }
    rows: list[Row] = []
    number = 11
    for (start, goal), (minutes, car, foot, boats) in ways.items():
        for leaves in sorted(rng.sample(range(380, 1290, 5), 5 if minutes < 100 else 3)):
            boat, late = rng.choice(boats), rng.choice((0, 0, 5, 10)) if minutes > 10 else 0
            runs = rng.choice(("daily", "daily", "Mon-Fri", "Sat and Sun", "summer only"))
            takes = minutes + late
            rows.append([f"F{number}", start, goal, leaves, leaves + takes, boat, runs, takes, car, foot, ""])
            number += 1
    notes = {4: "bookable only by phone", 17: "no dogs", 22: "school run", 31: "freight first"}
    rows = [[*row[:10], notes.get(at, "")] for at, row in enumerate(rows)]
    header = [
        *("Sailing", "From", "To", "Departs", "Arrives", "Vessel", "Runs", "Crossing (min)", "Car fare (£)"),
        *("Foot passenger (£)", "Remarks"),
    ]
    shown = [[*r[:3], *(f"{m // 60:02}:{m % 60:02}" for m in r[3:5]), *r[5:]] for r in rows]
    write_csv(str(folder / "ferry-timetable.csv"), [header, *shown])
    plain = [[*r[:3], r[3] * 60, r[4] * 60, *r[5:]] for r in rows]
    return placed("id start goal leaves lands boat runs minutes car foot note", plain)


def lido(folder: Path) -> Rows:
    """Two rows of headers, the parts of the day merged above; on closed days nothing was counted."""
    rng = seeded("fifth, lido")
    rows: list[Row] = []
    for step in range(44):
        day = date(2025, 7, 5) + timedelta(step)
        guard, water, sky = rng.choice(listed("Nadia, Piotr, Callum")), rng.randint(168, 243) / 10, rng.random()
        if sky < 0.12:
            rows.append([day, "storm" if sky < 0.06 else "closed", *[""] * 6, water, ""])
            continue
        weather = "sunny" if sky > 0.6 else "cloudy" if sky > 0.3 else "rain"
        factor = {"sunny": 1.0, "cloudy": 0.55, "rain": 0.2}[weather]
        people = [int(factor * rng.randint(20, top)) for top in (90, 70, 180, 240)]
        tickets = round((people[0] + people[2]) * 5.5 + (people[1] + people[3]) * 3.0, 2)
        rows.append([day, weather, *people, tickets, round(tickets * rng.uniform(0.15, 0.5), 2), water, guard])
    head: list[Row] = [
        ["", "", "Morning", "", "Afternoon", "", "Money", "", "", ""],
        ["Date", "Weather", *("Adults", "Children") * 2, "Tickets (£)", "Kiosk (£)", "Water (°C)", "Lifeguard"],
    ]
    formats = {0: "dd/mm/yyyy", 6: "#,##0.00", 7: "#,##0.00", 8: "0.0"}
    page = Sheet("Summer 2025", [*head, *rows], merged=("C1:D1", "E1:F1", "G1:H1"), formats=formats)
    write_xlsx(str(folder / "lido-summer.xlsx"), [page])
    return placed("day sky adults_am kids_am adults_pm kids_pm tickets kiosk water guard", rows, 3)


def charging(folder: Path) -> Rows:
    """A log of date-times and durations; at home nothing is paid at the post."""
    rng = seeded("fifth, charging")
    posts = {
        "Home": ("", 7.0, 0.0),
        "Supermarket Reuter": ("Wattnet", 21.0, 0.49),
        "Office garage": ("Wattnet", 11.0, 0.32),
        "Motorway A3": ("Blitzstrom", 96.0, 0.79),
        "Swimming baths": ("City Power", 18.0, 0.42),
        "Hotel Krone": ("City Power", 11.0, 0.55),
    }
    rows: list[Row] = []
    for day in days(rng, date(2025, 1, 4), date(2025, 9, 28), 38):
        place = rng.choice([*posts, "Home"])
        operator, power, price = posts[place]
        start = datetime(day.year, day.month, day.day, rng.randrange(6, 22), rng.randrange(0, 60, 5))  # noqa: DTZ001
        low = rng.randint(8, 55)
        high = rng.choice((80, 80, 90, 100, low + 20))
        energy = round((high - low) * 0.58 * rng.uniform(1.02, 1.1), 1)
        minutes = max(9, int(energy / power * 60 * rng.uniform(1.0, 1.3)))
        rows.append([start, place, operator, minutes, energy, round(energy * price, 2) or "", low, high])
    header = listed(
        "Plugged in, Place, Operator, Duration (h:mm), Energy (kWh), Cost (€), Battery before (%), Battery after (%)"
    )
    shown = [
        [f"{r[0]:%Y-%m-%d %H:%M}", *r[1:3], clock(r[3]), english(r[4], 1), f"{r[5]:.2f}" if r[5] else "", *r[6:]]
        for r in rows
    ]
    write_html(str(folder / "charging-log.html"), "The car at the plug", [("Charging 2025", header, shown, ())])
    plain = [[r[0].date(), *r[1:3], r[3] * 60, *r[4:]] for r in rows]
    return placed("day place operator time energy cost low high", plain)


def driving(folder: Path) -> Rows:
    """Two sheets: lessons, and what is known of the pupils."""
    rng = seeded("fifth, driving")
    names = listed(
        "Amira Haddad, Ben Costello, Chloe Marsh, Dev Rao, Ella Whitfield, Finn Murray, Grace Oduya, Harry Lowe"
    )
    pupils: list[Row] = []
    for name in names:
        theory = date(2025, 1, 10) + timedelta(rng.randrange(90)) if rng.random() < 0.85 else ""
        test = date(2025, 5, 12) + timedelta(rng.randrange(120)) if theory and rng.random() < 0.8 else ""
        faults: Any = rng.randint(1, 22) if test else ""
        result = ("passed" if faults < 15 else "failed") if test else ""
        born = date(2006, 1, 3) + timedelta(rng.randrange(900))
        town = rng.choice(listed("Thornby, Easton, Kelling"))
        pupils.append([name, born, town, theory, test, result, faults])
    rows: list[Row] = []
    kinds = {"town": 38.0, "motorway": 45.0, "night drive": 44.0, "parking": 36.0, "mock test": 52.0}
    for day in days(rng, date(2025, 2, 3), date(2025, 8, 29), 46):
        kind, minutes = rng.choice(list(kinds)), rng.choice((45, 60, 60, 90))
        teacher, car = rng.choice((("Mrs Blake", "Corsa"), ("Mr Singh", "Fiesta"), ("Mr Singh", "Yaris")))
        price = round(kinds[kind] * minutes / 60, 2)
        rows.append([day, rng.choice(names), teacher, car, kind, minutes, price, rng.choice(("yes", "yes", "no"))])
    header = ["Date", "Pupil", "Instructor", "Car", "Kind of lesson", "Minutes", "Price (£)", "Paid"]
    about = ["Name", "Date of birth", "Town", "Theory passed on", "Practical test on", "Result", "Faults"]
    sheets = [
        Sheet("Lessons", [header, *rows], formats={0: "dd mmm yyyy", 6: "0.00"}),
        Sheet("Pupils", [about, *pupils], formats=dict.fromkeys((1, 3, 4), "dd mmm yyyy")),
    ]
    write_xlsx(str(folder / "driving-school.xlsx"), sheets)
    return placed("day pupil teacher car kind minutes price paid", rows, part="lessons") + placed(
        "name born town theory test result faults", pupils, part="pupils"
    )


def kiln(folder: Path) -> Rows:
    """Units in the headers, durations as h:mm; the gas kiln has no kilowatt hours."""
    rng = seeded("fifth, kiln")
    heat = {"bisque": (950, 1010), "glaze": (1210, 1285), "raku": (880, 960), "salt": (1260, 1300)}
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 10, 1), date(2025, 6, 15), 40), start=61):
        kiln_name, kind = rng.choice((("Big Bertha", "bisque"), ("Big Bertha", "glaze"), ("Tiny", "bisque"),
                                      ("Tiny", "glaze"), ("Gas", "raku"), ("Gas", "salt")))  # fmt: skip
        potter = rng.choice(listed("Ottilie, Marek, Jun, Sabine, Evening class"))
        pieces = rng.randint(8, 90) if kiln_name == "Big Bertha" else rng.randint(3, 30)
        broken: Any = rng.choice((0, 0, 0, 1, 2, 5)) if rng.random() < 0.9 else ""
        power: Any = ""
        minutes = rng.randint(95, 200) if kind == "raku" else rng.randint(390, 860)
        if kiln_name != "Gas":
            power = round(minutes / 60 * (9.5 if kiln_name == "Big Bertha" else 3.2) * rng.uniform(0.8, 1.0), 1)
        note = rng.choice(("", "", "", "cone 6 bent", "door opened too soon", "power cut"))
        rows.append(
            [number, day, kiln_name, kind, potter, pieces, broken, rng.randint(*heat[kind]), minutes, power, note]
        )
    header = [
        *("Firing", "Date", "Kiln", "Kind", "Potter", "Pieces", "Broken", "Top temperature (°C)", "Duration (h:mm)"),
        *("Electricity (kWh)", "Notes"),
    ]
    shown = [[*r[:8], clock(r[8]), *r[9:]] for r in rows]
    write_ods(str(folder / "kiln-firings.ods"), "Firings", [header, *shown])
    return placed(
        "id day kiln kind potter pieces broken heat time power note", [[*r[:8], r[8] * 60, *r[9:]] for r in rows]
    )


RECORDS = """
Marrow Hill; Low Tide Songs; 1971 | The Paper Lanterns; Neon Orchard; 1984 | Ida Voss Quartet; Blue Kitchen; 1962
Sister Static; Feedback Garden; 1993 | Marrow Hill; Copper Bells; 1974 | Dub Parish; Eastbound Echo; 1979
The Paper Lanterns; Second Moon; 1986 | Orla Quinn; The Salt Letters; 2016 | Tangent Choir; Nine Rooms; 2004
Ida Voss Quartet; Live at the Anchor; 1965 | Gravel & Silk; Motel Year; 1977 | Sister Static; Hum; 1996
Dub Parish; Version Street; 1982 | Los Faroles; Noche de Lluvia; 1968 | Orla Quinn; Lanternlight; 2019
The Hollow Kings; Throne of Foam; 1972 | Gravel & Silk; Late Bus Home; 1980 | Los Faroles; Carnaval Chico; 1970
Tangent Choir; Glass Arithmetic; 2008 | Wilma Roth; Nachtzug; 1981 | Wilma Roth; Kaltes Licht; 1983
The Hollow Kings; Moat; 1975 | Marrow Hill; Live in Leeds; 1976 | Ida Voss Quartet; Small Hours; 1963
Ferro; Plastic Sunday; 1999 | Ferro; Engine Lullabies; 2002 | Dub Parish; Harbour Dub; 1985
"""


def records(folder: Path) -> Rows:
    """A currency in each cell; two were gifts and have no price."""
    rng = seeded("fifth, records")
    bought = [each.strip().split("; ") for line in RECORDS.strip().splitlines() for each in line.split(" | ")]
    shops = {
        "Spindle, Leeds": "£",
        "Flea market Porto": "€",
        "Plattenkiste Köln": "€",
        "Vinyl Barn, Austin": "$",
        "Online": "£",
    }
    rows: list[Row] = []
    for at, ((artist, album, year), day) in enumerate(
        zip(bought, days(rng, date(2023, 3, 4), date(2025, 9, 13), len(bought)), strict=True)
    ):
        shop = rng.choice(list(shops))
        price: Any = rng.choice((4.0, 6.5, 8.0, 12.0, 14.99, 18.5, 22.0, 27.5, 35.0, 60.0)) + at / 100
        if at in {7, 19}:
            shop, price = "gift", ""
        size = rng.choice(("LP", "LP", "LP", "double LP", "10-inch"))
        state = rng.choice(("mint", "very good", "very good", "good", "scratched"))
        rows.append([artist, album, int(year), size, state, day, shop, price, shops.get(shop, "")])
    header = ["Artist", "Album", "Pressed", "Format", "Condition", "Bought on", "Shop", "Paid"]
    shown = [[*r[:5], f"{r[5].day} {r[5]:%b} {r[5].year}", r[6], f"{r[8]}{r[7]:.2f}" if r[7] else ""] for r in rows]
    text = "All that stands on the long shelf; singles are not listed."
    write_text(folder / "record-shelf.md", markdown("The record shelf", text, header, shown))
    return placed("artist album year size state day shop paid money", rows)


def hall(folder: Path) -> Rows:
    """Bookings with clock times; a deposit that has not been decided on is blank."""
    rng = seeded("fifth, hall")
    fees = {"Main hall": 18.0, "Small room": 9.5, "Kitchen": 12.0, "Garden": 7.0}
    hirers = {
        "Yoga with Priya": "class",
        "Thornby Players": "rehearsal",
        "Mr Eccles": "party",
        "Toddler group": "class",
        "Parish council": "meeting",
        "Bridge club": "games",
        "Ms Adeyemi": "party",
        "Blood service": "donor session",
    }
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2025, 1, 6), date(2025, 6, 29), 36), start=501):
        who, room = rng.choice(list(hirers)), rng.choice(list(fees))
        start, hours = rng.choice((540, 600, 840, 1080, 1140)), rng.choice((1.5, 2.0, 2.0, 3.0, 4.0))
        fee: Any = "" if who == "Parish council" else round(fees[room] * hours, 2)
        guests: Any = rng.randint(6, 95) if rng.random() < 0.88 else ""
        back = rng.choice(("yes", "yes", "yes", "no", ""))
        rows.append([number, day, who, hirers[who], room, start, start + int(hours * 60), hours, guests, fee, back])
    header = [
        *("Booking", "Day", "Hirer", "Purpose", "Room", "From", "Until", "Hours", "Guests", "Fee (£)"),
        "Deposit returned",
    ]
    shown = [[r[0], f"{r[1]:%d/%m/%Y}", *r[2:5], clock(r[5]), clock(r[6]), english(r[7], 1), *r[8:]] for r in rows]
    text = "Lettings of the village hall in the first half of 2025, by the caretaker."
    write_docx(str(folder / "village-hall.docx"), "Village hall lettings", text, [header, *shown])
    plain = [[*r[:5], r[5] * 60, r[6] * 60, *r[7:]] for r in rows]
    return placed("id day who purpose room start end hours guests fee back", plain)


def fete(folder: Path) -> Rows:
    """A title, sums of formulas in the last row; two stalls had no expenses."""
    rng = seeded("fifth, fete")
    stalls = listed(
        "Tombola, Cakes, Coconut shy, Plants, Books, Bouncy castle, Barbecue, Beer tent, Face painting, Raffle, "
        "White elephant, Hook-a-duck, Teas, Pony rides, Guess the weight, Pottery, Ice cream, Lucky dip, Welly throwing"
    )
    helpers = listed("Joan Pike, Rev. Amos, Scouts, School PTA, Mr Delaney, Bell ringers")
    rows: list[list[Any]] = []
    for stall in stalls:
        start, taken = float(rng.choice((10, 20, 20, 30, 50))), rng.randint(1800, 64000) / 100
        spent: Any = (
            round(taken * rng.uniform(0.05, 0.7), 2) if stall not in {"White elephant", "Welly throwing"} else ""
        )
        zone = rng.choice(("Green", "Churchyard", "School field", "Marquee"))
        rows.append(
            [stall, rng.choice(helpers), zone, rng.randint(1, 9), start, taken, spent, round(taken - (spent or 0), 2)]
        )
    last = len(rows) + 3
    shown = [[*row[:7], Formula(f"=F{at}-G{at}", row[7])] for at, row in enumerate(rows, start=4)]
    sums = [Formula(f"=SUM({c}4:{c}{last})", total(r[k] or 0 for r in rows)) for k, c in enumerate("DEFGH", start=3)]
    header = ["Stall", "Run by", "Pitch", "Helpers", "Float (£)", "Takings (£)", "Expenses (£)", "Profit (£)"]
    lines: list[Row] = [["Village fete, 14 June 2025"], [], header, *shown, ["Total", "", "", *sums]]
    formats = dict.fromkeys(range(4, 8), "#,##0.00")
    write_xlsx(str(folder / "fete-accounts.xlsx"), [Sheet("Fete", lines, merged=("A1:H1",), formats=formats)])
    return placed("stall who pitch helpers start taken spent profit", rows, 4)


def wedding(folder: Path) -> Rows:
    return write_notes(folder / "wedding-notes", WEDDING, "cost")


WEDDING = """
book-band; Book the swing band; music, evening; done; 2025-01-31; 1450
organist; Ask the organist; music, church; open; 2025-05-09; 120
first-dance; Dance lessons; music, evening; cancelled; 2025-04-11; 260
banns; Banns and paperwork; church, paperwork; done; 2025-03-14; 64
registrar; Letter to the registrar; paperwork; waiting; 2025-05-02; -
caterer; Choose the caterer; food; done; 2025-02-21; 3890
cake; Order the cake; food; open; 2025-05-23; 340
allergies; List of allergies; food, guests; open; 2025-05-30; -
wine; Taste the wine; food, evening; waiting; 2025-04-25; 615
invitations; Post the invitations; guests, paperwork; done; 2025-03-28; 187.5
seating; Seating plan; guests; open; 2025-06-06; -
coach; Coach for the guests; guests, travel; waiting; 2025-05-16; 480
hotel-rooms; Hotel rooms for aunts; guests, travel; open; 2025-04-30; 720
dress; Dress fitting; clothes; open; 2025-05-12; 960
suit; Hire the suit; clothes; waiting; 2025-05-19; 145
rings; Collect the rings; clothes; done; 2025-04-04; 1120
bouquet; Bridal bouquet; flowers, church; open; 2025-06-02; 95
table-flowers; Flowers for the tables; flowers, evening; open; -; 310
photographer; Photographer contract; paperwork, evening; done; 2025-02-07; 1300
honeymoon; Honeymoon flights; travel; done; 2025-03-07; 1765
passports; Renew the passports; travel, paperwork; waiting; 2025-04-18; 177
fireworks; Fireworks at midnight; evening; cancelled; -; 850
"""


def translations(folder: Path) -> Rows:
    """German numbers, a row of sums; a job that is not delivered has no day."""
    rng = seeded("fifth, translations")
    clients = {
        "Maschinenbau Ritter": "Technik",
        "Kanzlei Thoma": "Recht",
        "Verlag Sonnenberg": "Literatur",
        "Klinik am See": "Medizin",
        "Tourismusbüro": "Werbung",
    }
    rates = {"Technik": 0.14, "Recht": 0.18, "Literatur": 0.09, "Medizin": 0.17, "Werbung": 0.12}
    goals = {"Englisch": "Doris", "Französisch": "Luc", "Polnisch": "Agnieszka", "Spanisch": "Inés"}
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 1, 8), date(2024, 12, 13), 42), start=1):
        client, goal = rng.choice(list(clients)), rng.choice(list(goals))
        field, words = clients[client], rng.randint(180, 12_400)
        back: Any = day + timedelta(rng.randint(2, 24)) if rng.random() < 0.86 else ""
        urgent = rng.choice(("ja", "nein", "nein", "nein"))
        money = round(words * rates[field] * (1.25 if urgent == "ja" else 1.0), 2)
        rows.append([f"A-{number:03}", day, client, field, goal, goals[goal], words, urgent, back, money])
    end = ["Summe", *[""] * 5, sum(row[6] for row in rows), "", "", total(row[9] for row in rows)]
    header = listed(
        "Auftrag, Eingang, Kunde, Fachgebiet, Zielsprache, Übersetzer, Wörter, Eilt, Geliefert am, Honorar (€)"
    )
    thousands = [[*row[:6], f"{row[6]:,}".replace(",", "."), *row[7:]] for row in (*rows, end)]
    write_csv(str(folder / "uebersetzungen-2024.csv"), [header, *thousands], ";", german)
    return placed("id day client field goal who words urgent back money", rows)


def shelter(folder: Path) -> Rows:
    rng = seeded("fifth, shelter")
    names = listed(
        "Balu, Minka, Fips, Rocky, Luna, Paulchen, Mohrle, Hanni, Nanni, Struppi, Caruso, Tinka, Bruno, Ronja, "
        "Kasimir, Susi, Strolch, Felix, Emma, Wanda, Oskar, Pünktchen, Anton, Flocke, Nero, Milli, Zorro, Frieda, "
        "Henry, Krümel, Lotte, Taps, Schnurri, Gustav, Perle, Max"
    )
    kinds = {
        "Hund": (4, 42, 280.0),
        "Katze": (2, 7, 120.0),
        "Kaninchen": (1, 3, 35.0),
        "Meerschweinchen": (0.6, 1.3, 25.0),
    }
    rows: list[Row] = []
    for number, (name, day) in enumerate(
        zip(names, days(rng, date(2024, 5, 2), date(2025, 8, 30), 36), strict=True), 88
    ):
        kind = rng.choices(list(kinds), (5, 6, 2, 2))[0]
        low, high, usual = kinds[kind]
        left: Any = day + timedelta(rng.randint(4, 160)) if rng.random() < 0.62 else ""
        fee: Any = usual * rng.choice((1.0, 1.0, 0.5)) if left else ""
        born: Any = rng.randint(2012, 2024) if rng.random() < 0.9 else ""
        found = rng.choice(("Fundtier", "Abgabe", "Abgabe", "Beschlagnahmung"))
        weight = round(rng.uniform(low, high), 1)
        rows.append(
            [number, name, kind, rng.choice("mw"), born, found, day, weight, rng.choice(("ja", "nein")), left, fee]
        )
    header = [
        *("Nr.", "Name", "Tierart", "Geschlecht", "Geburtsjahr", "Herkunft", "Aufnahme", "Gewicht (kg)", "Kastriert"),
        *("Vermittelt am", "Schutzgebühr (€)"),
    ]
    shown = [[*r[:7], german(r[7], 1), *r[8:]] for r in rows]
    write_csv(str(folder / "tierheim.csv"), [header, *shown], ";", german, "utf-8-sig")
    return placed("id name kind sex born origin day weight fixed left fee", rows)


def flat(folder: Path) -> Rows:
    """Amounts of money as an ODS has them; who came by word of mouth has no portal."""
    rng = seeded("fifth, flat")
    guests = {"Brandt": "Kassel", "Familie Jansen": "Emden", "Ehepaar Huber": "Graz", "Lindqvist": "Malmö",
              "Familie Okafor": "Mainz", "Seidel": "Jena", "van Dijk": "Utrecht", "Moretti": "Bozen"}  # fmt: skip
    rows: list[Row] = []
    arrives = date(2024, 3, 23)
    while arrives < date(2025, 9, 20):
        who, nights, people = rng.choice(list(guests)), rng.choice((2, 3, 4, 7, 7, 10, 14)), rng.randint(1, 5)
        leaves, high = arrives + timedelta(nights), arrives.month in {7, 8}
        rent = round(nights * (98.0 if high else 72.0) * rng.choice((1.0, 1.0, 0.9)), 2)
        tax = round(nights * people * 2.1, 2)
        portal = rng.choice(("FeWo-Portal", "Touristinfo", "Stammgast", ""))
        dog = rng.choice(("ja", "nein", "nein"))
        rows.append([who, guests[who], arrives, leaves, nights, people, dog, rent, tax, 55.0, portal])
        arrives = leaves + timedelta(rng.choice((0, 0, 3, 9, 16, 25)))
    header = [
        *("Gast", "Wohnort", "Anreise", "Abreise", "Nächte", "Personen", "Hund", "Mietpreis (€)", "Kurtaxe (€)"),
        *("Endreinigung (€)", "Gebucht über"),
    ]
    write_ods(str(folder / "ferienwohnung.ods"), "Belegung", [header, *rows], "EUR")
    return placed("who home day end nights people dog rent tax clean portal", rows)


WORLDS: Mapping[str, Callable[[Path], Rows]] = {
    "ferry": ferry,
    "lido": lido,
    "charging": charging,
    "driving": driving,
    "kiln": kiln,
    "records": records,
    "hall": hall,
    "fete": fete,
    "wedding": wedding,
    "translations": translations,
    "shelter": shelter,
    "flat": flat,
}
