"""What can be exported, and the statements that give it to one caller."""

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

# Every dataset by its name: whoever has another adds it here, and has all formats, filters and doors.
DATASETS: Final[Mapping[str, Dataset]] = {one.name: one for one in (RIDES, COMPLETIONS, EXCEPTIONS, DRIVERS, KPIS)}

# A change carries the moment at which its request came; it is there when the request is done, seconds later.
CHANGES_SETTLE_WITHIN: Final = dt.timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one export: what the caller reaches and the filters keep.  `rows_of` makes it."""

    dataset: Dataset
    where: tuple[str, ...]
    parameters: Mapping[str, Any]
    using: str

    def source(self, columns: Sequence[Column], *, batch: UUID) -> Source:
        """Write where the rows come from, in the order of the dataset."""
        tables = self.dataset.tables([selected(columns), *self.where])
        sql = f"FROM {tables} WHERE {' AND '.join(self.where)} ORDER BY {self.dataset.order}"
        return Source(sql, {**self.parameters, "batch": batch}, self.using)

    def count(self, *, most: int | None = None) -> int:
        """Count the rows; with `most`, no further than one above it.  One query, none where they were worked out."""
        if "counted" in self.parameters:
            return int(self.parameters["counted"])
        limit = "" if most is None else f" LIMIT {most + 1}"
        rows = f"SELECT FROM {self.dataset.tables(self.where)} WHERE {' AND '.join(self.where)}{limit}"
        with connections[self.using].cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM ({rows}) counted", self.parameters)  # noqa: S608  # constant names, values are parameters
            return int(cursor.fetchone()[0])

    def riders(self) -> list[UUID]:
        """List the riders of the rows: the trail names each.  One query, none where rows have no rider."""
        rider = self.dataset.rider
        if rider is None:
            return []
        rows = f"FROM {self.dataset.tables([rider, *self.where])} WHERE {' AND '.join(self.where)}"
        with connections[self.using].cursor() as cursor:
            cursor.execute(f"SELECT DISTINCT {rider} {rows}", self.parameters)
            return [found for (found,) in cursor.fetchall()]


def rows_of(dataset: Dataset, filters: Mapping[str, Any], *, by: Principal, using: str) -> Rows:
    """Say which rows an export has.  Figures are worked out here, once for all that is asked of the answer."""
    reach, parameters = dataset.reach(by)
    kept = [dataset.conditions[name] for name in filters]
    parameters |= filters
    if "changed_since" in filters:
        parameters["changed_since"] -= CHANGES_SETTLE_WITHIN
    return Rows(dataset, (dataset.always, reach, *kept), {**parameters, **dataset.more(filters, by)}, using)
