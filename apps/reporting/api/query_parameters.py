"""The query parameters of reports."""

from typing import Any, Final

from apps.reporting.models import Basis
from apps.reporting.queries.drill_down import DIMENSIONS
from apps.reporting.queries.reports import BUCKET_GROUPINGS
from apps.reporting.rules.kpis import KPI_BY_KEY
from apps.rides.rules.draft import ServiceType
from lib.api import fields
from lib.api.query import PageQuery, Query

MOST_FACILITIES: Final = 200
_KEYS: Final = [(key, key) for key in KPI_BY_KEY]


def _basis() -> Any:
    return fields.Choice(
        choices=[(basis.value, basis.value) for basis in (Basis.CLOSED, Basis.LIVE)],
        default=Basis.CLOSED.value,
        help_text="Values of closed days as they were closed, or as they are now. `restatements` lists differences.",
    )


def _ids(text: str) -> Any:
    return fields.List(child=fields.Uuid(), required=False, max_length=MOST_FACILITIES, help_text=text)


def _service_types() -> Any:
    return fields.List(
        child=fields.Choice(choices=ServiceType.choices),
        required=False,
        help_text="One service type, or several separated by commas.",
    )


class DailyQuery(Query):
    """A day, and filters of its rides."""

    date = fields.LocalDate(help_text="The rides' local day.")
    facility_id = _ids("One facility, or several separated by commas.")
    provider_id = _ids("One transport provider, or several separated by commas.")
    type = _service_types()
    basis = _basis()


class _FromTo:
    """Parameters `from` and `to`: `from` is a reserved word of Python."""

    def get_fields(self) -> dict[str, Any]:
        named = super().get_fields()  # type: ignore[misc]  # of the serializer beside it
        first, last = named.pop("first"), named.pop("last")
        first.source, last.source = "first", "last"
        return {"from": first, "to": last, **named}


class PeriodQuery(_FromTo, Query):
    """A period, and filters of its rides."""

    first = fields.LocalDate(help_text="The first day.")
    last = fields.LocalDate(help_text="The last day, at most 800 days in all.")
    facility_id = _ids("One facility, or several separated by commas.")
    provider_id = _ids("One transport provider, or several separated by commas.")
    type = _service_types()
    basis = _basis()


class FacilityQuery(PeriodQuery):
    """A period, filters of its rides, and KPIs."""

    kpi = fields.List(child=fields.Choice(choices=_KEYS), required=False, help_text="Keys of KPIs; default: all.")
    compare = fields.Boolean(default=True, help_text="Adds the figures of the preceding period of the same length.")


class TrendQuery(PeriodQuery):
    """A period, filters of its rides, KPIs, and the buckets of the trend."""

    kpi = fields.List(child=fields.Choice(choices=_KEYS), max_length=10, help_text="Keys of KPIs, up to 10.")
    by = fields.Choice(choices=[(bucket, bucket) for bucket in BUCKET_GROUPINGS], default="day")
    each = fields.Choice(
        choices=[("facility", "facility")],
        required=False,
        help_text="Adds `lines`, one for each of two to six selected facilities; with by=day, week or month.",
    )


class BreakdownQuery(PeriodQuery):
    """A period, filters of its rides, and the dimension to count by."""

    dimension = fields.Choice(
        choices=[(name, name) for name in ("reason", "fault", "exception_type")], default="reason"
    )


class UtilizationQuery(PeriodQuery):
    """A period, filters of its rides, and the kind of worker.  Reads the rides as they are now."""

    basis = None  # serializers take a field away so
    of = fields.Choice(choices=[("driver", "driver"), ("vehicle", "vehicle")], default="driver")


class RidesQuery(_FromTo, PageQuery):
    """The KPI or the count whose rides to list."""

    kpi = fields.Choice(
        choices=_KEYS, required=False, help_text="Lists the rides behind a KPI; otherwise set `dimension`."
    )
    counted = fields.Choice(
        choices=[(value, value) for value in ("numerator", "denominator", "excluded")], default="denominator"
    )
    reason = fields.Text(required=False, max_length=60, help_text="A key of `excluded`, with counted=excluded.")
    part = fields.Text(required=False, max_length=60, help_text="A key of `parts`: lists the rides behind this part.")
    dimension = fields.Choice(
        choices=[(value, value) for value in DIMENSIONS],
        required=False,
        help_text="Lists the rides behind a count, which `category` and `code` select.",
    )
    category = fields.Text(required=False, max_length=20, help_text="The status, or the severity of exceptions.")
    code = fields.Text(required=False, max_length=60, help_text="The reason, fault, or type of exceptions.")
    first = fields.LocalDate(help_text="The first day.")
    last = fields.LocalDate(help_text="The last day, at most 92 days in all.")
    facility_id = _ids("One facility, or several separated by commas.")
    provider_id = _ids("One transport provider, or several separated by commas.")
    type = _service_types()
    weekday = fields.Integer(required=False, min_value=1, max_value=7, help_text="Monday 1.")
    hour = fields.Integer(required=False, min_value=0, max_value=23, help_text="Local hour of the pickup.")
    pattern = fields.Choice(choices=[(value, value) for value in ("mwf", "tts", "other")], required=False)
    shift = fields.Choice(choices=[(value, value) for value in ("first", "second", "third")], required=False)
