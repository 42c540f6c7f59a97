"""Callers of the API, and checks of their answers."""

import datetime as dt
import json
from typing import Any

from django.conf import settings
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import ApiToken
from apps.accounts.rules import token_format
from apps.accounts.rules.roles import PHI_LIMIT_OF_TOKEN, TokenRole
from apps.accounts.services.authentication import digest_of
from lib.errors import Code
from tests.factories import ApiClientFactory


class TokenClient(APIClient):
    """API client that sends its token."""

    token: ApiToken
    text: str


def api_with(role: TokenRole = TokenRole.FULL_ACCESS, **columns: Any) -> TokenClient:
    """Return a client whose token has `role` and the highest PHI level of that role; `columns` are of ApiToken.

    A request costs one query for the token: its `last_used_at` is fresh, and its client is not shared.
    """
    parts = token_format.generate()
    pepper_id = settings.TOKEN_PEPPERS[0].partition(":")[0]
    token = ApiToken.objects.create(
        **(
            {
                "client": columns.pop("client", None) or ApiClientFactory.create(),
                "key_id": parts.key_id,
                "digest": digest_of(parts.secret, pepper_id=pepper_id),
                "pepper_id": pepper_id,
                "role": role,
                "api_version": "2026-11-20",
                "phi_level": PHI_LIMIT_OF_TOKEN[role].name.lower(),
                "expires_at": timezone.now() + dt.timedelta(days=60),
                "last_used_at": timezone.now(),
                "created_by": "system",
            }
            | columns
        )
    )
    api = TokenClient(raise_request_exception=False)
    api.token, api.text = token, token_format.write(parts)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {api.text}")
    return api


def error_of(response: Any) -> dict[str, Any]:
    """Check that the answer is a complete error object, and return it."""
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    body = json.loads(response.content)
    assert list(body) == ["error"]
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "message", "requestId", "retryable", "details", "docs"}
    assert error["requestId"] == response.headers["X-Request-Id"]
    assert error["docs"] == f"/docs/errors#{error['code']}"
    assert response.status_code == Code[error["code"]].status
    assert error["retryable"] is Code[error["code"]].retryable
    return error
