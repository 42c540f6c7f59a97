"""Which systems were given rider data, and still are."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from apps.accounts.models import ApiToken
from apps.webhooks.models import Endpoint
from apps.webhooks.models.endpoint import PayloadLevel


def granted(client_ids: Collection[UUID], *, at: datetime) -> set[UUID]:
    """Keep the clients that hold a token of PHI level full that works.  One query."""
    return set(_tokens(at).filter(client__in=client_ids).values_list("client", flat=True))


def lapsed(*, at: datetime) -> QuerySet[Endpoint]:
    """Find endpoints that get whole rides though their client holds no such token any more."""
    whole = Endpoint.objects.filter(payload_level=PayloadLevel.FULL_RESOURCE, deleted_at__isnull=True)
    return whole.filter(client__isnull=False).exclude(client__in=_tokens(at).values("client"))


def _tokens(at: datetime) -> QuerySet[ApiToken]:
    return ApiToken.objects.live(at).filter(phi_level=ApiToken.PhiLevel.FULL)
