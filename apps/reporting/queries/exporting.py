"""What can be exported, and the statement that gives it to one caller."""

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connections

from apps.reporting.dataset import Dataset
from apps.reporting.queries.exporting_records import DRIVERS, EXCEPTIONS
from apps.reporting.queries.exporting_rides import COMPLETIONS, RIDES
from lib.access import Principal
from lib.exporting.columns import Column, selected
from lib.exporting.copy_out import Source

# Every dataset by its name: whoever has another adds it here, and has all formats, filters and doors.
DATASETS: Final[Mapping[str, Dataset]] = {one.name: one for one in (RIDES, COMPLETIONS, EXCEPTIONS, DRIVERS)}

# A change carries the moment at which its request came; it is there when the request is done, seconds later.
CHANGES_SETTLE_WITHIN: Final = dt.timedelta(minutes=2)


def source(
    dataset: Dataset,
    columns: Sequence[Column],
    filters: Mapping[str, Any],
    *,
    batch: UUID,
    by: Principal,
    using: str,
) -> Source:
    """Write where the rows come from: what the caller reaches and the filters keep, in the order of the dataset."""
    where, parameters = _where(dataset, filters, by)
    tables = dataset.tables([selected(columns), *where])
    sql = f"FROM {tables} WHERE {' AND '.join(where)} ORDER BY {dataset.order}"
    return Source(sql, {**parameters, "batch": batch, **dataset.extra()}, using)


def count(dataset: Dataset, filters: Mapping[str, Any], *, by: Principal, using: str, most: int | None = None) -> int:
    """Count the rows of an export; with `most`, no further than one above it."""
    where, parameters = _where(dataset, filters, by)
    limit = "" if most is None else f" LIMIT {most + 1}"
    rows = f"SELECT FROM {dataset.tables(where)} WHERE {' AND '.join(where)}{limit}"
    with connections[using].cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({rows}) counted", parameters)  # noqa: S608  # of ours
        return int(cursor.fetchone()[0])


def riders(dataset: Dataset, filters: Mapping[str, Any], *, by: Principal, using: str) -> list[UUID]:
    """List the riders whose rows an export holds: the trail names each."""
    if dataset.rider is None:
        return []
    where, parameters = _where(dataset, filters, by)
    rows = f"FROM {dataset.tables([dataset.rider, *where])} WHERE {' AND '.join(where)}"
    with connections[using].cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT {dataset.rider} {rows}", parameters)
        return [rider for (rider,) in cursor.fetchall()]


def _where(dataset: Dataset, filters: Mapping[str, Any], by: Principal) -> tuple[list[str], dict[str, Any]]:
    reach, parameters = dataset.reach(by)
    kept = [dataset.conditions[name] for name in filters]
    parameters |= filters
    if "changed_since" in filters:
        parameters["changed_since"] -= CHANGES_SETTLE_WITHIN
    return [dataset.always, reach, *kept], parameters
