"""GET /health/live and /health/ready."""

from typing import Any

import pytest
from django.db.migrations.recorder import MigrationRecorder

from lib.api import health
from tests.callers import TokenClient, error_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _forget() -> None:
    health._refuse_unmigrated.cache_clear()


def test_service_lives_and_is_ready(nobody: TokenClient) -> None:
    for path in ("/api/health/live", "/api/health/ready"):
        response = nobody.get(path)
        assert (response.status_code, response.json()) == (200, {"status": "ok"})
        assert response.headers["Cache-Control"] == "no-store"


def test_service_is_not_ready_before_its_migrations(nobody: TokenClient) -> None:
    MigrationRecorder.Migration.objects.filter(app="events").delete()

    response = nobody.get("/api/health/ready")

    error = error_of(response)
    assert (error["code"], error["message"]) == ("SERVICE_UNAVAILABLE", "The service is not ready.")
    assert response.headers["Retry-After"] == "5"
    assert nobody.get("/api/health/live").status_code == 200


def test_readiness_asks_for_migrations_once(nobody: TokenClient, django_assert_num_queries: Any) -> None:
    nobody.get("/api/health/ready")

    with django_assert_num_queries(1):
        nobody.get("/api/health/ready")
