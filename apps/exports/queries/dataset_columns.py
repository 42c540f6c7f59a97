"""What datasets have in common: identities of rows, stops, instants on two clocks."""

from collections.abc import Iterator
from typing import Final

from apps.exports.formats.columns import Column, Kind
from apps.rides.rules.disclosure import POSTAL_PREFIX
from lib.access import Phi

BATCH: Final = Column("exportBatchId", Kind.ID, "%(batch)s::uuid")


def identity(alias: str, key: str) -> tuple[Column, ...]:
    """Say which row of ours it is, which version of it, and which export it stands in."""
    return (
        Column(key, Kind.ID, f"{alias}.id"),
        Column("rowVersion", Kind.COUNT, f"{alias}.version"),
        BATCH,
    )


def clocks(name: str, sql: str) -> Iterator[Column]:
    """Write an instant in UTC and on the clock of the ride; `name` is without its ending."""
    yield Column(f"{name}At", Kind.INSTANT, sql)
    yield Column(f"{name}Local", Kind.LOCAL, f"({sql} AT TIME ZONE r.timezone)")


_OF_STOPS: Final = ("name", "addressLine1", "addressLine2", "unit", "city", "state", "postalCode")


def stop_record(column: str, alias: str) -> str:
    """Write a row of what is exported of a stop, out of its JSON, to stand in FROM."""
    columns = ", ".join(f'"{name}" text' for name in _OF_STOPS)
    return f"jsonb_to_record({column}) AS {alias}({columns})"


def stop(name: str, where: str, facility: str) -> Iterator[Column]:
    """Write where a ride starts or ends, as much of it as each level sees (rides/disclosure.py).

    `where` is the alias of a `stop_record`, `facility` that of the facility that the stop is at.
    """
    yield Column(f"{name}FacilityId", Kind.ID, f"{facility}.id")
    yield Column(f"{name}FacilityName", Kind.TEXT, f"{facility}.name")
    yield Column(f"{name}Name", Kind.TEXT, f'{where}."name"', Phi.LIMITED)
    yield Column(f"{name}AddressLine1", Kind.TEXT, f'{where}."addressLine1"', Phi.LIMITED)
    yield Column(f"{name}AddressLine2", Kind.TEXT, f'{where}."addressLine2"', Phi.LIMITED)
    yield Column(f"{name}City", Kind.TEXT, f'{where}."city"')
    yield Column(f"{name}State", Kind.TEXT, f'{where}."state"')
    yield Column(f"{name}PostalPrefix", Kind.TEXT, f'left({where}."postalCode", {POSTAL_PREFIX})')
    yield Column(f"{name}PostalCode", Kind.TEXT, f'{where}."postalCode"', Phi.LIMITED)
    yield Column(f"{name}Modifier", Kind.WORD, _modifier(where, facility))


def _modifier(where: str, facility: str) -> str:
    """Give the letter of claims: the facility's own; R where the rider lives; none where nobody knows what it is."""
    home = " AND ".join(
        f"{where}.\"{key}\" = person.home_address->>'{key}'" for key in ("addressLine1", "unit", "postalCode")
    )
    return f"coalesce({facility}.modifier_code, CASE WHEN {home} THEN 'R' END)"


def external_ids(subject: str, key: str) -> str:
    """Write what other systems call a record, as "system|value" between semicolons."""
    return f"""(SELECT string_agg(x.system || '|' || x.value, ';' ORDER BY x.system, x.value)
        FROM organizations_externalid x WHERE x.subject_type = '{subject}' AND x.subject_id = {key})"""  # noqa: S608  # constant names, values are parameters
