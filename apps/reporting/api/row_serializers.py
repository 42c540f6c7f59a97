"""What reports read from rides themselves, as integrators read it: rides behind a figure, and work."""

from typing import Any

from apps.reporting.api.serializers import AS_OF
from apps.reporting.queries.behind import Behind
from apps.reporting.queries.utilisation import Work
from lib.api import fields
from lib.api.fields import instant_text
from lib.api.serializers import OutShape


class RideBehindOut(OutShape):
    """A ride that a figure, or a count, counts."""

    ride_id = fields.Uuid()
    service_date = fields.LocalDate()
    facility_id = fields.Uuid(allow_null=True)
    pickup_time = fields.Instant()
    status = fields.Text()
    measures = fields.Listed(child=fields.Text(), help_text="By which measures it counts, the numerator's among them.")
    minutes = fields.Listed(child=fields.Integer(), help_text="Its values, of figures made of minutes.")

    def to_representation(self, ride: Behind) -> dict[str, Any]:
        return {
            "rideId": str(ride.ride_id),
            "serviceDate": ride.service_date.isoformat(),
            "facilityId": None if ride.facility_id is None else str(ride.facility_id),
            "pickupTime": instant_text(ride.pickup_at),
            "status": ride.status,
            "measures": ride.measures,
            "minutes": ride.minutes,
        }


class WorkOut(OutShape):
    """What one driver or vehicle has done.  Numbers are null where it is `suppressed`."""

    id = fields.Uuid()
    rides = fields.Integer(allow_null=True, help_text="Completed.")
    minutes_busy = fields.Integer(
        allow_null=True, help_text="From setting out to handing over; of rides at the same time once."
    )
    minutes_on_board = fields.Integer(allow_null=True, help_text="With a rider in the vehicle, of each rider.")
    minutes_on_shift = fields.Integer(
        allow_null=True,
        help_text="Of planned shifts, inside the period; null where facilities or types of service narrow the rides.",
    )
    miles = fields.Number(allow_null=True, help_text="With a rider in the vehicle.")
    share_busy = fields.Number(allow_null=True, help_text="Of the time on shift; null where that is null or 0.")
    last_date = fields.LocalDate(allow_null=True, help_text="Their last day with a completed ride.")
    suppressed = fields.Boolean(help_text="Fewer than five rides stand behind it, and the caller may see no identity.")

    def to_representation(self, work: Work) -> dict[str, Any]:
        done = work.done
        return {
            "id": str(work.id),
            "rides": done and done.rides,
            "minutesBusy": done and done.minutes_busy,
            "minutesOnBoard": done and done.minutes_on_board,
            "minutesOnShift": done and done.minutes_on_shift,
            "miles": done and done.miles,
            "shareBusy": done and done.share_busy,
            "lastDate": work.last_date.isoformat() if done else None,
            "suppressed": done is None,
        }


class UtilisationOut(OutShape):
    """Work of drivers or vehicles, the busiest first."""

    of = fields.Text()
    data = WorkOut(many=True)  # type: ignore[assignment]  # the metaclass takes fields off the class
    as_of = fields.Instant(allow_null=True, help_text=AS_OF)
