"""Papers of drivers and vehicles: filing, verifying, rejecting.  A newer paper replaces an older; both are kept."""

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
    Subject.DRIVER: _("That is not a paper of a driver."),
    Subject.VEHICLE: _("That is not a paper of a vehicle."),
}


class EnteredByTheSame(DomainError):
    """Whoever enters a paper is not the one who verifies it."""

    template = _("Whoever entered a paper does not verify it: somebody else has to see it.")


@transaction.atomic
def file(
    *, subject: Subject, subject_id: UUID, type: str, given: Mapping[str, Any], by: Principal, at: datetime
) -> Credential:
    """File a paper in force from now on; one of the same type that was in force is kept as replaced.

    `given` holds any of `DETAILS`; whether it blocks follows from its type unless said.

    Raises:
        NotFound: the driver or vehicle is not in the caller's reach.
        InvalidInput: the type is not one of a driver's, or vehicle's, or it expires before it was issued.
    """
    owner = _locked(subject, subject_id, by)
    if type not in TYPES_OF[subject]:
        raise InvalidInput("type", _NOT_OF[subject])
    issued_on, expires_on = given.get("issued_on"), given.get("expires_on")
    if issued_on is not None and expires_on is not None and expires_on < issued_on:
        raise InvalidInput("expiresOn", _("A paper does not expire before it was issued."))
    Credential.objects.filter(**{subject.value: owner}, type=type, replaced=False).update(replaced=True)
    columns = {key: value for key, value in given.items() if key in DETAILS}
    columns.setdefault("blocking", blocks_by_default(subject, type))
    paper = Credential.objects.create(**{subject.value: owner}, type=type, entered_by=by.actor, **columns)
    _record(paper, "file", by)
    return paper


@transaction.atomic
def verify(*, credential_id: UUID, by: Principal, at: datetime) -> Credential:
    """Record that somebody else than who entered it has seen the paper and it is right; takes a rejection back.

    Raises:
        NotFound: the paper is not in the caller's reach, or was replaced.
        EnteredByTheSame: the caller entered it.
    """
    paper = active_credential(credential_id, by)
    if paper.entered_by == by.actor:
        raise EnteredByTheSame
    paper.rejected, paper.verified_at, paper.verified_by = False, at, by.actor
    paper.save(update_fields=["rejected", "verified_at", "verified_by"])
    _record(paper, "verify", by)
    return paper


@transaction.atomic
def reject(*, credential_id: UUID, reason: str, by: Principal, at: datetime) -> Credential:
    """Record that the paper is not accepted: from now on it does not hold.

    Raises:
        NotFound: the paper is not in the caller's reach, or was replaced.
        InvalidInput: there is no reason.
    """
    if not reason.strip():
        raise InvalidInput("reason", _("A rejection needs a reason."), detail_code="required")
    paper = active_credential(credential_id, by)
    paper.rejected, paper.verified_at, paper.verified_by = True, None, ""
    paper.save(update_fields=["rejected", "verified_at", "verified_by"])
    _record(paper, "reject", by, reason)
    return paper


def _locked(subject: Subject, subject_id: UUID, by: Principal) -> Driver | Vehicle:
    """Lock the owner: two papers of one type filed at once come one after the other."""
    if subject is Subject.DRIVER:
        return locked_driver(subject_id, by)
    return locked_vehicle(subject_id, by)


def subject_of(paper: Credential) -> Subject:
    """Say whose a paper is: a driver's or a vehicle's."""
    return Subject.VEHICLE if paper.driver_id is None else Subject.DRIVER


def active_credential(credential_id: UUID, by: Principal) -> Credential:
    """Lock the owner of a paper, then the paper.

    Raises:
        NotFound: the paper is not in the caller's reach, or was replaced.
    """
    found = Credential.objects.visible_to(by).filter(pk=credential_id, replaced=False).first()
    if found is None:
        raise NotFound(_("credential"))
    _locked(subject_of(found), found.subject_id, by)
    paper = Credential.objects.select_for_update(of=("self",)).filter(pk=credential_id, replaced=False).first()
    if paper is None:
        raise NotFound(_("credential"))
    return paper


def _record(paper: Credential, verb: str, by: Principal, reason: str = "") -> None:
    audit.record(
        by=by,
        action=f"credentials.{verb}",
        subject_type=subject_of(paper).value,
        subject_id=paper.subject_id,
        reason=reason,
        details={"credentialId": str(paper.pk), "type": paper.type},
    )
