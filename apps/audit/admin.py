"""The audit trail, to look at."""

from uuid import UUID

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from apps.audit.models import AuditEntry
from lib.access import Principal
from lib.admin import Rows, ScopedAdmin


@admin.register(AuditEntry)
class AuditEntryAdmin(ScopedAdmin[AuditEntry]):
    read_only = True
    audits_reads = True
    subject_type = "audit"
    list_display = ("at", "actor", "role", "action", "subject_type", "subject_id", "outcome")
    list_display_links = ("at", "action")
    list_filter = ("outcome", "role", "subject_type")
    list_select_related = ()
    ordering = ("-at", "id")
    search_fields = ("subject_id__exact", "actor", "action", "request_id")
    search_placeholder = _("Id of a rider or record, actor, action or request id")
    fields = (
        ("at", "outcome"),
        ("actor", "role"),
        "action",
        ("subject_type", "subject_id"),
        "rider_ids",
        "facility_id",
        "phi",
        "reason",
        "details",
        ("request_id", "ip"),
    )

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """The trail has no data scope: a reader sees all entries, and the read is recorded."""
        return rows

    def get_search_results(self, request: HttpRequest, queryset: Rows, search_term: str) -> tuple[Rows, bool]:
        """Find who saw or changed a rider by the indexes; what is no rider's id is looked for in every row."""
        try:
            rider_id = UUID(search_term.strip())
        except ValueError:
            return super().get_search_results(request, queryset, search_term)
        of_rider = queryset.filter(Q(rider_ids__contains=[rider_id]) | Q(subject_type="rider", subject_id=rider_id))
        if of_rider.exists():
            return of_rider, False
        return super().get_search_results(request, queryset, search_term)
