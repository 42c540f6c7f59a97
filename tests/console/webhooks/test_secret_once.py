"""V1: a secret is contained only in the response that created it."""

import datetime as dt
import re
from typing import Any

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.test import Client

from apps.webhooks.models import Endpoint, EndpointSecret
from tests.console.visits import text_of, visitor
from tests.console.webhooks.test_endpoint_form import ADD, GOOD
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db


def _secret_in(response: Any) -> str:
    (found,) = re.findall(r'<code id="secret-text" translate="no">([^<]*)</code>', response.content.decode())
    return str(found)


def _kept(client: Client) -> str:
    return str([session.get_decoded() for session in Session.objects.all()]) + str(client.cookies)


def test_secret_of_a_new_endpoint_is_shown_once() -> None:
    client = visitor()

    answer = client.post(ADD, GOOD)

    secret = _secret_in(answer)
    endpoint = Endpoint.objects.get()
    page = f"/console/developers/endpoints/{endpoint.pk}/"
    assert secret == EndpointSecret.objects.get().text
    assert f'data-shown-once="{page}"' in answer.content.decode(), "what a reload opens"
    assert answer["Cache-Control"] == "no-store"
    later = [client.get(path).content.decode() for path in (page, f"{page}change/", "/console/developers/endpoints/")]
    assert secret not in "".join(later) + _kept(client) + str(answer.headers)


def test_own_secret_is_taken() -> None:
    visitor().post(ADD, GOOD | {"secret": made.SECRET})

    assert EndpointSecret.objects.get().text == made.SECRET


def test_rotation_shows_new_secret_and_old_remains_for_overlap() -> None:
    endpoint = made.endpoint()
    client = visitor()
    page = f"/console/developers/endpoints/{endpoint.pk}/"

    answer = client.post(f"{page}rotate/", {"overlap": "3600"})

    secret = _secret_in(answer)
    older, newer = EndpointSecret.objects.order_by("created_at", "pk")
    assert (newer.text, newer.expires_at) == (secret, None)
    assert (older.text, older.expires_at) == (made.SECRET, NOW + dt.timedelta(hours=1))
    assert "Deliveries are signed with 2 secrets until the older ones run out." in text_of(answer)
    shown = client.get(page)
    assert "the secret of Fri, Nov 20, 09:00 , an older secret, until Fri, Nov 20, 10:00" in text_of(shown)
    assert secret not in shown.content.decode() + _kept(client)


def test_rotation_without_overlap_leaves_one_secret() -> None:
    endpoint = made.endpoint()
    client = visitor()
    page = f"/console/developers/endpoints/{endpoint.pk}/"

    answer = client.post(f"{page}rotate/", {"overlap": "0", "secret": made.SECRET})

    assert _secret_in(answer) == made.SECRET
    assert "Deliveries are signed with" not in text_of(answer)
    assert "an older secret" not in text_of(client.get(page))
    (valid,) = endpoint.valid_secrets(NOW)
    assert (valid.expires_at, valid.text) == (None, made.SECRET)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"overlap": "86400", "secret": "whsec_no"}, "Your own secret must be whsec_ and the base64"),
        ({"overlap": "31536000"}, "31536000 is not one of the available choices."),
    ],
)
def test_rotation_that_is_refused_says_so_on_the_page(asked: dict[str, str], says: str) -> None:
    endpoint = made.endpoint()

    answer = visitor().post(f"/console/developers/endpoints/{endpoint.pk}/rotate/", asked)

    assert answer.status_code == 422
    assert says in text_of(answer)
    assert "whsec_no" not in answer.content.decode()
    assert EndpointSecret.objects.get().text == made.SECRET


def test_rotation_asks_who_it_is_when_the_sign_in_is_old() -> None:
    endpoint = made.endpoint()
    client = visitor()

    with time_machine.travel(NOW + dt.timedelta(minutes=6), tick=False):
        answer = client.post(f"/console/developers/endpoints/{endpoint.pk}/rotate/", {"overlap": "0"})

    assert answer["Location"].startswith("/accounts/reauthenticate/?next=%2Fconsole%2Fdevelopers%2Fendpoints%2F")
    assert EndpointSecret.objects.get().text == made.SECRET
