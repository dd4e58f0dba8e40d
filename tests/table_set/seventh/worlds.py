"""The twelve tables of the seventh set: each function writes files and returns the rows behind them."""

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
    write_xlsx,
)
from tests.table_set.second.worlds_tuning import Rows, markdown, placed, slashed, write_text


def bikes(folder: Path) -> Rows:
    """A bicycle workshop with semicolons; what nobody has fetched has no day, what is not repaired no bill."""
    rng = seeded("seventh, bikes")
    faults = {
        "puncture": (15, 7),
        "brakes": (35, 22),
        "gears": (45, 31),
        "buckled wheel": (60, 44),
        "full service": (110, 38),
        "crash damage": (150, 120),
    }
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2025, 2, 3), date(2025, 5, 30), 50), start=2207):
        fault = rng.choices(list(faults), (5, 5, 4, 3, 3, 1))[0]
        usual, parts = faults[fault]
        minutes = int(usual * rng.uniform(0.6, 1.6))
        spares = round(parts * rng.uniform(0.3, 1.7), 2)
        bill: Any = round(spares * 1.2 + minutes * 0.8, 2)
        back: Any = day + timedelta(rng.randint(0, 16)) if rng.random() < 0.84 else ""
        how = rng.choice(("card", "card", "cash", "bank transfer")) if back else ""
        make = rng.choice(listed("Trek, Giant, Ridgeback, Brompton, Specialized, Dawes"))
        style = "folding" if make == "Brompton" else rng.choice(listed("road, hybrid, child's, electric, cargo"))
        who = rng.choice(listed("Dunja, Dunja, Col, Femi"))
        rows.append([f"W{number}", day, make, style, fault, who, minutes, spares, bill, back, how])
    header = [
        *("Ticket", "Received", "Make", "Style", "Fault", "Mechanic", "Labour (min)", "Spares (£)", "Bill (£)"),
        *("Returned", "Settled by"),
    ]
    shown = [[r[0], slashed(r[1]), *r[2:9], slashed(r[9]), r[10]] for r in rows]
    write_csv(str(folder / "workshop-tickets.csv"), [header, *shown], ";")
    return placed("id day make style fault who minutes spares bill back how", rows)


def beach(folder: Path) -> Rows:
    """Cleaning of four beaches; most mornings nothing strange turned up."""
    rng = seeded("seventh, beach")
    long = {"Gull Sands": 1.4, "Pilot's Cove": 0.5, "Old Slipway": 0.8, "Marram Bay": 1.9}
    odd = listed(
        "false teeth, message in a bottle, shop till, Viking helmet, car bumper, wedding cake topper, traffic cone"
    )
    rows: list[Row] = []
    for day in days(rng, date(2024, 3, 9), date(2025, 9, 21), 36):
        place = rng.choice(list(long))
        crowd = rng.randint(4, 38)
        bags = max(2, int(crowd * long[place] * rng.uniform(0.5, 1.3)))
        heavy = round(bags * rng.uniform(2.4, 6.8), 1)
        most = rng.choice(listed("bottle tops, fishing net, wet wipes, polystyrene, crisp packets"))
        boss = rng.choice(listed("Moira, Desmond, Anjali, Pete"))
        sky = rng.choice(listed("sunny, sunny, drizzle, gale, fog"))
        found = odd.pop(rng.randrange(len(odd))) if odd and rng.random() < 0.22 else ""
        start = rng.choice((540, 570, 600, 630, 840))
        rows.append([day, place, crowd, bags, heavy, rng.randint(6, 140), most, boss, sky, start, found])
    header = [
        *("Day", "Shore", "Helpers", "Sacks", "Weighed (kg)", "Cans", "Commonest litter", "Led by", "Sky", "Start"),
        "Strangest find",
    ]
    shown = [[f"{r[0]:%d %B %Y}", *r[1:4], english(r[4], 1), *r[5:9], clock(r[9]), r[10]] for r in rows]
    text = "We weigh what we carry off the sand before the council takes it away."
    write_docx(str(folder / "beach-cleans.docx"), "Tideline volunteers", text, [header, *shown])
    return placed("day place crowd bags heavy cans most boss sky start odd", [[*r[:9], r[9] * 60, r[10]] for r in rows])


def pipettes(folder: Path) -> Rows:
    """Checks of a laboratory's pipettes; whoever failed has no next day, and the error may be below zero."""
    rng = seeded("seventh, pipettes")
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 9, 2), date(2025, 4, 11), 42), start=71):
        size = rng.choice((10, 20, 100, 200, 1000, 5000))
        off = rng.uniform(-0.016, 0.016)
        mean = round(size * (1 + off), 2 if size < 500 else 1)
        error = round(100 * (mean / size - 1), 2)
        spread = round(rng.uniform(0.08, 1.15), 2)
        verdict = "fail" if abs(error) > 1.2 or spread > 1.0 else rng.choice(("pass", "pass", "pass", "adjusted"))
        due: Any = "" if verdict == "fail" else day + timedelta(rng.choice((182, 365)))
        brand = rng.choice(listed("Gilson, Eppendorf, Brand, Sartorius"))
        room = rng.choice(("2.14", "2.17", "cold room", "cell culture"))
        who = rng.choice(listed("Noor, Ilse, Benedikt"))
        channels = rng.choice((1, 1, 1, 8))
        degrees = rng.randint(192, 236) / 10
        rows.append([f"P-{number:03}", brand, channels, size, day, mean, error, spread, degrees, who, room, verdict,
                     due])  # fmt: skip
    header = [
        *("Serial", "Maker", "Channels", "Nominal (µl)", "Tested", "Mean delivered (µl)", "Bias (%)", "CV (%)"),
        *("Lab temp (°C)", "Technician", "Kept in", "Outcome", "Due again"),
    ]
    shown = [[*r[:5], english(r[5], 2 if r[3] < 500 else 1), *r[6:8], english(r[8], 1), *r[9:]] for r in rows]
    write_csv(str(folder / "pipette-checks.tsv"), [header, *shown], "\t")
    return placed("id brand channels size day mean error spread degrees who room verdict due", rows)


def florist(folder: Path) -> Rows:
    """A florist's orders, with a foot of sums; what was fetched from the shop has no round trip and no van fee."""
    rng = seeded("seventh, florist")
    kinds = {"bouquet": 34, "wreath": 62, "basket": 41, "buttonholes": 28, "table centre": 47}
    names = listed("Abbott, Okafor, Lindqvist, Moss, Pereira, Quill, Rahman, Sutton, Thorne, Vickers, Yeo, Zielinski")
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2025, 1, 14), date(2025, 6, 20), 44), start=901):
        kind = rng.choice(list(kinds))
        why = "funeral" if kind == "wreath" else rng.choice(listed("birthday, wedding, anniversary, get well, thanks"))
        price = round(kinds[kind] * rng.uniform(0.6, 1.9) * 2) / 2
        van = rng.random() < 0.6
        miles: Any = rng.randint(3, 140) / 10 if van else ""
        fee: Any = round(3 + miles * 0.75, 2) if van else ""
        flower = rng.choice(listed("roses, tulips, lilies, freesias, carnations, sunflowers"))
        maker = rng.choice(listed("Bryony, Bryony, Hal, Xanthe"))
        ribbon = rng.choice(("white", "white", "gold", "lilac", "none"))
        rows.append([number, rng.choice(names), day, day + timedelta(rng.randint(1, 21)), why, kind, flower,
                     rng.randint(5, 45), ribbon, maker, price, miles, fee])  # fmt: skip
    header = [
        *("Order", "Surname", "Taken", "Wanted for", "Occasion", "Piece", "Main bloom", "Stems", "Ribbon", "Made by"),
        *("Price (£)", "Van trip (miles)", "Van fee (£)"),
    ]
    shown = [
        [*r[:2], f"{r[2]:%d %b %Y}", f"{r[3]:%d %b %Y}", *r[4:11], english(r[11], 1) if r[11] else "", r[12]]
        for r in rows
    ]
    sums = [sum(r[7] for r in rows), "", "", total(r[10] for r in rows), "", total(r[12] or 0 for r in rows)]
    foot = ["All", *[""] * 6, *sums]
    write_html(str(folder / "flower-orders.html"), "Orders, first half of 2025", [("Order book", header, shown, foot)])
    return placed("id name day wanted why kind flower stems ribbon maker price miles fee", rows)


def judo(folder: Path) -> Rows:
    """Two sheets: contests, and the club's members; a bout that went to the judges has no throw."""
    rng = seeded("seventh, judo")
    names = listed("Ines, Callum, Priya, Jonah, Mei, Oskar, Tilda, Rafael, Sadie, Kwame")
    belts = listed("white, yellow, orange, orange, green, green, blue, brown")
    members: list[Row] = []
    for name in names:
        born = date(2007, 2, 1) + timedelta(rng.randrange(2900))
        joined = date(2017, 9, 1) + timedelta(rng.randrange(2300))
        members.append([name, rng.choice(belts), born, rng.choice((34, 42, 50, 55, 66)), joined,
                        float(rng.choice((58, 64, 72))), rng.choice(("yes", "no"))])  # fmt: skip
    cups = {
        "Founders' Cup": date(2024, 10, 12),
        "Riverside Open": date(2024, 11, 30),
        "Winter League": date(2025, 1, 25),
        "County Trials": date(2025, 3, 15),
        "Spring Friendly": date(2025, 5, 10),
    }
    rows: list[Row] = []
    for cup, day in cups.items():
        for _ in range(rng.randint(9, 13)):
            won = rng.choice(("won", "won", "lost"))
            how = rng.choice(listed("ippon, ippon, waza-ari, decision"))
            throw = "" if how == "decision" else rng.choice(listed("o-goshi, seoi-nage, uchi-mata, tai-otoshi, hold"))
            club = rng.choice(listed("Bushido Lane, Seven Oaks, Kano House, Dragon's Mat"))
            seconds = 240 if how == "decision" else rng.randint(9, 229)
            rows.append([day, cup, rng.choice(names), club, rng.randint(1, 4), won, how, throw, seconds,
                         rng.choice((0, 0, 1, 2))])  # fmt: skip
    header = [
        *("Date", "Tournament", "Fighter", "Opponent from", "Mat", "Result", "Decided by", "Technique", "Length (s)"),
        "Shidos",
    ]
    about = ["First name", "Belt", "Born", "Class (kg)", "Member since", "Fee (£/term)", "Referee licence"]
    sheets = [
        Sheet("Contests", [header, *rows], formats={0: "dd/mm/yyyy"}),
        Sheet("Members", [about, *members], formats={2: "dd/mm/yyyy", 4: "dd/mm/yyyy", 5: "0.00"}),
    ]
    write_xlsx(str(folder / "judo-club.xlsx"), sheets)
    return placed("day cup who club mat result how throw seconds shidos", rows, part="contests") + placed(
        "name belt born weight joined fee referee", members, part="members"
    )


def birds(folder: Path) -> Rows:
    """A ringing station's morning catches; many a sex cannot be told."""
    rng = seeded("seventh, birds")
    kinds = {
        "robin": (73, 18.5),
        "blackcap": (75, 19.0),
        "wren": (49, 9.5),
        "chiffchaff": (58, 7.8),
        "blue tit": (64, 10.8),
        "song thrush": (118, 76.0),
    }
    rows: list[Row] = []
    number = 48100
    for day in days(rng, date(2025, 7, 26), date(2025, 10, 12), 56):
        number += rng.randint(1, 6)
        kind = rng.choices(list(kinds), (5, 5, 3, 4, 5, 2))[0]
        wing, usual = kinds[kind]
        sex = rng.choice(("male", "female")) if kind in {"blackcap", "blue tit"} else ""
        note = rng.choice(("", "", "", "", "", "tick by the eye", "moulting", "bald patch", "old leg injury"))
        rows.append(
            [
                f"AK{number}",
                day,
                rng.randrange(345, 700, 5),
                kind,
                rng.choice(("adult", "juvenile", "juvenile")),
                sex,
                wing + rng.randint(-4, 4),
                round(usual * rng.uniform(0.86, 1.22), 1),
                rng.randint(0, 5),
                rng.choice(listed("Reedbed, Hedge, Willow Walk, Compost")),
                rng.choice(listed("Gwilym, Farah, Netta")),
                rng.choice(("yes", "no", "no")),
                note,
            ]
        )
    header = [
        *("Ring", "Caught", "Hour", "Species", "Age", "Sex", "Wing (mm)", "Mass (g)", "Fat score", "Net", "Ringer"),
        *("Retrap", "Remarks"),
    ]
    shown = [[*r[:2], clock(r[2]), *r[3:7], english(r[7], 1), *r[8:]] for r in rows]
    write_csv(str(folder / "ringing-autumn-2025.csv"), [header, *shown])
    return placed(
        "id day hour kind age sex wing mass fat net ringer again note", [[*r[:2], r[2] * 60, *r[3:]] for r in rows]
    )


def piano(folder: Path) -> Rows:
    """A piano tuner's visits; who has not paid has no day."""
    rng = seeded("seventh, piano")
    pianos = {
        "Mrs Pargeter": ("Upper Slade", "Bechstein", "upright", 1911, 14),
        "Trinity Church": ("Holt", "Yamaha", "grand", 1994, 6),
        "The Half Moon": ("Crake", "Kemble", "upright", 1978, 21),
        "Dr Banerjee": ("Holt", "Steinway", "grand", 1927, 7),
        "Primary School": ("Fenny Down", "Kemble", "upright", 1985, 18),
        "Miss Lovell": ("Crake", "Blüthner", "grand", 1903, 23),
        "Arts Centre": ("Marlby", "Yamaha", "grand", 2011, 31),
        "Mr Tregear": ("Upper Slade", "Welmar", "upright", 1961, 13),
    }
    rows: list[Row] = []
    for day in days(rng, date(2024, 1, 15), date(2025, 6, 30), 41):
        who = rng.choice(list(pianos))
        village, make, kind, built, miles = pianos[who]
        pitch = rng.randint(4290, 4412) / 10
        strings = rng.choice((0, 0, 0, 1, 2, 4))
        minutes = 75 + strings * 12 + rng.choice((0, 10, 25, 40))
        fee = 72.0 + (14 if kind == "grand" else 0) + strings * 9.5
        paid: Any = day + timedelta(rng.randint(0, 45)) if rng.random() < 0.8 else ""
        job = rng.choice(listed("tuning, tuning, tuning, pitch raise, regulating"))
        rows.append([day, who, village, make, kind, built, job, pitch, strings, minutes, miles, fee, paid])
    header = [
        *("Call", "Client", "Village", "Brand", "Body", "Built", "Job", "Found at (Hz)", "New strings", "Minutes"),
        *("Drive (miles)", "Charged (£)", "Paid on"),
    ]
    shown = [[slashed(r[0]), *r[1:7], english(r[7], 1), *r[8:12], slashed(r[12])] for r in rows]
    write_csv(str(folder / "piano-rounds.csv"), [header, *shown])
    return placed("day who village brand body built job pitch strings minutes miles fee paid", rows)


def baby(folder: Path) -> Rows:
    """Ten days of a baby's bottles; after some he did not sleep at all."""
    rng = seeded("seventh, baby")
    rows: list[Row] = []
    for at in range(10):
        day = date(2025, 3, 3) + timedelta(at)
        hour = rng.randint(10, 80)
        while hour < 1430:
            given = rng.choice((90, 120, 120, 150, 180))
            left = rng.choice((0, 0, 5, 10, 20, 35, 60))
            night = hour < 360 or hour > 1290
            who = rng.choice(("Mum", "Dad") if night else ("Mum", "Dad", "Grandma", "childminder"))
            asleep: Any = rng.randrange(15, 190, 5) if rng.random() < 0.72 else ""
            sick = rng.choice(("no", "no", "a little", "a lot"))
            place = rng.choice(listed("cot, sofa, kitchen, pushchair"))
            milk = rng.choice(("formula", "formula", "expressed"))
            rows.append([day, hour, who, milk, given, left, rng.randint(8, 34), sick, asleep, place])
            hour += rng.randint(215, 330)
    header = [
        *("Day", "At", "Fed by", "Milk", "Offered (ml)", "Left (ml)", "Took (min)", "Sick", "Slept after (min)", "Spot")
    ]
    shown = [[f"{r[0]:%d/%m/%Y}", f"{r[1] // 60:02}:{r[1] % 60:02}", *r[2:]] for r in rows]
    text = "Notes for the health visitor. Arlo was eleven weeks old on the first of these days."
    write_text(folder / "arlo-bottles.md", markdown("Arlo's bottles", text, header, shown))
    return placed("day hour who milk given left minutes sick asleep place", [[r[0], r[1] * 60, *r[2:]] for r in rows])


GOODS = """
copier paper; paper; 4.1 | printer toner; machines; 71 | envelopes; paper; 6.4 | whiteboard pens; paper; 7.9
coffee beans; kitchen; 13.5 | tea bags; kitchen; 5.2 | oat milk; kitchen; 1.9 | dishwasher tablets; kitchen; 8.8
desk chair; furniture; 164 | standing desk; furniture; 389 | monitor; machines; 172 | keyboard; machines; 34
headset; machines; 58 | bin liners; cleaning; 3.7 | hand soap; cleaning; 2.6 | floor mop; cleaning; 17
"""


def office(folder: Path) -> Rows:
    """Two rows of headers with merged cells and a row of sums; what has not arrived has no day."""
    rng = seeded("seventh, office")
    goods = {
        name: (group, float(price))
        for name, group, price in (
            each.strip().split("; ") for line in GOODS.strip().splitlines() for each in line.split(" | ")
        )
    }
    shops = {
        "paper": ("Quire & Co", "Deskmate"),
        "machines": ("Bytehouse", "Deskmate"),
        "kitchen": ("Larder Direct", "CashCarry"),
        "furniture": ("Deskmate",),
        "cleaning": ("CashCarry",),
    }
    rows: list[Row] = []
    for number, day in enumerate(days(rng, date(2024, 7, 1), date(2025, 6, 26), 45), start=1):
        name = rng.choice(list(goods))
        group, usual = goods[name]
        many = rng.randint(1, 4) if usual > 30 else rng.randint(2, 30)
        net = round(many * usual * rng.uniform(0.9, 1.15), 2)
        vat = 0.0 if group == "kitchen" else round(net * 0.2, 2)
        came: Any = day + timedelta(rng.randint(1, 24)) if rng.random() < 0.89 else ""
        team = rng.choice(listed("Sales, Accounts, Design, Support, Directors"))
        rows.append([f"PO-{number:02}", day, name, group, rng.choice(shops[group]), many, team, net, vat,
                     round(net + vat, 2), came, rng.choice(("yes", "yes", "no"))])  # fmt: skip
    head: list[Row] = [
        ["Purchases, July 2024 to June 2025"],
        ["", "", "", "", "", "", "", "Cost (£)", "", "", "", ""],
        ["PO", "Placed", "Article", "Group", "Supplier", "Quantity", "Requested by", "Net", "VAT", "Gross", "Delivered",
         "Approved"],
    ]  # fmt: skip
    last = len(rows) + 3
    sums = [Formula(f"=SUM({c}4:{c}{last})", total(row[at] for row in rows)) for at, c in enumerate("HIJ", start=7)]
    lines: list[Row] = [*head, *rows, ["Sum", "", "", "", "", "", "", *sums, "", ""]]
    formats = {1: "dd mmm yyyy", 7: "#,##0.00", 8: "#,##0.00", 9: "#,##0.00", 10: "dd mmm yyyy"}
    page = Sheet("Purchases", lines, merged=("A1:L1", "H2:J2"), formats=formats)
    write_xlsx(str(folder / "office-purchases.xlsx"), [page])
    return placed("id day item group shop many team net vat gross came ok", rows, 4)


def tenants(folder: Path) -> Rows:
    """A landlord's flats: German numbers; an empty flat has neither tenant nor day, and few are in arrears."""
    rng = seeded("seventh, tenants")
    houses = {"Lindenallee 4": 9.4, "Lindenallee 6": 9.1, "Am Kanal 12": 11.8, "Bergstraße 31": 8.2}
    names = listed(
        "Aydin, Brandt, Cordes, Demir, Eichler, Fuchs, Gruber, Hansen, Iding, Jansen, Krüger, Lorenz, Marx, Neumann, "
        "Ostrowski, Peters, Richter, Schuster, Thomsen, Uhl, Vogel, Weiß, Yıldırım, Ziegler, Böhm, Dorn, Falk, Giese"
    )
    rng.shuffle(names)
    rows: list[Row] = []
    for number in range(1, 33):
        house = list(houses)[(number - 1) // 8]
        size = rng.randint(310, 1080) / 10
        rooms = 1 if size < 40 else 2 if size < 62 else 3 if size < 85 else 4
        empty = rng.random() < 0.1 or not names
        who = "" if empty else names.pop()
        since: Any = "" if empty else date(1998, 4, 1) + timedelta(rng.randrange(9_700))
        rent = round(size * houses[house] * rng.uniform(0.88, 1.14), 2)
        heating = round(size * rng.uniform(2.1, 3.6))
        owed: Any = round(rent * rng.uniform(0.3, 2.4), 2) if who and rng.random() < 0.2 else ""
        floor, balcony = rng.choice(("EG", "1. OG", "2. OG", "DG")), rng.choice(("ja", "nein"))
        deposit: Any = float(round(rent * 3, -1)) if who else ""
        warm = rng.choice(("Gas", "Fernwärme", "Öl")) if house != "Am Kanal 12" else "Fernwärme"
        rows.append([f"WE{number:02}", house, floor, who, rooms, size, rent, float(heating), deposit, since, balcony,
                     warm, owed])  # fmt: skip
    header = [
        *("Einheit", "Objekt", "Lage", "Mieter", "Zimmer", "Fläche (m²)", "Kaltmiete (€)", "Vorauszahlung (€)"),
        *("Kaution (€)", "Mietbeginn", "Balkon", "Heizung", "Rückstand (€)"),
    ]
    write_csv(
        str(folder / "mieterliste-2025.csv"), [header, *[[*r[:5], german(r[5], 1), *r[6:]] for r in rows]], ";", german
    )
    return placed("id house floor who rooms size rent extra deposit since balcony heating owed", rows)


THINGS = """
Schneeanzug; Kleidung; 18 | Gummistiefel; Schuhe; 7 | Regenjacke; Kleidung; 9 | Laufrad; Fahrzeuge; 32
Bilderbuch; Bücher; 2.5 | Holzeisenbahn; Spielzeug; 24 | Puppenwagen; Spielzeug; 19 | Puzzle; Spielzeug; 4
Turnschuhe; Schuhe; 8 | Strampler; Kleidung; 3 | Hörspiel; Bücher; 5 | Roller; Fahrzeuge; 21 | Bobbycar; Fahrzeuge; 15
"""


def bazaar(folder: Path) -> Rows:
    """A sale of children's things: a title, headers, a row of sums; what stayed has no hour, till or takings."""
    rng = seeded("seventh, bazaar")
    things = [each.strip().split("; ") for line in THINGS.strip().splitlines() for each in line.split(" | ")]
    rows: list[Row] = []
    for number in range(301, 355):
        name, group, usual = rng.choice(things)
        wish = max(1.0, round(float(usual) * rng.uniform(0.6, 1.6) * 2) / 2)
        gone = rng.random() < 0.7
        got: Any = max(0.5, wish - rng.choice((0, 0, 0, 0.5, 1, 2, 3))) if gone else ""
        share: Any = round(got * 0.2, 2) if gone else ""
        at: Any = rng.randrange(540, 720, 5) if gone else ""
        till: Any = rng.randint(1, 3) if gone else ""
        seller = rng.choice(listed("Frau Albers, Frau Can, Familie Heitmann, Herr Nguyen, Frau Sommer, Frau Wiese"))
        state = rng.choice(("neuwertig", "gut", "gut", "bespielt"))
        size: Any = rng.choice((74, 86, 92, 104, 116)) if group == "Kleidung" else (
            rng.randint(20, 31) if group == "Schuhe" else ""
        )  # fmt: skip
        rows.append([number, seller, name, group, size, state, wish, got, share, at, till])
    head: list[Row] = [
        ["Kinderbasar der Kita Löwenzahn, 29. März 2025"],
        [],
        ["Nummer", "Anbieter", "Artikel", "Rubrik", "Größe", "Zustand", "Wunschpreis (€)", "Erlös (€)",
         "Kita-Anteil (€)", "Verkauft um", "Kasse"],
    ]  # fmt: skip
    last = len(rows) + 3
    sums = [Formula(f"=SUM({c}4:{c}{last})", total(row[at] or 0 for row in rows)) for at, c in enumerate("GHI", 6)]
    shown = [[*r[:9], clock(r[9]) if r[9] else "", r[10]] for r in rows]
    lines: list[Row] = [*head, *shown, ["Gesamt", "", "", "", "", "", *sums, "", ""]]
    formats = dict.fromkeys(range(6, 9), "#,##0.00")
    write_xlsx(str(folder / "kinderbasar.xlsx"), [Sheet("Basar", lines, merged=("A1:K1",), formats=formats)])
    plain = [[*r[:9], r[9] * 60 if r[9] else "", r[10]] for r in rows]
    return placed("id seller name group size state wish got share at till", plain, 4)


def walks(folder: Path) -> Rows:
    """A rambling club's walks: German days and decimals, hours as Std:Min; not every walk ended in an inn."""
    rng = seeded("seventh, walks")
    aims = {
        "Hoher Stein": "Rothaar",
        "Teufelsschlucht": "Eifel",
        "Wolfswarte": "Harz",
        "Ravenna": "Schwarzwald",
        "Edersee": "Kellerwald",
        "Brocken": "Harz",
        "Feldsee": "Schwarzwald",
        "Rursee": "Eifel",
    }
    rows: list[Row] = []
    for day in days(rng, date(2024, 3, 17), date(2025, 10, 5), 33):
        aim = rng.choice(list(aims))
        far = rng.randint(62, 241) / 10
        up = rng.randrange(90, 980, 10)
        minutes = int(far * 15 + up / 10 + rng.randint(-20, 45))
        inn = rng.choice(("", "Köhlerhütte", "Waldgasthof", "Zur Post", "Seeblick"))
        fare = round(rng.uniform(4, 39), 2)
        sky = rng.choice(listed("sonnig, sonnig, bewölkt, Regen, Nebel, Schnee")) if day.month < 5 else (
            rng.choice(listed("sonnig, sonnig, bewölkt, Regen"))
        )  # fmt: skip
        rows.append([day, aim, aims[aim], far, up, minutes, rng.randint(5, 27), rng.randint(0, 4),
                     rng.choice(listed("Margret, Jürgen, Dörte, Ali")), inn, sky, fare])  # fmt: skip
    header = [
        *("Datum", "Ziel", "Gebiet", "Strecke (km)", "Aufstieg (m)", "Gehzeit (Std:Min)", "Teilnehmer", "Hunde"),
        *("Führung", "Einkehr", "Wetter", "Fahrgeld (€)"),
    ]
    shown = [[german(r[0]), *r[1:3], german(r[3], 1), r[4], clock(r[5]), *r[6:11], german(r[11])] for r in rows]
    text = "Alle Touren seit Mai 2024. Das Fahrgeld gilt für jeden, der mitfährt."
    write_text(folder / "wandertouren.md", markdown("Wandergruppe Sohle 8", text, header, shown))
    return placed(
        "day aim area far up time crowd dogs leader inn sky fare", [[*r[:5], r[5] * 60, *r[6:]] for r in rows]
    )


WORLDS: Mapping[str, Callable[[Path], Rows]] = {
    "bikes": bikes,
    "beach": beach,
    "pipettes": pipettes,
    "florist": florist,
    "judo": judo,
    "birds": birds,
    "piano": piano,
    "baby": baby,
    "office": office,
    "tenants": tenants,
    "bazaar": bazaar,
    "walks": walks,
}
