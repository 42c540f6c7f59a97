"""Age of the downtime pack on the home page, in all states."""

import datetime as dt
from collections.abc import Callable, Iterator

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.dispatch.models import DowntimePack
from tests import factories
from tests.browser.harness import Inspector
from tests.serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]


@pytest.fixture
def service(transactional_db: None) -> Iterator[str]:
    with serving(DOWNTIME_PASSPHRASE="correct horse battery staple") as url:
        yield url


def test_f2_age_of_the_pack_is_shown_and_turns_red_by_itself(inspector_of: InspectorOf) -> None:
    admin = inspector_of(factories.UserFactory.create(role=UserRole.ADMIN))
    found = admin.inspect("/", name="downtime-none")
    pack = DowntimePack.objects.create(made_at=timezone.now(), sheets=80, rides=1500)
    found += admin.inspect("/", name="downtime-fresh")
    with admin.context() as context:
        page = context.new_page()
        page.clock.install()
        page.goto(admin.url)
        fresh = page.locator("#downtime-pack").get_attribute("class")
        DowntimePack.objects.filter(pk=pack.pk).update(made_at=timezone.now() - dt.timedelta(minutes=16))
        page.clock.run_for(61_000)
        expect(page.locator("#downtime-pack")).to_contain_text("Too old.", timeout=30_000)
        old = page.locator("#downtime-pack").get_attribute("class")
    found += admin.inspect("/", name="downtime-old")

    assert found == [], "\n".join(found)
    assert (fresh, old) == ("message success", "message error")
