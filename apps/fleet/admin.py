"""Admin of the fleet.  Activation and status are read-only here: the services change them, with all consequences."""

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import CapacityConfig, Credential, Driver, Shift, Vehicle
from apps.fleet.services import changes
from lib.admin import ReadOnlyInline, ScopedAdmin, ScopedInline, SeenVersionForm
from lib.local_time import local_time


class DriverCredentialInline(ReadOnlyInline[Credential, Driver]):
    model = Credential
    fk_name = "driver"
    fields = ("type", "issuer", "issued_on", "expires_on", "blocking", "rejected", "replaced")


class VehicleCredentialInline(ReadOnlyInline[Credential, Vehicle]):
    model = Credential
    fk_name = "vehicle"
    fields = ("type", "issuer", "issued_on", "expires_on", "blocking", "rejected", "replaced")


@admin.register(Driver)
class DriverAdmin(ScopedAdmin[Driver]):
    form = SeenVersionForm
    subject_type = "driver"
    list_display = ("last_name", "first_name", "provider", "activation", "employment", "on_break")
    list_display_links = ("last_name", "first_name")
    list_filter = ("activation", "employment", "provider")
    list_select_related = ("provider",)
    ordering = ("last_name", "first_name", "id")
    search_fields = ("last_name__istartswith", "first_name__istartswith", "phone")
    search_placeholder = _("Name or phone")
    inlines = (DriverCredentialInline,)
    readonly_fields = (
        "activation",
        "activation_reason",
        "activation_changed_at",
        "activation_changed_by",
        "on_break",
    )
    fieldsets = (
        (None, {"fields": ("provider", ("first_name", "last_name"), ("phone", "email"), "employment")}),
        (
            _("Activation"),
            {
                "fields": (
                    ("activation", "activation_reason"),
                    ("activation_changed_at", "activation_changed_by"),
                    "on_break",
                ),
                "description": _(
                    "Drivers are activated and suspended on their page in Fleet, which checks credentials and rides."
                ),
            },
        ),
        (_("Work"), {"fields": ("home_base", "default_vehicle", "qualifications", "languages", "gender")}),
        (_("License"), {"fields": (("license_state", "license_class"),)}),
    )

    def name_of(self, row: Driver, request: HttpRequest) -> str:
        """Name drivers by first name, which is enough for planners, or in full for roles that may view drivers."""
        return f"{row.first_name} {row.last_name}" if self.has_view_permission(request) else row.first_name

    def record_event(self, request: HttpRequest, row: Driver) -> None:
        changes.record_event(row, by=self.site.principal_of(request), at=timezone.now())


class CapacityConfigInline(ScopedInline[CapacityConfig, Vehicle]):
    model = CapacityConfig
    fields = ("name", "ambulatory", "wheelchair", "stretcher")


@admin.register(Vehicle)
class VehicleAdmin(ScopedAdmin[Vehicle]):
    form = SeenVersionForm
    subject_type = "vehicle"
    list_display = ("unit_number", "type", "license_plate", "provider", "status", "lift_type")
    list_filter = ("status", "type", "provider")
    list_select_related = ("provider",)
    ordering = ("unit_number", "id")
    search_fields = ("unit_number__istartswith", "license_plate__istartswith", "vin")
    search_placeholder = _("Unit number, plate or VIN")
    inlines = (CapacityConfigInline, VehicleCredentialInline)
    readonly_fields = ("status", "odometer_miles")
    fieldsets = (
        (None, {"fields": ("provider", ("unit_number", "type"), ("license_plate", "plate_state"), "status")}),
        (_("Make"), {"fields": (("make", "model"), ("year", "color"), ("vin", "odometer_miles"), "home_base")}),
        (
            _("Equipment"),
            {
                "fields": (
                    ("lift_type", "lift_rating_lb"),
                    "max_chair_width_in",
                    ("oxygen_mount", "bariatric", "stair_chair"),
                )
            },
        ),
    )

    def name_of(self, row: Vehicle, request: HttpRequest) -> str:
        return row.unit_number

    def record_event(self, request: HttpRequest, row: Vehicle) -> None:
        changes.record_event(row, by=self.site.principal_of(request), at=timezone.now())


@admin.register(Credential)
class CredentialAdmin(ScopedAdmin[Credential]):
    read_only = True
    subject_type = "credential"
    list_display = ("type", "driver", "vehicle", "expires_on", "blocking", "rejected", "replaced")
    list_filter = ("type", "blocking", "rejected", "replaced")
    list_select_related = ("driver", "vehicle")
    ordering = ("expires_on", "id")
    fields = (
        "type",
        "driver",
        "vehicle",
        "number",
        "issuer",
        ("issued_on", "expires_on"),
        "entered_by",
        ("verified_at", "verified_by"),
        ("blocking", "rejected", "replaced"),
        "warn_days",
    )


@admin.register(Shift)
class ShiftAdmin(ScopedAdmin[Shift]):
    read_only = True
    subject_type = "shift"
    list_display = ("starts", "ends", "driver", "vehicle", "provider", "status")
    list_display_links = ("starts",)
    list_filter = ("status", "provider")
    list_select_related = ("driver", "vehicle", "provider")
    ordering = ("-starts_at", "id")
    fields = ("provider", "driver", "vehicle", ("starts", "ends"), "status", "version")

    @admin.display(ordering="starts_at")
    def starts(self, shift: Shift) -> str:
        return local_time(shift.starts_at, shift.provider.timezone)

    @admin.display(ordering="ends_at")
    def ends(self, shift: Shift) -> str:
        return local_time(shift.ends_at, shift.provider.timezone)
