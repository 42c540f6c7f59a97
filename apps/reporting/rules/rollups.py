"""The SQL that makes rows of the rollups out of legs, and rows of a day out of those of its facilities."""

from enum import IntEnum
from typing import Final

from apps.reporting.rules.facts import endings_of, exceptions_of, facts_of
from apps.reporting.rules.measures import MEASURES

CELL: Final = "reporting_cell"
TALLY: Final = "reporting_tally"


class Grain(IntEnum):
    """What a row of the rollups is about.  Those of all facilities are added up from those of each."""

    DAY = 0
    DAY_HOUR = 1
    FACILITY = 2
    FACILITY_HOUR = 3
    SPLIT = 4  # by provider, service type, and for dialysis pattern and chair shift


OF_FACILITIES: Final = (Grain.FACILITY, Grain.FACILITY_HOUR, Grain.SPLIT)
OF_ALL: Final = (Grain.DAY, Grain.DAY_HOUR)
_KEYS: Final = "grain, service_date, facility_id, hour, provider_id, service_type, pattern, shift"
_MEASURES: Final = ", ".join(MEASURES)
COLUMNS: Final = f"{_KEYS}, {_MEASURES}"
TALLY_COLUMNS: Final = "service_date, facility_id, provider_id, service_type, kind, word, code, fault, amount"


def _named(write: str) -> str:
    return ", ".join(f"{getattr(measure, write)} AS {name}" for name, measure in MEASURES.items())


def rows_of(legs: str) -> str:
    """Write the statement that gives the rows of the facilities' grains for whole cells of legs, with `COLUMNS`."""
    return f"""
        WITH leg AS MATERIALIZED (
            SELECT service_date, facility_id, hour, provider_id, service_type, pattern, shift, {_named("of_leg")}
            FROM ({facts_of(legs)}) fact
        )
        SELECT CASE WHEN grouping(service_type) = 0 THEN {Grain.SPLIT} WHEN grouping(hour) = 0 THEN
                {Grain.FACILITY_HOUR} ELSE {Grain.FACILITY} END::smallint AS grain,
            service_date, facility_id, hour, provider_id, coalesce(service_type, '') AS service_type,
            coalesce(pattern, '') AS pattern, coalesce(shift, '') AS shift, {_named("of_legs")}
        FROM leg GROUP BY GROUPING SETS ((service_date, facility_id), (service_date, facility_id, hour),
            (service_date, facility_id, provider_id, service_type, pattern, shift))
    """  # noqa: S608  # constant names, values are parameters


def tallies_of(legs: str) -> str:
    """Write the statement that gives the rows of the tallies for whole cells of legs, with `TALLY_COLUMNS`."""
    return f"{endings_of(legs)} UNION ALL {exceptions_of(legs)}"


def days_of(bases: str) -> str:
    """Write the statement that gives the rows of all facilities for `dates`, with `COLUMNS`, of rows of these bases."""
    return f"""
        SELECT (grain - {Grain.FACILITY})::smallint AS grain, service_date, NULL::uuid AS facility_id, hour,
            NULL::uuid AS provider_id, '' AS service_type, '' AS pattern, '' AS shift, {_of_days()}
        FROM {CELL}
        WHERE grain IN ({Grain.FACILITY}, {Grain.FACILITY_HOUR}) AND service_date = ANY(%(dates)s::date[])
            AND basis IN ({bases})
        GROUP BY grain, service_date, hour
    """  # noqa: S608  # constant names, values are parameters


def _of_days() -> str:
    # Bytes by facility, so that the same rows make the same bytes.
    written = []
    for name, measure in MEASURES.items():
        if measure.is_packed:
            written.append(f"coalesce(string_agg({name}, ''::bytea ORDER BY facility_id, {name}), ''::bytea) AS {name}")
        else:
            written.append(f"sum({name}) AS {name}")
    return ", ".join(written)
