"""Admin of riders: read-only, by permission; every view is audited with the riders that it showed."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _

from apps.riders.models import AccommodationProfile, Rider
from lib.access import Phi, Principal
from lib.admin import PostedSearchChangeList, ReadOnlyInline, Rows, ScopedAdmin
from lib.phones import phone_text
from lib.scopes import Scope


class AccommodationProfileInline(ReadOnlyInline[AccommodationProfile, Rider]):
    model = AccommodationProfile
    fields = ("number", "current", "mobility", "assist_level", "oxygen_uses", "precautions", "recorded_at")
    ordering = ("-number",)


class RiderList(PostedSearchChangeList):
    """A list whose rows open the rider's page of the console."""

    def url_for_result(self, result: Model) -> str:
        return reverse("rider_page", args=[result.pk])


@admin.register(Rider)
class RiderAdmin(ScopedAdmin[Rider]):
    read_only = True
    audits_reads = True
    subject_type = "rider"
    list_display = ("last_name", "first_name", "date_of_birth", "status", "verified")
    list_display_links = ("last_name", "first_name")
    list_filter = ("status", "verified")
    list_select_related = ()
    ordering = ("last_name", "first_name", "id")
    search_fields = ("last_name__istartswith", "first_name__istartswith")
    search_placeholder = _("First letters of a name")
    inlines = (AccommodationProfileInline,)
    needs_phi = {
        "first_name": Phi.LIMITED,
        "last_name": Phi.LIMITED,
        "preferred_name": Phi.LIMITED,
        "date_of_birth": Phi.FULL,
        "phone_numbers": Phi.FULL,
        "email": Phi.FULL,
        "home": Phi.FULL,
    }
    fieldsets = (
        (None, {"fields": ("last_name", "first_name", "preferred_name", "date_of_birth", "status", "status_reason")}),
        (_("Contact"), {"fields": ("phone_numbers", "email", "home", "language", "interpreter_needed")}),
        (_("Consent"), {"fields": ("sms_consent", "sms_consent_at", "contact_preference", "verified")}),
        (_("Record"), {"fields": ("version", "created_at", "updated_at")}),
    )

    def rider_ids_of(self, row: Rider) -> Iterable[UUID]:
        return (row.pk,)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return RiderList if self.site.principal_of(request).has_scope(Scope.RIDERS_READ) else PostedSearchChangeList

    def name_of(self, row: Rider, request: HttpRequest) -> str:
        return f"{row.last_name}, {row.first_name}" if self.has_view_permission(request) else str(row)

    @admin.display(description=_("Phones"))
    def phone_numbers(self, rider: Rider) -> str:
        numbers = ((phone_text(phone["number"], phone.get("ext")), phone.get("kind", "")) for phone in rider.phones)
        return format_html_join(", ", "{} ({})", numbers)

    @admin.display(description=_("Home address"))
    def home(self, rider: Rider) -> str:
        address: dict[str, Any] = rider.home_address or {}
        return ", ".join(filter(None, (address.get(key) for key in ("addressLine1", "addressLine2", "city", "state"))))


@admin.register(AccommodationProfile)
class AccommodationProfileAdmin(ScopedAdmin[AccommodationProfile]):
    read_only = True
    audits_reads = True
    subject_type = "accommodation"
    list_display = ("recorded_at", "rider", "number", "current", "mobility", "assist_level")
    list_filter = ("current", "mobility", "assist_level")
    list_select_related = ("rider",)
    ordering = ("-recorded_at", "id")
    needs_phi = {"driver_notes": Phi.FULL, "dispatcher_notes": Phi.FULL, "rider_weight_lb": Phi.FULL}

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """Filter to profiles of riders in the data scope."""
        return rows.filter(rider__in=Rider.objects.visible_to(principal))

    def rider_ids_of(self, row: AccommodationProfile) -> Iterable[UUID]:
        return (row.rider_id,)
