"""Presence of request bodies, and bodies of operations that take none."""

import io
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest

from apps.riders.models import AccommodationProfile
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.api.chunked_body import set_content_length
from tests import factories
from tests.callers import TokenClient, error_of
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

NOTE = '{"notes": {"driver": "Ring twice."}}'


def in_chunks(**more: Any) -> dict[str, Any]:
    """Return the environment of a request with a chunked body, without Content-Length."""
    return {"CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked", **more}


def test_body_in_chunks_is_taken(api: TokenClient) -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    path = f"/api/rides/{ride.pk}"
    known, unknown = (
        api.generic(
            "PATCH",
            path,
            content_type="application/json",
            **in_chunks(**{"wsgi.input_terminated": True, "wsgi.input": io.BytesIO(body.encode())}),
        )
        for body in (NOTE, '{"nonsense": 1}')
    )

    assert (known.status_code, Ride.objects.get(pk=ride.pk).driver_notes) == (200, "Ring twice.")
    assert [detail["field"] for detail in error_of(unknown)["details"]] == ["nonsense"]


def test_body_in_chunks_that_are_not_put_together_is_refused(api: TokenClient) -> None:
    ride = ride_in(RideStatus.SCHEDULED)

    answer = api.generic("PATCH", f"/api/rides/{ride.pk}", NOTE, content_type="application/json", **in_chunks())

    assert error_of(answer)["code"] == "MALFORMED_REQUEST"
    assert Ride.objects.get(pk=ride.pk).version == 1


def test_body_in_chunks_is_read_as_far_as_the_longest_one(settings: Any) -> None:
    settings.API_MAX_BULK_BODY_BYTES = 5
    scope = {"type": "http", "method": "POST", "path": "/api/rides", "headers": [(b"transfer-encoding", b"chunked")]}
    environ = {"REQUEST_METHOD": "POST", "wsgi.input": io.BytesIO(b"0123456789")}

    under_asgi = ASGIRequest(scope, io.BytesIO(b"0123456789"))
    under_wsgi = WSGIRequest(environ | in_chunks(**{"wsgi.input_terminated": True}))
    for request in (under_asgi, under_wsgi):
        set_content_length(request)

        assert (request.META["CONTENT_LENGTH"], request.read()) == ("6", b"012345")


def test_put_without_a_body_replaces_nothing(api: TokenClient) -> None:
    rider = factories.RiderFactory.create()
    profile = factories.AccommodationProfileFactory.create(rider=rider, mobility="wheelchair")

    answer = api.generic("PUT", f"/api/riders/{rider.pk}/accommodation")

    assert error_of(answer)["message"] == "The body is required."
    assert AccommodationProfile.objects.get() == profile


def test_operation_without_a_body_takes_none(api: TokenClient) -> None:
    ride = ride_in(
        RideStatus.SCHEDULED,
        will_call=True,
        pickup_time_kind="estimated",
        will_call_expires_at=factories.PICKUP,
    )
    path = f"/api/rides/{ride.pk}/unready"

    refused = error_of(api.post(path, {"reason": "None."}))

    assert [(one["field"], one["code"]) for one in refused["details"]] == [("reason", "unknown")]
    assert api.post(path, {}).status_code == 200
    assert api.generic("POST", path).status_code == 200
