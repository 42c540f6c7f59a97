"""A hospital, a rider who belongs to it, and a planner who books there."""

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from apps.riders.models import Rider
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.rides.drafts import HOME


@pytest.fixture
def hospital(db: None) -> Facility:
    found = factories.FacilityFactory.create(name="Riverbend General")
    factories.ContactFactory.create(facility=found, role="charge_nurse", name="The nurse", phone="+13125550149")
    factories.ContactFactory.create(facility=found, role="unit", name="4 West")
    return found


@pytest.fixture
def grace(hospital: Facility) -> Rider:
    place = {**HOME, "name": "Daughter", "addressLine1": "9 Elm St"}
    return factories.RiderFactory.create(
        facility=hospital, first_name="Grace", last_name="Walsh", home_address=HOME, saved_places=[place]
    )


@pytest.fixture
def desk(hospital: Facility) -> Client:
    planner = factories.UserFactory.create(role=UserRole.PLANNER, name="Pat Planner")
    planner.facilities.set([hospital])
    client = Client()
    sign_in(client, planner)
    return client
