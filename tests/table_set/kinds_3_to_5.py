"""The files of the kinds 3 to 5; `make_files` has the writers."""

from __future__ import annotations

from datetime import date, time, timedelta
from typing import Any

from tests.table_set.make_files import (
    FILES,
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
    write_html,
    write_ods,
    write_xlsx,
)

# 3 Task lists (notes are by hand)


def aufgaben() -> None:
    rng = seeded("aufgaben")
    what = {
        "Umzug": listed(
            "Kartons kaufen, Nachsendeauftrag stellen, Strom ummelden, Küche abbauen, Transporter "
            "mieten, Lampen abnehmen"
        ),
        "Website": (
            "Startseite schreiben",
            "Bilder verkleinern",
            "Impressum prüfen",
            "Newsletter einrichten",
            "Formular testen",
        ),
        "Vereinsfest": listed(
            "Bühne bestellen, Plakate drucken, Helfer einteilen, Kuchenliste, Genehmigung holen, Abbau planen"
        ),
        "Garten": ("Hecke schneiden", "Beet umgraben", "Regentonne anschließen", "Rasen düngen"),
    }
    tasks = [(task, project) for project, tasks in what.items() for task in tasks]
    rows = []
    for number in range(60):
        task, project = tasks[number % len(tasks)]
        name = task if number < len(tasks) else f"{task} ({number // len(tasks) + 1}. Teil)"
        status = rng.choices(("offen", "in Arbeit", "erledigt"), (4, 2, 4))[0]
        due = date(2024, 3, 1) + timedelta(rng.randrange(240))
        hours = rng.choice((0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.0, 8.0))
        rows.append(
            [
                name,
                project,
                rng.choice(("Lena", "Ralf", "Tobias", "Sükran")),
                due,
                status,
                hours,
                rng.choice(("hoch", "mittel", "niedrig")),
            ]
        )
    header = ["Aufgabe", "Projekt", "Verantwortlich", "Fällig am", "Status", "Aufwand (Std.)", "Priorität"]
    write_csv("aufgaben.csv", [header, *([german(cell, 1) for cell in row] for row in rows)], ";", encoding="cp1252")


def bug_list() -> None:
    rng = seeded("bug-list")
    parts = ("Editor", "Sync", "Search", "Export", "Login")
    what = listed(
        "crashes on start, loses focus, shows wrong date, is slow, ignores settings, shows an empty page, fails offline"
    )
    rows: list[Row] = [
        ["ID", "Title", "Component", "Severity", "Status", "Reporter", "Opened", "Closed", "Estimate (h)"]
    ]
    for number, opened in enumerate(days(rng, date(2024, 1, 8), date(2024, 10, 30), 84)):
        part = rng.choice(parts)
        status = rng.choices(("open", "in progress", "closed", "won't fix"), (3, 1, 5, 1))[0]
        closed = opened + timedelta(rng.randint(1, 40)) if status in {"closed", "won't fix"} else None
        hours = rng.choice((1, 2, 3, 5, 8, 13, None))
        rows.append(
            [
                f"BUG-{number + 101}",
                f"{part} {rng.choice(what)}",
                part,
                rng.choice(("critical", "major", "minor", "minor")),
                status,
                rng.choice(("Noor", "Felix", "Grace", "Ivan")),
                opened,
                closed,
                hours,
            ]
        )
    write_xlsx("bug-list.xlsx", [Sheet("Bugs", rows, formats={6: "yyyy-mm-dd", 7: "yyyy-mm-dd"})])


# 4 Products, prices and stock


def parts_stock() -> None:
    rng = seeded("parts-stock")
    kinds = {
        "Bearing": (3, 28),
        "V-belt": (6, 40),
        "Seal kit": (9, 70),
        "Hex bolt M8": (0.1, 0.6),
        "Fuse 10 A": (0.3, 1.5),
        "Pump housing": (90, 420),
        "Impeller": (45, 230),
        "Gasket": (1, 12),
        "Pressure switch": (25, 95),
        "Hose clamp": (0.5, 3),
        "Motor 1.5 kW": (180, 640),
        "Filter": (8, 60),
    }
    rows: list[Row] = []
    for number in range(150):
        kind = list(kinds)[number % len(kinds)]
        stock, level = rng.choice((0, rng.randint(1, 15), rng.randint(10, 240))), rng.choice((5, 10, 20, 50))
        price = round(rng.uniform(*kinds[kind]), 2)
        counted = date(2024, 1, 5) + timedelta(rng.randrange(330))
        name = f"{kind} {rng.choice('ABCDEFGH')}{number + 10}"
        rows.append(
            [
                f"P-{1000 + 7 * number}",
                name,
                rng.choice(("Nordmann", "Kessel & Co", "AxisPro", "Delta Parts")),
                f"{rng.choice('ABCD')}-{rng.randint(1, 18):02}",
                stock,
                level,
                price,
                counted,
            ]
        )
    header = ["SKU", "Part", "Supplier", "Bin", "In stock", "Reorder level", "Unit price (USD)", "Last counted"]
    write_csv("parts-stock.csv", [header, *rows])


def preisliste() -> None:
    rng = seeded("preisliste")
    goods = {
        "Werkzeug": ("Hammer", "Zange", "Säge", "Schraubendreher", "Wasserwaage", "Feile"),
        "Farben": ("Wandfarbe", "Lack", "Lasur", "Grundierung"),
        "Elektro": ("Kabel", "Steckdose", "Schalter", "LED-Lampe", "Verteiler"),
        "Garten": ("Spaten", "Rechen", "Gießkanne", "Schlauch", "Blumenerde"),
    }
    rows: list[Row] = [
        ["Preisliste Eisenwaren Brandt, gültig ab 01.01.2025"],
        [],
        ["", "", "", "", "Preise", "", "", "Lager", ""],
        listed("Artikelnr., Bezeichnung, Warengruppe, Einheit, Netto (€), MwSt (%), Brutto (€), Bestand, Gewicht (kg)"),
    ]
    number = 5
    for group, names in goods.items():
        for name in names:
            for size in ("klein", "mittel", "groß", "Profi"):
                net, tax = round(rng.uniform(2, 180), 2), 7 if name == "Blumenerde" else 19
                gross = Formula(f"=ROUND(E{number}*(1+F{number}/100),2)", round(net * (100 + tax) / 100 + 1e-9, 2))
                unit = "Sack" if name == "Blumenerde" else "Eimer" if group == "Farben" else "Stück"
                rows.append(
                    [
                        f"{10_000 + number * 3}",
                        f"{name} {size}",
                        group,
                        unit,
                        net,
                        tax,
                        gross,
                        rng.choice((0, rng.randint(1, 90))),
                        round(rng.uniform(0.2, 14), 1),
                    ]
                )
                number += 1
    formats = {4: '#,##0.00 "€"', 6: '#,##0.00 "€"'}
    write_xlsx("preisliste.xlsx", [Sheet("Preise 2025", rows, merged=("A1:I1", "E3:G3", "H3:I3"), formats=formats)])


def shop_catalogue() -> None:
    rng = seeded("shop-catalogue")
    names = {
        "Tea": ("Assam", "Darjeeling", "Earl Grey", "Sencha", "Jasmine", "Rooibos", "Peppermint"),
        "Coffee": ("House blend", "Espresso", "Decaf", "Ethiopia", "Guatemala"),
        "Chocolate": ("Dark 70", "Milk", "Hazelnut", "Orange", "Sea salt"),
        "Mugs": ("Blue", "Speckled", "Tall", "Travel"),
    }
    rows: list[Row] = []
    for group, products in names.items():
        for name in products:
            for weight in (100, 250) if group in {"Tea", "Coffee"} else (320,) if group == "Mugs" else (90,):
                price = f"€{rng.uniform(2.5, 24):.2f}"
                rows.append(
                    [
                        f"{name} {weight} g",
                        group,
                        weight,
                        price,
                        f"{rng.choice((0, 0, 5, 10, 20))} %",
                        rng.choice(("yes", "yes", "no")),
                        round(rng.uniform(3.1, 5.0), 1),
                    ]
                )
    postage: list[Row] = [
        ["Ireland", "€4.50", "2"],
        ["Germany", "€9.90", "5"],
        ["France", "€9.90", "4"],
        ["United States", "€19.00", "9"],
        ["Japan", "€24.50", "12"],
    ]
    header = ("Product", "Category", "Weight (g)", "Price", "Discount", "In stock", "Rating")
    for row in rows:
        row[6] = english(row[6], 1)  # type: ignore[index]
    write_html(
        "shop-catalogue.html",
        "Catalogue",
        [("Products", header, rows, ()), ("Postage", ("Country", "Postage", "Days"), postage, ())],
    )


def lagerliste() -> None:
    rng = seeded("lagerliste")
    things = listed(
        "Kugellager, Dichtring, Keilriemen, Zahnrad, Filterpatrone, Ventil, Schlauchschelle, "
        "Motorschutzschalter, Pumpe, Lüfterrad"
    )
    rows: list[Row] = []
    for number in range(200):
        cost = round(rng.choice((rng.uniform(0.4, 9), rng.uniform(9, 120), rng.uniform(100, 1950))), 2)
        rows.append(
            [
                f"A{20_000 + number * 11}",
                f"{things[number % 10]} Typ {number // 10 + 1}",
                rng.choice(("Halle 1", "Halle 2", "Außenlager")),
                f"{rng.choice((0, rng.randint(1, 60), rng.randint(100, 3400))):,}".replace(",", "."),
                rng.choice((10, 25, 50)),
                cost,
                round(cost * rng.uniform(1.2, 1.9), 2),
                rng.choice(("Bosch", "Schaeffler", "Festo", "Grundfos")),
            ]
        )
    header = ["Art.-Nr.", "Artikel", "Lager", "Bestand", "Mindestbestand", "EK-Preis", "VK-Preis", "Lieferant"]
    write_csv("lagerliste.csv", [header, *rows], ";", german)


# 5 Timesheets, rotas and attendance


def timesheet() -> None:
    rng = seeded("timesheet")
    header: Row = ["Date", "Employee", "Project", "Start", "End", "Break (min)", "Hours"]
    rows: list[Row] = [header]
    for day in (date(2024, 5, 1) + timedelta(step) for step in range(31)):
        for name in ("Aisha", "Bruno", "Carla", "Derek", "Elif", "Finn", "Gita") if day.weekday() < 5 else ():
            if rng.random() < 0.12:
                continue
            start, pause = 7 * 60 + rng.choice((0, 15, 30, 60, 90)), rng.choice((30, 30, 45, 60))
            end = start + rng.choice((420, 450, 480, 510, 540, 585))
            at, hours = len(rows) + 1, round((end - start - pause) / 60, 2)
            rows.append(
                [
                    day,
                    name,
                    rng.choice(("Harbour", "Library", "School", "Office")),
                    time(*divmod(start, 60)),
                    time(*divmod(end, 60)),
                    pause,
                    Formula(f"=ROUND((E{at}-D{at})*24-F{at}/60,2)", hours),
                ]
            )
    hidden = [at for at, row in enumerate(rows) if row[1] == "Gita"]
    body = rows[1:]
    rows.append(
        [
            "Total",
            "",
            "",
            "",
            "",
            sum(row[5] for row in body),
            Formula(f"=SUM(G2:G{len(rows)})", total(row[6].value for row in body)),
        ]
    )
    write_xlsx(
        "timesheet-may.xlsx",
        [Sheet("May 2024", rows, hidden=hidden, formats={0: "yyyy-mm-dd", 3: "hh:mm", 4: "hh:mm", 6: "0.00"})],
    )


def zeiterfassung() -> None:
    rng = seeded("zeiterfassung")
    rows: list[Row] = []
    for day in (date(2024, 9, 1) + timedelta(step) for step in range(61)):
        for name in ("Berger", "Hoffmann", "Kaya", "Nowak", "Schulz") if day.weekday() < 5 else ():
            absent = rng.choices(("", "Urlaub", "Krank"), (86, 8, 6))[0]
            start, pause = 6 * 60 + 30 + 15 * rng.randrange(8), rng.choice((30, 45, 60))
            end = start + 15 * rng.randint(26, 39)
            times = [clock(start), clock(end), pause, (end - start - pause) / 60] if not absent else ["", "", "", 0.0]
            rows.append([day, name, absent or rng.choice(("Neubau Süd", "Wartung", "Angebot", "Schulung")), *times])
    header = ["Datum", "Mitarbeiter", "Tätigkeit", "Beginn", "Ende", "Pause (Min.)", "Stunden"]
    write_csv("zeiterfassung.csv", [header, *rows], ";", german)


def attendance() -> None:
    rng = seeded("attendance")
    names = listed(
        "Ana, Ben, Chloe, Dev, Ella, Farah, George, Hana, Isaac, Jade, Kofi, Lola, Musa, Nina, Oscar, "
        "Pia, Quinn, Rosa, Samir, Tess, Uma, Viktor, Wen, Zara"
    )
    rows: list[Row] = [
        ["Attendance, autumn term 2024"],
        ["", "", "Sessions attended", "", "", "", "", ""],
        ["Pupil", "Group", "September", "October", "November", "December", "Term total", "Late arrivals"],
    ]
    for at, name in enumerate(names, start=4):
        found = [rng.randint(12, 20), rng.randint(10, 18), rng.randint(13, 21), rng.randint(8, 14)]
        rows.append(
            [
                name,
                rng.choice(("Red", "Blue", "Green")),
                *found,
                Formula(f"=SUM(C{at}:F{at})", sum(found)),
                rng.randint(0, 7),
            ]
        )
    body = rows[3:]
    sums: list[Any] = [sum(row[column] for row in body) for column in range(2, 6)]
    end = Formula(f"=SUM(G4:G{len(rows)})", sum(sums))
    rows.append(["All pupils", "", *sums, end, sum(row[7] for row in body)])
    write_xlsx("attendance.xlsx", [Sheet("Autumn", rows, merged=("A1:H1", "C2:G2"))])


def rota() -> None:
    """A note with a table; the days of August and the people of three shifts."""
    rng, people = seeded("rota"), ("Priya", "Tom", "Agnieszka", "Luis", "Maeve")
    rows = ["| Date | Day | Early | Late | Night |", "|---|---|---|---|---|"]
    august = (date(2024, 8, 1) + timedelta(step) for step in range(31))
    rows += [f"| {day:%d %B %Y} | {day:%A} | {' | '.join(rng.sample(people, 3))} |" for day in august]
    text = "# Ward rota, August 2024\n\nSwaps only with Maeve's consent.\n\n"
    (FILES / "rota-august.md").write_text(text + "\n".join(rows) + "\n", encoding="utf-8")


def volunteer_hours() -> None:
    rng = seeded("volunteer-hours")
    rows: list[Row] = []
    for day in days(rng, date(2024, 1, 6), date(2024, 12, 21), 90):
        work = rng.choice(("Food bank", "Tree planting", "Driving", "Reading with children", "Repair café"))
        miles = rng.randint(6, 58) if work == "Driving" else 0
        rows.append(
            [
                day,
                rng.choice(("Ruth", "Marek", "Joyce", "Ahmed", "Tilly", "Gwen")),
                work,
                rng.choice((1.0, 1.5, 2.0, 2.5, 3.0, 4.0)),
                miles,
            ]
        )
    write_ods("volunteer-hours.ods", "2024", [["Date", "Volunteer", "Activity", "Hours", "Miles driven"], *rows])


KINDS_3_TO_5 = (
    aufgaben, bug_list, parts_stock, preisliste, shop_catalogue, lagerliste, timesheet, zeiterfassung,
    attendance, rota, volunteer_hours,
)  # fmt: skip
