"""Bookings and status reports in plain REST Framework: a ModelSerializer, and `save`.

They write the same rows as the service: ride, event and audit entry, and for a report the milestone, in one
transaction.  No token, rules, data scope or middleware; the caller sends the columns of the ride.
"""

from typing import Any, cast
from uuid import UUID

from django.db import transaction
from django.urls import path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Milestone, Ride


class RideSerializer(serializers.ModelSerializer[Ride]):
    class Meta:
        model = Ride
        exclude = ("pickup_access_encrypted", "dropoff_access_encrypted", "payer_member_id_encrypted", "next_check_at")


class PlainView(GenericAPIView[Ride]):
    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    renderer_classes = (JSONRenderer,)
    serializer_class = RideSerializer
    queryset = Ride.objects.all()

    def record(self, ride: Ride, event_type: str, action: str) -> None:
        Event.objects.create(
            type=event_type,
            subject_type="ride",
            subject_id=ride.pk,
            sequence=ride.version,
            occurred_at=ride.updated_at,
            facility_id=ride.facility_id,
            actor="system:plain",
            data={"rideId": str(ride.pk), "status": ride.status},
        )
        AuditEntry.objects.create(
            actor="system:plain",
            action=action,
            subject_type="ride",
            subject_id=ride.pk,
            rider_ids=[ride.rider_id],
            facility_id=ride.facility_id,
        )


class RideCreate(PlainView):
    @transaction.atomic
    def post(self, request: Request) -> Response:
        serializer = self.get_serializer(data=request.data)
        serializer.is_valid(raise_exception=True)
        ride = serializer.save()
        self.record(ride, "ride.scheduled", "rides.book")
        return Response(serializer.data, status=201)


class RideStatus(PlainView):
    @transaction.atomic
    def post(self, request: Request, pk: UUID) -> Response:
        ride = self.get_object()
        now = timezone.now()
        changes = {
            "status": cast("dict[str, Any]", request.data)["status"],
            "status_changed_at": now,
            "departed_at": now,
            "updated_at": now,
        }
        serializer = self.get_serializer(ride, data={**changes, "version": ride.version + 1}, partial=True)
        serializer.is_valid(raise_exception=True)
        ride = serializer.save()
        Milestone.objects.create(ride=ride, type="departed", occurred_at=now, source="driver_app", actor="system:plain")
        self.record(ride, "ride.en_route", "rides.status")
        return Response(serializer.data)


urlpatterns = [path("rides/<uuid:pk>/status", RideStatus.as_view())]
