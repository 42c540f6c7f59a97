from django.apps import AppConfig


class RidersConfig(AppConfig):
    name = "apps.riders"
