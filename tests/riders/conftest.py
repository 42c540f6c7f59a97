"""Whoever asks for riders."""

import pytest

from apps.accounts.roles import TokenRole
from apps.organizations.models import Facility
from tests.callers import TokenClient, api_with


@pytest.fixture
def hospital_api(hospital: Facility) -> TokenClient:
    """An EHR of `hospital`, with full PHI."""
    return api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[hospital.pk])
