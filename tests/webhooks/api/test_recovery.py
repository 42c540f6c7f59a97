"""Recoveries over HTTP: counted first, then monitored."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.models import ApiClient
from apps.webhooks.models import Delivery, Job
from lib.ids import uuid7
from tests.callers import TokenClient, error_of
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

SINCE = "2026-11-20T10:00:00Z"


def missed(client: ApiClient, **columns: Any) -> str:
    """Create an endpoint that missed two events; return its URL."""
    endpoint = made.endpoint(client=client, **columns)
    made.delivery(endpoint, made.event_at(NOW - dt.timedelta(hours=2)), status="held")
    made.delivery(endpoint, made.event_at(NOW - dt.timedelta(hours=1)), status="exhausted", ended_at=NOW)
    return f"/api/webhooks/endpoints/{endpoint.pk}/recover"


def test_recovery_is_only_counted_unless_it_is_meant(api: TokenClient, client: ApiClient) -> None:
    path = missed(client)

    response = api.post(path, {"since": SINCE})

    assert (response.status_code, response.json()) == (
        200,
        {
            "dryRun": True,
            "total": 2,
            "totalIsCapped": False,
            "found": [{"status": "exhausted", "count": 1}, {"status": "held", "count": 1}],
            "job": None,
        },
    )
    assert not Job.objects.exists()


def test_recovery_that_is_meant_is_a_job_that_can_be_followed(api: TokenClient, client: ApiClient) -> None:
    path = missed(client)

    response = api.post(
        path,
        {"since": SINCE, "until": "2026-11-20T13:30:00Z", "types": ["ride.*"], "statuses": ["held"], "dryRun": False},
    )

    job = Job.objects.get()
    shown = {
        "id": str(job.pk),
        "endpointId": str(job.endpoint_id),
        "state": "running",
        "since": SINCE,
        "until": "2026-11-20T13:30:00Z",
        "statuses": ["held"],
        "types": ["ride.*"],
        "total": 1,
        "done": 1,
        "createdBy": f"token:{api.token.pk}",
        "createdAt": "2026-11-20T15:00:00Z",
        "updatedAt": "2026-11-20T15:00:00Z",
    }
    found = [{"status": "held", "count": 1}]
    assert (response.status_code, response["Location"]) == (202, f"/api/webhooks/jobs/{job.pk}")
    known = {"dryRun": False, "total": 1, "totalIsCapped": False}
    assert response.json() == {**known, "found": found, "job": shown}
    assert api.get(response["Location"]).json() == shown
    assert Delivery.objects.filter(status="pending", priority=2).count() == 1


def test_recovery_of_nothing_is_no_job(api: TokenClient, client: ApiClient) -> None:
    response = api.post(missed(client), {"since": SINCE, "statuses": ["cancelled"], "dryRun": False})

    nothing = {"dryRun": False, "total": 0, "totalIsCapped": False, "found": [], "job": None}
    assert (response.status_code, response.json()) == (200, nothing)


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"since": "2026-10-20T10:00:00Z"}, ("since", "window_too_long")),
        ({"since": SINCE, "until": "2026-12-20T10:00:01Z"}, ("since", "window_too_long")),
        ({"since": SINCE, "until": SINCE}, ("until", "invalid")),
        ({"since": SINCE, "types": ["ride.flown"]}, ("types", "unknown_event_type")),
        ({"since": SINCE, "types": []}, ("types", "empty")),
        ({"since": SINCE, "statuses": ["pending"]}, ("statuses[0]", "invalid_choice")),
        ({"since": "yesterday"}, ("since", "form")),
        ({}, ("since", "required")),
    ],
)
def test_invalid_recovery_is_refused_by_field_and_not_saved(
    api: TokenClient, client: ApiClient, given: dict[str, Any], detail: tuple[str, str]
) -> None:
    path = missed(client)
    before = list(Delivery.objects.order_by("pk").values())

    response = api.post(path, given | {"dryRun": False})

    error = error_of(response)
    assert (error["code"], [(one["field"], one["code"]) for one in error["details"]]) == ("VALIDATION_ERROR", [detail])
    assert list(Delivery.objects.order_by("pk").values()) == before
    assert not Job.objects.exists()


def test_endpoint_at_rest_is_not_recovered(api: TokenClient, client: ApiClient) -> None:
    path = missed(client, state="paused")

    assert api.post(path, {"since": SINCE}).json()["total"] == 2
    assert error_of(api.post(path, {"since": SINCE, "dryRun": False}))["code"] == "RULE_VIOLATION"


def test_jobs_and_endpoints_of_others_are_absent(api: TokenClient) -> None:
    endpoint = made.endpoint()
    job = Job.objects.create(endpoint=endpoint, params={}, total=0, created_at=NOW, updated_at=NOW)

    calls = [
        api.get(f"/api/webhooks/jobs/{job.pk}"),
        api.get(f"/api/webhooks/jobs/{uuid7()}"),
        api.post(f"/api/webhooks/endpoints/{endpoint.pk}/recover", {"since": SINCE}),
    ]

    assert [error_of(call)["code"] for call in calls] == ["NOT_FOUND"] * 3
