"""Chains of receipts: each execution environment links the receipts of a tenant that it writes, one behind another."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ragdrop.domain.deadlines import rfc3339


def canonical(fields: Mapping[str, Any]) -> str:
    r"""JSON with sorted names, without spaces, in ASCII: equal fields have equal bytes.

    >>> canonical({"b": "ö", "a": [1.5, None]})
    '{"a":[1.5,null],"b":"\\u00f6"}'
    """
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))


def sha256_of(text: str) -> str:
    """SHA-256 of *text*, in hex.

    >>> sha256_of("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ChainLink:
    """Where a receipt stands in its chain.  It stays when the receipt is purged.

    `chain` is 32 hexadecimal digits, `number` counts from 1, `at` and `previous_at` are RFC 3339 with milliseconds.
    `content` is the SHA-256 of the receipt's canonical JSON, `previous` the digest of the link before, null in the
    first.
    """

    receipt: str
    chain: str
    number: int
    at: str
    content: str
    previous: str | None = None
    previous_at: str | None = None

    @property
    def text(self) -> str:
        """The link as canonical JSON, from which its digest is made."""
        return canonical(asdict(self))

    @property
    def digest(self) -> str:
        """SHA-256 of `text`, in hex."""
        return sha256_of(self.text)


def new_receipt_id(now_s: float, head: ChainLink | None, entropy: str) -> str:
    """32 hexadecimal digits that sort by time and, within a millisecond, by the number in the chain (RFC 9562, 7).

    Args:
        now_s: Seconds since 1970.
        head: The last link of the chain; an id never sorts before that of its predecessor.
        entropy: A random UUID (version 4) in hex.

    >>> new_receipt_id(1_700_000_000, None, "0" * 16 + "8" + "f" * 15)
    '018bcfe5680070018fffffffffffffff'
    """
    milliseconds, number = int(now_s * 1_000), 1
    if head is not None:
        milliseconds, number = max(milliseconds, int(head.receipt[:12], 16)), head.number + 1
    return f"{milliseconds:012x}7{number & 0xFFF:03x}{entropy[16:]}"


def ids_before(moment_s: float) -> str:
    """What sorts behind every id that was made before *moment_s* (seconds since 1970), and before all later ones.

    >>> new_receipt_id(9, None, "0" * 32) < ids_before(10) < new_receipt_id(10, None, "0" * 32)
    True
    """
    return f"{int(moment_s * 1_000):012x}"


def next_link(
    head: ChainLink | None, receipt_id: str, body: Mapping[str, Any], now_s: float, *, chain: str
) -> ChainLink:
    """The link of a receipt behind *head*; without one it is the first of the new *chain*.

    >>> first = next_link(None, "a1", {}, 0.0, chain="c")
    >>> second = next_link(first, "a2", {}, 1.0, chain="unused")
    >>> (second.chain, second.number, second.previous == first.digest, second.previous_at)
    ('c', 2, True, '1970-01-01T00:00:00.000Z')
    """
    at, content = rfc3339(now_s, precision="milliseconds"), sha256_of(canonical(body))
    if head is None:
        return ChainLink(receipt_id, chain, 1, at, content)
    return ChainLink(receipt_id, head.chain, head.number + 1, at, content, head.digest, head.at)
