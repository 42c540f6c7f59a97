"""Admin of facilities, transport providers and payers."""

from typing import Any

from django.contrib import admin
from django.forms import Select
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.organizations import services
from apps.organizations.models import (
    CalendarShift,
    Contact,
    Entrance,
    EscalationPolicy,
    Facility,
    HomeBase,
    Payer,
    TransportProvider,
)
from apps.organizations.rules.opening_hours import in_words
from apps.organizations.zones import known_zones
from lib import zone_labels
from lib.access import Principal
from lib.admin import ReadOnlyInline, Rows, ScopedAdmin, ScopedInline, SeenVersionForm
from lib.phones import phone_text


class ZonedAdmin(ScopedAdmin[Any]):
    """Admin of a model with a `timezone` column, which offers the known time zones."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "timezone":
            kwargs["widget"] = Select(choices=[("", "---------"), *zone_labels.choices(known_zones(), iana=True)])
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @admin.display(description=_("Time zone"), ordering="timezone")
    def zone_name(self, row: Any) -> str:
        return zone_labels.long_name(row.timezone)


class EntranceInline(ScopedInline[Entrance, Facility]):
    model = Entrance
    fields = ("name", "instructions", "hours", "curb_rules", "wheelchair_ok", "lat", "lng")


class ContactInline(ScopedInline[Contact, Facility]):
    model = Contact
    fields = ("role", "name", "phone", "ext")
    removable = True


class CalendarShiftInline(ReadOnlyInline[CalendarShift, Facility]):
    """Calendar shifts, read-only here: they move rides, so pages that list these rides enter, apply and undo them."""

    model = CalendarShift
    fields = ("from_date", "to_date", "new_chair_time", "offset_minutes", "applies_to", "applied_at", "undone_at")


@admin.register(Facility)
class FacilityAdmin(ZonedAdmin):
    form = SeenVersionForm
    subject_type = "facility"
    list_display = ("name", "kind", "city", "state", "zone_name", "booking_policy", "active")
    list_filter = ("kind", "active", "booking_policy")
    list_select_related = ()
    ordering = ("name", "id")
    search_fields = ("name", "city")
    search_placeholder = _("Name or city")
    inlines = (EntranceInline, ContactInline, CalendarShiftInline)
    fieldsets = (
        (None, {"fields": ("name", "kind", "active", "timezone", "modifier_code")}),
        (
            _("Address"),
            {
                "fields": (
                    "address_line1",
                    "address_line2",
                    ("city", "state", "postal_code"),
                    ("lat", "lng"),
                    "geofence_radius_meters",
                )
            },
        ),
        (
            _("Booking"),
            {"fields": ("booking_policy", "lead_time_minutes", "late_cancel_minutes", "return_leg_policy", "hours")},
        ),
        (
            _("Service levels, in minutes"),
            {
                "fields": (
                    ("pickup_early_minutes", "pickup_late_minutes"),
                    ("arrive_early_minutes", "arrive_too_early_minutes"),
                    ("discharge_target_minutes", "discharge_max_minutes"),
                    ("will_call_response_minutes", "no_show_wait_minutes"),
                    "escalation_policy",
                )
            },
        ),
    )

    @admin.display(description=_("Hours"))
    def hours_in_words(self, facility: Facility) -> str:
        return in_words(facility.hours) or "-"

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Show opening hours as text to people who cannot change them."""
        fieldsets = super().get_fieldsets(request, obj)
        if not self.has_change_permission(request, obj):
            for _title, options in fieldsets:
                options["fields"] = ["hours_in_words" if name == "hours" else name for name in options["fields"]]
        return fieldsets

    def record_event(self, request: HttpRequest, row: Facility) -> None:
        services.record_event(row, by=self.site.principal_of(request), at=timezone.now())


class UnscopedAdmin(ScopedAdmin[Any]):
    """Admin of a model without data scope: people who may open it see all rows."""

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        return rows


@admin.register(EscalationPolicy)
class EscalationPolicyAdmin(UnscopedAdmin):
    subject_type = "escalation_policy"
    list_display = ("name", "step_minutes")
    list_select_related = ()
    ordering = ("name", "id")


@admin.register(Payer)
class PayerAdmin(UnscopedAdmin):
    subject_type = "payer"
    list_display = ("name", "signature_rule", "signers", "odometer_required", "authorization_required", "active")
    list_filter = ("active", "signature_rule", "signers")
    list_select_related = ()
    ordering = ("name", "id")
    search_fields = ("name",)
    search_placeholder = _("Name")


class HomeBaseInline(ScopedInline[HomeBase, TransportProvider]):
    model = HomeBase
    fields = ("name", "address_line1", "city", "state", "postal_code", "lat", "lng")


@admin.register(TransportProvider)
class TransportProviderAdmin(ZonedAdmin):
    subject_type = "provider"
    list_display = ("name", "phone_number", "zone_name", "active")
    list_filter = ("active",)
    list_select_related = ()
    ordering = ("name", "id")
    search_fields = ("name",)
    search_placeholder = _("Name")
    inlines = (HomeBaseInline,)
    fields = ("name", "phone", "timezone", "active")

    @admin.display(description=_("phone"), ordering="phone")
    def phone_number(self, row: TransportProvider) -> str:
        return phone_text(row.phone)


@admin.register(HomeBase)
class HomeBaseAdmin(ScopedAdmin[HomeBase]):
    subject_type = "home_base"
    list_display = ("name", "provider", "city", "state")
    list_filter = ("provider",)
    list_select_related = ("provider",)
    ordering = ("name", "id")
    fields = (
        "provider",
        "name",
        "address_line1",
        "address_line2",
        ("city", "state", "postal_code"),
        ("lat", "lng"),
    )
