"""Reasons that the operator adds count as one of the built-in ones."""

import pytest
from django.test import Client

from apps.accounts.roles import UserRole
from apps.rides.models import ReasonCode
from tests.console.admin_pages import address_of, context_of, signed_in_as

pytestmark = pytest.mark.django_db
OURS = {"reason_list": "cancelled", "code": "snow_day", "label": "Snow day", "active": "on"}


@pytest.fixture
def client() -> Client:
    return signed_in_as(UserRole.ADMIN)


def test_reason_counts_as_a_built_in_one(client: Client) -> None:
    response = client.post(address_of(ReasonCode, "add"), OURS | {"parent_code": "weather"})

    assert response.status_code == 302
    assert ReasonCode.objects.get().parent_code == "weather"


@pytest.mark.parametrize("wrong", [{"parent_code": "bad_mood"}, {"parent_code": "weather", "reason_list": "none"}])
def test_reason_that_counts_as_nothing_is_refused_by_its_field(client: Client, wrong: dict[str, str]) -> None:
    response = client.post(address_of(ReasonCode, "add"), OURS | wrong)

    assert "parent_code" in context_of(response)["adminform"].form.errors
    assert not ReasonCode.objects.exists()
