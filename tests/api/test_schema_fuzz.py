"""Fuzz test of the whole published document: no 5xx, no answer that the document does not describe.

A well-formed id or date in a path becomes that of a real row, so that operations run beyond their 404.  Malformed
values stay, or the check for refused input would blame the operation for input that it never received; the token is
replaced for the same reason.  Examples of `make test` are the same in every run; `make nightly` generates new ones, and
25,000 at the bounds of the document (the coverage phase of schemathesis).
"""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from apps.accounts.models import ApiClient
from apps.accounts.rules.roles import TokenRole
from apps.events.models import Event
from apps.fleet.models import Credential
from apps.organizations.models import CalendarShift
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services.exceptions import open_exception
from apps.webhooks.models import Job
from config.wsgi import application
from lib.access import system
from tests import factories
from tests.callers import api_with
from tests.fleet.crew import fit_pair
from tests.recurring import cast
from tests.rides.rides_in import ride_in
from tests.tiers import NIGHTLY, sized
from tests.webhooks import made

EXAMPLES = sized(short=3, nightly=50)  # per operation
ORDERED_FROM = cast.MONDAY  # a day of the standing order
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
schema = schemathesis.openapi.from_path("docs/openapi.json")
schema.app = application
schema.config.generation.with_security_parameters = False
schema.config.phases.coverage.enabled = NIGHTLY


@pytest.fixture(autouse=True)
def kept_connection(db: None) -> Iterator[None]:
    """Keep the test's transaction open across requests, as Django's test client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve every host name to a public address, without DNS queries."""
    monkeypatch.setattr("lib.outbound.addresses_of", lambda host, port: ["1.1.1.1"])


@pytest.fixture
def client(db: None) -> ApiClient:
    return factories.ApiClientFactory.create()


@pytest.fixture
def world(client: ApiClient) -> dict[str, list[str]]:
    """Rows of every kind, by the one or two path segments before their ids."""
    rides = [ride_in(status) for status in (RideStatus.SCHEDULED, RideStatus.ASSIGNED, RideStatus.ARRIVED)]
    exception = open_exception(rides[0], ExceptionType.LATE_PICKUP, by=system(), at=factories.NOW, detected_by="fuzz")
    driver, vehicle = fit_pair()
    shift = factories.ShiftFactory.create(
        driver=driver, vehicle=vehicle, starts_at=factories.NOW, ends_at=factories.NOW + dt.timedelta(hours=1)
    )
    endpoint = made.endpoint(client=client)
    delivery = made.delivery(endpoint, made.event())
    params = {"since": "2026-11-19T06:00:00Z", "until": "2026-11-20T06:00:00Z", "statuses": ["held"], "types": None}
    at = factories.NOW
    job = Job.objects.create(endpoint=endpoint, params=params, total=1, created_by="x", created_at=at, updated_at=at)
    # An event that every feed has passed: events of this test never commit, and are held back.
    event = Event.objects.create(
        transaction=3,
        type="ride.scheduled",
        subject_type="ride",
        subject_id=rides[0].pk,
        sequence=1000,
        facility_id=rides[0].facility_id,
        occurred_at=at,
        actor="system",
        data={"status": "scheduled"},
    )
    order = cast.order(cast.dialysis_centre(), of={"days_of_week": (ORDERED_FROM.weekday(),)})
    moved = CalendarShift.objects.create(facility=order.facility, from_date=ORDERED_FROM)
    rows: dict[str, list[Any]] = {
        "tokens": [api_with(TokenRole.AUDITOR, client=client).token.pk],
        "events": [event.pk],
        "webhooks/endpoints": [endpoint.pk],
        "webhooks/deliveries": [delivery.pk],
        "webhooks/jobs": [job.pk],
        "rides": [ride.pk for ride in rides],
        "ride-exceptions": [exception.pk],
        "riders": [rides[0].rider_id],
        "drivers": [driver.pk],
        "vehicles": [vehicle.pk],
        "facilities": [rides[0].facility_id],
        "shifts": [shift.pk],
        "standing-orders": [order.pk],
        "calendar-shifts": [moved.pk],
        "credentials": [Credential.objects.filter(driver=driver).values_list("pk", flat=True)[0]],
    }
    return {kind: [str(pk) for pk in pks] for kind, pks in rows.items()}


@pytest.mark.untraced
@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=not NIGHTLY,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_operation_answers_as_it_says(case: Any, client: ApiClient, world: dict[str, list[str]]) -> None:
    token = api_with(TokenRole.FULL_ACCESS, client=client)
    known = world.get(case.path.removeprefix("/").partition("/{id}")[0], [])
    path = case.meta.components.get(ParameterLocation.PATH)
    if known and "id" in case.path_parameters and (path is None or path.mode.is_positive):
        case.path_parameters["id"] = known[0]
        if "date" in case.path_parameters:
            case.path_parameters["date"] = ORDERED_FROM.isoformat()

    response = case.call(headers={"Authorization": f"Bearer {token.text}"})

    case.validate_response(response, checks=CHECKS)
