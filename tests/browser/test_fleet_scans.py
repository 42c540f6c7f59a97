"""Scans of credentials in a browser, and the second person who verifies a credential."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Document
from apps.fleet.services import credential_reminders
from tests import factories
from tests.browser.days import today
from tests.browser.harness import Inspector, faults
from tests.fleet.crew import fit_driver
from tests.fleet.scans import PDF, PNG

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]
FLEET = "/console/fleet/"


@pytest.fixture
def sam(transactional_db: None) -> User:
    return factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR, name="Sam Supervisor")


def test_a_scan_is_sent_in_saved_and_removed(inspector_of: InspectorOf, sam: User, tmp_path: Path) -> None:
    driver = fit_driver(last_name="Diaz", first_name="Ada")
    (tmp_path / "Ada Diaz.pdf").write_bytes(PDF)
    (tmp_path / "page.pdf").write_bytes(b"<html><script>alert(1)</script></html>")
    (tmp_path / "photo.png").write_bytes(PNG)
    inspector, found = inspector_of(sam), []
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}{FLEET}drivers/{driver.pk}/credentials/mvr/")
        add = page.get_by_role("button", name="Add the scan")
        page.get_by_label("Scan: PDF, JPEG or PNG").set_input_files(tmp_path / "page.pdf")
        add.click()
        expect(page.locator(".error-summary")).to_be_focused()
        expect(page.locator(".error-summary")).to_contain_text("neither PDF nor JPEG nor PNG")
        found += faults(page)
        assert not Document.objects.exists()

        for name in ("Ada Diaz.pdf", "photo.png"):
            page.get_by_label("Scan: PDF, JPEG or PNG").set_input_files(tmp_path / name)
            add.click()
            expect(page.get_by_text("The scan is saved.")).to_be_visible()
        expect(page.locator("main")).not_to_contain_text("Ada Diaz")
        found += faults(page)

        with page.expect_download() as saved:
            page.get_by_role("link", name="Save scan 1 (PDF)").click()
        assert saved.value.suggested_filename.startswith("mvr-")
        assert saved.value.suggested_filename.endswith(".pdf")
        assert Path(saved.value.path()).read_bytes() == PDF
        opened = context.request.get(f"{inspector.url}{FLEET}documents/{Document.objects.earliest('pk').pk}/")
        assert opened.headers["content-disposition"].startswith("attachment")
        assert opened.headers["content-security-policy"].startswith("sandbox")

        page.get_by_text("Remove… scan 1").click()
        page.get_by_role("button", name="Remove permanently").first.click()
        expect(page.locator(".error-summary")).to_be_focused()
        found += faults(page)
        page.get_by_label("Reason for the removal").first.fill("Somebody else's")
        page.get_by_role("button", name="Remove permanently").first.click()
        expect(page.get_by_text("The scan is removed.")).to_be_visible()
        expect(page.get_by_role("link", name="Save scan 1 (PNG)")).to_be_visible()

    assert Document.objects.filter(removed_at__isnull=True).count() == 1
    assert found == [], "\n".join(found)


def test_a_credential_is_verified_by_somebody_else(inspector_of: InspectorOf, sam: User) -> None:
    driver = fit_driver(last_name="Diaz", first_name="Ada")
    other = factories.UserFactory.create(role=UserRole.FLEET_ADMIN, name="Flo Fleet")
    other.providers.add(driver.provider)
    path, found = f"{FLEET}drivers/{driver.pk}/credentials/mvr/", []
    first, second = inspector_of(sam), inspector_of(other)
    with first.context() as context:
        page = context.new_page()
        page.goto(first.url + path)
        page.get_by_label("Expiration date").fill((today() + dt.timedelta(days=300)).isoformat())
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("row", name="Motor vehicle record")).to_contain_text("Not verified")
        found += faults(page)
        page.goto(first.url + path)
        expect(page.get_by_text("You entered this credential. Someone else has to verify it.")).to_be_visible()
        expect(page.get_by_role("button", name="Verify")).to_have_count(0)
        found += faults(page)
    with second.context() as context:
        page = context.new_page()
        page.goto(f"{second.url}{FLEET}credentials/?status=unverified")
        found += faults(page)
        page.get_by_role("link", name="Diaz, Ada").click()
        page.get_by_role("link", name="Open… Motor vehicle record").click()
        page.get_by_role("button", name="Verify").click()
        expect(page.get_by_text("The credential is verified.")).to_be_visible()
        found += faults(page)

    credential = driver.credentials.get(type="mvr", replaced=False)
    assert (credential.entered_by, credential.verified_by) == (f"user:{sam.pk}", f"user:{other.pk}")
    assert found == [], "\n".join(found)


def test_a_reminder_leads_from_the_inbox_to_the_credential(inspector_of: InspectorOf, sam: User) -> None:
    driver = fit_driver(last_name="Diaz", first_name="Ada")
    driver.credentials.filter(type="mvr").update(expires_on=today() + dt.timedelta(days=14))
    admin = factories.UserFactory.create(role=UserRole.FLEET_ADMIN, name="Flo Fleet")
    admin.providers.add(driver.provider)
    credential_reminders.send_expiry_reminders(at=timezone.now())
    inspector, found = inspector_of(admin), []
    with inspector.context() as context:
        page = context.new_page()
        page.goto(f"{inspector.url}/console/inbox/")
        expect(page.locator("main")).to_contain_text(
            "A credential of a driver expires in 14 days: motor vehicle record"
        )
        expect(page.locator("main")).not_to_contain_text("Diaz")
        found += faults(page)
        page.get_by_role("link", name="Show").click()
        expect(page).to_have_url(f"{inspector.url}{FLEET}drivers/{driver.pk}/#mvr")
        expect(page.get_by_role("row", name="Motor vehicle record")).to_contain_text("14 days left")

    assert found == [], "\n".join(found)
