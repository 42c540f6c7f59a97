"""Django app for the project's own checks, and for compiling translations before the first request."""

from django.apps import AppConfig
from django.core.checks import Tags, register

from config import deployment_checks, translations


class Carelane(AppConfig):
    name = "config"
    label = "carelane"

    def ready(self) -> None:
        translations.compile_all()
        for check in (
            deployment_checks.shared_cache,
            deployment_checks.shared_limits,
            deployment_checks.broker,
            deployment_checks.database_transport,
            translations.are_compiled,
        ):
            register(check, Tags.security, deploy=True)
        for check in (deployment_checks.demo_mode, deployment_checks.database_role):
            register(check, Tags.database, deploy=True)
