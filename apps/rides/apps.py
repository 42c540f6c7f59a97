from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from lib.reference_checks import checks


class RidesConfig(AppConfig):
    name = "apps.rides"
    verbose_name = _("Rides")

    def ready(self) -> None:
        """Let riders and fleet check ids of each other's records: rides stand above both."""
        from apps.rides.queries import reference_checks  # noqa: PLC0415  # models load after this module

        checks.visible_drivers = reference_checks.drivers
        checks.visible_riders = reference_checks.riders
