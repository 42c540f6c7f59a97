"""The rows of the `make bench` dataset fit the tables: a thousandth of them is loaded here."""

from pathlib import Path

import pytest
from django.db import connection

from apps.rides.models import Ride
from tests import factories
from tests.callers import api_with

SCRIPT = Path(__file__).resolve().parents[1] / "bench" / "dataset.sql"
# Sizes in the script, and the thousandth (riders: the hundredth) that replaces them here.
SMALLER = {"1000000)": "1000)", "960000": "960", "19999)": "199)", "n % 20000": "n % 200"}

pytestmark = pytest.mark.django_db


def _load_a_little() -> None:
    text = SCRIPT.read_text()
    for size, small in SMALLER.items():
        assert size in text, f"{SCRIPT.name} no longer says {size}"
        text = text.replace(size, small)
    with connection.cursor() as cursor:
        cursor.execute(text)


def test_rows_of_the_bench_fit_the_tables_and_are_listed() -> None:
    _load_a_little()
    reader = api_with(client=factories.ApiClientFactory.create(name="Reader"))

    listed = reader.get("/api/rides?limit=100")

    assert Ride.objects.count() == 1000
    assert Ride.objects.filter(assignment_id__isnull=False, status="assigned").count() == 30
    assert listed.status_code == 200
    assert len(listed.json()["data"]) == 100
