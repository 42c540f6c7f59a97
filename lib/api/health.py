"""Whether the service lives, and whether it can work."""

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
    """The database is not the one this version of the service works with yet."""

    code = Code.SERVICE_UNAVAILABLE


class HealthOut(OutShape):
    """Says that all is well; anything else is an error."""

    status = fields.Text()
    example = {"status": "ok"}


class HealthViewSet(ApiViewSet):
    """For load balancers and supervisors. Needs no token and tells no details."""

    scopes = {"live": PUBLIC, "ready": PUBLIC}
    answers = {"live": HealthOut, "ready": HealthOut}

    def live(self, request: Request) -> Response:
        """Ask whether the process answers at all."""
        return self.answer({"status": "ok"})

    def ready(self, request: Request) -> Response:
        """Ask whether requests can be served: the database answers and its migrations are applied."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        _refuse_unmigrated()
        return self.answer({"status": "ok"})


@lru_cache(maxsize=1)
def _refuse_unmigrated() -> None:
    """Refuse until every migration is applied; once they are, they stay so for this process."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise NotReady(_("The service is not ready."))
