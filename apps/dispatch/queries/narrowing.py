"""The part of a day that a dispatcher of several regions looks after: by facility, provider and time zone."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from apps.dispatch.queries.board import Board, BoardRide, Lane
from apps.organizations.models import Facility
from apps.rides.models import Ride
from lib.access import Principal


@dataclass(frozen=True, slots=True)
class BoardFilter:
    """Which rides of a day the board shows; None and "" do not filter.  `zone`: an IANA name."""

    facility_id: UUID | None = None
    provider_id: UUID | None = None
    zone: str = ""

    def __bool__(self) -> bool:
        return bool(self.facility_id or self.provider_id or self.zone)

    def holds(self, ride: Ride) -> bool:
        """Say whether a ride is wanted, whoever drives it."""
        return (self.facility_id in (None, ride.facility_id)) and self.zone in ("", ride.timezone)

    @property
    def counted(self) -> Q:
        """Give the condition for rides that are counted: those that nobody drives yet may become any provider's."""
        wanted = Q()
        if self.facility_id is not None:
            wanted &= Q(facility_id=self.facility_id)
        if self.zone:
            wanted &= Q(timezone=self.zone)
        if self.provider_id is not None:
            wanted &= Q(provider_id=self.provider_id) | Q(provider__isnull=True)
        return wanted


@dataclass(frozen=True, slots=True)
class Choices:
    """What a day could be narrowed to: ids and names, by name, and zones."""

    facilities: list[tuple[UUID, str]]
    providers: list[tuple[UUID, str]]
    zones: list[str]


def narrowed(found: Board, within: BoardFilter) -> Board:
    """Leave of a day what is wanted.

    Lanes stay whole, with the rides that are not wanted set aside: a driver who is elsewhere meanwhile is not free.
    Who has nothing to drive is left where the wanted rides' clocks go, or where the provider is the one asked for.
    """
    if not within:
        return found
    waiting = tuple(one for one in found.waiting if within.holds(one.ride))
    zones = {one.ride.timezone for one in [*waiting, *_driven(found)] if within.holds(one.ride)}
    lanes = tuple(_with_context(lane, within) for lane in found.lanes if _stays(lane, within, zones))
    return replace(found, lanes=lanes, waiting=waiting)


def choices(found: Board, within: BoardFilter, *, by: Principal) -> Choices:
    """List what a whole day, not yet narrowed, can be narrowed to, and what it is.  One query."""
    rides = [one.ride for one in [*found.waiting, *_driven(found)]]
    wanted = {one for one in (within.facility_id, *(ride.facility_id for ride in rides)) if one is not None}
    facilities = Facility.objects.visible_to(by).filter(pk__in=wanted).order_by("name", "pk")
    providers = {lane.driver.provider_id: lane.driver.provider.name for lane in found.lanes}
    return Choices(
        facilities=list(facilities.values_list("pk", "name")),
        providers=sorted(providers.items(), key=lambda one: (one[1].lower(), one[0])),
        zones=sorted({ride.timezone for ride in rides} | ({within.zone} - {""})),
    )


def _driven(found: Board) -> list[BoardRide]:
    return [one for lane in found.lanes for one in lane.shown]


def _stays(lane: Lane, within: BoardFilter, zones: set[str]) -> bool:
    if within.provider_id not in (None, lane.driver.provider_id):
        return False
    if lane.shown:
        return any(within.holds(one.ride) for one in lane.shown)
    elsewhere = bool(within.facility_id or within.zone) and lane.driver.provider.timezone not in zones
    return within.provider_id is not None or not elsewhere


def _with_context(lane: Lane, within: BoardFilter) -> Lane:
    return replace(
        lane, shown=tuple(one if within.holds(one.ride) else replace(one, is_context=True) for one in lane.shown)
    )
