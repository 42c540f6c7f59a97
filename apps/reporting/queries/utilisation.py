"""What drivers and vehicles have done: read from rides and shifts themselves, of a quarter at the most.

A shift is for all the rides of its driver.  Where facilities or types of service are asked for, or are all that the
caller reaches, the rides are a part of that work, and a share of the shift would be of something else: it is not told.
A driver is one person, whose rides are those of few riders: whoever sees no identity is shown no row of fewer than five
rides (S-43).  There is no total beside the rows from which one that is hidden would follow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connections

from apps.reporting.facts import OF_PERIOD
from apps.reporting.queries.figures import is_small
from apps.reporting.queries.selection import Selection
from lib.access import Phi, Principal
from lib.replica import alias

MOST_DAYS: Final = 92
_COLUMNS: Final[Mapping[str, str]] = {"driver": "driver_id", "vehicle": "vehicle_id"}
WORKERS: Final = tuple(_COLUMNS)
# Minutes of all rides of one worker may overlap: two riders in one vehicle are both on board.
_WORK: Final = """
    WITH ridden AS (
        SELECT {column} AS worker, count(*) AS rides,
            sum(floor(extract(epoch FROM dropped_off_at - coalesce(departed_at, boarded_at)) / 60))::bigint AS busy,
            coalesce(sum(onboard_minutes), 0)::bigint AS onboard, coalesce(sum(loaded_miles), 0) AS miles
        FROM ({legs}) leg WHERE status = 'completed' AND {condition} GROUP BY 1
    ), planned AS (
        SELECT {column} AS worker, sum(floor(extract(epoch FROM
            least(ends_at, %(until)s::timestamp AT TIME ZONE %(zone)s)
            - greatest(starts_at, %(first)s::date::timestamp AT TIME ZONE %(zone)s)) / 60))::bigint AS shifts
        FROM fleet_shift WHERE status = 'planned' AND starts_at < %(until)s::timestamp AT TIME ZONE %(zone)s
            AND ends_at > %(first)s::date::timestamp AT TIME ZONE %(zone)s GROUP BY 1
    )
    SELECT worker, rides, busy, onboard, coalesce(shifts, 0), miles
    FROM ridden LEFT JOIN planned USING (worker) ORDER BY busy DESC, worker
"""


@dataclass(frozen=True, slots=True)
class Work:
    """Of one driver or vehicle, over the period; None where it is not told, or `suppressed`.

    `minutes_on_shift` None: the rides are a part of what the shifts were for.
    """

    id: UUID
    rides: int | None
    minutes_busy: int | None
    minutes_on_board: int | None
    minutes_on_shift: int | None
    miles: float | None
    suppressed: bool = False

    @property
    def share_busy(self) -> float | None:
        if self.minutes_busy is None or not self.minutes_on_shift:
            return None
        return round(self.minutes_busy / self.minutes_on_shift, 4)


def utilisation(*, by: Principal, selection: Selection, of: str) -> list[Work]:
    """Add up the work of each driver or vehicle (`of`) on the selected completed rides, the busiest first.

    Those whose work is too little to be shown come last, by id.  Shifts are counted inside the period by the operator's
    clock.  One query, which reads the rides: the selection is of `MOST_DAYS` at the most.
    """
    condition, parameters = selection.where()
    until = {"until": selection.last.fromordinal(selection.last.toordinal() + 1), "zone": settings.OPERATOR_TIME_ZONE}
    statement = _WORK.format(column=_COLUMNS[of], legs=OF_PERIOD, condition=condition)
    with connections[alias()].cursor() as cursor:
        cursor.execute(statement, {**parameters, **until})
        found = cursor.fetchall()
    whole = selection.facility_ids is None and not selection.service_types
    shown, hidden = [], []
    for worker, rides, busy, onboard, shifts, miles in found:
        if by.phi <= Phi.NONE and is_small(rides):
            hidden.append(Work(worker, None, None, None, None, None, suppressed=True))
        else:
            shown.append(Work(worker, rides, busy, onboard, shifts if whole else None, float(miles)))
    # Their place among the others would tell how busy they were.
    return [*shown, *sorted(hidden, key=attrgetter("id"))]
