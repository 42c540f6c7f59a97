"""API of standing orders."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.services import audit
from apps.audit.views import AuditedReads
from apps.organizations import queries as organizations
from apps.organizations.models import SubjectType
from apps.recurring.api import bodies
from apps.recurring.api.bodies import (
    EndIn,
    HoldIn,
    OccurrenceChangesIn,
    ResumptionIn,
    StandingOrderChangesIn,
    StandingOrderIn,
)
from apps.recurring.api.serializers import (
    OccurrencesOut,
    OrderPreviewOut,
    StandingOrderChangedOut,
    StandingOrderOut,
    StandingOrderShownOut,
    refused_dates,
)
from apps.recurring.models import OrderStatus, StandingOrder, StandingOrderQuerySet
from apps.recurring.queries import calendar, orders
from apps.recurring.queries.orders import OrderRecord
from apps.recurring.rules.draft import OrderDraft
from apps.recurring.services import create_order, edit_order, hold_order
from apps.recurring.services.create_order import OrderResult
from apps.recurring.services.reconcile_rides import ReconcileResult
from apps.riders.rules import disclosure as rider_disclosure
from apps.rides.queries import named_rides
from apps.rides.rules import disclosure as ride_disclosure
from apps.rides.rules import timing
from apps.rides.rules.disclosure import disclosure_of
from lib.api import fields, serializers
from lib.api.query import PageQuery, Query
from lib.api.serializers import In
from lib.api.unpaginated import unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code, InvalidInput
from lib.messages import FieldName
from lib.scopes import Scope

MOST_DAYS: Final = 3 * 366  # of one request for occurrences
NEXT: Final = 10  # occurrences in the response of a single order
DEFAULT_RANGE: Final = dt.timedelta(days=28)
_CHANGE: Final = (Code.RULE_VIOLATION, Code.PRECONDITION_FAILED)
_DATE: Final = OpenApiParameter("date", OpenApiTypes.DATE, OpenApiParameter.PATH)


class StandingOrderQuery(PageQuery):
    facility_id = fields.Uuid(required=False)
    rider_id = fields.Uuid(required=False)
    status = fields.List(
        child=fields.Choice(choices=OrderStatus.choices), required=False, help_text="One or more statuses."
    )
    external_ref = fields.Text(required=False, max_length=201, help_text="system|value, or value in any system.")


class CreationQuery(Query):
    preview = fields.Boolean(default=False, help_text="Says what the order would do, and stores nothing.")


class OccurrenceQuery(Query):
    from_ = fields.LocalDate(required=False, help_text="The first day; default: today at the facility.")
    to = fields.LocalDate(
        required=False, help_text="The last day, at most three years later; default: four weeks after the first."
    )


class DateInPath(In):
    date = fields.LocalDate()


class _OrderViews(AuditedReads, ApiViewSet):
    """Shared by operations on standing orders: the response of an order, and the audit entry of reading it."""

    _context: dict[str, Any] = {}  # replaced on the instance, never changed

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **self._context}

    def _list(self, rows: StandingOrderQuerySet, *, rider_ids: Sequence[UUID] = ()) -> Response:
        page = self.page(rows)
        self.record_read(
            "standing_orders.list",
            subject_type="standing_order",
            rider_ids=[*rider_ids, *(order.rider_id for order in page.rows)],
        )
        self._context = {"disclosure": disclosure_of(self.principal)}
        return self.answer_page(replace(page, rows=orders.records(page.rows, at=self.at)))

    def _change(self, change: Callable[[], OrderResult], *, is_new: bool = False) -> Response:
        """Change an order, and respond with it and the changes of its rides.

        A change without effect writes no audit entry, so the entry of reading the order is written instead.
        """
        with audit.riders_named() as recorded:
            changed = change()
        order = changed.order
        if order.rider_id not in recorded:
            self._record_read_of(order, "standing_orders.read")
        self._context = {"result": changed.result, "reached": self._reached(changed.result)}
        headers = {"Location": f"/api/standing-orders/{order.pk}"} if is_new else None
        return self._answer_order(order, headers=headers)

    def _reached(self, result: ReconcileResult) -> set[UUID]:
        """Return the conflicting rides inside the data scope: a rider can have rides of other facilities."""
        return named_rides.in_reach({refused.existing_id for refused in result.refused.values()}, self.principal)

    def _answer_order(self, order: StandingOrder, *, headers: dict[str, str] | None = None) -> Response:
        (record,) = orders.records([order], at=self.at)
        upcoming = calendar.next_occurrences(order, NEXT, at=self.at)
        self._context = {**self._context, "disclosure": disclosure_of(self.principal), "next_occurrences": upcoming}
        settled = _is_settled(record) and not upcoming
        return self.answer(record, version=order.version, settled=settled, headers=headers)

    def _record_read_of(self, order: StandingOrder, action: str) -> None:
        self.record_read(
            action,
            subject_type="standing_order",
            subject_id=order.pk,
            rider_ids=[order.rider_id],
            facility_id=order.facility_id,
        )

    def _caller(self) -> dict[str, Any]:
        """Return the common arguments of services: caller, time and the version that the caller has read."""
        return {"expected_version": self.expected_version(), "by": self.principal, "at": self.at}


def _is_settled(record: OrderRecord) -> bool:
    """Check that the response depends only on the version: later terms, holds and single days change with time."""
    return not (record.later or record.holds or record.skips or record.changes)


class RiderOrderViewSet(_OrderViews):
    """Standing orders of one rider."""

    scopes = {"list": Scope.RIDES_READ, "create": Scope.SCHEDULES_WRITE}
    queries = {"list": PageQuery, "create": CreationQuery}
    bodies = {"create": StandingOrderIn}
    answers = {"list": StandingOrderOut, "create": StandingOrderChangedOut}
    previews = {"create": OrderPreviewOut}
    refusals = {"create": (Code.DUPLICATE_RESOURCE,)}

    def list(self, request: Request, id: UUID) -> Response:
        """List the standing orders of a rider, newest first."""
        return self._list(orders.orders_of(id, self.principal), rider_ids=[id])

    def create(self, request: Request, id: UUID) -> Response:
        """Create a standing order.

        Books all rides within the horizon (default: 28 days), and lists them under `rides`.  Dates on which no ride
        could be booked are in `refused` and in an exception.  If a rule applies to every ride, the order is refused.
        Rides booked by hand that are a leg of the order already (same rider, to or from the same place, pickups at most
        two hours apart) are kept and become its rides; they are in `adopted`.  With `preview=true` nothing is stored:
        the answer (200) has the dates to book and the existing rides.
        Times are wall time of the facility; one that does not exist because of a clock change moves forward that day.
        """
        draft = bodies.draft_of(self.body())
        if self.query["preview"]:
            return self._preview(id, draft)
        return self._change(
            lambda: create_order.create(rider_id=id, draft=draft, by=self.principal, at=self.at), is_new=True
        )

    def _preview(self, rider_id: UUID, draft: OrderDraft) -> Response:
        preview = create_order.preview(rider_id=rider_id, draft=draft, by=self.principal, at=self.at)
        self.record_read("riders.read", subject_type="rider", subject_id=rider_id, rider_ids=[rider_id])
        reached = named_rides.in_reach({refused.existing_id for refused in preview.refused.values()}, self.principal)
        shape = {
            "booked_dates": preview.booked_days,
            "existing_rides": preview.existing_rides,
            "refused": refused_dates(preview.refused, reached),
        }
        return Response(OrderPreviewOut(shape).data)


class StandingOrderViewSet(_OrderViews):
    """Standing orders: recurring rides."""

    scopes = {
        "list": Scope.RIDES_READ,
        "retrieve": Scope.RIDES_READ,
        "partial_update": Scope.SCHEDULES_WRITE,
        "hold": Scope.SCHEDULES_WRITE,
        "resume": Scope.SCHEDULES_WRITE,
        "end": Scope.SCHEDULES_WRITE,
        "activate": Scope.SCHEDULES_WRITE,
    }
    queries = {"list": StandingOrderQuery}
    bodies = {"partial_update": StandingOrderChangesIn, "hold": HoldIn, "resume": ResumptionIn, "end": EndIn}
    answers = {
        "list": StandingOrderOut,
        "retrieve": StandingOrderShownOut,
        **dict.fromkeys(("partial_update", "hold", "resume", "end", "activate"), StandingOrderChangedOut),
    }
    refusals = {
        "list": (Code.PHI_NOT_PERMITTED,),
        "partial_update": (Code.DUPLICATE_RESOURCE, *_CHANGE),
        **dict.fromkeys(("hold", "resume", "end", "activate"), _CHANGE),
    }

    def list(self, request: Request) -> Response:
        """List standing orders, newest first."""
        equal = {name: self.query[name] for name in ("facility_id", "rider_id") if name in self.query}
        rows = StandingOrder.objects.visible_to(self.principal).filter(**equal)
        if "status" in self.query:
            rows = rows.filter(status__in=self.query["status"])
        if (ref := self.query.get("external_ref")) is not None:
            # A filter by a hidden field would disclose it by trying values.
            rider_disclosure.require(self.principal.phi, ["externalIds"], table=ride_disclosure.FIELDS)
            rows = rows.filter(pk__in=organizations.subjects_called(SubjectType.STANDING_ORDER, ref))
        return self._list(rows)

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Show one standing order."""
        order = orders.order(id, self.principal)
        self._record_read_of(order, "standing_orders.read")
        return self._answer_order(order)

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a standing order.

        JSON merge patch: absent fields stay.  The terms (`pattern` to `companions`) change for the whole future or,
        with `scope` `this_and_following`, from the pattern date `fromDate`; terms that begin later get the same change
        and keep their other fields.  All other fields apply to the whole order.  Change a single occurrence with
        `PATCH /standing-orders/{id}/occurrences/{date}`.

        Days that have begun never change.  Customized rides and days stay as well, and are listed under
        `rides.unchanged`, unless `overwriteCustomized` is true.
        """
        changes = bodies.changes_of(self.body())
        return self._change(lambda: edit_order.change(order_id=id, **changes, **self._caller()))

    def hold(self, request: Request, id: UUID) -> Response:
        """Hold a standing order: no rides on service dates from a day.

        Rides on these days are canceled.  Without `until`, an exception asks every week whether the hold still applies.
        """
        body = self.body()
        hold = {"from_date": body["from_"], "until": body.get("until"), "reason": body["reason"]}
        return self._change(lambda: hold_order.hold(order_id=id, **hold, **self._caller()))

    def resume(self, request: Request, id: UUID) -> Response:
        """Resume a standing order that is on hold.

        Every date of the pattern from that day is booked again, within the horizon; dates on which that failed are
        under `rides.refused`.
        """
        first = self.body()["from_"]
        return self._change(lambda: hold_order.resume(order_id=id, from_date=first, **self._caller()))

    def end(self, request: Request, id: UUID) -> Response:
        """End a standing order.

        Later rides are canceled, including customized rides.  An order that has ended cannot be changed any more.
        """
        last = self.body().get("on")
        return self._change(lambda: edit_order.end(order_id=id, last_date=last, **self._caller()))

    def activate(self, request: Request, id: UUID) -> Response:
        """Activate a draft; no effect on other orders."""
        return self._change(lambda: edit_order.activate(order_id=id, **self._caller()))


class OccurrenceViewSet(_OrderViews):
    """Occurrences of a standing order, identified by their pattern date, also if they are moved."""

    scopes = {
        "list": Scope.RIDES_READ,
        "partial_update": Scope.SCHEDULES_WRITE,
        "skip": Scope.SCHEDULES_WRITE,
        "restore": Scope.SCHEDULES_WRITE,
    }
    queries = {"list": OccurrenceQuery}
    bodies = {"partial_update": OccurrenceChangesIn}
    answers = {
        "list": OccurrencesOut,
        **dict.fromkeys(("partial_update", "skip", "restore"), StandingOrderChangedOut),
    }
    refusals = dict.fromkeys(("partial_update", "skip", "restore"), _CHANGE)
    examples_in_path = {"date": "2026-11-23"}

    def list(self, request: Request, id: UUID) -> Response:
        """List the occurrences of a standing order, also past and canceled ones.

        Up to three years, in the past or future; occurrences beyond the horizon are computed and not stored.
        """
        order = orders.order(id, self.principal)
        first = self.query.get("from_") or timing.local_day(self.at, order.timezone)
        last = self.query.get("to") or first + DEFAULT_RANGE
        if last < first:
            raise InvalidInput("to", _("%(field)s must not be before %(other)s."), other=FieldName("from"))
        if (last - first).days >= MOST_DAYS:
            raise InvalidInput("to", _("%(field)s is more than three years after %(other)s."), other=FieldName("from"))
        self._record_read_of(order, "standing_orders.occurrences")
        return self.answer(unpaginated(calendar.calendar(order, first, last, at=self.at)))

    @extend_schema(parameters=[_DATE])
    def partial_update(self, request: Request, id: UUID, date: str) -> Response:
        """Change one occurrence: its day, its times, or both.

        The series stays as it is.  JSON merge patch: absent fields keep earlier changes of this occurrence, null
        removes them.
        """
        changes = self.body()
        return self._change(
            lambda: edit_order.amend_occurrence(order_id=id, pattern_date=_day(date), changes=changes, **self._caller())
        )

    @extend_schema(parameters=[_DATE])
    def skip(self, request: Request, id: UUID, date: str) -> Response:
        """Skip one occurrence: its rides are canceled, and the series stays as it is."""
        return self._change(lambda: edit_order.skip(order_id=id, pattern_date=_day(date), **self._caller()))

    @extend_schema(parameters=[_DATE])
    def restore(self, request: Request, id: UUID, date: str) -> Response:
        """Restore one occurrence: remove its skip or change, so that it follows the series again."""
        return self._change(lambda: edit_order.restore(order_id=id, pattern_date=_day(date), **self._caller()))


def _day(text: str) -> dt.date:
    day: dt.date = serializers.read(DateInPath, {"date": text}, context={})["date"]
    return day
