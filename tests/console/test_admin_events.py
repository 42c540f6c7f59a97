"""Changes in /admin/ record the same events as changes through the API."""

from typing import Any

import pytest
from django.db.models import Model

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.fleet.models import Driver, Vehicle
from apps.organizations.models import Facility, Payer
from tests import factories
from tests.console.admin_pages import address_of, form_of, signed_in_as

pytestmark = pytest.mark.django_db


def _events() -> list[Any]:
    columns = ("type", "subject_type", "subject_id", "sequence", "facility_id", "provider_id", "data")
    return list(Event.objects.order_by("id").values_list(*columns))


def test_facility_edit_records_one_event_with_inline_rows() -> None:
    facility = factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Facility, "change", facility.pk)
    contact = {"role": "charge_nurse", "name": "Nurse station", "phone": "+13125550150"}
    beneath = {"contacts-TOTAL_FORMS": "1", **{f"contacts-0-{key}": value for key, value in contact.items()}}

    response = client.post(url, form_of(client, url, name="St. Brigid North", **beneath))

    event = Event.objects.get()
    assert response.status_code == 302
    assert facility.contacts.count() == 1
    assert _events() == [
        ("facility.updated", "facility", facility.pk, 2, facility.pk, None, {"facilityId": str(facility.pk)})
    ]
    assert event.actor == AuditEntry.objects.earliest("at").actor
    assert event.request_id == AuditEntry.objects.earliest("at").request_id


@pytest.mark.parametrize(
    ("model", "factory", "change"),
    [
        (Driver, factories.DriverFactory, {"first_name": "Ana"}),
        (Vehicle, factories.VehicleFactory, {"color": "blue"}),
    ],
)
def test_edit_of_the_fleet_records_one_event(model: type[Model], factory: Any, change: dict[str, str]) -> None:
    record = factory.create()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(model, "change", record.pk)
    subject = model._meta.model_name

    response = client.post(url, form_of(client, url, **change))

    assert response.status_code == 302
    assert _events() == [
        (f"{subject}.updated", subject, record.pk, 2, None, record.provider_id, {f"{subject}Id": str(record.pk)})
    ]


def test_new_driver_records_one_event() -> None:
    provider = factories.TransportProviderFactory.create()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Driver, "add")
    given = {"provider": str(provider.pk), "first_name": "Ana", "last_name": "B", "phone": "+13125550150"}

    response = client.post(url, form_of(client, url, **given))

    driver = Driver.objects.get()
    assert response.status_code == 302
    assert _events() == [("driver.created", "driver", driver.pk, 1, None, provider.pk, {"driverId": str(driver.pk)})]


def test_refused_form_records_no_event() -> None:
    facility = factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Facility, "change", facility.pk)

    response = client.post(url, form_of(client, url, name=""))

    assert response.status_code == 200
    assert Event.objects.count() == 0


def test_change_whose_event_cannot_be_recorded_is_not_made() -> None:
    facility = factories.FacilityFactory.create()
    taken = {"subject_type": "facility", "subject_id": facility.pk, "sequence": 2, "occurred_at": factories.NOW}
    Event.objects.create(type="facility.updated", actor="system", **taken)
    client = signed_in_as(UserRole.ADMIN)
    client.raise_request_exception = False
    url = address_of(Facility, "change", facility.pk)

    response = client.post(url, form_of(client, url, name="St. Brigid North"))

    facility.refresh_from_db()
    assert response.status_code == 500
    assert (facility.name, facility.version) != ("St. Brigid North", 2)
    assert AuditEntry.objects.filter(action="facilities.update").count() == 0


def test_tables_that_integrators_do_not_follow_record_none() -> None:
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Payer, "add")

    client.post(url, form_of(client, url, name="County plan"))

    assert Payer.objects.count() == 1
    assert Event.objects.count() == 0
