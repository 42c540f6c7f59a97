"""Access to the webhook pages, and to rows that do not exist."""

import pytest
from django.urls import reverse

from apps.accounts.rules.roles import UserRole
from apps.webhooks.models import Delivery, Endpoint
from lib.ids import uuid7
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

PLAIN = ("webhook_endpoints", "add_webhook_endpoint", "webhook_deliveries")
OF_ENDPOINT = (
    "webhook_endpoint",
    "change_webhook_endpoint",
    "last_webhook_test",
    "recover_webhook_endpoint",
    "webhook_recoveries",
)
OF_DELIVERY = ("webhook_delivery", "webhook_delivery_progress")
POSTS_TO_ENDPOINT = (
    "test_webhook_endpoint",
    "pause_webhook_endpoint",
    "resume_webhook_endpoint",
    "remove_webhook_endpoint",
    "rotate_webhook_secret",
)
POSTS_TO_DELIVERY = ("resend_webhook_delivery", "cancel_webhook_delivery")


def _pages(endpoint_id: object, delivery_id: object) -> list[str]:
    pages = [reverse(name) for name in PLAIN]
    pages += [reverse(name, kwargs={"endpoint_id": endpoint_id}) for name in OF_ENDPOINT]
    return pages + [reverse(name, kwargs={"delivery_id": delivery_id}) for name in OF_DELIVERY]


def _posts(endpoint_id: object, delivery_id: object) -> list[str]:
    posts = [reverse(name, kwargs={"endpoint_id": endpoint_id}) for name in POSTS_TO_ENDPOINT]
    return posts + [reverse(name, kwargs={"delivery_id": delivery_id}) for name in POSTS_TO_DELIVERY]


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_open_to_people_who_manage_webhooks_alone(role: UserRole) -> None:
    endpoint = made.endpoint()
    delivery = made.delivery(endpoint, made.event())
    client = visitor(role)

    opened = {client.get(page).status_code for page in _pages(endpoint.pk, delivery.pk)}

    assert opened == ({200} if role == UserRole.ADMIN else {403})


@pytest.mark.parametrize("role", [role for role in UserRole if role != UserRole.ADMIN])
def test_posts_of_others_change_nothing(role: UserRole) -> None:
    endpoint = made.endpoint()
    delivery = made.delivery(endpoint, made.event())
    client = visitor(role)

    answers = {client.post(page).status_code for page in _posts(endpoint.pk, delivery.pk)}
    answers |= {client.post(reverse(name)).status_code for name in (*PLAIN[1:2], "resend_webhook_deliveries")}

    assert answers == {403}
    assert Endpoint.objects.get().version == 1
    assert Delivery.objects.get().status == "pending"


def test_page_that_is_refused_says_which_role_opens_it() -> None:
    response = visitor(UserRole.PLANNER).get("/console/developers/endpoints/")

    assert "You are signed in as discharge planner. The page is for: admin." in text_of(response)


def test_what_is_not_there_is_not_found() -> None:
    removed = made.endpoint(deleted_at=NOW)
    delivery = made.delivery(removed, made.event())
    client = visitor()

    for endpoint_id, delivery_id in ((removed.pk, delivery.pk), (uuid7(), uuid7())):
        answers = [client.get(page).status_code for page in _pages(endpoint_id, delivery_id)[len(PLAIN) :]]
        answers += [
            client.post(page, {"overlap": "0", "confirm": "yes"}).status_code
            for page in _posts(endpoint_id, delivery_id)
        ]
        assert set(answers) == {404}


def test_changes_need_the_token_of_the_form_and_a_post() -> None:
    endpoint = made.endpoint()
    delivery = made.delivery(endpoint, made.event())
    client, forged = visitor(), visitor(checks_csrf=True)

    assert {client.get(page).status_code for page in _posts(endpoint.pk, delivery.pk)} == {405}
    assert {forged.post(page).status_code for page in _posts(endpoint.pk, delivery.pk)} == {403}
    assert Endpoint.objects.get().state == "active"


def test_developers_begin_with_the_endpoints() -> None:
    assert visitor().get("/console/developers/")["Location"] == "/console/developers/endpoints/"


def test_titles_and_addresses_name_nothing_that_people_wrote() -> None:
    endpoint = made.endpoint(name="Canary engine")
    client = visitor()

    titles = {
        client.get(page).content.decode().partition("<title>")[2].partition("</title>")[0]
        for page in _pages(endpoint.pk, made.delivery(endpoint, made.event()).pk)
    }

    assert not [title for title in titles if "Canary" in title]
    assert "Webhook endpoint · Carelane" in titles
