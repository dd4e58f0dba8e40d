"""Percentiles from fixed buckets are near the true ones."""

from __future__ import annotations

import itertools
import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ragdrop.ports.telemetry import BOUNDS_MS, bucket_of, percentile_ms

latencies = st.lists(st.floats(1.0, 90_000.0), min_size=1, max_size=300)


@given(latencies, st.sampled_from([0.5, 0.95, 0.99]))
def test_a_percentile_is_off_by_no_more_than_its_bucket(latencies_ms: list[float], share: float) -> None:
    bucket = bucket_of(sorted(latencies_ms)[math.ceil(share * len(latencies_ms)) - 1])

    told = percentile_ms(Counter(map(bucket_of, latencies_ms)), share)

    assert told is not None
    assert (BOUNDS_MS[bucket - 1] if bucket else 0.0) <= told <= BOUNDS_MS[bucket]


def test_what_takes_longer_than_the_last_bound_is_reported_as_that_bound() -> None:
    assert percentile_ms({bucket_of(1e9): 3}, 0.99) == 100_000.0


def test_bounds_rise_by_no_more_than_three_tenths() -> None:
    assert all(1 < high / low < 1.3 for low, high in itertools.pairwise(BOUNDS_MS))
