from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """Every staff page that is not a page of /admin/.  It has no models: pages show and change those of other apps."""

    name = "apps.console"
