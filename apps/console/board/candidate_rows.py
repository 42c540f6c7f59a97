"""Drivers of the assign dialog: the best with their figures, the others by what speaks against them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.console.board import labels
from apps.riders.labels import rider_name
from apps.rides.models import Ride
from apps.rides.queries.candidates import Candidate
from apps.rides.rules.eligibility import Violation, ViolationCode
from lib.access import Principal
from lib.clocks import exact_clock
from lib.messages import Message, Template

BEST: Final = 8  # candidates with all figures; more than a dispatcher compares
# What an override may waive without another ride or a shift being in the way.
_MILD: Final = frozenset({ViolationCode.PREFERENCE_UNMET})
FITTING: Final = "fitting"


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A driver of the dialog.  `details` speak for the driver, `conflicts` against."""

    candidate: Candidate
    is_chosen: bool
    details: Sequence[str]
    conflicts: Sequence[str]


@dataclass(frozen=True, slots=True)
class CandidateGroup:
    """Drivers with the same main conflict."""

    label: str
    rows: Sequence[CandidateRow]


@dataclass(frozen=True, slots=True)
class CandidateRows:
    best: Sequence[CandidateRow]
    groups: Sequence[CandidateGroup]


def candidate_rows(ranked: Sequence[Candidate], *, chosen: str, by: Principal, zone: ZoneInfo) -> CandidateRows:
    """Split ranked drivers into the best and the others.  One query, none without conflicting or delayed rides."""
    named = {violation.subject_id for candidate in ranked for violation in candidate.violations}
    broken = (delay for candidate in ranked for delay in candidate.delays if delay.breaks_promise)
    named |= {delay.ride_id for delay in broken if delay.ride_id is not None}
    names = ride_names(named, by=by, zone=zone)
    rows = [
        CandidateRow(
            candidate=candidate,
            is_chosen=str(candidate.driver_id) == chosen,
            details=[*(str(reason.message) for reason in candidate.reasons), *_delays(candidate, names)],
            conflicts=conflict_texts(candidate.violations, names),
        )
        for candidate in ranked
    ]
    best = [row for row in rows if _fits(row.candidate)][:BEST]
    others: dict[str, list[CandidateRow]] = defaultdict(list)
    for row in rows:
        if row not in best:
            others[_main_conflict(row.candidate)].append(row)
    groups = [CandidateGroup(_group_label(key, len(rows)), rows) for key, rows in others.items()]
    return CandidateRows(best, groups)


def ride_names(ride_ids: Iterable[UUID], *, by: Principal, zone: ZoneInfo) -> dict[UUID, str]:
    """Name the rides that the reader sees by pickup time and rider.  One query, none without ids."""
    ids = set(ride_ids)
    if not ids:
        return {}
    rides = Ride.objects.visible_to(by).filter(pk__in=ids).select_related("rider")
    template = _("the %(time)s ride of %(rider)s")
    return {
        ride.pk: template % {"time": exact_clock(ride.pickup_at.astimezone(zone)), "rider": rider_name(ride.rider, by)}
        for ride in rides.only("pickup_at", "rider__first_name", "rider__last_name")
    }


def conflict_texts(violations: Iterable[Violation], names: Mapping[UUID, str]) -> list[str]:
    """Put violations into words, with the name of the other ride; each other ride once."""
    texts: dict[object, str] = {}
    for number, violation in enumerate(violations):
        named = names.get(violation.subject_id)
        texts.setdefault(number if named is None else violation.subject_id, str(_named(violation.message, named)))
    return list(texts.values())


def _named(message: Template, ride: str | None) -> Template:
    if ride is None or not isinstance(message, Message) or "ride" not in message.parameters:
        return message
    return Message(message.template, {**message.parameters, "ride": ride})


def _delays(candidate: Candidate, names: Mapping[UUID, str]) -> Iterable[str]:
    for delay in candidate.delays:
        ride = None if delay.ride_id is None else names.get(delay.ride_id)
        if delay.breaks_promise and ride is not None:
            yield _("Delays %(ride)s by %(minutes)s min") % {"ride": ride, "minutes": delay.minutes}


def _fits(candidate: Candidate) -> bool:
    return all(violation.code in _MILD for violation in candidate.violations)


def _main_conflict(candidate: Candidate) -> str:
    """Return the code by which a driver is counted: off duty before all else, for nobody repairs a vehicle for that."""
    codes = [violation.code for violation in candidate.violations if violation.code not in _MILD]
    if ViolationCode.OUTSIDE_SHIFT in codes:
        return ViolationCode.OUTSIDE_SHIFT
    return codes[0] if codes else FITTING


def _group_label(key: str, count: int) -> str:
    if key == FITTING:
        text = ngettext("%(count)s more driver who fits", "%(count)s more drivers who fit", count)
        return text % {"count": count}
    return f"{count} {labels.CONFLICT_LABELS[ViolationCode(key)]}"
