"""The list of rides: one statement reads the page and leaves the row in the audit trail (docs/adr/0007)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, cast
from uuid import UUID

import psycopg
from django.conf import settings
from django.db import connection
from psycopg.abc import Loader
from psycopg.pq import Format

from apps.audit.services import audit
from apps.rides.queries import ride_list
from apps.rides.queries.ride_list import Shape
from apps.rides.rules.disclosure import disclosure_of
from lib.access import Principal
from lib.api.pagination import TOTAL_CAP

_TIMESTAMPTZ_OID: Final = 1184
# Django loads timestamptz by a Python class, to let each connection have a zone; ours is UTC, so the C one will do and
# takes a fifth of the time.
_C_TIMESTAMPTZ: Final = cast("type[Loader]", psycopg.adapters.get_loader(_TIMESTAMPTZ_OID, Format.TEXT))


@dataclass(frozen=True, slots=True)
class Asked:
    """Which page of which rides.  `after` is the sort key and id of the last row seen."""

    filters: Mapping[str, Any]
    sort: str
    limit: int
    only: tuple[str, ...] | None = None
    after: tuple[datetime, UUID] | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A page: rows in the API's shape, JSON inside them as orjson.Fragment, and where the next one starts."""

    rows: list[dict[str, Any]]
    next_after: tuple[datetime, UUID] | None
    # Of each row: ids of rider, facility and driver as text, null where there is none.
    named: list[tuple[str, str | None, str | None]]


@lru_cache(maxsize=256)
def _statement(shape: Shape, where: str, column: str, descending: bool, after: bool, waits: bool) -> str:
    way = "DESC" if descending else "ASC"
    beyond = f"AND (r.{column}, r.id) {'<' if descending else '>'} (%(key)s, %(last)s)" if after else ""
    comma = ", " if shape.select else ""
    order = f"ORDER BY sort_key {way}, row_id {way}"
    # Everything that is put into the text is a constant of ride_list or of audit; values are parameters.
    shown = f"SELECT rider FROM page {order} LIMIT %(limit)s"  # noqa: S608  # constants, see above
    rider_ids = f"(SELECT coalesce(array_agg(DISTINCT rider), '{{}}') FROM ({shown}) AS shown)"  # noqa: S608  # constants, see above
    return f"""
        WITH page AS (
            SELECT {shape.select}{comma}r.{column} AS sort_key, r.id AS row_id, r.rider_id AS rider,
                r.rider_id::text, r.facility_id::text, r.driver_id::text
            FROM rides_ride r WHERE {where} {beyond} ORDER BY r.{column} {way}, r.id {way} LIMIT %(rows)s
        ), trail AS ({audit.read_in_one(rider_ids=rider_ids, waits=waits)})
        SELECT * FROM page {order}
    """  # noqa: S608  # constants, see above


def list_rides(*, asked: Asked, by: Principal, at: datetime) -> Listed:
    """Read one page of the rides within the caller's data scope, and record the read.  One round trip."""
    column, descending = ride_list.SORTS[asked.sort]
    shape = ride_list.shape_for(disclosure_of(by), asked.only)
    where, parameters = ride_list.conditions(asked.filters, by)
    after, waits = asked.after is not None, settings.AUDIT_READS_WAIT
    statement = _statement(shape, where, column, descending, after, waits)
    parameters |= audit.read_parameters(by=by, action="rides.list", subject_type="ride")
    parameters |= {"at": at, "limit": asked.limit, "rows": asked.limit + 1}
    if asked.after is not None:
        parameters["key"], parameters["last"] = asked.after
    found = _fetch(statement, parameters)
    shown = found[: asked.limit]
    make_row = shape.row
    last = shown[-1] if len(found) > asked.limit else None
    return Listed(
        rows=[make_row(values) for values in shown],
        next_after=(last[-6], last[-5]) if last else None,
        named=[(values[-3], values[-2], values[-1]) for values in shown],
    )


def count_rides(*, filters: Mapping[str, Any], by: Principal) -> int:
    """Count the rides that match, up to one more than `TOTAL_CAP`.  One query."""
    where, parameters = ride_list.conditions(filters, by)
    statement = f"SELECT count(*) FROM (SELECT 1 FROM rides_ride r WHERE {where} LIMIT {TOTAL_CAP + 1}) c"  # noqa: S608  # constants of ride_list; values are parameters
    return int(_fetch(statement, parameters)[0][0])


def _fetch(statement: str, parameters: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement on Django's connection, past its cursor: bound on the server, instants loaded in C."""
    connection.ensure_connection()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        cursor.adapters.register_loader("timestamptz", _C_TIMESTAMPTZ)
        return cursor.execute(statement, parameters).fetchall()
