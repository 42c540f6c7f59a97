"""Verify an ed25519 signature with the public keys of GET /webhooks/keys.  Needs the package cryptography."""

import base64

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def genuine(headers, body, keys):
    """Tell whether one of these keys signed the body; `keys` is the answer of GET /webhooks/keys."""
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    for signature in headers["webhook-signature"].split(" "):
        scheme, _, encoded = signature.partition(",")
        for key in keys["keys"] if scheme == "v1a" else ():
            public = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key["x"] + "="))
            try:
                public.verify(base64.b64decode(encoded), content)
            except InvalidSignature:
                continue
            return True
    return False
