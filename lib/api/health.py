"""Liveness and readiness of the service."""

from functools import lru_cache

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from lib.access import PUBLIC
from lib.api import fields
from lib.api.serializers import OutShape
from lib.api.views import ApiViewSet
from lib.errors import Code, DomainError


class NotReady(DomainError):
    """The migrations of this version are not applied to the database yet."""

    code = Code.SERVICE_UNAVAILABLE


class HealthOut(OutShape):
    """The answer of a healthy service; any other answer is an error."""

    status = fields.Text()
    example = {"status": "ok"}


class HealthViewSet(ApiViewSet):
    """For load balancers and supervisors. Requires no token and contains no details."""

    scopes = {"live": PUBLIC, "ready": PUBLIC}
    answers = {"live": HealthOut, "ready": HealthOut}

    def live(self, request: Request) -> Response:
        """Check that the process answers."""
        return self.answer({"status": "ok"})

    def ready(self, request: Request) -> Response:
        """Check that requests can be served: the database answers and its migrations are applied."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        _refuse_unmigrated()
        return self.answer({"status": "ok"})


@lru_cache(maxsize=1)
def _refuse_unmigrated() -> None:
    """Raise NotReady until all migrations are applied; after that, this process does not check again."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady(_("The service is not ready."))
