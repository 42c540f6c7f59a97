"""Reminders before credentials expire: one each at 60, 30, 14 and 7 days.

The reminders of one provider and run share one alert, so that a provider with five hundred drivers gets one line a day.
Other systems get one event per credential and reminder.
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
_NAMED: Final = 5  # credentials that the text of an alert lists
_PAGES: Final = "/console/fleet"
_DRIVERS: Final = "driver.credential_expiring"
_VEHICLES: Final = "vehicle.credential_expiring"
_LAST_DAY: Final = _("It expires on %(day)s.")
_LINE: Final = _("%(credential)s of %(owner)s: expires %(day)s, %(when)s.")


class ExpiringCredential(NamedTuple):
    """A credential that has reached a reminder threshold (`step`, days); `days` are left until it expires."""

    credential: Credential
    step: int
    days: int


def send_expiry_reminders(*, at: datetime) -> int:
    """Send the reminders that are due, and return how many.

    Skips former drivers, retired vehicles and rejected credentials.  If several reminder thresholds have passed, sends
    only the nearest one.  Two runs at the same time send each reminder once: rows that the other run has locked are
    skipped.
    """
    soon = _remindable().filter(expires_on__gte=at.date() - _DAY, expires_on__lte=at.date() + (REMINDERS[0] + 1) * _DAY)
    provider_ids = set(soon.order_by().values_list(Coalesce("driver__provider_id", "vehicle__provider_id"), flat=True))
    providers = TransportProvider.objects.filter(pk__in=provider_ids).order_by("pk")
    return sum(_remind_provider(provider, at=at) for provider in providers)


@transaction.atomic
def _remind_provider(provider: TransportProvider, *, at: datetime) -> int:
    today = at.astimezone(ZoneInfo(provider.timezone)).date()
    rows = _remindable().filter(Q(driver__provider=provider) | Q(vehicle__provider=provider))
    rows = rows.filter(expires_on__gte=today, expires_on__lte=today + REMINDERS[0] * _DAY).order_by("expires_on", "pk")
    rows = rows.select_related("driver", "vehicle").select_for_update(of=("self",), skip_locked=True, no_key=True)
    due = [expiring for credential in rows if (expiring := _due(credential, today)) is not None]
    if due:
        _raise_alert(provider.pk, due, at=at)
        events.record_all((_event(provider.pk, expiring, at) for expiring in due), by=system())
    by_step: Mapping[int, list[UUID]] = defaultdict(list)
    for expiring in due:
        by_step[expiring.step].append(expiring.credential.pk)
    for step, ids in by_step.items():
        Credential.objects.filter(pk__in=ids).update(last_reminder_days=step)
    return len(due)


def _remindable() -> CredentialQuerySet:
    """Active credentials of drivers who have not left and of vehicles that are not retired."""
    rows = Credential.objects.filter(replaced=False, rejected=False)
    return rows.exclude(driver__activation=Activation.INACTIVE).exclude(vehicle__status=VehicleStatus.RETIRED)


def _due(credential: Credential, today: date) -> ExpiringCredential | None:
    expires_on = credential.expires_on or today  # not None: the query excludes credentials without expiry
    step = reminder(credential.issued_on, expires_on, today)
    if step is None or (credential.last_reminder_days is not None and credential.last_reminder_days <= step):
        return None
    return ExpiringCredential(credential, step, (expires_on - today).days)


def _event(provider_id: UUID, expiring: ExpiringCredential, at: datetime) -> Mapping[str, Any]:
    """Return the columns of the event.  Its sequence is the threshold number: each occurs once per credential."""
    credential = expiring.credential
    owner, kind = ("driverId", _DRIVERS) if credential.vehicle_id is None else ("vehicleId", _VEHICLES)
    return {
        "type": kind,
        "subject_type": "credential",
        "subject_id": credential.pk,
        "sequence": REMINDERS.index(expiring.step) + 1,
        "facility_id": None,
        "provider_id": provider_id,
        "occurred_at": at,
        "data": {
            owner: str(credential.subject_id),
            "credentialType": credential.type,
            "expiresOn": str(credential.expires_on),
            "daysLeft": expiring.days,
            "blocking": credential.blocking,
        },
    }


def _raise_alert(provider_id: UUID, due: Sequence[ExpiringCredential], *, at: datetime) -> None:
    """Raise an alert and resolve the provider's previous one, which it replaces."""
    key = f"credential.lapsing:{provider_id}"
    alerts.resolve(key, at=at)
    urgent = any(expiring.step == REMINDERS[-1] and expiring.credential.blocking for expiring in due)
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


def _title(due: Sequence[ExpiringCredential]) -> Message:
    if len(due) > 1:
        return Message(
            _("%(count)s fleet credentials expire within %(days)s days"),
            {"count": len(due), "days": max(expiring.step for expiring in due)},
        )
    return Message(_("A credential of %(owner)s expires %(when)s: %(credential)s"), _parameters(due[0]))


def _text(due: Sequence[ExpiringCredential]) -> list[Message]:
    if len(due) == 1:
        credential = due[0].credential
        template = _("It expires on %(day)s. No rides are assigned without it.") if credential.blocking else _LAST_DAY
        return [Message(template, {"day": credential.expires_on})]
    more = [Message(_("And %(count)s more."), {"count": len(due) - _NAMED})] if len(due) > _NAMED else []
    return [*(Message(_LINE, _parameters(expiring)) for expiring in due[:_NAMED]), *more]


def _parameters(expiring: ExpiringCredential) -> dict[str, object]:
    """Return the parameters of the alert's texts, without driver names: alerts are sent by mail."""
    credential, vehicle = expiring.credential, expiring.credential.vehicle
    days = Message(_("in %(days)s days"), {"days": expiring.days})
    return {
        "credential": CredentialType(credential.type).label,
        "owner": Message(_("vehicle %(unit)s"), {"unit": vehicle.unit_number}) if vehicle else _("a driver"),
        "day": credential.expires_on,
        "when": {0: _("today"), 1: _("tomorrow")}.get(expiring.days, days),
    }


def _path(provider_id: UUID, due: Sequence[ExpiringCredential]) -> str:
    """Return the path of the owner of a single credential, or of the credential board."""
    kinds = {"vehicles" if expiring.credential.driver_id is None else "drivers" for expiring in due}
    if len(due) == 1:
        (kind,) = kinds
        return f"{_PAGES}/{kind}/{due[0].credential.subject_id}/#{due[0].credential.type}"
    of = "of=vehicles&" if kinds == {"vehicles"} else ""
    return f"{_PAGES}/credentials/?{of}provider={provider_id}&status=within_60"
