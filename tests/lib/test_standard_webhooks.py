"""Signatures, as the official library and the specification have them."""

import base64
import datetime as dt

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from lib.standard_webhooks import (
    BadSecret,
    NotGenuine,
    ed25519_of,
    headers,
    hmac_of,
    new_private_key,
    new_secret,
    public_bytes,
    verify,
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
    one, other = new_secret(), new_secret()

    assert one != other
    assert len(hmac_of(one).key) == 32


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
def test_secrets_of_the_shortest_and_the_longest_kind_are_read(size: int) -> None:
    assert hmac_of("whsec_" + base64.b64encode(b"k" * size).decode()).key == b"k" * size


def test_an_old_timestamp_is_refused_by_the_receiver() -> None:
    secret = new_secret()
    old = int((NOW - dt.timedelta(minutes=6)).timestamp())

    sent = headers(ID, timestamp=old, body=BODY, signers=[hmac_of(secret)])

    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(BODY, sent)


@pytest.mark.parametrize("late", [-300, 0, 300])
def test_what_was_signed_lately_is_genuine(late: int) -> None:
    signer, now = hmac_of(new_secret()), int(NOW.timestamp())
    sent = headers(ID, timestamp=now, body=BODY, signers=[hmac_of(new_secret()), signer])

    verify(sent, BODY, signer=signer, now=now + late)


@pytest.mark.parametrize(
    ("late", "changed"),
    [
        (301, {}),
        (-301, {}),
        (0, {"webhook-id": "another"}),
        (0, {"webhook-timestamp": "soon"}),
        (0, {"webhook-signature": "v1,é"}),
    ],
)
def test_what_is_old_or_signed_otherwise_is_not_genuine(late: int, changed: dict[str, str]) -> None:
    signer, now = hmac_of(new_secret()), int(NOW.timestamp())
    sent = headers(ID, timestamp=now, body=BODY, signers=[signer])

    with pytest.raises(NotGenuine):
        verify(sent | changed, BODY, signer=signer, now=now + late)


@pytest.mark.parametrize("lacking", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_what_lacks_a_header_is_not_genuine(lacking: str) -> None:
    signer, now = hmac_of(new_secret()), int(NOW.timestamp())
    sent = headers(ID, timestamp=now, body=BODY, signers=[signer])
    del sent[lacking]

    with pytest.raises(NotGenuine):
        verify(sent, BODY, signer=signer, now=now)
