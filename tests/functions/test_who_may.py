"""Every route, every credential: what docs/access.md expects is what the real functions answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from pages.access import CREDENTIALS, KEYS, REFUSED, ROWS, Row
from tests.functions.access import HIDDEN, SEEN, Access
from tests.functions.conftest import deployed

SHOWN = {"POST /search", "GET /documents/{vault}/{path}"}  # what gives text of documents back


@pytest.fixture(scope="module")
def access(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Access]:
    folder = tmp_path_factory.mktemp("access")
    with pytest.MonkeyPatch.context() as environ, deployed(folder, environ) as deployment:
        yield Access(deployment)


def test_every_route_of_every_function_is_in_the_table_and_nothing_else(access: Access) -> None:
    assert {row.route for row in ROWS} == access.routes(), "a route has no row in pages/access.py, or a row no route"


def test_every_route_that_needs_a_key_is_tried_on_own_and_on_anothers_things() -> None:
    rows = Counter(row.route for row in ROWS if not row.open)
    operating = {"GET /stats", "GET /health", "GET /canaries", "GET /queue", "POST /queue/redrive"}
    operating |= {"GET /models/near", "POST /models/test"}
    lists = {"GET /v1/models", "GET /me", "GET /feedback", "GET /vaults", "GET /threads", "GET /receipts"}
    lists |= {"GET /v1/vector_stores"}
    about_nothing_else = (
        {"POST /v1/verify", "POST /v1/embeddings", "POST /v1/files", "POST /rerank", "POST /app/links"}
        | lists
        | operating
    )

    assert [route for route, count in rows.items() if count < 2 and route not in about_nothing_else] == []


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.route} {row.aim}" for row in ROWS])
def test_each_credential_gets_the_status_of_the_table_and_nothing_of_the_other_tenant(access: Access, row: Row) -> None:
    before = access.others_things()
    seen: dict[str, int] = {}
    bodies: dict[str, str] = {}
    for credential in CREDENTIALS:
        if credential in KEYS and row.route.startswith(("DELETE", "POST /documents")):
            access.renew()
        seen[credential], bodies[credential] = access.send(row, credential)
    access.renew()

    assert seen == row.expected
    assert [credential for credential, body in bodies.items() if HIDDEN in body] == []
    assert [credential for credential in (*REFUSED, "admin of `side`") if SEEN in bodies[credential]] == []
    assert access.others_things() == before


def test_a_key_that_may_is_shown_its_own_documents(access: Access) -> None:
    own = [row for row in ROWS if row.route in SHOWN and ("own, its text" in row.aim or row.route == "POST /search")]

    shown = {row.aim: SEEN in access.send(row, "reader")[1] for row in own}

    assert shown == {row.aim: not row.aim.startswith("another") for row in own}
