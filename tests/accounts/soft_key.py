"""Software passkey: answers of a browser and its authenticator in a ceremony (WebAuthn Level 2, 7.1 and 7.2)."""

import hashlib
import json
import os
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

FLAG = AuthenticatorData.FLAG


@dataclass
class SoftKey:
    """One credential; `verifies`: whether it verifies its user, by PIN or fingerprint."""

    origin: str
    rp_id: str
    verifies: bool = True
    user_handle: str = ""
    credential_id: bytes = field(default_factory=lambda: os.urandom(16))
    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def create(self, options: dict[str, Any]) -> str:
        """Answer creation options with a new credential, as the JSON that a page posts."""
        asked = options["publicKey"]
        self.user_handle = asked["user"]["id"]
        public = ES256.from_cryptography_key(self.private.public_key())  # type: ignore[no-untyped-call]  # fido2 types it not
        attested = AttestedCredentialData.create(Aaguid.NONE, self.credential_id, public)
        data = AuthenticatorData.create(self._rp_hash, self._flags | FLAG.AT, 0, attested)
        client = CollectedClientData.create("webauthn.create", asked["challenge"], self.origin)
        response = {
            "clientDataJSON": websafe_encode(client),
            "attestationObject": websafe_encode(AttestationObject.create("none", data, {})),
        }
        return self._posted(response, {"credProps": {"rk": True}})

    def get(self, options: dict[str, Any]) -> str:
        """Answer request options with a signature."""
        client = CollectedClientData.create("webauthn.get", options["publicKey"]["challenge"], self.origin)
        data = AuthenticatorData.create(self._rp_hash, self._flags, 0)
        signature = self.private.sign(data + client.hash, ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": websafe_encode(client),
            "authenticatorData": websafe_encode(data),
            "signature": websafe_encode(signature),
            "userHandle": self.user_handle,
        }
        return self._posted(response, {})

    @property
    def _rp_hash(self) -> bytes:
        return hashlib.sha256(self.rp_id.encode()).digest()

    @property
    def _flags(self) -> Any:
        return FLAG.UP | FLAG.UV if self.verifies else FLAG.UP

    def _posted(self, response: dict[str, str], extensions: dict[str, Any]) -> str:
        name = websafe_encode(self.credential_id)
        return json.dumps(
            {
                "id": name,
                "rawId": name,
                "type": "public-key",
                "response": response,
                "clientExtensionResults": extensions,
                "authenticatorAttachment": "platform",
            }
        )
