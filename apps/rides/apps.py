from django.apps import AppConfig


class RidesConfig(AppConfig):
    name = "apps.rides"
