"""Papers of drivers and vehicles: whose they are, which ones block, and how one stands on a day.  Pure: no query."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final

from lib.choices import TextChoices
from lib.messages import gettext_lazy as _


class CredentialType(TextChoices):
    """Papers, and what they are called within a sentence.  Which ones block by default: `BLOCKING_BY_DEFAULT`."""

    DRIVER_LICENSE = "driver_license", _("driver licence")
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

# Without these nobody drives and nothing rolls.  Drivers: Consolidated Appropriations Act 2021, division CC, title II,
# section 209 (exclusion status, valid licence, disclosure of driving history, state drug law).  Vehicles: what every
# state asks of a vehicle on the road, and an inspection as brokers do.
BLOCKING_BY_DEFAULT: Final[Mapping[Subject, frozenset[str]]] = {
    Subject.DRIVER: frozenset({"driver_license", "exclusion_check_oig", "background_check", "mvr"}),
    Subject.VEHICLE: frozenset({"registration", "insurance", "inspection"}),
}


class Standing(StrEnum):
    VALID = "valid"
    EXPIRING = "expiring"
    EXPIRED = "expired"
    MISSING = "missing"
    REJECTED = "rejected"


HOLDS: Final = frozenset({Standing.VALID, Standing.EXPIRING})
# What is wrong with a credential, in words within a sentence.
STANDINGS: Final = {
    Standing.EXPIRED: _("expired"),
    Standing.MISSING: _("missing"),
    Standing.REJECTED: _("rejected"),
}


class Urgency(StrEnum):
    """How soon somebody has to see to a paper: what does not hold, then by the days that it still does."""

    EXPIRED = "expired"
    MISSING = "missing"
    REJECTED = "rejected"
    WITHIN_7 = "within_7"
    WITHIN_30 = "within_30"
    WITHIN_60 = "within_60"
    VALID = "valid"
    NOT_FILED = "not_filed"  # and nobody needs it


# Days before its last day at which a paper is told of; the last ones are urgent.
REMINDERS: Final = (60, 30, 14, 7)

# Days that a paper still holds, and how urgent it is then at most.
_STEPS: Final = ((7, Urgency.WITHIN_7), (30, Urgency.WITHIN_30), (60, Urgency.WITHIN_60))


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper as far as its standing goes.  `expires_on` is the last day it holds; None: it does not expire.

    Whether somebody has `verified` it is shown, and changes nothing about how it stands.
    """

    type: str
    expires_on: date | None
    rejected: bool
    blocking: bool
    warn_days: int
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Lapse:
    """A paper that is needed and does not hold."""

    type: str
    standing: Standing
    expires_on: date | None


def blocks_by_default(subject: Subject, type: str) -> bool:
    return type in BLOCKING_BY_DEFAULT[subject]


def standing(paper: Paper | None, day: date) -> Standing:
    """Say how a paper stands on a local day; None stands for a paper that was never filed."""
    if paper is None:
        return Standing.MISSING
    if paper.rejected:
        return Standing.REJECTED
    if paper.expires_on is None:
        return Standing.VALID
    if day > paper.expires_on:
        return Standing.EXPIRED
    if day > paper.expires_on - timedelta(days=paper.warn_days):
        return Standing.EXPIRING
    return Standing.VALID


def urgency(paper: Paper | None, day: date, *, needed: bool) -> Urgency:
    """Say how urgent a paper is on a local day; None stands for one that was never filed, which may be `needed`."""
    if paper is None:
        return Urgency.MISSING if needed else Urgency.NOT_FILED
    how = standing(paper, day)
    if how not in HOLDS:
        return Urgency(how.value)
    if paper.expires_on is None:
        return Urgency.VALID
    left = (paper.expires_on - day).days
    return next((step for days, step in _STEPS if left <= days), Urgency.VALID)


def reminder(issued_on: date | None, expires_on: date, day: date) -> int | None:
    """Say which of `REMINDERS` a paper has come to on a local day; None: it is not that far, or its last day is over.

    What is issued for a short while (an exclusion check, for a month) is told of in the second half of its life alone:
    before that there is nothing to renew yet.
    """
    left = (expires_on - day).days
    life = (expires_on - issued_on).days if issued_on is not None else None
    steps = (step for step in reversed(REMINDERS) if left <= step and (life is None or 2 * step <= life))
    return next(steps, None) if left >= 0 else None


def lapses(subject: Subject, papers: Iterable[Paper], day: date) -> list[Lapse]:
    """List what keeps a driver or vehicle off the road that day: blocking papers that do not hold or were never filed.

    A paper that is filed blocks or not as it says itself; one that is absent, as `BLOCKING_BY_DEFAULT` says.  In the
    order of the types.  `papers` are those in force, at most one of each type.
    """
    filed = {paper.type: paper for paper in papers}
    found = []
    for kind in TYPES_OF[subject]:
        paper = filed.get(kind)
        needed = paper.blocking if paper is not None else blocks_by_default(subject, kind)
        how = standing(paper, day)
        if needed and how not in HOLDS:
            found.append(Lapse(kind, how, paper.expires_on if paper is not None else None))
    return found
