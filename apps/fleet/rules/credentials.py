"""Credentials of drivers and vehicles: owners, types that block, and the status on a day.  Pure: no query."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from lib.choices import TextChoices
from lib.messages import gettext_lazy as _


class CredentialType(TextChoices):
    """Credential types, with labels for use within a sentence.  Types that block by default: `BLOCKING_BY_DEFAULT`."""

    DRIVER_LICENSE = "driver_license", _("driver's license")
    EXCLUSION_CHECK_OIG = "exclusion_check_oig", _("OIG exclusion check")
    BACKGROUND_CHECK = "background_check", _("background check")
    MVR = "mvr", _("motor vehicle record")
    DRUG_SCREEN = "drug_screen", _("drug screen")
    CPR_FIRST_AID = "cpr_first_aid", _("CPR and first aid")
    PASSENGER_ASSISTANCE = "passenger_assistance", _("passenger assistance (PASS, CTS)")
    HIPAA_TRAINING = "hipaa_training", _("HIPAA training")
    SECUREMENT_TRAINING = "securement_training", _("securement training")
    DOT_PHYSICAL = "dot_physical", _("DOT physical")
    DEFENSIVE_DRIVING = "defensive_driving", _("defensive driving")
    TB_TEST = "tb_test", _("TB test")
    REGISTRATION = "registration", _("registration")
    INSURANCE = "insurance", _("insurance")
    INSPECTION = "inspection", _("inspection")
    STATE_PERMIT = "state_permit", _("state permit")


class Subject(StrEnum):
    DRIVER = "driver"
    VEHICLE = "vehicle"


_OF_VEHICLES: Final = ("registration", "insurance", "inspection", "state_permit")
TYPES_OF: Final[Mapping[Subject, tuple[str, ...]]] = {
    Subject.DRIVER: tuple(kind for kind in CredentialType.values if kind not in _OF_VEHICLES),
    Subject.VEHICLE: _OF_VEHICLES,
}

# Without these, no driver and no vehicle may carry riders.  Drivers: Consolidated Appropriations Act 2021, division CC,
# title II, section 209 (exclusion status, valid license, disclosure of driving history, state drug law).  Vehicles:
# documents that every state requires on the road, and an inspection, which brokers require.
BLOCKING_BY_DEFAULT: Final[Mapping[Subject, frozenset[str]]] = {
    Subject.DRIVER: frozenset({"driver_license", "exclusion_check_oig", "background_check", "mvr"}),
    Subject.VEHICLE: frozenset({"registration", "insurance", "inspection"}),
}


class CredentialStatus(StrEnum):
    VALID = "valid"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    MISSING = "missing"
    REJECTED = "rejected"


VALID_STATUSES: Final = frozenset({CredentialStatus.VALID, CredentialStatus.EXPIRING})
# Problems with a credential, as words within a sentence.
STATUS_TEXTS: Final = {
    CredentialStatus.EXPIRED: _("expired"),
    CredentialStatus.MISSING: _("missing"),
    CredentialStatus.REJECTED: _("rejected"),
}


class Urgency(StrEnum):
    """How soon a credential needs attention: invalid ones first, then by days until expiry."""

    EXPIRED = "expired"
    MISSING = "missing"
    REJECTED = "rejected"
    WITHIN_7 = "within_7"
    WITHIN_30 = "within_30"
    WITHIN_60 = "within_60"
    VALID = "valid"
    NOT_FILED = "not_filed"  # and not required


# Days before the expiry date at which reminders are sent; the last ones are urgent.
REMINDERS: Final = (60, 30, 14, 7)

# Days until expiry, and the urgency up to that number of days.
_STEPS: Final = ((7, Urgency.WITHIN_7), (30, Urgency.WITHIN_30), (60, Urgency.WITHIN_60))


@dataclass(frozen=True, slots=True)
class CredentialFacts:
    """The facts that determine the status of a credential.

    `expires_on` is the last valid day, None if it does not expire; `verified` is for display and does not affect the
    status.
    """

    type: str
    expires_on: date | None
    rejected: bool
    blocking: bool
    warn_days: int
    verified: bool = True


@dataclass(frozen=True, slots=True)
class CredentialGap:
    """A required credential that is missing, rejected or expired."""

    type: str
    status: CredentialStatus
    expires_on: date | None


def blocks_by_default(subject: Subject, type: str) -> bool:
    return type in BLOCKING_BY_DEFAULT[subject]


def credential_status(credential: CredentialFacts | None, day: date) -> CredentialStatus:
    """Return the status of a credential on a local day; None: the credential was never filed."""
    if credential is None:
        return CredentialStatus.MISSING
    if credential.rejected:
        return CredentialStatus.REJECTED
    if credential.expires_on is None:
        return CredentialStatus.VALID
    if day > credential.expires_on:
        return CredentialStatus.EXPIRED
    if day > credential.expires_on - timedelta(days=credential.warn_days):
        return CredentialStatus.EXPIRING
    return CredentialStatus.VALID


def urgency(credential: CredentialFacts | None, day: date, *, needed: bool) -> Urgency:
    """Return how urgent a credential is on a local day; None: it was never filed, but may be `needed`."""
    if credential is None:
        return Urgency.MISSING if needed else Urgency.NOT_FILED
    status = credential_status(credential, day)
    if status not in VALID_STATUSES:
        return Urgency(status.value)
    if credential.expires_on is None:
        return Urgency.VALID
    days_left = (credential.expires_on - day).days
    return next((step for days, step in _STEPS if days_left <= days), Urgency.VALID)


def reminder(issued_on: date | None, expires_on: date, day: date) -> int | None:
    """Return the nearest of `REMINDERS` (days) that a credential has reached on a local day.

    None: it has reached none, or it has expired.  A credential with a short life (an exclusion check is valid for a
    month) gets reminders only in the second half of its life: before that it cannot be renewed.
    """
    days_left = (expires_on - day).days
    life = (expires_on - issued_on).days if issued_on is not None else None
    steps = (step for step in reversed(REMINDERS) if days_left <= step and (life is None or 2 * step <= life))
    return next(steps, None) if days_left >= 0 else None


def missing_or_expired(subject: Subject, credentials: Iterable[CredentialFacts], day: date) -> list[CredentialGap]:
    """List the gaps that keep a driver or vehicle off the road on a local day, in the order of the types.

    A filed credential is required if it is `blocking`, an absent one if `BLOCKING_BY_DEFAULT` has its type.
    `credentials` are the active ones, at most one of each type.
    """
    filed = {credential.type: credential for credential in credentials}
    gaps = []
    for kind in TYPES_OF[subject]:
        credential = filed.get(kind)
        needed = credential.blocking if credential is not None else blocks_by_default(subject, kind)
        status = credential_status(credential, day)
        if needed and status not in VALID_STATUSES:
            gaps.append(CredentialGap(kind, status, credential.expires_on if credential is not None else None))
    return gaps
