"""Filing, verifying and rejecting credentials.  A newer credential replaces an older one; both stay on record."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import Credential, Driver, Vehicle
from apps.fleet.rules.credentials import TYPES_OF, Subject, blocks_by_default
from apps.fleet.services.drivers import locked_driver
from apps.fleet.services.vehicles import locked_vehicle
from lib.access import Principal
from lib.errors import DomainError, InvalidInput, NotFound

DETAILS: Final = frozenset({"number", "issuer", "issued_on", "expires_on", "document_id", "blocking", "warn_days"})
_NOT_OF: Final = {
    Subject.DRIVER: _("That is not a driver's credential."),
    Subject.VEHICLE: _("That is not a vehicle's credential."),
}


class EnteredByTheSame(DomainError):
    """The person who entered a credential cannot verify it."""

    template = _("The person who entered a credential cannot verify it: someone else has to.")


@transaction.atomic
def file(
    *, subject: Subject, subject_id: UUID, type: str, details: Mapping[str, Any], by: Principal, at: datetime
) -> Credential:
    """File a credential, in force immediately; an earlier one of the same type is marked as replaced.

    `details` holds any of `DETAILS`; `blocking` defaults to the rule for the type.

    Raises:
        NotFound: the driver or vehicle is not in the caller's data scope.
        InvalidInput: the type does not fit a driver, or vehicle, or the credential expires before it was issued.
    """
    owner = _locked(subject, subject_id, by)
    if type not in TYPES_OF[subject]:
        raise InvalidInput("type", _NOT_OF[subject])
    issued_on, expires_on = details.get("issued_on"), details.get("expires_on")
    if issued_on is not None and expires_on is not None and expires_on < issued_on:
        raise InvalidInput("expiresOn", _("A credential cannot expire before it was issued."))
    Credential.objects.filter(**{subject.value: owner}, type=type, replaced=False).update(replaced=True)
    columns = {key: value for key, value in details.items() if key in DETAILS}
    columns.setdefault("blocking", blocks_by_default(subject, type))
    credential = Credential.objects.create(**{subject.value: owner}, type=type, entered_by=by.actor, **columns)
    _record(credential, "file", by)
    return credential


@transaction.atomic
def verify(*, credential_id: UUID, by: Principal, at: datetime) -> Credential:
    """Mark a credential as verified by a person other than the one who entered it; withdraws a rejection.

    Raises:
        NotFound: the credential is not in the caller's data scope, or was replaced.
        EnteredByTheSame: the caller entered it.
    """
    credential = active_credential(credential_id, by)
    if credential.entered_by == by.actor:
        raise EnteredByTheSame
    credential.rejected, credential.verified_at, credential.verified_by = False, at, by.actor
    credential.save(update_fields=["rejected", "verified_at", "verified_by"])
    _record(credential, "verify", by)
    return credential


@transaction.atomic
def reject(*, credential_id: UUID, reason: str, by: Principal, at: datetime) -> Credential:
    """Reject a credential: it is invalid from now on.

    Raises:
        NotFound: the credential is not in the caller's data scope, or was replaced.
        InvalidInput: there is no reason.
    """
    if not reason.strip():
        raise InvalidInput("reason", _("A rejection needs a reason."), detail_code="required")
    credential = active_credential(credential_id, by)
    credential.rejected, credential.verified_at, credential.verified_by = True, None, ""
    credential.save(update_fields=["rejected", "verified_at", "verified_by"])
    _record(credential, "reject", by, reason)
    return credential


def _locked(subject: Subject, subject_id: UUID, by: Principal) -> Driver | Vehicle:
    """Lock the owner, so that two credentials of one type that are filed concurrently are processed in sequence."""
    if subject is Subject.DRIVER:
        return locked_driver(subject_id, by)
    return locked_vehicle(subject_id, by)


def subject_of(credential: Credential) -> Subject:
    """Return whether the credential belongs to a driver or to a vehicle."""
    return Subject.VEHICLE if credential.driver_id is None else Subject.DRIVER


def active_credential(credential_id: UUID, by: Principal) -> Credential:
    """Lock the owner of a credential, then the credential.

    Raises:
        NotFound: the credential is not in the caller's data scope, or was replaced.
    """
    unlocked = Credential.objects.visible_to(by).filter(pk=credential_id, replaced=False).first()
    if unlocked is None:
        raise NotFound(_("credential"))
    _locked(subject_of(unlocked), unlocked.subject_id, by)
    credential = Credential.objects.select_for_update(of=("self",)).filter(pk=credential_id, replaced=False).first()
    if credential is None:
        raise NotFound(_("credential"))
    return credential


def _record(credential: Credential, verb: str, by: Principal, reason: str = "") -> None:
    audit.record(
        by=by,
        action=f"credentials.{verb}",
        subject_type=subject_of(credential).value,
        subject_id=credential.subject_id,
        reason=reason,
        details={"credentialId": str(credential.pk), "type": credential.type},
    )
