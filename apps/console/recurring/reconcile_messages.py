"""Messages about the changes of an order's rides, for the next page."""

from collections.abc import Collection, Iterable
from datetime import date
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.console.recurring import labels
from apps.recurring.services.reconcile_rides import ReconcileResult
from apps.rides.models import Ride


def add(request: HttpRequest, message: str, result: ReconcileResult) -> None:
    """Add the message of an action with its canceled, booked, changed, unchanged and refused rides.  One query."""
    days = _days_of([*result.cancelled, *result.created, *result.amended])
    parts = [message]
    if count := len(result.cancelled):
        text = ngettext("%(count)s ride is canceled: %(days)s.", "%(count)s rides are canceled: %(days)s.", count)
        parts.append(text % {"count": count, "days": labels.listed(days[pk] for pk in result.cancelled)})
    if count := len(result.created):
        text = ngettext("%(count)s ride is booked: %(days)s.", "%(count)s rides are booked: %(days)s.", count)
        parts.append(text % {"count": count, "days": labels.listed(days[pk] for pk in result.created)})
    if count := len(result.amended):
        text = ngettext("%(count)s ride is changed: %(days)s.", "%(count)s rides are changed: %(days)s.", count)
        parts.append(text % {"count": count, "days": labels.listed(days[pk] for pk in result.amended)})
    if count := sum(len(ride_ids) for ride_ids in result.adopted.values()):
        parts.append(existing_text(count, result.adopted))
    messages.success(request, " ".join(parts))
    if result.unchanged:
        text = _("These days were customized and stay as they are: %(days)s.")
        messages.warning(request, text % {"days": labels.listed(result.unchanged)})
    reasons: dict[str, list[date]] = {}
    for day, refused in result.refused.items():
        reasons.setdefault(str(labels.refusal_reason(refused.code.name)), []).append(day)
    for reason, refused_days in reasons.items():
        text = _("Could not be booked or changed: %(days)s. %(why)s")
        messages.error(request, text % {"days": labels.listed(refused_days), "why": reason})


def existing_text(count: int, days: Iterable[date]) -> str:
    """Say on which days rides booked by hand are kept in place of new ones."""
    text = ngettext(
        "%(count)s ride exists already and is kept, not booked twice: %(days)s.",
        "%(count)s rides exist already and are kept, not booked twice: %(days)s.",
        count,
    )
    return text % {"count": count, "days": labels.listed(sorted(set(days)))}


def _days_of(ride_ids: Collection[UUID]) -> dict[UUID, date]:
    rows = Ride.objects.filter(pk__in=ride_ids).values_list("pk", "service_date")
    return cast(dict[UUID, date], dict(rows))
