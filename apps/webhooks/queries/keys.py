"""The deployment's signing keys, to sign with and to verify by."""

import base64
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q

from apps.webhooks.models import SigningKey
from lib.standard_webhooks import PUBLIC_PREFIX, Ed25519, ed25519_of

SHOWN_AFTER_RETIRING: Final = timedelta(days=7)  # for deliveries signed before


def present_signer() -> Ed25519 | None:
    """Read the key that signs now; None before the first endpoint asked for one."""
    key = SigningKey.objects.filter(retired_at__isnull=True).first()
    return None if key is None else ed25519_of(key.private)


def jwks(*, at: datetime) -> dict[str, Any]:
    """Write the public keys as a JSON Web Key Set (RFC 7517, RFC 8037), the present one first."""
    kept = SigningKey.objects.filter(Q(retired_at__isnull=True) | Q(retired_at__gt=at - SHOWN_AFTER_RETIRING))
    return {
        "keys": [
            {
                "kty": "OKP",
                "crv": "Ed25519",
                "use": "sig",
                "alg": "EdDSA",
                "kid": str(key.pk),
                "whpk": PUBLIC_PREFIX
                + base64.b64encode(bytes(key.public)).decode(),  # as libraries of the standard read it
                "x": base64.urlsafe_b64encode(bytes(key.public)).rstrip(b"=").decode(),
            }
            for key in kept.order_by("-created_at")
        ]
    }
