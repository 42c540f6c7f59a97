"""Secrets of endpoints and the signing key of the deployment: create and rotate them."""

import base64
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.webhooks.models import Endpoint, EndpointSecret, SigningKey
from apps.webhooks.services import endpoint_states
from lib.access import Principal
from lib.errors import InvalidInput
from lib.standard_webhooks import (
    PUBLIC_PREFIX,
    BadSecret,
    Ed25519,
    ed25519_of,
    hmac_of,
    new_private_key,
    new_secret,
    public_bytes,
)

DEFAULT_OVERLAP: Final = timedelta(days=1)
MAX_OVERLAP: Final = timedelta(days=7)
RETIRED_KEY_LISTED_FOR: Final = timedelta(days=7)  # for deliveries that were signed before
MAX_VALID: Final = 3  # at once: each adds a signature to the header


def first(endpoint: Endpoint, text: str | None, *, by: Principal, at: datetime) -> str:
    """Store the secret of a new endpoint; without `text`, one is generated.

    Raises:
        InvalidInput: the secret is invalid.
    """
    return _store(endpoint, text, by=by, at=at)


@transaction.atomic
def rotate(
    *,
    endpoint_id: UUID,
    text: str | None = None,
    overlap: timedelta = DEFAULT_OVERLAP,
    by: Principal,
    at: datetime,
) -> tuple[Endpoint, str]:
    """Rotate the secret of an endpoint; deliveries are signed with the older secret too for `overlap`.

    Without an overlap all older secrets expire now, those of earlier rotations too.  At most MAX_VALID are valid at
    once: the oldest ones are deleted.

    Raises:
        NotFound: there is no such endpoint.
        InvalidInput: the overlap is longer than seven days, or the secret is invalid.
    """
    if not timedelta(0) <= overlap <= MAX_OVERLAP:
        raise InvalidInput(
            "overlapSeconds", _("%(field)s must be 0 to %(maximum)s."), maximum=int(MAX_OVERLAP.total_seconds())
        )
    endpoint = endpoint_states.lock_for_change(endpoint_id, by)
    endpoint.secrets.filter(expires_at__lte=at).delete()
    ending = endpoint.secrets.filter(expires_at__isnull=True) if overlap else endpoint.secrets.all()
    ending.update(expires_at=at + overlap)
    text = _store(endpoint, text, by=by, at=at)
    valid = list(endpoint.secrets.order_by("-created_at", "-pk").values_list("pk", flat=True))
    endpoint.secrets.filter(pk__in=valid[MAX_VALID:]).delete()
    endpoint.version += 1  # so that workers reload the secrets
    endpoint.updated_at = at
    endpoint.save(update_fields=["version", "updated_at"])
    audit.record(by=by, action="webhooks.rotate_secret", subject_type="endpoint", subject_id=endpoint.pk)
    return endpoint, text


def ensure_signing_key(*, at: datetime) -> SigningKey:
    """Return the current ed25519 key of the deployment; create it if there is none."""
    return SigningKey.objects.filter(retired_at__isnull=True).first() or _make_key(at)


@transaction.atomic
def rotate_signing_key(*, by: Principal, at: datetime) -> SigningKey:
    """Replace the ed25519 key; the older one stays at /webhooks/keys for seven days."""
    SigningKey.objects.filter(retired_at__isnull=True).update(retired_at=at)
    key = _make_key(at)
    Endpoint.objects.filter(asymmetric=True).update(version=F("version") + 1)
    audit.record(by=by, action="webhooks.rotate_signing_key", subject_type="key", subject_id=key.pk)
    return key


def current_signer() -> Ed25519 | None:
    """Return the key that signs now; None before the first endpoint requires one."""
    key = SigningKey.objects.filter(retired_at__isnull=True).first()
    return None if key is None else ed25519_of(key.private)


def jwks(*, at: datetime) -> dict[str, Any]:
    """Return the public keys as a JSON Web Key Set (RFC 7517, RFC 8037), the current one first."""
    listed = Q(retired_at__isnull=True) | Q(retired_at__gt=at - RETIRED_KEY_LISTED_FOR)
    return {
        "keys": [
            {
                "kty": "OKP",
                "crv": "Ed25519",
                "use": "sig",
                "alg": "EdDSA",
                "kid": str(key.pk),
                # As libraries of Standard Webhooks read it.
                "whpk": PUBLIC_PREFIX + base64.b64encode(bytes(key.public)).decode(),
                "x": base64.urlsafe_b64encode(bytes(key.public)).rstrip(b"=").decode(),
            }
            for key in SigningKey.objects.filter(listed).order_by("-created_at")
        ]
    }


def _make_key(at: datetime) -> SigningKey:
    private = new_private_key()
    key = SigningKey(public=public_bytes(ed25519_of(private)), created_at=at)
    key.private = private
    key.save(force_insert=True)
    return key


def _store(endpoint: Endpoint, text: str | None, *, by: Principal, at: datetime) -> str:
    text = new_secret() if text is None else text
    try:
        hmac_of(text)
    except BadSecret:
        template = _("%(field)s must be whsec_ and the base64 of 24 to 64 bytes.")
        raise InvalidInput("secret", template, detail_code="bad_secret") from None
    secret = EndpointSecret(endpoint=endpoint, created_at=at, created_by=by.actor)
    secret.text = text
    secret.save(force_insert=True)
    return text
