from django.apps import AppConfig


class RecurringConfig(AppConfig):
    name = "apps.recurring"
