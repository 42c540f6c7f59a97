"""The list of standing orders of a facility, grouped by days and chair time."""

from collections.abc import Iterable, Sequence
from datetime import datetime, time
from functools import partial
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.lists import Filters, arranged, views_of
from apps.console.recurring import labels
from apps.console.recurring.rights import get_facility, opens
from apps.organizations.models import Facility
from apps.recurring.models import OrderStatus
from apps.recurring.queries import roster
from apps.recurring.queries.roster import OrderSummary
from apps.recurring.rules.recurrence import PRESETS
from apps.riders.labels import rider_name
from lib import zone_labels
from lib.access import Principal
from lib.console_forms import ListFilter, choose
from lib.ids import uuid_or_none
from lib.listing import Listing
from lib.scopes import Scope

GROUPS: Final = (
    ("mwf", _("Monday, Wednesday, Friday")),
    ("tts", _("Tuesday, Thursday, Saturday")),
    ("other", _("Other days")),
)


LIST: Final = Listing("standing_orders", sorts={}, sizes=())  # grouped by treatment shift and not paged


class OrderFilter(ListFilter):
    facility = forms.ChoiceField(label=_("Facility"), required=False)
    status = forms.ChoiceField(
        label=_("Status"),
        required=False,
        choices=[("", _("Current")), *((status.value, labels.STATUSES[status].text) for status in OrderStatus)],
    )

    def __init__(self, query: QueryDict, *, facilities: Sequence[tuple[UUID, str]]) -> None:
        only = {"facility": str(facilities[0][0])} if len(facilities) == 1 else {}  # the only choice
        super().__init__(query.dict() | only)
        choose(self, "facility", facilities, first=_("Choose one"))

    def statuses(self) -> list[str]:
        status = self.cleaned_data.get("status")
        return [status] if status else list(roster.LISTED_STATUSES)


@require_safe
@opens(Scope.RIDES_READ)
def orders(request: HttpRequest) -> HttpResponse:
    """List the orders of a facility, or the facilities if none is selected.  The number of queries is constant."""
    by, now = principal_of(request), timezone.now()
    form_for = filters(by)
    form = cast(OrderFilter, form_for(request.GET))
    list_state = arranged(request, LIST, form.parameters())  # unknown facilities and statuses are ignored
    context: dict[str, Any] = {"form": form, "shown": list_state, "may_change": by.has_scope(Scope.SCHEDULES_WRITE)}
    context |= views_of(request, list_state, form_for)
    facility_id = uuid_or_none(form.cleaned_data.get("facility"))
    if facility_id is None:
        return render(
            request, "recurring/facilities.html", context | {"facility_counts": roster.facility_counts(by=by)}
        )
    facility = get_facility(facility_id, by)
    summaries, has_more = roster.summaries(facility, form.statuses(), by=by, at=now)
    record_read(
        by=by,
        action="standing_orders.list",
        subject_type="standing_order",
        rider_ids=[summary.order.rider_id for summary in summaries],
        facility_id=facility.pk,
    )
    context |= {
        "facility": facility,
        "zone": zone_labels.long_name(facility.timezone),
        "groups": list(_groups(summaries, by, now)),
        "count": len(summaries),
        "most": roster.MOST if has_more else None,
        "filtered": bool(form.cleaned_data.get("status")),
    }
    return render(request, "recurring/orders.html", context)


def filters(by: Principal) -> Filters:
    """Return a function that parses filters of the list.  One query."""
    facilities = list(Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))
    return partial(OrderFilter, facilities=facilities)


def _groups(summaries: Iterable[OrderSummary], by: Principal, now: datetime) -> Iterable[dict[str, Any]]:
    """Group by days and chair time, sorted by name; empty groups are left out."""
    shifts_of: dict[str, dict[time, list[dict[str, Any]]]] = {key: {} for key, _title in GROUPS}
    for summary in summaries:
        days = frozenset(summary.terms.days_of_week)
        key = next((name for name, preset in PRESETS.items() if preset == days), "other")
        shifts_of[key].setdefault(summary.terms.chair_time, []).append(_row(summary, by))
    for key, title in GROUPS:
        if shifts := shifts_of[key]:
            rows = [(chair, sorted(shifts[chair], key=lambda row: row["name"].lower())) for chair in sorted(shifts)]
            yield {"key": key, "title": title, "shifts": rows, "count": sum(len(row) for _chair, row in rows)}


def _row(summary: OrderSummary, by: Principal) -> dict[str, Any]:
    order, terms = summary.order, summary.terms
    badge, more = labels.status_of(summary)
    next_at = summary.next_pickup_at
    return {
        "order": order,
        "name": rider_name(order.rider, by),
        "days": labels.pattern_of(terms),
        "next": labels.day_and_clock(next_at, order.timezone) if next_at else "",
        "next_at": next_at,
        "badge": badge,
        "more": more,
        "return_mode": labels.RETURNS[terms.return_mode],
    }
