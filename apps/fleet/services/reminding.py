"""Telling of papers before they lapse: each of them once at 60, 30, 14 and 7 days.

What is new at one provider makes one alert: whoever keeps five hundred drivers gets a line a day, not a hundred mails.
Other systems hear of each paper by an event of its own.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Coalesce

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.events import services as events
from apps.fleet.models import Activation, Credential, CredentialQuerySet, VehicleStatus
from apps.fleet.rules.credentials import REMINDERS, CredentialType, reminder
from apps.organizations.models import TransportProvider
from lib.access import system
from lib.messages import Message
from lib.messages import gettext_lazy as _
from lib.scopes import Scope

_DAY: Final = timedelta(days=1)
_NAMED: Final = 5  # papers that the text of an alert lists
_PAGES: Final = "/console/fleet"
_DRIVERS: Final = "driver.credential_expiring"
_VEHICLES: Final = "vehicle.credential_expiring"
_LAST_DAY: Final = _("Its last day is %(day)s.")
_LINE: Final = _("%(paper)s of %(owner)s: last day %(day)s, %(when)s.")


class _Due(NamedTuple):
    """A paper that has come to a step; `days` are left of it."""

    credential: Credential
    step: int
    days: int


def remind(*, at: datetime) -> int:
    """Tell of papers that have come to a step since the last time, and answer how many.

    Each is an event, and those of one provider share an alert.  Papers of drivers who left and of retired vehicles, and
    what was rejected, are nobody's concern.  A paper that has come to several steps at once is told of at the last one
    alone.  Two runs at the same time tell once: papers that another run has locked are passed by.
    """
    soon = _concerned().filter(expires_on__gte=at.date() - _DAY, expires_on__lte=at.date() + (REMINDERS[0] + 1) * _DAY)
    provider_ids = set(soon.order_by().values_list(Coalesce("driver__provider_id", "vehicle__provider_id"), flat=True))
    providers = TransportProvider.objects.filter(pk__in=provider_ids).order_by("pk")
    return sum(_remind_of(provider, at=at) for provider in providers)


@transaction.atomic
def _remind_of(provider: TransportProvider, *, at: datetime) -> int:
    today = at.astimezone(ZoneInfo(provider.timezone)).date()
    rows = _concerned().filter(Q(driver__provider=provider) | Q(vehicle__provider=provider))
    rows = rows.filter(expires_on__gte=today, expires_on__lte=today + REMINDERS[0] * _DAY).order_by("expires_on", "pk")
    rows = rows.select_related("driver", "vehicle").select_for_update(of=("self",), skip_locked=True, no_key=True)
    due = [found for paper in rows if (found := _due(paper, today)) is not None]
    if due:
        _tell(provider.pk, due, at=at)
        events.record_all((_event(provider.pk, one, at) for one in due), by=system())
    by_step: Mapping[int, list[UUID]] = defaultdict(list)
    for one in due:
        by_step[one.step].append(one.credential.pk)
    for step, ids in by_step.items():
        Credential.objects.filter(pk__in=ids).update(reminded_days=step)
    return len(due)


def _concerned() -> CredentialQuerySet:
    """Find the papers in force of whoever drives or may, and of what rolls or may again."""
    rows = Credential.objects.filter(replaced=False, rejected=False)
    return rows.exclude(driver__activation=Activation.INACTIVE).exclude(vehicle__status=VehicleStatus.RETIRED)


def _due(paper: Credential, today: date) -> _Due | None:
    expires_on = paper.expires_on or today  # the query leaves out what does not expire
    step = reminder(paper.issued_on, expires_on, today)
    if step is None or (paper.reminded_days is not None and paper.reminded_days <= step):
        return None
    return _Due(paper, step, (expires_on - today).days)


def _event(provider_id: UUID, one: _Due, at: datetime) -> Mapping[str, Any]:
    """Write the columns of the event; a paper comes to each step once, which makes the steps its sequence."""
    paper = one.credential
    owner, kind = ("driverId", _DRIVERS) if paper.vehicle_id is None else ("vehicleId", _VEHICLES)
    return {
        "type": kind,
        "subject_type": "credential",
        "subject_id": paper.pk,
        "sequence": REMINDERS.index(one.step) + 1,
        "facility_id": None,
        "provider_id": provider_id,
        "occurred_at": at,
        "data": {
            owner: str(paper.subject_id),
            "credentialType": paper.type,
            "expiresOn": str(paper.expires_on),
            "daysLeft": one.days,
            "blocking": paper.blocking,
        },
    }


def _tell(provider_id: UUID, due: Sequence[_Due], *, at: datetime) -> None:
    """Put an alert in the place of the one before, which somebody who looks at the board needs no more."""
    key = f"credential.lapsing:{provider_id}"
    alerts.resolve(key, at=at)
    urgent = any(one.step == REMINDERS[-1] and one.credential.blocking for one in due)
    alerts.raise_alert(
        kind="credential.lapsing",
        severity=Alert.Severity.CRITICAL if urgent else Alert.Severity.WARNING,
        scope=Scope.DRIVERS_WRITE,
        key=key,
        title=_title(due),
        text=_text(due),
        path=_path(provider_id, due),
        provider_id=provider_id,
        at=at,
    )


def _title(due: Sequence[_Due]) -> Message:
    if len(due) > 1:
        return Message(
            _("%(count)s papers of the fleet lapse within %(days)s days"),
            {"count": len(due), "days": max(one.step for one in due)},
        )
    return Message(_("A paper of %(owner)s lapses %(when)s: %(paper)s"), _parameters(due[0]))


def _text(due: Sequence[_Due]) -> list[Message]:
    if len(due) == 1:
        paper = due[0].credential
        template = _("Its last day is %(day)s. Without it no ride is given.") if paper.blocking else _LAST_DAY
        return [Message(template, {"day": paper.expires_on})]
    more = [Message(_("And %(count)s more."), {"count": len(due) - _NAMED})] if len(due) > _NAMED else []
    return [*(Message(_LINE, _parameters(one)) for one in due[:_NAMED]), *more]


def _parameters(one: _Due) -> dict[str, object]:
    """Describe a paper for the alert.  It names no driver: mails leave the house."""
    paper, vehicle = one.credential, one.credential.vehicle
    days = Message(_("in %(days)s days"), {"days": one.days})
    return {
        "paper": CredentialType(paper.type).label,
        "owner": Message(_("vehicle %(unit)s"), {"unit": vehicle.unit_number}) if vehicle else _("a driver"),
        "day": paper.expires_on,
        "when": {0: _("today"), 1: _("tomorrow")}.get(one.days, days),
    }


def _path(provider_id: UUID, due: Sequence[_Due]) -> str:
    """Lead to the owner of the one paper, or to the board, of vehicles where there are no others."""
    kinds = {"vehicles" if one.credential.driver_id is None else "drivers" for one in due}
    if len(due) == 1:
        (kind,) = kinds
        return f"{_PAGES}/{kind}/{due[0].credential.subject_id}/#{due[0].credential.type}"
    of = "of=vehicles&" if kinds == {"vehicles"} else ""
    return f"{_PAGES}/credentials/?{of}provider={provider_id}&standing=within_60"
