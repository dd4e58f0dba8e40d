"""Sign-in codes: one use, one minute, nothing readable in the store."""

from __future__ import annotations

import json
from typing import NoReturn

import pytest

from ragdrop.errors import InvalidParamsError, UnauthenticatedError
from ragdrop.tenants.sign_in import LIFETIME_S, MAX_SECRET_BYTES, SignInCodes
from testing.memory_telemetry import MemoryStoredReplies

SECRET = "rd_secret"


class Clock:
    """Seconds since 1970 that a test moves."""

    def __init__(self) -> None:
        self.now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store() -> MemoryStoredReplies:
    return MemoryStoredReplies()


@pytest.fixture
def codes(store: MemoryStoredReplies, clock: Clock) -> SignInCodes:
    return SignInCodes(store, clock=clock)


def test_a_code_gives_its_credential_once(codes: SignInCodes) -> None:
    code, _ = codes.make(SECRET)

    assert codes.redeem(code) == SECRET
    with pytest.raises(UnauthenticatedError):
        codes.redeem(code)


class ReadOnly(MemoryStoredReplies):
    """Replies that nobody may write."""

    def begin(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a guess was written")

    def forget(self, *_: object) -> NoReturn:
        raise AssertionError("a guess was written")


def test_a_code_that_nobody_made_gives_nothing_and_writes_nothing(clock: Clock) -> None:
    with pytest.raises(UnauthenticatedError):
        SignInCodes(ReadOnly(), clock=clock).redeem("guessed")


def test_a_code_expires_after_a_minute(codes: SignInCodes, clock: Clock) -> None:
    code, expires_s = codes.make(SECRET)
    clock.now_s += LIFETIME_S + 1

    assert expires_s < clock.now_s
    with pytest.raises(UnauthenticatedError):
        codes.redeem(code)


def test_two_codes_do_not_get_in_each_others_way(codes: SignInCodes) -> None:
    first, second = codes.make(SECRET)[0], codes.make("rd_other")[0]

    assert (codes.redeem(second), codes.redeem(first)) == ("rd_other", SECRET)


def test_the_store_holds_neither_the_code_nor_the_credential(codes: SignInCodes, store: MemoryStoredReplies) -> None:
    code, _ = codes.make(SECRET)

    stored = json.dumps([(*key, str(item.body)) for key, item in store._items.items()])
    assert code not in stored
    assert SECRET not in stored


def test_a_credential_that_is_too_long_is_refused(codes: SignInCodes) -> None:
    with pytest.raises(InvalidParamsError):
        codes.make("x" * (MAX_SECRET_BYTES + 1))
