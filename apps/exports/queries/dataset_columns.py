"""Columns that several datasets have: row identities, stops, times in UTC and local time."""

from collections.abc import Iterator
from typing import Final

from apps.exports.formats.columns import Column, ColumnType
from apps.rides.rules.disclosure import POSTAL_PREFIX
from lib.access import Phi

BATCH: Final = Column("exportBatchId", ColumnType.ID, "%(batch)s::uuid")


def identity(alias: str, key: str) -> tuple[Column, ...]:
    """Return the columns of the row id, its version and the export."""
    return (
        Column(key, ColumnType.ID, f"{alias}.id"),
        Column("rowVersion", ColumnType.COUNT, f"{alias}.version"),
        BATCH,
    )


def utc_and_local(name: str, sql: str) -> Iterator[Column]:
    """Yield the columns of a time in UTC and in the time zone of the ride; `name` is without the suffix."""
    yield Column(f"{name}At", ColumnType.INSTANT, sql)
    yield Column(f"{name}Local", ColumnType.LOCAL, f"({sql} AT TIME ZONE r.timezone)")


_STOP_FIELDS: Final = ("name", "addressLine1", "addressLine2", "unit", "city", "state", "postalCode")


def stop_record(column: str, alias: str) -> str:
    """Return a FROM item with the exported fields of a stop, from its JSON."""
    columns = ", ".join(f'"{name}" text' for name in _STOP_FIELDS)
    return f"jsonb_to_record({column}) AS {alias}({columns})"


def stop(name: str, where: str, facility: str) -> Iterator[Column]:
    """Yield the columns of a stop, with the PHI levels of apps/rides/rules/disclosure.py.

    `where` is the alias of a `stop_record`, `facility` the alias of the facility at the stop.
    """
    yield Column(f"{name}FacilityId", ColumnType.ID, f"{facility}.id")
    yield Column(f"{name}FacilityName", ColumnType.TEXT, f"{facility}.name")
    yield Column(f"{name}Name", ColumnType.TEXT, f'{where}."name"', Phi.LIMITED)
    yield Column(f"{name}AddressLine1", ColumnType.TEXT, f'{where}."addressLine1"', Phi.LIMITED)
    yield Column(f"{name}AddressLine2", ColumnType.TEXT, f'{where}."addressLine2"', Phi.LIMITED)
    yield Column(f"{name}City", ColumnType.TEXT, f'{where}."city"')
    yield Column(f"{name}State", ColumnType.TEXT, f'{where}."state"')
    yield Column(f"{name}PostalPrefix", ColumnType.TEXT, f'left({where}."postalCode", {POSTAL_PREFIX})')
    yield Column(f"{name}PostalCode", ColumnType.TEXT, f'{where}."postalCode"', Phi.LIMITED)
    yield Column(f"{name}Modifier", ColumnType.WORD, _modifier(where, facility))


def _modifier(where: str, facility: str) -> str:
    """Return the modifier of claims: that of the facility, R for the rider's residence, or null."""
    home = " AND ".join(
        f"{where}.\"{key}\" = person.home_address->>'{key}'" for key in ("addressLine1", "unit", "postalCode")
    )
    return f"coalesce({facility}.modifier_code, CASE WHEN {home} THEN 'R' END)"


def external_ids(subject: str, key: str) -> str:
    """Return the external ids of a record as "system|value", separated by semicolons."""
    return f"""(SELECT string_agg(x.system || '|' || x.value, ';' ORDER BY x.system, x.value)
        FROM organizations_externalid x WHERE x.subject_type = '{subject}' AND x.subject_id = {key})"""  # noqa: S608  # constant names, values are parameters
