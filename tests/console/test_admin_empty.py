"""Empty pages of /admin/: the reason, and the next step."""

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.audit.services import audit
from apps.console.templatetags.wording import sentence_case
from apps.fleet.models import Driver
from apps.organizations.models import Facility
from lib.access import system
from tests import factories
from tests.console.admin_pages import address_of, signed_in_as

pytestmark = pytest.mark.django_db

FACILITIES = address_of(Facility, "changelist")


def test_list_of_nothing_says_so() -> None:
    client = signed_in_as(UserRole.ADMIN)

    page = client.get(FACILITIES).content.decode()

    assert "Nothing here yet" in page


def test_filters_that_nothing_passes_can_be_cleared() -> None:
    factories.FacilityFactory.create(kind="hospital")
    client = signed_in_as(UserRole.ADMIN)

    page = client.get(f"{FACILITIES}?kind__exact=clinic").content.decode()

    assert "No results. Change or clear the filters." in page
    assert '<a class="button" href="?">Clear all filters</a>' in page


def test_search_without_a_result_says_what_to_try() -> None:
    factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)

    page = client.post(FACILITIES, {"q": "zzz"}).content.decode()

    assert "No results." in page


def test_list_with_rows_says_nothing_of_the_kind() -> None:
    factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)

    page = client.get(FACILITIES).content.decode()

    assert 'class="nothing"' not in page


def test_record_without_rows_beneath_says_there_are_none() -> None:
    driver = factories.DriverFactory.create()
    client = signed_in_as(UserRole.ADMIN)

    page = client.get(address_of(Driver, "change", driver.pk)).content.decode()
    added = client.get(address_of(Driver, "add")).content.decode()

    assert "There are none." in page
    assert 'id="credentials-heading"' in page
    assert 'id="credentials-heading"' not in added


def test_filter_of_the_audit_trail_offers_no_nameless_choice() -> None:
    audit.record(by=system(), action="sign_in")
    audit.record(by=system(), action="exceptions.read", subject_type="ride_exception")
    client = signed_in_as(UserRole.AUDITOR)

    page = client.get(address_of(AuditEntry, "changelist")).content.decode()

    assert ">ride exception</a>" in page
    assert 'href="?subject_type="' not in page


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Change Password", "Change password"),
        ("\n Enter PIN \n", "Enter PIN"),
        ("Two-Factor Sign In", "Two-factor sign in"),
        ("", ""),
    ],
)
def test_library_pages_are_written_like_ours(written: str, read: str) -> None:
    assert sentence_case(written) == read
