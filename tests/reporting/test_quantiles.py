"""Quantiles of packed minutes equal those of PostgreSQL's percentile_cont."""

import struct

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.reporting.rules.measures import quantiles

MINUTES = st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(0, 90), min_size=1, max_size=40)
WANTED = [0.0, 0.25, 0.5, 0.9, 1.0]


def packed(values: list[int]) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


@pytest.mark.django_db
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=MINUTES)
def test_quantiles_are_those_of_the_database(values: list[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT percentile_cont(%s::float8[]) WITHIN GROUP (ORDER BY v) FROM unnest(%s::int[]) v", [WANTED, values]
        )
        (exact,) = cursor.fetchone()

    assert quantiles(packed(values), WANTED) == pytest.approx(exact, rel=1e-12)


def test_nothing_has_no_quantiles() -> None:
    assert quantiles(b"", [0.5, 0.9]) == [None, None]
