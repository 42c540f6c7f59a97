"""Queries whose SQL is written once per process, for the few that stand on the way of every booking and report.

Django writes the SQL of a queryset anew for each run of it: for a look-up by key that takes several times as long as
the database takes to answer (docs/adr/0011).  A `Compiled` lets Django write it once, with a marker in place of each
value, and fills the values in.  Rows are made by Django as ever: converters, `select_related`, annotations and all.
"""

import copy
import datetime as dt
import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final, Generic, TypeVar
from uuid import UUID, uuid4

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import ForeignKey, Lookup, QuerySet, UUIDField
from django.db.models.query import ModelIterable

from lib.access import Principal

Found = TypeVar("Found")

_SMALL: Final = itertools.count(20_011)  # fits every integer column; no query of ours names such a number
_MOST_REACHES: Final = 256  # of callers with bounds; past that the SQL of all is written anew


@ForeignKey.register_lookup
@UUIDField.register_lookup
class AnyOf(Lookup[Any]):
    """`pk__any_of=[...]`: a key that is one of a list; an empty one finds nothing.

    The list is one parameter.  `in` writes a place for each of its values, so that its SQL changes with their number.
    """

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        key, parameters = self.process_lhs(compiler, connection)
        return f"{key} = ANY(%s)", [*parameters, self.rhs]


@dataclass(frozen=True, slots=True)
class _Written:
    """The SQL of one query for one reach."""

    compiler: Any
    sql: str
    parameters: tuple[Any, ...]
    places: tuple[tuple[int, str], ...]  # which of them stand for which value
    converters: Any
    alias: str
    makes_models: bool

    def parameters_for(self, values: dict[str, Any]) -> list[Any]:
        parameters = list(self.parameters)
        for place, name in self.places:
            parameters[place] = values[name]
        return parameters

    def made_of(self, rows: list[Any]) -> list[Any]:
        """Make what the queryset makes of the rows that the database answered."""
        compiler = copy.copy(self.compiler)
        compiler.connection = connections[self.alias]
        compiler.execute_sql = lambda *_, **__: [rows]
        compiler.get_converters = lambda expressions: self.converters
        if not self.makes_models:
            return list(compiler.results_iter(tuple_expected=True))
        # What a ModelIterable asks of the queryset that it belongs to.
        query = SimpleNamespace(get_compiler=lambda using: compiler)
        source: Any = SimpleNamespace(db=self.alias, query=query, _known_related_objects={})
        return list(ModelIterable(source))


@dataclass(frozen=True, slots=True)
class Asked(Generic[Found]):
    """A query with its values, not yet run; `written` None: it is known to find nothing."""

    written: _Written | None
    values: dict[str, Any]


def together(*asked: Asked[Any]) -> list[list[Any]]:
    """Run queries in one round trip; answer the rows of each, in their order.

    Each sees what the ones before it have locked, and its own moment, as if it came alone: on READ COMMITTED every
    statement takes a snapshot of its own.
    """
    alias = next((one.written.alias for one in asked if one.written), None)
    if alias is None:
        return [[] for _ in asked]
    found: list[list[Any]] = []
    with connections[alias].cursor() as cursor:
        texts = [
            cursor.mogrify(one.written.sql, one.written.parameters_for(one.values)) for one in asked if one.written
        ]
        cursor.execute("; ".join(texts))
        for number, one in enumerate(one.written for one in asked):
            found.append(one.made_of(cursor.fetchall()) if one else [])
            if one and number + 1 < len(asked):
                cursor.nextset()
    return found


class Compiled(Generic[Found]):
    """A queryset of rows, or of tuples (`values_list`), compiled at its first run.

    `rows` makes it of the caller, where there is one, and of `values`, named here with their types: UUID, str, int,
    datetime, or list (of UUIDs, for what takes it as one parameter: `any_of`, or a `Value` of an array).  Each value
    has to go to the database as it is, once or more often; everything else that `rows` does has to depend on the
    caller's reach alone.  Raises ValueError at the first run where a value got lost on the way.
    """

    def __init__(self, rows: Callable[..., QuerySet[Any, Found]], **values: type) -> None:
        self._rows = rows
        self._markers = {name: _marker(kind) for name, kind in values.items()}
        self._written: dict[Hashable, _Written | None] = {}

    def asked(self, by: Principal | None = None, **values: Any) -> Asked[Found]:
        """Prepare the query with these values for `together`."""
        reach = None if by is None else (by.facility_ids, by.provider_ids)
        if reach not in self._written:
            if len(self._written) >= _MOST_REACHES:
                self._written.clear()
            written = self._written[reach] = self._write(by)
        else:
            written = self._written[reach]
        return Asked(written, values)

    def all(self, by: Principal | None = None, **values: Any) -> list[Found]:
        """Run the query with these values.  One round trip; none where the reach is known to hold nothing."""
        written = self.asked(by, **values).written
        if written is None:
            return []
        with connections[written.alias].cursor() as cursor:
            cursor.execute(written.sql, written.parameters_for(values))
            rows = cursor.fetchall()
        return written.made_of(rows)

    def one(self, by: Principal | None = None, **values: Any) -> Found | None:
        """Run a query that cannot find two rows."""
        return next(iter(self.all(by, **values)), None)

    def _write(self, by: Principal | None) -> _Written | None:
        rows = self._rows(**self._markers) if by is None else self._rows(by, **self._markers)
        compiler = rows.query.get_compiler(using=rows.db)
        try:
            sql, parameters = compiler.as_sql()
        except EmptyResultSet:
            return None
        names = {_key(marker): name for name, marker in self._markers.items()}
        keys = [_key(one) for one in parameters]
        places = [(at, names[key]) for at, key in enumerate(keys) if isinstance(key, Hashable) and key in names]
        lost = set(self._markers) - {name for _, name in places}
        lost |= {name for name, marker in self._markers.items() if isinstance(marker, list) and marker[0] in keys}
        if lost:
            raise ValueError(f"these values do not reach the database as they are: {', '.join(sorted(lost))}")
        return _Written(
            compiler=compiler,
            sql=sql,
            parameters=tuple(parameters),
            places=tuple(places),
            converters=compiler.get_converters([column[0] for column in compiler.select[: compiler.col_count]]),
            alias=rows.db,
            makes_models=issubclass(rows._iterable_class, ModelIterable),
        )


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _marker(kind: type) -> Any:
    """Make a value of this type that no query holds by itself."""
    unlike_any = uuid4()
    if kind is UUID:
        return unlike_any
    if kind is list:
        return [unlike_any]
    if kind is str:
        return f"marker {unlike_any}"
    if kind is dt.datetime:
        return dt.datetime(1900, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=unlike_any.int % 10**15)
    if kind is int:
        return next(_SMALL)
    raise TypeError(f"no marker for {kind.__name__}")
