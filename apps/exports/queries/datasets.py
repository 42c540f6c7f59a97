"""The datasets, and the statements that read their rows for a caller."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connections

from apps.exports.formats.columns import Column, selected
from apps.exports.formats.copy_stream import Source
from apps.exports.queries.kpi_dataset import KPIS
from apps.exports.queries.record_datasets import DRIVERS, EXCEPTIONS
from apps.exports.queries.ride_datasets import COMPLETIONS, RIDES
from apps.exports.rules.dataset import Dataset
from lib.access import Principal

# All datasets by name.  An entry makes a dataset available in every format, in the API, the console and schedules.
DATASETS: Final[Mapping[str, Dataset]] = {
    dataset.name: dataset for dataset in (RIDES, COMPLETIONS, EXCEPTIONS, DRIVERS, KPIS)
}

# A change has the time at which its request began, and is visible when the request ends, seconds later.
CHANGE_DELAY: Final = dt.timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of an export, limited by filters and the caller's data scope.  Created by `rows_of`."""

    dataset: Dataset
    where: tuple[str, ...]
    parameters: Mapping[str, Any]
    using: str

    def source(self, columns: Sequence[Column], *, batch: UUID) -> Source:
        """Return the source of the rows, in the order of the dataset."""
        tables = self.dataset.tables([selected(columns), *self.where])
        sql = f"FROM {tables} WHERE {' AND '.join(self.where)} ORDER BY {self.dataset.order}"
        return Source(sql, {**self.parameters, "batch": batch}, self.using)

    def count(self, *, most: int | None = None) -> int:
        """Count the rows, with `most` only up to one more.  One query, none if they were computed."""
        if "counted" in self.parameters:
            return int(self.parameters["counted"])
        limit = "" if most is None else f" LIMIT {most + 1}"
        rows = f"SELECT FROM {self.dataset.tables(self.where)} WHERE {' AND '.join(self.where)}{limit}"
        with connections[self.using].cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM ({rows}) counted", self.parameters)  # noqa: S608  # constant names, values are parameters
            return int(cursor.fetchone()[0])

    def riders(self) -> list[UUID]:
        """List the riders of the rows, for the audit trail.  One query, none if rows have no rider."""
        rider = self.dataset.rider
        if rider is None:
            return []
        rows = f"FROM {self.dataset.tables([rider, *self.where])} WHERE {' AND '.join(self.where)}"
        with connections[self.using].cursor() as cursor:
            cursor.execute(f"SELECT DISTINCT {rider} {rows}", self.parameters)
            return [rider_id for (rider_id,) in cursor.fetchall()]


def rows_of(dataset: Dataset, filters: Mapping[str, Any], *, by: Principal, using: str) -> Rows:
    """Select the rows of an export.  The KPI dataset computes its rows here, once."""
    data_scope, parameters = dataset.data_scope(by)
    conditions = [dataset.conditions[name] for name in filters]
    parameters |= filters
    if "changed_since" in filters:
        parameters["changed_since"] -= CHANGE_DELAY
    return Rows(
        dataset, (dataset.always, data_scope, *conditions), {**parameters, **dataset.parameters(filters, by)}, using
    )
