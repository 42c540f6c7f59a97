"""Serializers of exports and datasets."""

from collections.abc import Mapping
from typing import Any

from apps.exports.models import Export
from apps.exports.queries.datasets import DATASETS
from apps.exports.queries.kpi_dataset import INTERVAL_DAYS
from apps.exports.services.export_validation import ExportRequest
from apps.reporting.models import Basis
from apps.reporting.rules.kpis import KPI_BY_KEY
from apps.rides.rules.draft import ServiceType
from lib.access import Phi
from lib.api import fields
from lib.api.query import PageQuery, Query
from lib.api.serializers import In, Out, OutShape, camel
from lib.api.unpaginated import WholePageOut

_FILTERS = (
    "service_date_from",
    "service_date_to",
    "facility_id",
    "provider_id",
    "payer_id",
    "status",
    "changed_since",
    "kpi",
    "service_type",
    "group_by",
    "basis",
)


class _Filters(In):
    """Filters of an export; GET /exports/datasets lists those of each dataset."""

    service_date_from = fields.LocalDate(
        required=False, help_text="First day of service, in the time zone of the ride."
    )
    service_date_to = fields.LocalDate(required=False, help_text="Last day of service.")
    facility_id = fields.Uuid(required=False)
    provider_id = fields.Uuid(required=False)
    payer_id = fields.Uuid(required=False)
    status = fields.List(child=fields.Text(max_length=20), required=False, allow_empty=False, max_length=10)
    changed_since = fields.Instant(
        required=False,
        help_text="Rows that changed since then. A row may be repeated without a change: keep the highest rowVersion.",
    )
    kpi = fields.List(
        child=fields.Choice(choices=[(key, key) for key in KPI_BY_KEY]),
        required=False,
        allow_empty=False,
        help_text="Dataset kpis only: keys of KPIs; all by default.",
    )
    service_type = fields.List(
        child=fields.Choice(choices=ServiceType.choices),
        required=False,
        allow_empty=False,
        help_text="Dataset kpis only: types of service to include.",
    )
    group_by = fields.Choice(
        choices=[(interval, interval) for interval in INTERVAL_DAYS],
        required=False,
        help_text="Dataset kpis only: rows for each day, week (from Monday) or month of the period.",
    )
    basis = fields.Choice(
        choices=[(basis.value, basis.value) for basis in (Basis.CLOSED, Basis.LIVE)],
        required=False,
        help_text="Dataset kpis only: closed days as they were closed (the default), or live.",
    )


class _Selection(_Filters):
    columns = fields.List(
        child=fields.Text(max_length=40),
        required=False,
        allow_empty=False,
        max_length=200,
        help_text="Only these columns and those that identify a row, in the order of the dataset.",
    )
    sealed_columns = fields.Boolean(
        default=False,
        help_text="Include encrypted columns: member, Medicaid and license numbers. The export takes longer.",
    )


class ImmediateExportQuery(_Selection, Query):
    """Parameters of an immediate export."""


class ExportListQuery(PageQuery):
    """Filters of the list of exports."""

    state = fields.List(child=fields.Choice(choices=Export.State.choices), required=False, allow_empty=False)


class ExportIn(_Selection):
    """An export job."""

    dataset = fields.Choice(choices=sorted(DATASETS))
    format = fields.Choice(choices=Export.Format.choices)
    lock = fields.Boolean(
        default=False,
        help_text="Dataset completions only: lock the rides against correction. Needs the scope `rides:correct`.",
    )

    example = {
        "dataset": "completions",
        "format": "csv",
        "serviceDateFrom": "2026-11-01",
        "serviceDateTo": "2026-11-15",
        "status": ["completed"],
        "columns": ["serviceDate", "status"],
    }


def export_request(data: Mapping[str, Any], *, dataset: str, format: str) -> ExportRequest:
    """Convert a validated query or body."""
    columns = data.get("columns")
    return ExportRequest(
        dataset=dataset,
        format=format,
        filters={name: data[name] for name in _FILTERS if name in data},
        columns=None if columns is None else tuple(columns),
        sealed=data["sealed_columns"],
    )


class _PhiLevel(fields.Text):
    """The name of a PHI level."""

    def to_representation(self, value: Any) -> str:
        return Phi(value).name.lower()


class ExportOut(Out):
    """An export with its progress.

    `rows` increases while the file is written; `total` was counted at the start.  The file includes everything recorded
    before `dataAsOf`.
    """

    filters = fields.Anything()
    phi = _PhiLevel(help_text="The PHI level of its columns.")

    class Meta:
        model = Export
        fields = [
            "id",
            "dataset",
            "dataset_version",
            "format",
            "columns",
            "filters",
            "phi",
            "state",
            "locked",
            "total",
            "rows",
            "bytes",
            "sha256",
            "error_code",
            "attempts",
            "data_as_of",
            "created_at",
            "ended_at",
            "expires_at",
        ]


class _TypeName(fields.Text):
    """The name of a column type."""

    def to_representation(self, value: Any) -> str:
        return str(value.name.lower())


class ExportLinkOut(OutShape):
    """A link that downloads the file once."""

    url = fields.Text()
    expires_at = fields.Instant()


class ColumnOut(OutShape):
    """One column of a dataset."""

    name = fields.Text()
    kind = _TypeName(
        help_text="id, word, text, count, amount, number, flag, instant, local, date, json, words or sealed."
    )
    phi = _PhiLevel(help_text="Required PHI level; above `none` also the scope `exports:phi`.")


class _Names(fields.List):
    """Names of filters in the API's spelling."""

    def to_representation(self, value: Any) -> list[str]:
        return [camel(name) for name in value]


class DatasetOut(OutShape):
    """A dataset; columns are in the order of the file."""

    name = fields.Text()
    version = fields.Integer(
        help_text="Increases if a column is removed, moved or renamed; new columns are added at the end."
    )
    description = fields.Text()
    filters = _Names(child=fields.Text(), source="conditions")
    statuses = fields.List(child=fields.Text())
    columns = ColumnOut(many=True)


class DatasetsOut(OutShape):
    """All datasets."""

    data = DatasetOut(many=True)  # type: ignore[assignment]  # hides an attribute of the serializer
    page = WholePageOut()
