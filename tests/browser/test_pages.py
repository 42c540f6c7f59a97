"""Every page in a real browser: both themes, three widths, as the roles that use it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.services import audit
from apps.events import services as events
from lib.access import system
from tests import factories
from tests.browser.harness import Inspector, faults

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced]
InspectorOf = Callable[[User | None], Inspector]
# Visible controls that change a record: fields and buttons of the main part, and links to add and delete.  Only
# searching and filtering are possible on read-only pages.
CHANGES = """() => [...document.querySelectorAll(
  "main :is(input, select, textarea, [type=submit]), main :is(.addlink, .deletelink, a[href$='/add/'])")]
  .filter((one) => one.checkVisibility() && !one.closest("#changelist-search, .changelist-filters"))
  .map((one) => one.outerHTML)"""


def test_pages_before_sign_in_are_sound(inspector_of: InspectorOf) -> None:
    inspector = inspector_of(None)

    found = inspector.inspect("/accounts/login/", name="login")
    found += inspector.inspect("/accounts/password/reset/", name="password-reset")
    found += inspector.inspect("/accounts/password/reset/done/", name="password-reset-done")
    found += inspector.inspect("/accounts/password/reset/key/1-set-password/", name="password-reset-dead-link")
    found += inspector.inspect("/accounts/signup/", name="no-sign-up")
    found += inspector.inspect("/nowhere/", name="404", status=404)
    found += inspector.inspect("/docs/errors", name="docs-errors")

    assert found == [], "\n".join(found)


@pytest.mark.nightly
def test_pages_of_an_account_are_sound(inspector_of: InspectorOf) -> None:
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))

    found = inspector.inspect("/accounts/2fa/", name="second-factors")
    found += inspector.inspect("/accounts/2fa/totp/activate/", name="totp")
    found += inspector.inspect("/accounts/2fa/webauthn/add/", name="passkey-add")
    found += inspector.inspect("/accounts/2fa/webauthn/", name="passkeys")
    found += inspector.inspect("/accounts/sessions/", name="sessions")
    found += inspector.inspect("/accounts/password/change/", name="password-change")
    found += inspector.inspect("/accounts/reauthenticate/", name="reauthenticate")
    found += inspector.inspect("/accounts/logout/", name="sign-out")
    found += inspector.inspect("/admin/accounts/user/", name="403", status=403)

    assert found == [], "\n".join(found)


def test_pages_of_a_dispatcher_are_sound(inspector_of: InspectorOf) -> None:
    assignment = factories.put_driver_on(factories.RideFactory.create(pickup_at=factories.NOW))
    factories.RideFactory.create()
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))

    found = inspector.inspect("/console/home/", name="home-dispatcher")
    found += inspector.inspect("/admin/", name="admin-index")
    found += inspector.inspect("/admin/rides/ride/", name="rides")
    found += inspector.inspect(f"/admin/rides/ride/{assignment.ride_id}/change/", name="ride")
    found += inspector.inspect("/admin/riders/rider/", name="riders")
    found += inspector.inspect(f"/admin/riders/rider/{assignment.ride.rider_id}/change/", name="rider")
    found += inspector.inspect("/admin/rides/assignment/", name="assignments")
    found += inspector.inspect("/admin/fleet/driver/", name="drivers-read-only")
    found += inspector.inspect("/admin/events/event/", name="events")

    assert found == [], "\n".join(found)


@pytest.mark.nightly
def test_pages_to_look_at_are_sound(inspector_of: InspectorOf) -> None:
    """On read-only pages nothing else takes the focus, and wide rows must be scrollable by keyboard."""
    assignment = factories.put_driver_on(factories.RideFactory.create(pickup_at=factories.NOW))
    ride = assignment.ride
    factories.EntranceFactory.create(facility=ride.facility, instructions="Wait under the canopy; call the desk.")
    factories.AccommodationProfileFactory.create(rider=ride.rider)
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.DISPATCHER))

    found = inspector.inspect(f"/admin/organizations/facility/{ride.facility_id}/change/", name="facility-read-only")
    found += inspector.inspect(
        f"/admin/organizations/transportprovider/{assignment.provider_id}/change/", name="provider"
    )
    found += inspector.inspect(f"/admin/fleet/driver/{assignment.driver_id}/change/", name="driver-read-only")
    found += inspector.inspect(f"/admin/rides/ride/{ride.pk}/change/", name="ride-with-rows")
    found += inspector.inspect("/admin/rides/milestone/", name="milestones-none")
    found += inspector.inspect("/admin/riders/accommodationprofile/", name="profiles")

    assert found == [], "\n".join(found)


@pytest.mark.nightly
def test_a1_pages_of_an_admin_are_sound(inspector_of: InspectorOf) -> None:
    facility = factories.EntranceFactory.create().facility
    factories.ContactFactory.create(facility=facility)
    driver = factories.DriverFactory.create()
    factories.CredentialFactory.create(driver=driver)
    vehicle = factories.VehicleFactory.create()
    person = factories.UserFactory.create(role=UserRole.PLANNER)
    audit.record(by=system(), action="rides.book", subject_type="ride")
    audit.record(by=system(), action="sign_in")
    factories.FacilityFactory.create_batch(24)  # as many checkboxes as in a large city
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.ADMIN))

    found = inspector.inspect("/console/home/", name="home-admin")
    found += inspector.inspect("/console/styles/", name="styles")
    found += inspector.inspect("/admin/", name="admin-index-admin")
    found += inspector.inspect("/admin/organizations/facility/", name="facilities")
    found += inspector.inspect("/admin/organizations/facility/?kind__exact=clinic", name="facilities-none")
    found += inspector.inspect("/admin/organizations/facility/add/", name="facility-add")
    found += inspector.inspect(f"/admin/organizations/facility/{facility.pk}/change/", name="facility")
    found += inspector.inspect(f"/admin/organizations/facility/{facility.pk}/history/", name="facility-history")
    found += inspector.inspect("/admin/fleet/driver/", name="drivers")
    found += inspector.inspect(f"/admin/fleet/driver/{driver.pk}/change/", name="driver")
    found += inspector.inspect(f"/admin/fleet/vehicle/{vehicle.pk}/change/", name="vehicle")
    found += inspector.inspect("/admin/accounts/user/", name="people")
    found += inspector.inspect(f"/admin/accounts/user/{person.pk}/change/", name="person")
    found += inspector.inspect("/admin/audit/auditentry/", name="audit")

    assert found == [], "\n".join(found)


@pytest.mark.parametrize("path", ["/admin/", "/admin/organizations/facility/", "/admin/organizations/facility/add/"])
def test_a2_content_of_admin_takes_most_of_the_window(inspector_of: InspectorOf, path: str) -> None:
    inspector = inspector_of(factories.UserFactory.create(role=UserRole.ADMIN))

    share = inspector.content_share(path)

    assert share >= 0.6


@pytest.mark.parametrize(
    ("role", "tables"),
    [
        (UserRole.DISPATCH_SUPERVISOR, ("rides/ride", "rides/assignment", "events/event")),
        (UserRole.AUDITOR, ("rides/ride", "audit/auditentry")),
        (UserRole.ADMIN, ("audit/auditentry",)),
    ],
    ids=str,
)
def test_a3_data_admin_shows_history_and_never_changes_it(
    inspector_of: InspectorOf, role: UserRole, tables: tuple[str, ...]
) -> None:
    """Only the search field accepts text there."""
    assignment = factories.put_driver_on(factories.RideFactory.create(pickup_at=factories.NOW))
    events.record(
        type="ride.scheduled", subject_type="ride", subject_id=assignment.ride_id, occurred_at=factories.NOW,
        sequence=1, by=system(),
    )  # fmt: skip
    audit.record(by=system(), action="rides.book", subject_type="ride")
    desk = inspector_of(factories.UserFactory.create(role=role))
    with desk.context() as context:
        page = context.new_page()
        for table in tables:
            page.goto(f"{desk.url}/admin/{table}/")
            row = page.locator("#result_list tbody th a").first
            expect(row, table).to_be_visible()
            assert page.evaluate(CHANGES) == [], table
            row.click()
            expect(page.get_by_role("heading", level=1), table).to_be_visible()
            assert page.evaluate(CHANGES) == [], table
            assert faults(page) == [], table
            record = page.url.removesuffix("change/")
            for address in (f"{desk.url}/admin/{table}/add/", f"{record}delete/"):
                answer = page.goto(address)
                assert answer is not None
                assert answer.status == 403, address
