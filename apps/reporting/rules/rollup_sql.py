"""SQL that computes rollup rows from rides, and the rows of all facilities from the rows of each facility."""

from enum import IntEnum
from typing import Final

from apps.reporting.rules.facts import endings_of, exceptions_of, facts_of
from apps.reporting.rules.measures import MEASURES

METRICS_TABLE: Final = "reporting_metricsrow"
BREAKDOWN_TABLE: Final = "reporting_breakdowncount"


class Grain(IntEnum):
    """What one row aggregates.  Rows of all facilities are added up from the rows of each facility."""

    DAY = 0
    DAY_HOUR = 1
    FACILITY = 2
    FACILITY_HOUR = 3
    SPLIT = 4  # facility by provider, service type, and for dialysis by pattern and chair shift


FACILITY_GRAINS: Final = (Grain.FACILITY, Grain.FACILITY_HOUR, Grain.SPLIT)
DAY_GRAINS: Final = (Grain.DAY, Grain.DAY_HOUR)
_KEYS: Final = "grain, service_date, facility_id, hour, provider_id, service_type, pattern, shift"
METRICS_COLUMNS: Final = f"{_KEYS}, totals, minutes"
BREAKDOWN_COLUMNS: Final = "service_date, facility_id, provider_id, service_type, kind, category, code, fault, amount"


def metrics_of(rides: str) -> str:
    """Return the statement that computes `METRICS_COLUMNS` at the facility grains, for all rides of some days."""
    of_ride = ", ".join(f"{measure.of_ride} AS {name}" for name, measure in MEASURES.items())
    return f"""
        WITH ride AS MATERIALIZED (
            SELECT service_date, facility_id, hour, provider_id, service_type, pattern, shift, {of_ride}
            FROM ({facts_of(rides)}) fact
        )
        SELECT grain, service_date, facility_id, hour, provider_id, service_type, pattern, shift, {_json()}
        FROM (
            SELECT CASE WHEN grouping(service_type) = 0 THEN {Grain.SPLIT} WHEN grouping(hour) = 0 THEN
                    {Grain.FACILITY_HOUR} ELSE {Grain.FACILITY} END::smallint AS grain,
                service_date, facility_id, hour, provider_id, coalesce(service_type, '') AS service_type,
                coalesce(pattern, '') AS pattern, coalesce(shift, '') AS shift, {_aggregates("of_rides")}
            FROM ride GROUP BY GROUPING SETS ((service_date, facility_id), (service_date, facility_id, hour),
                (service_date, facility_id, provider_id, service_type, pattern, shift))
        ) measured, {_records()}
    """  # noqa: S608  # no user input


def breakdowns_of(rides: str) -> str:
    """Return the statement that computes `BREAKDOWN_COLUMNS` for all rides of some days."""
    return f"{endings_of(rides)} UNION ALL {exceptions_of(rides)}"


def day_metrics(bases: str) -> str:
    """Return the statement that adds up facility rows of these bases to `METRICS_COLUMNS` of whole days (`dates`)."""
    return f"""
        SELECT grain, service_date, NULL::uuid AS facility_id, hour, NULL::uuid AS provider_id, '' AS service_type,
            '' AS pattern, '' AS shift, {_json()}
        FROM (
            SELECT (grain - {Grain.FACILITY})::smallint AS grain, service_date, hour, {_aggregates("of_facilities")}
            FROM {METRICS_TABLE}
            WHERE grain IN ({Grain.FACILITY}, {Grain.FACILITY_HOUR}) AND service_date = ANY(%(dates)s::date[])
                AND basis IN ({bases})
            GROUP BY grain, service_date, hour
        ) measured, {_records()}
    """  # noqa: S608  # no user input


def _aggregates(step: str) -> str:
    return ", ".join(f"{getattr(measure, step)} AS {name}" for name, measure in MEASURES.items())


def _records() -> str:
    """Return two records, of totals and of minutes: `to_jsonb` uses the field names of a record as keys."""
    totals = ", ".join(name for name, measure in MEASURES.items() if not measure.is_packed)
    minutes = ", ".join(name for name, measure in MEASURES.items() if measure.is_packed)
    return f"LATERAL (SELECT {totals}) AS total, LATERAL (SELECT {minutes}) AS minute"


def _json() -> str:
    return "jsonb_strip_nulls(to_jsonb(total)) AS totals, jsonb_strip_nulls(to_jsonb(minute)) AS minutes"
