"""Standing orders over HTTP."""

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
    StandingOrderChangedOut,
    StandingOrderOut,
    StandingOrderShownOut,
)
from apps.recurring.models import OrderStatus, StandingOrder, StandingOrderQuerySet
from apps.recurring.queries import calendar, orders
from apps.recurring.queries.orders import OrderRecord
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

MOST_DAYS: Final = 3 * 366  # of one call for occurrences
NEXT: Final = 10  # occurrences that an order is shown with
USUAL_DAYS: Final = dt.timedelta(days=28)
_CHANGE: Final = (Code.RULE_VIOLATION, Code.PRECONDITION_FAILED)
_DATE: Final = OpenApiParameter("date", OpenApiTypes.DATE, OpenApiParameter.PATH)


class StandingOrderQuery(PageQuery):
    facility_id = fields.Uuid(required=False)
    rider_id = fields.Uuid(required=False)
    status = fields.Listed(
        child=fields.Choice(choices=OrderStatus.choices), required=False, help_text="One status or several."
    )
    external_ref = fields.Text(required=False, max_length=201, help_text="system|value, or value in any system.")


class OccurrenceQuery(Query):
    from_ = fields.LocalDate(required=False, help_text="The first day; without it, the facility's today.")
    to = fields.LocalDate(
        required=False, help_text="The last day, three years on at most; without it, four weeks after the first."
    )


class DateInPath(In):
    date = fields.LocalDate()


class _OrderViews(AuditedReads, ApiViewSet):
    """What operations on standing orders share: how an order is shown, and that a look at it is recorded."""

    _shown: dict[str, Any] = {}  # replaced on the instance, never changed

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), **self._shown}

    def _list(self, rows: StandingOrderQuerySet, *, rider_ids: Sequence[UUID] = ()) -> Response:
        page = self.page(rows)
        self.record_read(
            "standing_orders.list",
            subject_type="standing_order",
            rider_ids=[*rider_ids, *(one.rider_id for one in page.rows)],
        )
        self._shown = {"disclosure": disclosure_of(self.principal)}
        return self.answer_page(replace(page, rows=orders.records(page.rows, at=self.at)))

    def _change(self, change: Callable[[], OrderResult], *, is_new: bool = False) -> Response:
        """Change an order, and show it with what became of its rides.

        A change that changes nothing leaves no row of its own in the trail, and shows the order all the same.
        """
        with audit.riders_named() as recorded:
            ordered = change()
        order = ordered.order
        if order.rider_id not in recorded:
            self._record_look(order, "standing_orders.read")
        self._shown = {"result": ordered.result, "reached": self._reached(ordered.result)}
        headers = {"Location": f"/api/standing-orders/{order.pk}"} if is_new else None
        return self._answer_order(order, headers=headers)

    def _reached(self, result: ReconcileResult) -> set[UUID]:
        """Say which of the rides in the way the caller may know of: a rider has rides of other facilities, too."""
        return named_rides.in_reach({one.existing_id for one in result.refused.values()}, self.principal)

    def _answer_order(self, order: StandingOrder, *, headers: dict[str, str] | None = None) -> Response:
        (record,) = orders.records([order], at=self.at)
        coming = calendar.next_occurrences(order, NEXT, at=self.at)
        self._shown = {**self._shown, "disclosure": disclosure_of(self.principal), "coming": coming}
        settled = _is_settled(record) and not coming
        return self.answer(record, version=order.version, settled=settled, headers=headers)

    def _record_look(self, order: StandingOrder, action: str) -> None:
        self.record_read(
            action,
            subject_type="standing_order",
            subject_id=order.pk,
            rider_ids=[order.rider_id],
            facility_id=order.facility_id,
        )

    def _by_whom(self) -> dict[str, Any]:
        """Say who changes an order, when, and which version of it they have read."""
        return {"expected_version": self.expected_version(), "by": self.principal, "at": self.at}


def _is_settled(record: OrderRecord) -> bool:
    """Say whether the order's own part looks the same until its next version: terms and days come and go with time."""
    return not (record.later or record.holds or record.skips or record.changes)


class RiderOrderViewSet(_OrderViews):
    """Standing orders of one rider."""

    scopes = {"list": Scope.RIDES_READ, "create": Scope.SCHEDULES_WRITE}
    queries = {"list": PageQuery}
    bodies = {"create": StandingOrderIn}
    answers = {"list": StandingOrderOut, "create": StandingOrderChangedOut}
    refusals = {"create": (Code.DUPLICATE_RESOURCE,)}

    def list(self, request: Request, id: UUID) -> Response:
        """List the standing orders of a rider, those made last first."""
        return self._list(orders.orders_of(id, self.principal), rider_ids=[id])

    def create(self, request: Request, id: UUID) -> Response:
        """Make a standing order.

        Books every ride within the horizon (28 days unless said), and the answer lists them under `rides`; dates on
        which none could be made are `refused`, and an exception tells people of them.  A rule that stands against every
        ride refuses the order.  Times are wall time of the facility: one that the clocks skip moves forward that day.
        """
        draft = bodies.draft_of(self.body())
        return self._change(
            lambda: create_order.create(rider_id=id, draft=draft, by=self.principal, at=self.at), is_new=True
        )


class StandingOrderViewSet(_OrderViews):
    """Standing orders: rides that recur."""

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
        """List standing orders, those made last first."""
        same = {name: self.query[name] for name in ("facility_id", "rider_id") if name in self.query}
        rows = StandingOrder.objects.visible_to(self.principal).filter(**same)
        if "status" in self.query:
            rows = rows.filter(status__in=self.query["status"])
        if (ref := self.query.get("external_ref")) is not None:
            # Of what the caller may not see, a filter would tell by trying.
            rider_disclosure.require(self.principal.phi, ["externalIds"], table=ride_disclosure.FIELDS)
            rows = rows.filter(pk__in=organizations.subjects_called(SubjectType.STANDING_ORDER, ref))
        return self._list(rows)

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Show one standing order."""
        order = orders.order(id, self.principal)
        self._record_look(order, "standing_orders.read")
        return self._answer_order(order)

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a standing order.

        JSON merge patch: what is absent stays.  When and how it rides (`pattern` to `companions`) changes for all of
        the future or, with `scope` `this_and_following`, from the pattern date `fromDate` on; terms that begin later
        take the change over and keep the rest.  Everything else holds for all of the order.  The scope "this", of one
        occurrence, has an address of its own: `PATCH /standing-orders/{id}/occurrences/{date}`.

        Days that have begun never change.  Rides and days that people changed stay as well, and are listed under
        `rides.unchanged`, unless `overwriteCustomized` says otherwise.
        """
        changes = bodies.changes_of(self.body())
        return self._change(lambda: edit_order.change(order_id=id, **changes, **self._by_whom()))

    def hold(self, request: Request, id: UUID) -> Response:
        """Hold a standing order: no rides on service dates from a day on.

        Rides on these days are called off.  Without `until` people are asked every week whether it still holds.
        """
        asked = self.body()
        hold = {"from_date": asked["from_"], "until": asked.get("until"), "reason": asked["reason"]}
        return self._change(lambda: hold_order.hold(order_id=id, **hold, **self._by_whom()))

    def resume(self, request: Request, id: UUID) -> Response:
        """Resume a standing order that is held.

        Every date of the pattern from that day on is booked anew, within the horizon; dates on which that failed are
        under `rides.refused`.
        """
        first = self.body()["from_"]
        return self._change(lambda: hold_order.resume(order_id=id, from_date=first, **self._by_whom()))

    def end(self, request: Request, id: UUID) -> Response:
        """End a standing order.

        Later rides are called off, those that people changed among them.  There is no way back from an order that has
        ended: nothing of it changes any more.
        """
        last = self.body().get("on")
        return self._change(lambda: edit_order.end(order_id=id, last_date=last, **self._by_whom()))

    def activate(self, request: Request, id: UUID) -> Response:
        """Let a draft ride; an order that is none stays as it is."""
        return self._change(lambda: edit_order.activate(order_id=id, **self._by_whom()))


class OccurrenceViewSet(_OrderViews):
    """The days of a standing order, each by its date in the pattern, which stays its name wherever it moves."""

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
        """List what takes place, took place or would have, of a standing order.

        Days of any span up to three years, past and to come; those beyond the horizon are worked out and nothing is
        stored.
        """
        order = orders.order(id, self.principal)
        first = self.query.get("from_") or timing.local_day(self.at, order.timezone)
        last = self.query.get("to") or first + USUAL_DAYS
        if last < first:
            raise InvalidInput("to", _("%(field)s must not lie before %(other)s."), other=FieldName("from"))
        if (last - first).days >= MOST_DAYS:
            raise InvalidInput(
                "to", _("%(field)s lies more than three years after %(other)s."), other=FieldName("from")
            )
        self._record_look(order, "standing_orders.occurrences")
        return self.answer(unpaginated(calendar.calendar(order, first, last, at=self.at)))

    @extend_schema(parameters=[_DATE])
    def partial_update(self, request: Request, id: UUID, date: str) -> Response:
        """Change one occurrence: its day, its times, or both.

        The scope "this" of edits: the series goes on as ever.  JSON merge patch: what is absent stays as it was
        arranged before, null takes it back.
        """
        changes = self.body()
        return self._change(
            lambda: edit_order.amend_occurrence(
                order_id=id, pattern_date=_day(date), changes=changes, **self._by_whom()
            )
        )

    @extend_schema(parameters=[_DATE])
    def skip(self, request: Request, id: UUID, date: str) -> Response:
        """Skip one occurrence: its rides are called off, and the series goes on."""
        return self._change(lambda: edit_order.skip(order_id=id, pattern_date=_day(date), **self._by_whom()))

    @extend_schema(parameters=[_DATE])
    def restore(self, request: Request, id: UUID, date: str) -> Response:
        """Take back what was arranged for one occurrence: it is as the series has it again."""
        return self._change(lambda: edit_order.restore(order_id=id, pattern_date=_day(date), **self._by_whom()))


def _day(text: str) -> dt.date:
    day: dt.date = serializers.read(DateInPath, {"date": text}, context={})["date"]
    return day
