"""What a driver does at this moment, as a line of the driver's row."""

import datetime as dt
from collections.abc import Callable

from django.utils.translation import gettext as _

from apps.dispatch.labels import place
from apps.dispatch.queries.board import BoardRide, DriverRow
from apps.rides.rules.disclosure import Disclosure
from apps.rides.rules.driver_timeline import Timeline
from apps.rides.rules.lifecycle import RideStatus

Clock = Callable[[dt.datetime], str]


def driver_status(row: DriverRow, to: Disclosure, clock: Clock, at: dt.datetime) -> str:
    """Return the driver's status at `at`, as "On board, free 11:20 at Mercy West".

    Times are predicted.  "" if nothing is known of the driver: no prediction for the day.
    """
    if row.timeline is None:
        return ""
    rides = {board_ride.ride.pk: board_ride for board_ride in row.rides}
    on_board = [rides[ride_id] for ride_id in row.timeline.on_board if ride_id in rides]
    if on_board:
        return _on_board(on_board, to, clock)
    current = rides.get(row.timeline.current_ride_id) if row.timeline.current_ride_id else None
    if current is not None:
        return _on_the_way(current, row.timeline, to, clock)
    return _without_ride(row, clock, at)


def _on_board(on_board: list[BoardRide], to: Disclosure, clock: Clock) -> str:
    last = max(on_board, key=lambda board_ride: board_ride.span.ends_at)
    values = {"clock": clock(last.span.ends_at), "place": place(last.ride.dropoff, to)}
    return _("On board, free %(clock)s at %(place)s") % values


def _on_the_way(current: BoardRide, timeline: Timeline, to: Disclosure, clock: Clock) -> str:
    pickup = place(current.ride.pickup, to)
    if current.ride.status == RideStatus.ARRIVED:
        return _("Waiting at %(place)s") % {"place": pickup}
    pickup_at = timeline.ride(current.ride.pk).pickup_at
    if pickup_at is None:
        return _("En route to %(place)s") % {"place": pickup}
    return _("En route, at %(place)s %(clock)s") % {"place": pickup, "clock": clock(pickup_at)}


def _without_ride(row: DriverRow, clock: Clock, at: dt.datetime) -> str:
    if row.driver.on_break:
        return _("On break")
    pause = next((span for span in row.breaks if span.starts_at <= at < span.ends_at), None)
    if pause is not None:
        return _("Planned break until %(clock)s") % {"clock": clock(pause.ends_at)}
    away = next((span for span in row.leave if span.starts_at <= at < span.ends_at), None)
    if away is not None:
        return _("Away until %(clock)s") % {"clock": clock(away.ends_at)}
    if row.duty and not any(span.starts_at <= at < span.ends_at for span in row.duty):
        starts = [span.starts_at for span in row.duty if span.starts_at > at]
        return _("Starts at %(clock)s") % {"clock": clock(min(starts))} if starts else _("Off duty")
    upcoming = [board_ride.span.starts_at for board_ride in row.rides]
    if upcoming:
        return _("Free, next pickup %(clock)s") % {"clock": clock(max(min(upcoming), at))}
    return _("Free")
