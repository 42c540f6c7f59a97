"""Export destinations in a real browser, with uploads to a real server."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.exports.models import ExportDestination
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.exports import places
from tests.exports.destinations import servers
from tests.exports.destinations.servers import INSIDE, Listening
from tests.factories import NOW

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]


@pytest.fixture(autouse=True)
def inside(settings: Any, tmp_path: Path) -> None:
    settings.EXPORT_DESTINATION_NETWORKS = INSIDE.networks
    settings.EXPORTS_DIR = str(tmp_path / "exports")


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    (tmp_path / "root").mkdir()
    with servers.sftp(tmp_path / "root") as found:
        yield found


@pytest.fixture
def desk(inspector_of: InspectorOf) -> Inspector:
    return inspector_of(factories.UserFactory.create(role=UserRole.ADMIN))


def test_pages_are_sound(desk: Inspector) -> None:
    found = desk.inspect("/console/destinations/", name="destinations-empty")
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmwm0lrV6v4oe/QXajrYz83drreKabLmpIkrQD0Rp+x"
    failing = places.server(host_key=key, failed_at=NOW, failure_code="host_key_changed", folder="in/daily")
    works = places.bucket(tested_at=NOW, sent_at=NOW, phi_agreed_at=NOW, phi_agreed_by="system", folder="carelane")
    places.bucket(name="Old bucket", active=False)

    found += desk.inspect("/console/destinations/", name="destinations")
    for one, name in ((failing, "destination-sftp"), (works, "destination-s3")):
        found += desk.inspect(f"/console/destinations/{one.pk}/", name=name)
    for kind in ("s3", "sftp"):
        found += desk.inspect(f"/console/destinations/add/{kind}/", name=f"destination-add-{kind}")

    assert found == [], "\n".join(found)


def test_server_is_added_compared_and_tried(desk: Inspector, listening: Listening) -> None:
    with desk.context() as context:
        page = context.new_page()
        page.goto(f"{desk.url}/console/destinations/add/sftp/")
        page.get_by_role("textbox", name="Name").fill("Payer's drop box")
        page.get_by_role("textbox", name="Host").fill("127.0.0.1")
        page.get_by_role("spinbutton", name="Port").fill(str(listening.port))
        page.get_by_role("textbox", name="User").fill(servers.USERNAME)
        page.get_by_role("radio", name="A password").check()
        page.get_by_role("textbox", name="Password").fill(servers.PASSWORD)
        with page.expect_navigation():
            page.get_by_role("button", name="Save").click()
        with page.expect_navigation():
            page.get_by_role("button", name="Test").click()
        expect(page.locator("main")).to_contain_text("no host key is trusted")
        with page.expect_navigation():
            page.get_by_role("button", name="Get host keys").click()
        found = faults(page)
        with page.expect_navigation():
            page.get_by_role("button", name="The fingerprint matches").click()
        with page.expect_navigation():
            page.get_by_role("button", name="Test").click()
        expect(page.locator("body")).to_contain_text("The test succeeded: a file was uploaded and deleted again.")
        found += faults(page)

    assert found == [], "\n".join(found)
    assert (ExportDestination.objects.get().host_key, listening.there()) == (listening.host_key, {})
