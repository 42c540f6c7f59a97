"""The facts of a ride: the columns that all measures are computed from, as SQL.

All facts derive from the ride and its milestones, assignments and exceptions.  None derives from settings that may
change later (service levels, geofences, terms of orders), so a KPI value changes only with an event of the ride
(docs/adr/0022).
"""

from typing import Final

NOT_BOOKED: Final = ("duplicate", "booking_error", "standing_order_hold", "standing_order_ended", "calendar_shift")
OPEN: Final = ("requested", "scheduled", "assigned", "en_route", "arrived", "in_progress")
GEOFENCE_METERS: Final = 150  # fixed by the KPI definition; a facility's own geofence for alerts does not matter
# Chair shifts of dialysis, by the local hour of the chair time: the clinic's day has three shifts.
SECOND_SHIFT_FROM: Final = 10
THIRD_SHIFT_FROM: Final = 15
TREATMENT_MINUTES: Final = 240
POST_TREATMENT_MINUTES: Final = 30
# A local day lies within these bounds around midnight UTC in every time zone (UTC-12 to UTC+14).
_DAY_BEGINS: Final = "interval '14 hours'"
_DAY_ENDS: Final = "interval '36 hours'"

INCIDENTS: Final = ("accident", "safety_incident", "medical_emergency")
INCIDENT_REASONS: Final = ("accident", "aborted_medical_emergency", "aborted_safety")


def quoted(words: tuple[str, ...]) -> str:
    """Return the words as an SQL list; for constants only, it does not escape."""
    return "(" + ", ".join(f"'{word}'" for word in words) + ")"


# The rides of facility days, read by an index on (facility, pickup).
RIDES_OF_FACILITY_DAYS: Final = f"""
    SELECT r.* FROM unnest(%(dates)s::date[], %(facilities)s::uuid[]) AS cell(day, facility)
    CROSS JOIN LATERAL (
        SELECT * FROM rides_ride WHERE facility_id = cell.facility AND service_date = cell.day
            AND pickup_at >= cell.day::timestamp AT TIME ZONE 'UTC' - {_DAY_BEGINS}
            AND pickup_at < cell.day::timestamp AT TIME ZONE 'UTC' + {_DAY_ENDS}
        UNION ALL
        SELECT * FROM rides_ride WHERE cell.facility IS NULL AND facility_id IS NULL AND service_date = cell.day
            AND pickup_at >= cell.day::timestamp AT TIME ZONE 'UTC' - {_DAY_BEGINS}
            AND pickup_at < cell.day::timestamp AT TIME ZONE 'UTC' + {_DAY_ENDS}
    ) r
"""  # noqa: S608  # constant names, values are parameters
# The rides of a period, both ends included, of all facilities.
RIDES_OF_PERIOD: Final = f"""
    SELECT * FROM rides_ride WHERE service_date BETWEEN %(first)s AND %(last)s
        AND pickup_at >= %(first)s::date::timestamp AT TIME ZONE 'UTC' - {_DAY_BEGINS}
        AND pickup_at < %(last)s::date::timestamp AT TIME ZONE 'UTC' + {_DAY_ENDS}
"""  # noqa: S608  # constant names, values are parameters

# A code that operators added counts as its built-in parent code; only the reason lists of ended rides matter.
_REASON: Final = """
    LEFT JOIN rides_reasoncode own ON own.code = r.reason_code AND own.reason_list = r.status
"""
_ACCEPTED: Final = """
    LEFT JOIN LATERAL (
        SELECT min(coalesce(responded_at, offered_at)) AS accepted_at FROM rides_assignment
        WHERE ride_id = r.id AND status IN ('accepted', 'released', 'superseded', 'completed')
    ) accepted ON true
"""
_LOCATED: Final = f"""
    LEFT JOIN LATERAL (
        SELECT count(DISTINCT type) = 2 AS located FROM rides_milestone
        WHERE ride_id = r.id AND type IN ('arrived_pickup', 'arrived_dropoff') AND NOT voided
            AND source = 'driver_app' AND distance_from_stop_meters <= {GEOFENCE_METERS}
    ) device ON r.status = 'completed'
"""  # noqa: S608  # constant names, values are parameters
_EXCEPTIONS: Final = f"""
    LEFT JOIN LATERAL (
        SELECT count(*) FILTER (WHERE severity <> 'info') AS alerts,
            array_agg(floor(extract(epoch FROM acknowledged_at - opened_at) / 60)::int ORDER BY acknowledged_at)
                FILTER (WHERE severity <> 'info' AND acknowledged_at IS NOT NULL) AS ack_minutes,
            array_agg(floor(extract(epoch FROM resolved_at - opened_at) / 60)::int ORDER BY resolved_at)
                FILTER (WHERE severity <> 'info' AND resolved_at IS NOT NULL) AS resolve_minutes,
            bool_or(type IN {quoted(INCIDENTS)} AND resolution_code <> 'false_alarm') AS incident
        FROM rides_rideexception WHERE ride_id = r.id
    ) trouble ON true
"""  # noqa: S608  # constant names, values are parameters

_CHAIR: Final = f"""CASE WHEN r.leg_type <> 'return' THEN r.appointment_at
    ELSE r.pickup_at - make_interval(mins => coalesce((r.dialysis->>'treatmentMinutes')::int, {TREATMENT_MINUTES})
        + coalesce((r.dialysis->>'postTreatmentMinutes')::int, {POST_TREATMENT_MINUTES})) END"""
# The day that decides the pattern of a dialysis ride: its date in the recurrence, even if a holiday moved the ride.
_PATTERN_DAY: Final = """extract(isodow FROM CASE WHEN r.occurrence_key = '' THEN r.service_date
    ELSE split_part(r.occurrence_key, ':', 2)::date END)"""


def facts_of(rides: str) -> str:
    """Return the SQL statement that computes the facts of rides, one row each; `rides` is SQL that selects rides."""
    return f"""
        SELECT r.id, r.service_date, r.facility_id, r.provider_id, r.service_type, r.status, r.fault,
            r.cancellation_timing AS timing, r.leg_type = 'return' AS is_return, r.will_call,
            coalesce(own.parent_code, r.reason_code) AS reason,
            NOT (r.status = 'cancelled' AND coalesce(own.parent_code, r.reason_code) IN {quoted(NOT_BOOKED)}) AS booked,
            extract(hour FROM r.pickup_at AT TIME ZONE r.timezone)::smallint AS hour,
            CASE WHEN r.service_type <> 'dialysis' THEN ''
                WHEN {_PATTERN_DAY} IN (1, 3, 5) THEN 'mwf' WHEN {_PATTERN_DAY} IN (2, 4, 6) THEN 'tts'
                ELSE 'other' END AS pattern,
            CASE WHEN r.service_type <> 'dialysis' THEN ''
                WHEN extract(hour FROM ({_CHAIR}) AT TIME ZONE r.timezone) < {SECOND_SHIFT_FROM} THEN 'first'
                WHEN extract(hour FROM ({_CHAIR}) AT TIME ZONE r.timezone) < {THIRD_SHIFT_FROM} THEN 'second'
                ELSE 'third' END AS shift,
            r.pickup_at, r.after_the_fact,
            -- A ride for now may be requested minutes after its pickup time.
            CASE WHEN r.will_call THEN r.promised_pickup_by
                WHEN NOT r.after_the_fact THEN greatest(r.pickup_at, r.requested_at) END AS due_at,
            r.promised_pickup_by AS promised_at, r.arrived_pickup_at AS arrived_at, r.boarded_at,
            r.arrived_dropoff_at AS delivered_at, r.appointment_at, r.ready_at, r.requested_at,
            CASE WHEN r.will_call THEN r.ready_at ELSE r.scheduled_at END AS waiting_since,
            (r.discharge->>'dischargeOrderAt')::timestamptz AS ordered_at, r.status_changed_at AS ended_at,
            r.onboard_minutes, r.estimated_minutes AS direct_minutes, r.missing_documents = '{{}}' AS documented,
            accepted.accepted_at, coalesce(device.located, false) AS located, trouble.alerts, trouble.ack_minutes,
            trouble.resolve_minutes, coalesce(trouble.incident, false)
                OR coalesce(own.parent_code, r.reason_code) IN {quoted(INCIDENT_REASONS)} AS incident
        FROM ({rides}) r {_REASON} {_ACCEPTED} {_LOCATED} {_EXCEPTIONS}
    """  # noqa: S608  # no user input


def endings_of(rides: str) -> str:
    """Return the SQL statement that counts ended rides by reason and fault."""
    return f"""
        SELECT r.service_date, r.facility_id, r.provider_id, r.service_type, 'ending' AS kind, r.status AS category,
            coalesce(own.parent_code, r.reason_code) AS code, r.fault, count(*)::int AS amount
        FROM ({rides}) r {_REASON}
        WHERE r.status IN ('cancelled', 'no_show', 'unfulfilled')
        GROUP BY 1, 2, 3, 4, 6, 7, 8
    """  # noqa: S608  # constant names, values are parameters


def exceptions_of(rides: str) -> str:
    """Return the SQL statement that counts exceptions of rides by type and severity."""
    return f"""
        SELECT r.service_date, r.facility_id, r.provider_id, r.service_type, 'exception' AS kind,
            e.severity AS category, e.type AS code, '' AS fault, count(*)::int AS amount
        FROM ({rides}) r JOIN rides_rideexception e ON e.ride_id = r.id
        GROUP BY 1, 2, 3, 4, 6, 7
    """  # noqa: S608  # constant names, values are parameters
