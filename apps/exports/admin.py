"""Admin of the codes that exports suggest."""

from django.contrib import admin

from apps.exports.models import SuggestedCode
from lib.access import Principal
from lib.admin import Rows, ScopedAdmin


@admin.register(SuggestedCode)
class SuggestedCodeAdmin(ScopedAdmin[SuggestedCode]):
    subject_type = "suggested_code"
    list_display = ("item", "payer", "code")
    list_filter = ("item",)
    list_select_related = ("payer",)
    ordering = ("item", "id")

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """Return all rows: codes are the same for every caller."""
        return rows
