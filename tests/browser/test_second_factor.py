"""Pages that a password alone opens in a real browser if a second factor is required: no rider data (U4)."""

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import expect

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.rides.models import RideException
from tests import factories
from tests.browser.harness import Inspector, faults
from tests.serving import serving

pytestmark = [pytest.mark.browser, pytest.mark.real_clock, pytest.mark.untraced, pytest.mark.nightly]
InspectorOf = Callable[[User | None], Inspector]
PASSWORD = "a heron stands in the canal"
SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
NAME = "Abernathy-Quill"
ENROLMENT, LOGIN, CODE = "/accounts/2fa/", "/accounts/login/", "/accounts/2fa/authenticate/"


@pytest.fixture
def service(transactional_db: None) -> Iterator[str]:
    with serving(DEMO_MODE="false") as url:
        yield url


@pytest.mark.parametrize("has_factor", [False, True], ids=["enrols first", "has one"])
def test_u4_no_page_or_part_names_a_rider_before_second_factor(inspector_of: InspectorOf, has_factor: bool) -> None:
    cache.clear()
    person = factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR)
    person.set_password(PASSWORD)
    person.save()
    now = timezone.now()
    ride = factories.RideFactory.create(rider=factories.RiderFactory.create(last_name=NAME), pickup_at=now)
    told = {"severity": "warning", "opened_by": "system", "detected_by": "browser", "summary": "Late"}
    late = RideException.objects.create(
        ride=ride, rider=ride.rider, facility=ride.facility, type="late_pickup", opened_at=now, updated_at=now, **told
    )
    if has_factor:
        TOTP.activate(person, SEED)
    pages = (
        "/",
        "/console/home/",
        "/console/board/",
        "/console/board/?view=list",
        f"/console/rides/{ride.pk}/",
        f"/console/board/rides/{ride.pk}/",
        "/console/exceptions/",
        f"/console/exceptions/{late.pk}/",
        f"/console/book/?rider={ride.rider_id}",
        "/console/inbox/",
        f"/admin/rides/ride/{ride.pk}/change/",
        f"/console/riders/{ride.rider_id}/",
    )
    parts = ("/console/board/changes/", "/console/exceptions/list/", "/console/live/changes/", "/console/find/")
    stranger, seen, ends = inspector_of(None), [], set()
    with stranger.context() as context:
        page = context.new_page()
        page.goto(f"{stranger.url}/console/rides/{ride.pk}/")
        page.locator("[name=login]").fill(person.email)
        page.locator("[name=password]").fill(PASSWORD)
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.wait_for_url(f"**{CODE if has_factor else ENROLMENT}**")
        seen.append(page.content())
        found = faults(page)
        for path in pages:
            page.goto(stranger.url + path)
            ends.add(urlsplit(page.url).path)
            seen.append(page.content())
        for path in parts:
            answer = context.request.get(stranger.url + path)
            ends.add(urlsplit(answer.url).path)
            seen.append(answer.text())
        token = page.locator("[name=csrfmiddlewaretoken]").first.get_attribute("value") or ""
        for path in ("/console/find/", "/console/book/riders/"):
            form: dict[str, str | float | bool] = {"q": NAME, "csrfmiddlewaretoken": token}
            answer = context.request.post(stranger.url + path, form=form, headers={"Referer": stranger.url})
            ends.add(urlsplit(answer.url).path)
            seen.append(answer.text())
        seen.append(context.request.get(f"{stranger.url}/api/rides/{ride.pk}").text())

    assert ends <= ({LOGIN, CODE} if has_factor else {ENROLMENT})
    assert [NAME in said for said in seen] == [False] * len(seen)
    assert found == [], "\n".join(found)
    desk = inspector_of(person)
    with desk.context() as context:
        page = context.new_page()
        for path in pages[2:]:
            page.goto(desk.url + path)
            if path != "/console/inbox/":
                expect(page.locator("body"), path).to_contain_text(NAME)
