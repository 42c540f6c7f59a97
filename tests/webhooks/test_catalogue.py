"""Catalog of events, compared to the published documentation, the bodies, and the recorded events."""

import ast
import datetime as dt
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from jsonschema import Draft202012Validator

from apps.accounts.models import ApiToken
from apps.accounts.services import token_expiry
from apps.events.models import Event
from apps.fleet.services import credential_reminders
from apps.rides.models import Ride
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services.exceptions import open_exception, open_on_order
from apps.webhooks.api.examples import example
from apps.webhooks.rules import event_types, payloads
from apps.webhooks.rules.event_types import CATALOGUE, body_schema
from apps.webhooks.services import endpoint_states, rendering
from lib.access import system
from lib.api.document import document
from tests.api.test_document import resolved
from tests.callers import TokenClient
from tests.demo.demo_days import FRIDAY_NOON, loaded
from tests.factories import NOW, CredentialFactory, FacilityFactory, RideFactory, VehicleFactory
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import ride_in
from tests.webhooks import made

ROOT = Path(__file__).resolve().parent.parent.parent
LEVELS = ("id-only", "summary", "full-resource")
VERSION = "2026-11-20"
# Names that a search for whole names misses.
MADE_OF_PARTS = {f"{subject}.{verb}" for subject in ("driver", "vehicle") for verb in ("created", "updated")}
# Published before the app that records them.
SUBJECTS = {name.partition(".")[0] for name in CATALOGUE} | {
    "assignment", "credential", "exception", "export", "payer", "provider", "rider", "schedule", "shift", "trip",
}  # fmt: skip
NAME = re.compile(rf"({'|'.join(sorted(SUBJECTS))})(\.[a-z_]+)+")
# Words of the same form with other meanings: kinds of alerts, actions of the audit trail, attributes and fields.
OF_OTHERS = {"kind", "key", "action", "source", "field"}
FIELDS_OF_BODIES = {"assignment.action"}


def validator(name: str, level: str) -> Draft202012Validator:
    schema = body_schema(CATALOGUE[name], level)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CATALOGUE)
def test_example_satisfies_its_schema_and_shows_all_of_it(name: str, level: str) -> None:
    shown = example(CATALOGUE[name], level, api_version=VERSION)

    validator(name, level).validate(shown)
    schema = body_schema(CATALOGUE[name], level)
    assert set(shown) == set(schema["properties"])
    assert set(shown["data"]) == set(schema["properties"]["data"]["properties"])
    assert (shown["type"], shown["apiVersion"]) == (name, VERSION)


@pytest.mark.parametrize("name", CATALOGUE)
def test_schema_refuses_what_is_another_event(name: str) -> None:
    shown = example(CATALOGUE[name], "summary", api_version=VERSION)

    assert not validator(name, "summary").is_valid(shown | {"type": "ride.flown"})
    assert not validator(name, "summary").is_valid(shown | {"data": {}})


def test_document_has_every_event_with_schema_and_examples() -> None:
    published = document()["webhooks"]

    assert list(published) == list(CATALOGUE)
    for name, methods in published.items():
        (content,) = methods["post"]["requestBody"]["content"].values()
        checks = Draft202012Validator(resolved(content["schema"]))
        assert set(content["examples"]) == set(LEVELS)
        for shown in content["examples"].values():
            checks.validate(shown["value"])
        assert content["schema"]["properties"]["type"] == {"const": name}
        assert not checks.is_valid({})


def test_parameters_of_the_documents_webhooks_are_there() -> None:
    parameters = document()["components"]["parameters"]

    named = [one["$ref"].rsplit("/", 1)[1] for one in document()["webhooks"]["ride.started"]["post"]["parameters"]]
    assert named == list(parameters) == ["webhook-id", "webhook-timestamp", "webhook-signature", "webhook-attempt"]


def _said(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword) and child.arg in OF_OTHERS:
            continue
        if isinstance(child, ast.Constant) and isinstance(child.value, str) and NAME.fullmatch(child.value):
            yield child.value
        yield from _said(child)


def test_every_recorded_event_type_is_in_the_catalogue() -> None:
    files = [path for path in (ROOT / "apps").rglob("*.py") if not {"api", "migrations"} & {*path.parts}]
    catalogue = {ROOT / "apps/webhooks/rules/event_types.py", ROOT / "apps/webhooks/api/examples.py"}

    said = {name for path in {*files} - catalogue for name in _said(ast.parse(path.read_text()))}

    assert said - FIELDS_OF_BODIES | MADE_OF_PARTS | {event_types.TEST} == set(CATALOGUE)


def _told(event: Event) -> payloads.EventFacts:
    return Event(
        id=event.pk,
        type=event.type,
        subject_type=event.subject_type,
        subject_id=event.subject_id,
        sequence=event.sequence,
        occurred_at=event.occurred_at,
        facility_id=event.facility_id,
        provider_id=event.provider_id,
        data=event.data,
    )


def _rendered(event: Event, level: str) -> Any:
    more: dict[str, Any] = {}
    if level == "full-resource" and event.subject_type == "ride":
        ride = Ride.objects.filter(pk=event.subject_id).first()
        more["ride"] = None if ride is None else rendering.whole_ride(ride, at=NOW)
    return json.loads(payloads.render(_told(event), level=level, api_version=VERSION, extra=more))


def _check(events: list[Event]) -> set[str]:
    """Validate the body of every event, at every level, against its schema; return the kinds."""
    for level in LEVELS:
        checks = {name: validator(name, level) for name in {event.type for event in events}}
        for event in events:
            checks[event.type].validate(_rendered(event, level))
    return {event.type for event in events}


@pytest.mark.django_db
def test_bodies_of_what_services_record_satisfy_the_schemas(api: TokenClient) -> None:
    driver, vehicle = fit_pair()
    ride = f"/api/rides/{RideFactory.create().pk}"
    _call(api.put, f"{ride}/assignment", driverId=str(driver.pk), vehicleId=str(vehicle.pk))
    _call(api.delete, f"{ride}/assignment", reasonCode="replanned")
    _call(api.patch, ride, notes={"driver": "Ring twice."})
    _call(api.patch, ride, pickupTime="2026-11-20T22:00:00Z")
    _call(api.post, f"{ride}/status", status="cancelled", reasonCode="rider_request")
    waiting = {"will_call": True, "pickup_time_kind": "estimated", "will_call_expires_at": NOW + dt.timedelta(days=1)}
    _call(api.post, f"/api/rides/{ride_in(RideStatus.SCHEDULED, **waiting).pk}/ready")
    exception = open_exception(
        ride_in(RideStatus.SCHEDULED), ExceptionType.LATE_PICKUP, by=system(), at=NOW, detected_by="test"
    )
    _call(api.post, f"/api/ride-exceptions/{exception.pk}/acknowledge")
    _call(api.post, f"/api/ride-exceptions/{exception.pk}/resolve", resolutionCode="false_alarm", note="Seen.")
    of_order = open_on_order(
        uuid4(),
        ExceptionType.HOLD_REVIEW,
        rider_id=exception.rider_id,
        facility_id=FacilityFactory.create().pk,
        by=system(),
        at=NOW,
        detected_by="test",
    )
    _call(api.post, f"/api/ride-exceptions/{of_order.pk}/acknowledge")
    _call(api.post, f"/api/ride-exceptions/{of_order.pk}/resolve", resolutionCode="false_alarm")
    _call(api.patch, f"/api/drivers/{driver.pk}", phone="+13125550199")
    _call(api.post, f"/api/drivers/{driver.pk}/activation", activation="suspended", reason="leave")
    _call(api.patch, f"/api/vehicles/{VehicleFactory.create().pk}", licensePlate="CL 77")
    ApiToken.objects.update(expires_at=NOW + dt.timedelta(days=3))
    token_expiry.announce(at=NOW)
    soon = NOW.date() + dt.timedelta(days=7)
    CredentialFactory.create(type="mvr", expires_on=soon)
    CredentialFactory.create(driver=None, vehicle=VehicleFactory.create(), type="registration", expires_on=soon)
    credential_reminders.send_expiry_reminders(at=NOW)
    endpoint = made.endpoint(health={"failing_since": NOW, "alert_level": 1})
    (health,) = endpoint_states.lock_health([endpoint.pk]).values()
    endpoint_states.report_failing(endpoint.pk, health, 1, last_error="timeout", at=NOW)
    endpoint_states.report_recovery(endpoint.pk, health, at=NOW)
    gone = made.endpoint()
    endpoint_states.pause_gone(gone.pk, version=gone.version, at=NOW)
    endpoint_states.disable(endpoint.pk, health, last_error="timeout", at=NOW)

    kinds = _check(list(Event.objects.all()))

    assert kinds >= {
        "ride.driver_assigned",
        "ride.driver_unassigned",
        "ride.updated",
        "ride.rescheduled",
        "ride.cancelled",
        "ride.ready",
        "ride.exception",
        "ride.exception_acknowledged",
        "ride.exception_resolved",
        "standing_order.exception",
        "standing_order.exception_acknowledged",
        "standing_order.exception_resolved",
        "driver.updated",
        "driver.activation_changed",
        "driver.credential_expiring",
        "vehicle.updated",
        "vehicle.credential_expiring",
        "token.expiring",
        "webhook.endpoint.failing",
        "webhook.endpoint.recovered",
        "webhook.endpoint.paused",
        "webhook.endpoint.disabled",
    }


def _call(method: Any, path: str, **given: Any) -> None:
    response = method(path, given)
    assert response.status_code < 300, (path, response.content)


@pytest.mark.untraced
@pytest.mark.django_db
def test_bodies_of_whole_days_satisfy_the_schemas() -> None:
    with loaded(FRIDAY_NOON):
        events = [Event.objects.filter(type=name).order_by("pk")[:40] for name in CATALOGUE]

        kinds = _check([event for some in events for event in some])

    assert kinds >= {"ride.scheduled", "ride.driver_en_route", "ride.started", "ride.completed", "ride.no_show"}
