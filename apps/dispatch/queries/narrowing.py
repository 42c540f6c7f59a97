"""Filters of the board by facility, provider and time zone, for dispatchers of several regions."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Q

from apps.dispatch.queries.board import Board, BoardRide, DriverRow
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
        """Return whether the filter includes a ride, by facility and time zone, regardless of its driver."""
        return (self.facility_id in (None, ride.facility_id)) and self.zone in ("", ride.timezone)

    @property
    def counted(self) -> Q:
        """The condition for rides that are counted; rides without a provider count for every provider."""
        condition = Q()
        if self.facility_id is not None:
            condition &= Q(facility_id=self.facility_id)
        if self.zone:
            condition &= Q(timezone=self.zone)
        if self.provider_id is not None:
            condition &= Q(provider_id=self.provider_id) | Q(provider__isnull=True)
        return condition


@dataclass(frozen=True, slots=True)
class Choices:
    """The options of the filters of a day: facilities and providers with their names, sorted by name, and zones."""

    facilities: list[tuple[UUID, str]]
    providers: list[tuple[UUID, str]]
    zones: list[str]


def narrowed(whole_board: Board, within: BoardFilter) -> Board:
    """Filter a board.

    Rows of drivers keep their other rides, marked as context: a driver on another ride is not free.  A driver without
    rides stays if the driver's provider is the selected one, or uses the time zone of an included ride.
    """
    if not within:
        return whole_board
    waiting = tuple(board_ride for board_ride in whole_board.waiting if within.holds(board_ride.ride))
    zones = {
        board_ride.ride.timezone for board_ride in [*waiting, *_driven(whole_board)] if within.holds(board_ride.ride)
    }
    rows = tuple(_with_context(row, within) for row in whole_board.rows if _stays(row, within, zones))
    return replace(whole_board, rows=rows, waiting=waiting)


def choices(whole_board: Board, within: BoardFilter, *, by: Principal) -> Choices:
    """Return the filter options of an unfiltered board, including the selected ones.  One query."""
    rides = [board_ride.ride for board_ride in [*whole_board.waiting, *_driven(whole_board)]]
    facility_ids = {
        facility_id
        for facility_id in (within.facility_id, *(ride.facility_id for ride in rides))
        if facility_id is not None
    }
    facilities = Facility.objects.visible_to(by).filter(pk__in=facility_ids).order_by("name", "pk")
    providers = {row.driver.provider_id: row.driver.provider.name for row in whole_board.rows}
    return Choices(
        facilities=list(facilities.values_list("pk", "name")),
        providers=sorted(providers.items(), key=lambda id_and_name: (id_and_name[1].lower(), id_and_name[0])),
        zones=sorted({ride.timezone for ride in rides} | ({within.zone} - {""})),
    )


def _driven(whole_board: Board) -> list[BoardRide]:
    return [board_ride for row in whole_board.rows for board_ride in row.rides]


def _stays(row: DriverRow, within: BoardFilter, zones: set[str]) -> bool:
    if within.provider_id not in (None, row.driver.provider_id):
        return False
    if row.rides:
        return any(within.holds(board_ride.ride) for board_ride in row.rides)
    elsewhere = bool(within.facility_id or within.zone) and row.driver.provider.timezone not in zones
    return within.provider_id is not None or not elsewhere


def _with_context(row: DriverRow, within: BoardFilter) -> DriverRow:
    return replace(
        row,
        rides=tuple(
            board_ride if within.holds(board_ride.ride) else replace(board_ride, is_context=True)
            for board_ride in row.rides
        ),
    )
