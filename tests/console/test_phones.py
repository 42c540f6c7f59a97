"""Phone numbers of the admin forms and in texts; those of console forms are in the tests of each area."""

from typing import Any

import pytest
from django.db.models import Model

from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Driver
from apps.organizations.models import Contact, Facility, TransportProvider
from lib.phones import PhoneField, phone_text
from tests import factories
from tests.console.admin_pages import address_of, form_of, signed_in_as

NO_PHONE = "This is not a phone number. Write it like (201) 555-0123, without an extension."


def _driver() -> tuple[type[Model], str, dict[str, str]]:
    provider = factories.TransportProviderFactory.create()
    return Driver, "phone", {"provider": str(provider.pk), "first_name": "Ana", "last_name": "B"}


def _provider() -> tuple[type[Model], str, dict[str, str]]:
    return TransportProvider, "phone", {"name": "North Vans", "timezone": "America/Chicago"}


@pytest.mark.django_db
@pytest.mark.parametrize("record", [_driver, _provider])
@pytest.mark.parametrize("typed", ["(312) 555-0140", "312-555-0140", "+1 312 555 0140"])
def test_admin_takes_any_common_form_of_a_number(record: Any, typed: str) -> None:
    model, name, values = record()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(model, "add")

    response = client.post(url, form_of(client, url, **values, **{name: typed}))

    row = model._default_manager.latest("created_at")
    assert (response.status_code, getattr(row, name)) == (302, "+13125550140")
    page = client.get(address_of(model, "change", row.pk))
    assert 'value="(312) 555-0140"' in page.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("record", [_driver, _provider])
def test_admin_refuses_a_wrong_number_at_its_field(record: Any) -> None:
    model, name, values = record()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(model, "add")
    before = model._default_manager.count()

    response = client.post(url, form_of(client, url, **values, **{name: "555-0140"}))

    assert response.context["adminform"].form.errors == {name: [NO_PHONE]}
    assert model._default_manager.count() == before


@pytest.mark.django_db
@pytest.mark.parametrize(("typed", "stored"), [("(312) 555-0150", ["+13125550150"]), ("nurse", [])])
def test_contact_of_a_facility_is_called_by_any_number(typed: str, stored: list[str]) -> None:
    facility = factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Facility, "change", facility.pk)
    contact = {"role": "charge_nurse", "name": "Station", "phone": typed, "ext": "2725"}
    inline = {"contacts-TOTAL_FORMS": "1", **{f"contacts-0-{key}": value for key, value in contact.items()}}

    response = client.post(url, form_of(client, url, **inline))

    assert list(Contact.objects.values_list("phone", flat=True)) == stored
    assert (NO_PHONE in response.content.decode()) is not bool(stored)


def test_text_has_the_extension() -> None:
    assert phone_text("+13125550131", "2725") == "(312) 555-0131 ext. 2725"
    assert (phone_text("+13125550131"), phone_text(None)) == ("(312) 555-0131", "")


def test_field_does_not_change_a_number_written_otherwise() -> None:
    assert not PhoneField().has_changed("+13125550140", "312.555.0140")
    assert PhoneField().has_changed("+13125550140", "312.555.0141")
