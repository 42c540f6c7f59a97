"""Unreachable cache: requests pass without rate limits, and quickly."""

import time
from typing import Any

import pytest
from django.test import override_settings
from rest_framework.test import APIClient

from tests.callers import TokenClient

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.api.sample")]
NOBODY = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}


@pytest.fixture(autouse=True)
def _cache_that_is_gone(settings: Any) -> Any:
    with override_settings(CACHES=settings.CACHES | {"throttles": NOBODY}):
        yield


def test_requests_are_served_without_limits(api: TokenClient) -> None:
    began = time.monotonic()

    read = api.get("/api/payers")
    written = api.post("/api/payers", {"name": "a"})

    assert (read.status_code, written.status_code) == (200, 201)
    assert read.headers["RateLimit"] == '"read";r=100;t=0'
    assert time.monotonic() - began < 5


def test_bad_tokens_are_refused_as_ever(nobody: APIClient) -> None:
    refused = nobody.get("/api/payers", headers={"Authorization": "Bearer nonsense"})

    assert refused.status_code == 401
