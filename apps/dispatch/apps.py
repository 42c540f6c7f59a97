from django.apps import AppConfig
from django.http import HttpRequest


class DispatchConfig(AppConfig):
    name = "apps.dispatch"

    def ready(self) -> None:
        """Put the board's counters on top of the exceptions desk, which stands below it."""
        from apps.rides.console import above  # noqa: PLC0415  # models load after this module

        above.PARTS.append(_counters)


def _counters(request: HttpRequest) -> str:
    from apps.dispatch.console.counters import strip  # noqa: PLC0415  # needed by servers of pages alone

    return strip(request)
