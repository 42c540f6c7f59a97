"""Alerts about holidays for which a dialysis facility has not entered a calendar shift."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Q

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.organizations.models import CalendarShift, Facility, FacilityKind
from apps.recurring.models import RIDING, Terms
from lib.messages import Message, Text
from lib.messages import gettext_lazy as _
from lib.scopes import Scope

ALERT_AHEAD: Final = timedelta(days=45)
KIND: Final = "holiday_undecided"
_THURSDAY: Final = 3


def upcoming(today: date) -> list[tuple[Text, date]]:
    """List the holidays on which dialysis facilities usually move treatments, from tomorrow through `ALERT_AHEAD`."""
    holidays = [holiday for year in (today.year, today.year + 1) for holiday in _holidays(year)]
    return [(name, day) for name, day in holidays if today < day <= today + ALERT_AHEAD]


def _holidays(year: int) -> Iterator[tuple[Text, date]]:
    first = date(year, 11, 1)
    yield _("New Year's Day"), date(year, 1, 1)
    yield _("Thanksgiving"), first + timedelta(days=(_THURSDAY - first.weekday()) % 7 + 21)
    yield _("Christmas Day"), date(year, 12, 25)


def raise_alerts(*, at: datetime) -> None:
    """Raise an alert for each holiday and dialysis facility with orders on that day of the week.

    A calendar shift of that day resolves the alert; acknowledging it means that nothing moves.  Each alert is raised
    once.
    """
    undecided = {
        f"holiday:{facility.pk}:{day.isoformat()}": (name, day, facility)
        for name, day in upcoming(at.date())
        for facility in _undecided(day)
    }
    open_keys = Alert.objects.open().filter(kind=KIND).values_list("key", flat=True)
    alerts.resolve(*(key for key in open_keys if key not in undecided), at=at)
    raised = set(Alert.objects.filter(key__in=undecided).values_list("key", flat=True))
    for key, (name, day, facility) in undecided.items():
        if key not in raised:
            alerts.raise_alert(
                kind=KIND,
                severity=Alert.Severity.WARNING,
                scope=Scope.SCHEDULES_WRITE,
                key=key,
                title=Message(
                    _("%(holiday)s, %(day)s: nothing decided at %(facility)s"),
                    {"holiday": name, "day": day, "facility": facility.name},
                ),
                text=[
                    _(
                        "Patients ride there on that day of the week. Enter the day that its treatments "
                        "move to; if nothing changes, claim and close this alert."
                    )
                ],
                path=f"/console/recurring/facilities/{facility.pk}/",
                facility_id=facility.pk,
                at=at,
            )


def _undecided(day: date) -> list[Facility]:
    """List the dialysis facilities with orders on this day of the week and no shift of the day."""
    terms = Terms.objects.filter(
        Q(standing_order__end_date__isnull=True) | Q(standing_order__end_date__gte=day),
        standing_order__facility=OuterRef("pk"),
        standing_order__status__in=RIDING,
        from_date__lte=day,
        days_of_week__contains=[day.weekday()],
    )
    shifts = CalendarShift.objects.filter(facility=OuterRef("pk"), from_date=day, undone_at__isnull=True)
    facilities = Facility.objects.filter(Exists(terms), ~Exists(shifts), kind=FacilityKind.DIALYSIS, active=True)
    return list(facilities.order_by("pk"))
