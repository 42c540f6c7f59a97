"""Rides over HTTP."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.services import audit
from apps.audit.views import AuditedReads
from apps.rides.api import edit_preview, report_bodies, ride_page
from apps.rides.api.filters import EditQuery, RideQuery
from apps.rides.api.report_bodies import ReadyIn, StatusIn
from apps.rides.api.ride_answers import BulkAnswerOut, EditPreviewOut, EntryOut, TimelineOut
from apps.rides.models import Ride
from apps.rides.queries import rides
from apps.rides.queries.ride_forecasts import is_expected
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.timeliness import is_ticking
from apps.rides.schemas import ride_input
from apps.rides.schemas.ride_input import BulkIn, CopyIn, ReinstateIn, RideChangesIn, RideIn
from apps.rides.schemas.ride_output import RideOut, RideRow, context_of
from apps.rides.services import (
    booking,
    copying,
    editing,
    reinstatement,
    status_report,
    will_call,
)
from lib.api.views import ApiViewSet
from lib.errors import Code, DomainError
from lib.scopes import Scope


class RideViewSet(AuditedReads, ApiViewSet):
    """Rides: booked, listed, changed, and moved through their life."""

    scopes = {
        "list": Scope.RIDES_READ,
        "retrieve": Scope.RIDES_READ,
        "timeline": Scope.RIDES_READ,
        "create": Scope.RIDES_WRITE,
        "bulk": Scope.RIDES_WRITE,
        "partial_update": Scope.RIDES_WRITE,
        "status_call": Scope.RIDES_READ,  # the scope of each transition is in lifecycle.py
        "ready": Scope.RIDES_READ,
        "unready": Scope.RIDES_READ,
        "copy": Scope.RIDES_WRITE,
        "reinstate": Scope.RIDES_WRITE,
    }
    queries = {"list": RideQuery, "partial_update": EditQuery}
    bodies = {
        "create": RideIn,
        "bulk": BulkIn,
        "partial_update": RideChangesIn,
        "status_call": StatusIn,
        "ready": ReadyIn,
        "copy": CopyIn,
        "reinstate": ReinstateIn,
    }
    statuses = {"copy": 201}
    answers = {
        "list": RideRow,
        "retrieve": RideOut,
        "timeline": TimelineOut,
        "create": RideOut,
        "bulk": BulkAnswerOut,
        "partial_update": RideOut,
        "status_call": RideOut,
        "ready": RideOut,
        "unready": RideOut,
        "copy": RideOut,
        "reinstate": RideOut,
    }
    previews = {"partial_update": EditPreviewOut}
    _BOOKING = (Code.RIDER_NOT_BOOKABLE, Code.DUPLICATE_RIDE, Code.DUPLICATE_RESOURCE, Code.PICKUP_IN_PAST)
    refusals = {
        "list": (Code.INVALID_CURSOR, Code.PHI_NOT_PERMITTED),
        "create": _BOOKING,
        "bulk": _BOOKING,
        "partial_update": (*_BOOKING, Code.RULE_VIOLATION, Code.ASSIGNMENT_REJECTED),
        "status_call": (
            Code.INVALID_TRANSITION,
            Code.TRANSITION_GUARD_FAILED,
            Code.MILESTONE_OUT_OF_ORDER,
            Code.RIDER_NOT_BOOKABLE,
            Code.DUPLICATE_RIDE,
            Code.PICKUP_IN_PAST,
            Code.ASSIGNMENT_CONFLICT,
            Code.ASSIGNMENT_REJECTED,
            Code.PRECONDITION_FAILED,
        ),
        "ready": (
            Code.INVALID_TRANSITION,
            Code.TRANSITION_GUARD_FAILED,
            Code.RULE_VIOLATION,
            Code.PRECONDITION_FAILED,
        ),
        "unready": (Code.INVALID_TRANSITION, Code.RULE_VIOLATION, Code.PRECONDITION_FAILED),
        "copy": _BOOKING,
        "reinstate": (
            *_BOOKING,
            Code.INVALID_TRANSITION,
            Code.LOCKED_BY_EXPORT,
            Code.RULE_VIOLATION,
            Code.PRECONDITION_FAILED,
        ),
    }
    idempotency_key_required = frozenset({"bulk"})
    body_limits = {"bulk": settings.API_MAX_BULK_BODY_BYTES}
    _ride_context: dict[str, Any] = {}  # replaced on the instance, never changed

    def list(self, request: Request) -> HttpResponse:
        """List rides.

        Ordered by pickup time unless `sort` says otherwise; page on with `page.nextCursor`.  `fields` asks for less,
        `expand` for the records that rides name.
        """
        body, next_cursor = ride_page.render(self.query, by=self.principal, at=self.at)
        answer = HttpResponse(body, content_type="application/json")
        if next_cursor is not None:
            parameters = {**request.query_params.dict(), "cursor": next_cursor}
            answer["Link"] = f'<{request.path}?{urlencode(parameters)}>; rel="next"'
        return answer

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Show one ride."""
        ride = rides.ride(id, self.principal)
        self._record_look(ride, "rides.read")
        return self._answer_ride(ride)

    def timeline(self, request: Request, id: UUID) -> Response:
        """Tell what happened to a ride.

        Events and milestones in the order in which they happened, with who says so and what was voided.
        """
        ride = rides.ride(id, self.principal)
        self._record_look(ride, "rides.timeline")
        context = {"disclosure": disclosure_of(self.principal)}
        return Response({"data": EntryOut(rides.timeline(ride), many=True, context=context).data})

    def create(self, request: Request) -> Response:
        """Book a ride.

        The ride is `scheduled`, or `requested` with `reviewReasons` if a person has to review it.  `returnLeg` books a
        second, linked ride for the return trip.  An inline `rider` also needs the scope `riders:write`.  A ride that
        has taken place is recorded with `afterTheFact` (scope `rides:correct`) up to 72 hours after its pickup.
        """
        draft = ride_input.draft_of(self.body())
        ride = booking.book(draft=draft, by=self.principal, at=self.at).ride
        related_records = rides.related_records_of_new(ride, has_external_ids=bool(draft.external_ids))
        return self._answer_ride(ride, related_records, headers={"Location": f"/api/rides/{ride.pk}"})

    def bulk(self, request: Request) -> Response:
        """Book up to 500 rides.

        `atomic` (the default) books all or none; `perItem` books what it can and returns a result for each.
        """
        body = self.body()
        outcomes = booking.book_many(
            drafts=[ride_input.draft_of(item) for item in body["rides"]],
            per_item=body["mode"] == "perItem",
            by=self.principal,
            at=self.at,
        )
        return Response({"data": [self._outcome(outcome) for outcome in outcomes]})

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a ride.

        JSON merge patch: fields that are left out stay, null clears an optional field, an empty string clears text.
        Which fields may change depends on the status; once a driver is en route a change needs assignments:write as
        well, and with the rider on board only destination and notes change.  `assignment` keeps the driver, reassigns
        or unassigns; `moveReturnLeg` moves the later legs of the trip along.  With `preview=true` nothing is stored:
        the answer says what would follow.
        If a new time or place breaks soft rules of booking or of the assignment, `RULE_VIOLATION` lists all of them
        with `kind` soft; `override` with `overrideReason` (scope `rides:override`) makes the change.
        """
        arguments = {"ride_id": id, **ride_input.changes_of(self.body()), **self._by_whom()}
        if not self.query["preview"]:
            return self._change(lambda: editing.edit(**arguments))
        preview = editing.preview(**arguments)
        self._record_look(preview.before, "rides.read")
        return Response(edit_preview.shape_of(preview, self.principal))

    def status_call(self, request: Request, id: UUID) -> Response:
        """Report the status that a ride has now.

        Reporting the current status changes nothing, except for adding missing documentation.  The report may include
        earlier milestones: one that is missing is added; one that is known is corrected while the ride is open, and the
        former milestone stays, marked `voided`.  Fields that do not apply to the status are refused, such as a reason
        for a status that does not end the ride.  `scheduled` confirms a request: the hard rules of booking are checked
        again, and `override` with `overrideReason` (scope `rides:override`) confirms it despite another ride of the
        rider at that time.
        """
        report = report_bodies.report_of(self.body())
        return self._change(lambda: status_report.change_status(ride_id=id, report=report, **self._by_whom()))

    def ready(self, request: Request, id: UUID) -> Response:
        """Release a will-call ride: the rider is ready, the clock runs."""
        return self._change(lambda: will_call.mark_ready(ride_id=id, **self.body(), **self._by_whom()))

    def unready(self, request: Request, id: UUID) -> Response:
        """Take the release of a will-call ride back."""
        return self._change(lambda: will_call.retract_ready(ride_id=id, **self._by_whom()))

    def copy(self, request: Request, id: UUID) -> Response:
        """Book a copy of a ride: on another day, at another time, for another rider, or in the other direction."""
        request_of_copy = copying.CopyRequest(**self.body())
        ride = copying.copy_ride(ride_id=id, request=request_of_copy, by=self.principal, at=self.at)
        related_records = rides.related_records_of_new(ride, has_external_ids=False)
        return self._answer_ride(ride, related_records, headers={"Location": f"/api/rides/{ride.pk}"})

    def reinstate(self, request: Request, id: UUID) -> Response:
        """Reinstate a canceled ride whose pickup is not more than 15 minutes ago.

        It is scheduled again.  Its driver is assigned again if every check passes, else it waits for another.
        """
        return self._change(lambda: reinstatement.reinstate(ride_id=id, **self.body(), **self._by_whom()))

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **self._ride_context}

    def _by_whom(self) -> dict[str, Any]:
        """Say who changes a ride, when, and which version of it they have read."""
        return {"expected_version": self.expected_version(), "by": self.principal, "at": self.at}

    def _change(self, change: Callable[[], Ride]) -> Response:
        """Change a ride and show it.

        A change that changes nothing leaves no row of its own in the trail, and shows the ride all the same.
        """
        with audit.riders_named() as recorded:
            ride = change()
        if ride.rider_id not in recorded:
            self._record_look(ride, "rides.read")
        return self._answer_ride(ride)

    def _record_look(self, ride: Ride, action: str) -> None:
        self.record_read(
            action, subject_type="ride", subject_id=ride.pk, rider_ids=[ride.rider_id], facility_id=ride.facility_id
        )

    def _outcome(self, outcome: booking.Booked | DomainError) -> dict[str, Any]:
        """Show what became of one booking of a bulk request; a denial is recorded, as of a request of its own."""
        if isinstance(outcome, DomainError):
            details = [detail.as_json() for detail in outcome.details]
            self.record_if_denied(outcome.code, details)
            return {"error": {"code": outcome.code.name, "message": outcome.message, "details": details}}
        ride = outcome.ride
        return_ride_id = str(outcome.return_ride.pk) if outcome.return_ride else None
        booked = {"id": str(ride.pk), "status": ride.status, "version": ride.version, "returnRideId": return_ride_id}
        return {**booked, "reviewReasons": ride.review_reasons}

    def _answer_ride(
        self, ride: Ride, related_records: rides.RelatedRecords | None = None, *, headers: dict[str, str] | None = None
    ) -> Response:
        self._ride_context = context_of(
            related_records or rides.related_records(ride), of=ride, by=self.principal, at=self.at
        )
        settled = not is_ticking(ride, self.at) and not is_expected(ride, self.at)
        return self.answer(ride, version=ride.version, settled=settled, headers=headers)
