"""Signatures, compared to the official library and the specification."""

import base64
import datetime as dt

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from lib.standard_webhooks import (
    BadSecret,
    ed25519_of,
    headers,
    hmac_of,
    new_private_key,
    new_secret,
    public_bytes,
)
from tests.factories import NOW

ID, BODY = "01994b1c-0000-7000-8000-000000000000", b'{"test": 2432232314}'


def test_the_vector_of_the_specification_comes_out() -> None:
    signer = hmac_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    sent = headers("msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp=1614265330, body=BODY, signers=[signer])

    assert sent == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


def test_both_secrets_of_a_rotation_verify_and_a_third_does_not() -> None:
    new, old, other = new_secret(), new_secret(), new_secret()

    sent = headers(ID, timestamp=int(NOW.timestamp()), body=BODY, signers=[hmac_of(new), hmac_of(old)])

    for secret in (new, old):
        assert Webhook(secret).verify(BODY, sent) == {"test": 2432232314}
    with pytest.raises(WebhookVerificationError):
        Webhook(other).verify(BODY, sent)


def test_an_ed25519_signature_verifies_with_the_public_half() -> None:
    signer = ed25519_of(new_private_key())

    sent = headers(ID, timestamp=1763632800, body=BODY, signers=[signer])

    scheme, _, signature = sent["webhook-signature"].partition(",")
    assert scheme == "v1a"
    public = Ed25519PublicKey.from_public_bytes(public_bytes(signer))
    public.verify(base64.b64decode(signature), f"{ID}.1763632800.".encode() + BODY)


def test_secrets_are_new_each_time_and_of_the_usual_form() -> None:
    first, second = new_secret(), new_secret()

    assert first != second
    assert len(base64.b64decode(first.removeprefix("whsec_"))) == 32
    hmac_of(first)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "whsec_",
        "whsec_c2hvcnQ=",
        "whsec_not base64 at all, but long enough to be one",
        base64.b64encode(b"k" * 32).decode(),
        "whsec_" + base64.b64encode(b"k" * 23).decode(),
        "whsec_" + base64.b64encode(b"k" * 65).decode(),
        "whsec_" + "ü" * 40,
    ],
)
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(BadSecret):
        hmac_of(text)


@pytest.mark.parametrize("size", [24, 64])
def test_shortest_and_longest_secret_sign(size: int) -> None:
    secret = "whsec_" + base64.b64encode(b"k" * size).decode()

    sent = headers(ID, timestamp=int(NOW.timestamp()), body=BODY, signers=[hmac_of(secret)])

    assert Webhook(secret).verify(BODY, sent) == {"test": 2432232314}


def test_an_old_timestamp_is_refused_by_the_receiver() -> None:
    secret = new_secret()
    old = int((NOW - dt.timedelta(minutes=6)).timestamp())

    sent = headers(ID, timestamp=old, body=BODY, signers=[hmac_of(secret)])

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY, sent)
