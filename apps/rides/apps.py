from django.apps import AppConfig

from lib import neighbours


class RidesConfig(AppConfig):
    name = "apps.rides"

    def ready(self) -> None:
        """Tell riders and drivers of one another: rides stand above the two."""
        from apps.rides.queries.neighbours import drivers, riders  # noqa: PLC0415  # models load after this module

        neighbours.register("driver", drivers)
        neighbours.register("rider", riders)
