"""Activation of drivers.  The consequences for their rides are in `apps/rides/services/fleet_changes.py`."""

from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.events import services as events
from apps.fleet.models import Activation, Credential, Driver
from apps.fleet.rules.credentials import (
    STATUS_TEXTS,
    CredentialFacts,
    CredentialGap,
    CredentialStatus,
    CredentialType,
    Subject,
    missing_or_expired,
)
from apps.fleet.services.drivers import locked_driver
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, InvalidInput, StaleVersion
from lib.messages import Message


class CredentialsMissing(DomainError):
    """The driver lacks required credentials; the details name each one with its status."""

    code = Code.CREDENTIALS_MISSING
    template = _("The driver lacks credentials that activation requires.")

    def __init__(self, gaps: list[CredentialGap]) -> None:
        super().__init__(
            details=[
                Detail(
                    code="credential_missing" if gap.status is CredentialStatus.MISSING else "credential_invalid",
                    message=Message(
                        _("The %(credential)s is %(status)s."),
                        {"credential": CredentialType(gap.type).label, "status": STATUS_TEXTS[gap.status]},
                    ),
                    also={
                        "type": gap.type,
                        "status": gap.status.value,
                        "expiresOn": None if gap.expires_on is None else gap.expires_on.isoformat(),
                    },
                )
                for gap in gaps
            ],
        )


@transaction.atomic
def change(
    *, driver_id: UUID, to: str, reason: str, expected_version: int | None = None, by: Principal, at: datetime
) -> Driver:
    """Activate, suspend or retire a driver.  No-op, without an event, if the state is unchanged.

    Locks the driver's row; a caller that also needs rides has to lock those first.

    Raises:
        NotFound: the driver is not in the caller's data scope.
        StaleVersion: `expected_version` is not the current version.
        InvalidInput: `to` is `pending`, the initial state only, or a suspension lacks a reason.
        CredentialsMissing: a credential that activation requires is absent, expired or rejected on the provider's day.
    """
    driver = locked_driver(driver_id, by)
    if expected_version is not None and driver.version != expected_version:
        raise StaleVersion(driver.version)
    if driver.activation == to:
        return driver
    if to == Activation.PENDING:
        raise InvalidInput("activation", _("A driver does not become pending again."))
    if to == Activation.SUSPENDED and not reason.strip():
        raise InvalidInput("reason", _("A suspension needs a reason."), detail_code="required")
    if to == Activation.ACTIVE:
        _require_valid_credentials(driver, at.astimezone(ZoneInfo(driver.provider.timezone)).date())
    was, driver.activation = driver.activation, to
    driver.activation_reason = reason
    driver.activation_changed_at = at
    driver.activation_changed_by = by.actor
    driver.version += 1
    driver.save(
        update_fields=[
            "activation",
            "activation_reason",
            "activation_changed_at",
            "activation_changed_by",
            "version",
            "updated_at",
        ]
    )
    events.record(
        type="driver.activation_changed",
        subject_type="driver",
        subject_id=driver.pk,
        sequence=driver.version,
        provider_id=driver.provider_id,
        occurred_at=at,
        by=by,
        data={"driverId": str(driver.pk), "from": was, "to": to},
    )
    audit.record(
        by=by,
        action="drivers.change_activation",
        subject_type="driver",
        subject_id=driver.pk,
        reason=reason,
        details={"from": was, "to": to},
    )
    return driver


def _require_valid_credentials(driver: Driver, day: date) -> None:
    rows = Credential.objects.filter(driver=driver, replaced=False)
    credentials = [CredentialFacts(row.type, row.expires_on, row.rejected, row.blocking, row.warn_days) for row in rows]
    gaps = missing_or_expired(Subject.DRIVER, credentials, day)
    if gaps:
        raise CredentialsMissing(gaps)
