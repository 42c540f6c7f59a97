"""Disclosure of exports: personal data and rows by caller."""

import json
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.accounts.services.authentication import principal_of
from apps.exports.models import Export
from apps.exports.queries.datasets import DATASETS
from apps.riders.rules.disclosure import MASK
from apps.rides.models import Ride, RideException
from lib.access import Phi
from tests.access import world as made_world
from tests.access.canaries import found
from tests.callers import TokenClient, api_with, error_of
from tests.exports.exported import FORMATS, body_of, exported, get, rows_of
from tests.exports.test_datasets import RECORDS

pytestmark = pytest.mark.django_db


def test_billing_sees_names_and_the_ends_of_codes(completed: Ride) -> None:
    billing = api_with(TokenRole.BILLING_READONLY)

    (row,) = exported(billing, "completions.csv", sealedColumns="true")

    assert (row["riderLastName"], row["medicaidId"], row["memberId"]) == ("Canarywell", f"{MASK}9925", MASK)


def test_names_need_the_scope_besides_the_level(completed: Ride) -> None:
    without = api_with(TokenRole.BILLING_READONLY, scopes=["exports:create", "reports:read"])

    (row,) = exported(without, "completions.csv")
    refused = error_of(get(without, "completions.csv", columns="riderLastName"))

    assert not {"riderFirstName", "riderLastName", "medicaidId"} & set(row)
    assert refused["code"] == "PHI_NOT_PERMITTED"


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["rides", "completions", "exceptions"])
def test_analyst_gets_no_name_by_any_path(name: str, format: str) -> None:
    """Canaries fill every text of every row: a column above the level, in any format, would reveal one."""
    made = made_world.build()
    analyst = api_with(TokenRole.ANALYTICS_READONLY)
    people = [*made.own.canaries.of(("person", "fleet")), *made.other.canaries.of(("person", "fleet"))]
    allowed = {one.name for one in DATASETS[name].columns if one.phi is Phi.NONE}

    response = get(analyst, f"{name}.{format}")
    content = body_of(response)

    rows = rows_of(content, format)
    assert rows
    assert set(rows[0]) == allowed
    texts = "\n".join(str(value) for row in rows for value in row.values())
    shown = {one.label for one in [*found(people, content), *found(people, texts.encode())]}
    assert shown <= SHOWN_TO_ALL, shown


# Cities, programs and companies: the API shows them at every level (rides/disclosure.py).
SHOWN_TO_ALL = {
    "transportprovider.name",
    "ride.program_code",
    *(f"ride.{stop}.{part}" for stop in ("pickup", "dropoff") for part in ("city", "state")),
}


@pytest.mark.parametrize("name", sorted(DATASETS))
def test_column_above_the_level_is_refused_by_name(name: str) -> None:
    analyst = api_with(TokenRole.ANALYTICS_READONLY)
    above = [one.name for one in DATASETS[name].columns if one.phi > Phi.NONE]

    for column in above:
        error = error_of(get(analyst, f"{name}.csv", columns=column))
        if name == "drivers":
            assert error["code"] == "INSUFFICIENT_SCOPE"
        else:
            assert (error["code"], error["details"][0]["field"]) == ("PHI_NOT_PERMITTED", column)
    assert not Export.objects.exists()


def test_sealed_columns_are_refused_to_analysts() -> None:
    error = error_of(get(api_with(TokenRole.ANALYTICS_READONLY), "completions.csv", sealedColumns="true"))

    assert (error["code"], error["details"][0]["field"]) == ("PHI_NOT_PERMITTED", "sealedColumns")


@pytest.mark.parametrize("binding", ["facility", "provider", "both"])
@pytest.mark.parametrize("name", RECORDS)
def test_rows_are_those_that_the_caller_reaches(name: str, binding: str) -> None:
    """The SQL of a dataset selects the rows of `visible_to`."""
    made = made_world.build()
    bound = made.bound(binding)
    everything = exported(api_with(), f"{name}.ndjson")

    rows = exported(bound, f"{name}.ndjson", sealedColumns="true")

    by = _principal(bound)
    models: dict[str, Any] = {"exceptions": RideException, "drivers": made.own.first("drivers").__class__}
    visible = models.get(name, Ride).objects.visible_to(by)
    visible = visible.filter(status="completed") if name == "completions" else visible
    key = DATASETS[name].columns[0].name
    assert {row[key] for row in rows} == {str(row.pk) for row in visible}
    # Drivers are not bound to a facility.
    assert (len(rows) < len(everything)) is ((name, binding) != ("drivers", "facility"))
    assert not found(made.hidden(binding), json.dumps(rows, ensure_ascii=False).encode())


def _principal(api: TokenClient) -> Any:
    return principal_of(api.token)
