"""Callers of the rider API."""

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.organizations.models import Facility
from tests.callers import TokenClient, api_with
from tests.factories import DriverFactory
from tests.riders.requests import PREFERRED_DRIVER


@pytest.fixture
def hospital_api(hospital: Facility) -> TokenClient:
    """An EHR of `hospital`, with full PHI; creates the preferred driver of FULL_BODY."""
    DriverFactory.create(id=PREFERRED_DRIVER)
    return api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[hospital.pk])
