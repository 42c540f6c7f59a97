"""Admin of dispatch: the sign-offs of dispatchers, to look at."""

from django.contrib import admin

from apps.dispatch.models import Handover
from lib.access import Phi, Principal
from lib.admin import Rows, ScopedAdmin


@admin.register(Handover)
class HandoverAdmin(ScopedAdmin[Handover]):
    read_only = True
    audits_reads = True  # a note may name riders
    subject_type = "handover"
    list_display = ("signed_at", "signed_by", "note")
    list_display_links = ("signed_at",)
    list_select_related = ()
    ordering = ("-signed_at", "id")
    fields = (("signed_at", "signed_by"), "note")
    needs_phi = {"note": Phi.FULL}

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """Return all rows: the desk hands over as a whole, as on the handover page."""
        return rows
