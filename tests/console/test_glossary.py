"""The glossary of the console."""

import pytest

from apps.accounts.rules.roles import UserRole
from apps.rides.labels import STATUSES
from apps.rides.rules.lifecycle import RideStatus
from tests.console.visits import text_of, visitor

pytestmark = pytest.mark.django_db

PAGE = "/console/glossary/"


@pytest.mark.parametrize("role", UserRole)
def test_glossary_is_linked_for_every_role(role: UserRole) -> None:
    desk = visitor(role)

    home = desk.get("/console/home/").content.decode()

    assert f'class="menu-item" href="{PAGE}"' in home
    assert desk.get(PAGE).status_code == 200


def test_glossary_explains_every_status_and_term() -> None:
    page = visitor(UserRole.PLANNER).get(PAGE)

    labels = [str(badge.text) for badge, _text in page.context["statuses"]]
    assert labels[: len(RideStatus)] == [str(STATUSES[status]) for status in RideStatus]
    said = text_of(page)
    for term in ("Promise", "Will-call", "No-show", "Missed trip", "Fulfillment", "Turnback", "Standing order"):
        assert term in said


def test_glossary_is_in_spanish() -> None:
    said = text_of(visitor(UserRole.PLANNER).get(PAGE, headers={"Accept-Language": "es"}))

    assert "Glosario" in said
    assert not [word for word in ("Promise", "Turnback", "ride", "rider") if word in said.split()]
