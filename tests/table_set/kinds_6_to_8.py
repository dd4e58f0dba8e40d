"""The files of the kinds 6 to 8; `make_files` has the writers."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, time, timedelta
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
    write_html,
    write_xlsx,
)

# 6 Measurements and sensor logs


def weather_station() -> None:
    rng = seeded("weather-station")
    rows: list[Row] = []
    for day in (date(2024, 1, 1) + timedelta(step) for step in range(366)):
        season = 10 - 9.5 * (1 - abs((day.timetuple().tm_yday - 15) % 366 - 183) / 91.5)
        mean = round(20 - season + rng.uniform(-4, 4), 1)
        low, high = round(mean - rng.uniform(2, 6), 1), round(mean + rng.uniform(2, 7), 1)
        rain = round(rng.choice((0, 0, 0, rng.uniform(0.2, 6), rng.uniform(2, 28))), 1)
        rows.append([day, *(english(value, 1) for value in (mean, low, high, rain)), rng.randint(4, 78)])
    write_csv(
        "weather-station-2024.csv",
        [["Date", "Mean temp (°C)", "Min temp (°C)", "Max temp (°C)", "Rain (mm)", "Gust (km/h)"], *rows],
    )


def stromzaehler() -> None:
    rng = seeded("stromzaehler")
    meter, rows = 18_204.0, []
    for month in range(48):
        used = float(rng.randint(180, 420))
        meter += used
        price = (0.2990, 0.3390, 0.4150, 0.3625)[month // 12]
        rows.append(
            [
                f"{month % 12 + 1:02}.{2021 + month // 12}",
                german(meter, 0),
                german(used, 0),
                german(price, 4),
                german(round(used * price, 2)),
            ]
        )
    write_csv(
        "stromzaehler.csv",
        [["Monat", "Zählerstand (kWh)", "Verbrauch (kWh)", "Preis (€/kWh)", "Kosten (€)"], *rows],
        ";",
    )


def fridge_log() -> None:
    rng = seeded("fridge-log")
    rows: list[Row] = [["Time", "Sensor", "Temperature (°C)", "Humidity (%)", "Door openings", "Alarm"]]
    for step in range(200):
        at = datetime(2024, 7, 1) + timedelta(hours=3 * step)  # noqa: DTZ001 - a logger without a zone
        for name, middle in (("Fridge A", 4.2), ("Freezer B", -18.4)):
            warm = round(middle + rng.gauss(0, 1.1), 1)
            rows.append([at, name, warm, rng.randint(31, 78), rng.randint(0, 9), warm > middle + 2])
    write_xlsx("fridge-log.xlsx", [Sheet("July", rows, formats={0: "yyyy-mm-dd hh:mm"})])


def blood_pressure() -> None:
    rng = seeded("blood-pressure")
    rows: list[Row] = []
    for day in days(rng, date(2024, 3, 1), date(2024, 8, 31), 140):
        weight = english(round(rng.uniform(78.2, 83.9), 1), 1) if rng.random() < 0.6 else ""
        taken = f"{rng.choice((6, 7, 8, 20, 21, 22)):02}:{rng.randrange(60):02}"
        rows.append(
            [
                f"{day:%d/%m/%Y}",
                taken,
                rng.randint(112, 158),
                rng.randint(68, 99),
                rng.randint(54, 92),
                weight,
                rng.choice(("", "", "", "after run", "coffee", "slept badly")),
            ]
        )
    write_csv(
        "blood-pressure.csv",
        [["Date", "Time", "Systolic (mmHg)", "Diastolic (mmHg)", "Pulse (bpm)", "Weight (kg)", "Note"], *rows],
    )


def well_water() -> None:
    rng = seeded("well-water")
    rows: list[Row] = []
    for step in range(24):
        nitrate = round(rng.uniform(8, 61), 1)
        rows.append(
            [
                date(2024, 1 + step // 2, 6 + 9 * (step % 2)),
                ("Orchard", "Mill", "Church")[step % 3],
                round(rng.uniform(6.4, 8.1), 1),
                nitrate,
                round(rng.uniform(7, 22), 1),
                "yes" if nitrate <= 50 else "no",
            ]
        )
    table: list[Row] = [
        ["Date", "Well", "pH", "Nitrate (mg/l)", "Hardness (°dH)", "Passed"],
        *([english(cell, 1) for cell in row] for row in rows),
    ]
    write_docx(
        "well-water.docx", "Well water 2024", "Samples of the three wells of the village, taken twice a month.", table
    )


# 7 Membership, donations and invoices


def donations() -> None:
    rng = seeded("donations")
    people = listed(
        "Harper, Okafor, Lindqvist, Marino, Dubois, Patel, Novak, Anonymous, Bakery on the Square, Rotary Club"
    )
    rows: list[Row] = []
    for day in days(rng, date(2023, 1, 4), date(2024, 12, 28), 132):
        amount = rng.choice((10.0, 20.0, 25.0, 50.0, 50.0, 75.0, 100.0, 250.0, 1000.0, 12.5))
        rows.append(
            [
                day,
                rng.choice(people),
                rng.choice(("Roof fund", "Youth work", "Library", "General")),
                rng.choice(("bank transfer", "cash", "card")),
                f"{amount:,.2f}",
                rng.choice(("Yes", "No")),
            ]
        )
    write_csv("donations.csv", [["Date", "Donor", "Campaign", "Method", "Amount (EUR)", "Thank-you sent"], *rows])


def rechnungen() -> None:
    rng = seeded("rechnungen")
    rows: list[Row] = [
        ["Rechnungsnr.", "Datum", "Kunde", "Netto", "MwSt", "Brutto", "Fällig am", "Bezahlt am", "Status"]
    ]
    for number, day in enumerate(days(rng, date(2024, 1, 3), date(2024, 12, 18), 92)):
        net, at = round(rng.uniform(80, 4200), 2), number + 2
        tax = round(net * 0.19, 2)
        state = rng.choices(("bezahlt", "offen", "überfällig"), (7, 2, 1))[0]
        paid = day + timedelta(rng.randint(3, 35)) if state == "bezahlt" else None
        rows.append(
            [
                f"R-2024-{number + 1:03}",
                day,
                rng.choice(("Hotel Post", "Bäckerei Sommer", "Stadt Neuburg", "Autohaus Lenz", "Praxis Dr. Weiß")),
                net,
                Formula(f"=ROUND(D{at}*0.19,2)", tax),
                Formula(f"=D{at}+E{at}", round(net + tax, 2)),
                day + timedelta(14),
                paid,
                state,
            ]
        )
    last, body = len(rows), rows[1:]
    sums = [total(row[3] for row in body), total(row[4].value for row in body), total(row[5].value for row in body)]
    rows.append(
        [
            "Summe",
            None,
            None,
            *(Formula(f"=SUM({c}2:{c}{last})", value) for c, value in zip("DEF", sums, strict=True)),
            None,
            None,
            None,
        ]
    )
    formats = {1: "dd.mm.yyyy", 6: "dd.mm.yyyy", 7: "dd.mm.yyyy"} | dict.fromkeys((3, 4, 5), '#,##0.00 "€"')
    write_xlsx("rechnungen-2024.xlsx", [Sheet("Rechnungen", rows, formats=formats)])


def choir_members() -> None:
    rng = seeded("choir-members")
    names = listed(
        "Alma, Boris, Clara, Dimitri, Edith, Frida, Gustav, Helga, Ingrid, Joachim, Klara, Leo, Maud, "
        "Norbert, Olga, Paul, Rita, Stefan, Thea, Ursula, Vera, Wim, Xenia, Yann, Zita, Otto"
    )
    rows: list[Row] = [["Name", "Voice", "Joined", "Annual fee (€)", "Paid", "Town"]]
    for name in names:
        voice, year, fee = (
            rng.choice(("soprano", "alto", "tenor", "bass")),
            rng.randint(1987, 2024),
            rng.choice((60, 60, 90, 120)),
        )
        rows.append(
            [name, voice, year, fee, rng.choice(("yes", "yes", "no")), rng.choice(("Ashford", "Brook", "Millham"))]
        )
    write_docx("choir-members.docx", "Members of the choir", "As of January 2025. Fees are due in February.", rows)


def mitgliederliste() -> None:
    rng = seeded("mitgliederliste")
    first = listed(
        "Agnes, Bernd, Cem, Doris, Erik, Fatma, Gerd, Heike, Igor, Jana, Kurt, Lisa, Mehmet, Nele, "
        "Oskar, Petra, Ralf, Sabine, Timo, Ute"
    )
    last = listed("Albrecht, Braun, Celik, Dietz, Engel, Fuchs, Graf, Huber, Jansen, Krause, Lang, Maier")
    rows: list[Row] = []
    for number in range(108):
        part = rng.choice(("Turnen", "Fußball", "Tischtennis", "Wandern"))
        joined = date(rng.randint(1978, 2024), rng.randint(1, 12), rng.randint(1, 28))
        fee = {"Turnen": 84.0, "Fußball": 120.0, "Tischtennis": 96.0, "Wandern": 48.0}[part] / rng.choice((1, 1, 2))
        rows.append(
            [
                number + 1,
                first[number * 7 % 20],
                rng.choice(last),
                rng.choice(("Kirchheim", "Dettingen", "Owen", "Lenningen")),
                joined,
                fee,
                part,
                rng.choice(("ja", "ja", "ja", "nein")),
            ]
        )
    write_csv(
        "mitgliederliste.csv",
        [["Nr.", "Vorname", "Nachname", "Ort", "Eintritt", "Jahresbeitrag (€)", "Abteilung", "Bezahlt"], *rows],
        ";",
        german,
    )


def invoices() -> None:
    rng = seeded("invoices")
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 1, 9), date(2024, 12, 12), 72)):
        client, currency = rng.choice(
            (("Brightside Media", "USD"), ("Atelier Morel", "EUR"), ("Pinewood School", "USD"), ("Kafka Books", "EUR"))
        )
        amount = f"{rng.uniform(120, 5200):,.2f}"
        rows.append(
            [
                f"INV-{2400 + number}",
                day,
                client,
                rng.choice(("Illustration", "Logo design", "Workshop", "Layout")),
                currency,
                amount,
                rng.choice(("paid", "paid", "open")),
            ]
        )
    write_csv(
        "invoices-2024.tsv", [["Invoice", "Issued", "Client", "Service", "Currency", "Amount", "Status"], *rows], "\t"
    )


# 8 Schedules, results and league tables


def match_results() -> None:
    rng = seeded("match-results")
    teams = listed(
        "Alder Town, Brixley, Corston United, Dunmere, Eastfield Rovers, Fenwick, Glenmoor, Harwick, "
        "Inverley, Kingsbridge, Longford City, Marsh Athletic"
    )
    pairs = [(home, away) for home in teams for away in teams if home != away]
    rng.shuffle(pairs)
    rows = [
        [
            date(2024, 8, 10) + timedelta(7 * (at // 6)),
            at // 6 + 1,
            home,
            away,
            min(rng.randrange(5), rng.randrange(7)),
            min(rng.randrange(5), rng.randrange(5)),
            rng.randint(180, 4200),
        ]
        for at, (home, away) in enumerate(pairs)
    ]
    write_csv("match-results.csv", [["Date", "Round", "Home", "Away", "Home goals", "Away goals", "Attendance"], *rows])


def league_table() -> None:
    """The table of a league and, below it, its scorers."""
    rng = seeded("league-table")
    teams = listed(
        "Oakham Owls, Ridgeway, St Bride's, Tarn Valley, Upton Park Rangers, Vale United, Westerley, "
        "Yarrow, Ashgrove, Bellview, Crosshill, Dalebrook"
    )
    games = [
        (a, b, min(rng.randrange(5), rng.randrange(6)), min(rng.randrange(5), rng.randrange(5)))
        for a in teams
        for b in teams
        if a != b
    ]
    found: list[list[Any]] = []
    for team in teams:
        score = [(us, them) if home == team else (them, us) for home, away, us, them in games if team in {home, away}]
        ends = Counter((us > them) - (us < them) for us, them in score)
        made, let = sum(us for us, _ in score), sum(them for _, them in score)
        found.append([team, len(score), ends[1], ends[0], ends[-1], made, let, made - let, 3 * ends[1] + ends[0]])
    found.sort(key=lambda row: (-row[8], -row[7], -row[5]))
    rows = [[place, *row[:7], f"{row[7]:+}" if row[7] else "0", row[8]] for place, row in enumerate(found, start=1)]
    scorers = [
        [name, rng.choice(teams), goals]
        for name, goals in zip(
            ("Adeyemi", "Brandt", "Castillo", "Doyle", "Ekström", "Fontaine", "Grady", "Hassan"),
            (21, 19, 17, 17, 14, 12, 11, 9),
            strict=True,
        )
    ]
    header = listed("Pos, Team, Played, Won, Drawn, Lost, Goals for, Goals against, Goal difference, Points")
    write_html(
        "league-table.html",
        "County league 2023/24",
        [("Final table", header, rows, ()), ("Top scorers", ("Player", "Club", "Goals"), scorers, ())],
    )


def conference_schedule() -> None:
    rng = seeded("conference-schedule")
    topics = listed(
        "Soil, Bees, Hedgerows, Rivers, Peat, Orchards, Seeds, Bats, Otters, Mapping, Funding, "
        "Meadows, Owls, Moss, Drones, Fungi, Ponds, Volunteers"
    )
    people = listed(
        "Abara, Bloom, Chen, Diaz, Evans, Fischer, Gallo, Haddad, Ito, Jensen, Kaur, Lopez, Moreau, "
        "Nkosi, O'Brien, Park, Quist, Rossi"
    )
    sheets = []
    for number, name in enumerate(("Friday", "Saturday")):
        rows: list[Row] = [["Start", "End", "Room", "Talk", "Speaker", "Seats", "Booked"]]
        for at in range(18):
            start = 9 * 60 + 40 * (at // 3) + 20 * (at // 9)
            seats = (60, 120, 35)[at % 3]
            title = f"{topics[(at * 5 + number * 7) % 18]}{(' in practice', ' for beginners')[number]}"
            length = rng.choice((25, 30, 35))
            rows.append(
                [
                    time(*divmod(start, 60)),
                    time(*divmod(start + length, 60)),
                    ("Elm", "Oak", "Yew")[at % 3],
                    title,
                    people[(at * 7 + number * 3) % 18],
                    seats,
                    rng.randint(seats // 3, seats),
                ]
            )
        sheets.append(Sheet(name, rows, formats={0: "hh:mm", 1: "hh:mm"}))
    write_xlsx("conference-schedule.xlsx", sheets)


def race_results() -> None:
    rng = seeded("race-results")
    first = listed(
        "Amy, Bill, Cath, Dan, Eve, Fred, Gill, Hugh, Iris, Jack, Kate, Luke, Meg, Ned, Orla, Pete, "
        "Rose, Stan, Tina, Vic"
    )
    last = listed("Archer, Bolt, Cross, Dale, Finch, Grove, Hart, Ives, Judd, Kemp, Lane, Moss, Nash, Peel, Reed")
    times = sorted(rng.sample(range(31 * 60, 78 * 60), 110))
    rows: list[Row] = [
        ["Hill View 10 km, 9 June 2024"],
        ["Place", "Bib", "Runner", "Club", "Category", "Time", "Entry fee (£)"],
    ]
    for place, (seconds, bib) in enumerate(zip(times, rng.sample(range(100, 999), 110), strict=True), start=1):
        club = rng.choice(("Striders", "Harriers", "Valley AC", "Unattached"))
        rows.append(
            [
                place,
                bib,
                f"{first[place * 3 % 20]} {last[place * 7 % 15]}",
                club,
                rng.choice(("M", "F", "M40", "F40", "M60", "F60")),
                timedelta(seconds=seconds),
                18 if club == "Unattached" else 15,
            ]
        )
    write_xlsx("race-results.xlsx", [Sheet("10 km", rows, merged=("A1:G1",), formats={5: "h:mm:ss"})])


KINDS_6_TO_8 = (
    weather_station, stromzaehler, fridge_log, blood_pressure, well_water, donations, rechnungen,
    choir_members, mitgliederliste, invoices, match_results, league_table, conference_schedule,
    race_results,
)  # fmt: skip
