"""Operator-defined reasons count as a built-in reason."""

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
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


def test_built_in_code_is_not_made_another(client: Client) -> None:
    response = client.post(address_of(ReasonCode, "add"), OURS | {"code": "weather", "parent_code": "rider_request"})

    assert "code" in context_of(response)["adminform"].form.errors
    assert not ReasonCode.objects.exists()


def test_reason_that_is_there_counts_as_what_it_has_counted_as(client: Client) -> None:
    """Figures of existing rides depend on it, and no event would announce the change (docs/adr/0022)."""
    there = ReasonCode.objects.create(
        reason_list="cancelled", code="snow_day", label="Snow day", parent_code="weather", active=True
    )
    other = {"reason_list": "no_show", "code": "ice_day", "parent_code": "rider_request", "label": "Snow", "active": ""}

    response = client.post(address_of(ReasonCode, "change", there.pk), other)

    assert response.status_code == 302
    there.refresh_from_db()
    assert (there.reason_list, there.code, there.parent_code) == ("cancelled", "snow_day", "weather")
    assert (there.label, there.active) == ("Snow", False)
