"""List preferences: rows and columns, and private and shared views."""

from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.test import Client

from apps.accounts.models import ListPreferences, SavedView, User
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import saved_views
from lib.errors import NotFound
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_driver
from tests.webhooks import made

pytestmark = pytest.mark.django_db

LISTS = "/console/lists/"
DELIVERIES = "/console/developers/deliveries/"
DESK = "/console/exceptions/"
DRIVERS = "/console/fleet/drivers/"
CREDENTIALS = "/console/fleet/credentials/"
ORDERS = "/console/recurring/"


def _person(role: UserRole, **columns: Any) -> tuple[User, Client]:
    person = factories.UserFactory.create(role=role, **columns)
    client = Client()
    sign_in(client, person)
    return person, client


def _arrange(client: Client, page: str, **sent: Any) -> Any:
    return client.post(f"{LISTS}{page}/look/", {"rows": "50", "sort": "", "query": ""} | sent)


def _save(client: Client, page: str, query: str, name: str = "Mine", shared_with: str = "") -> Any:
    sent = {"name": name, "query": query, "shared_with": shared_with}
    return client.post(f"{LISTS}{page}/views/", sent, follow=True)


def _named(response: Any) -> list[str]:
    return [one["view"].name for one in response.context["views"]]


def test_list_preferences_belong_to_one_person() -> None:
    made.delivery(made.endpoint(), made.event())
    admin, other = visitor(), visitor()
    offered = ["status", "endpoint", "created", "attempts", "result", "next"]

    answer = _arrange(
        admin, "webhook_deliveries", rows="100", sort="created", query="status=pending",
        offered=offered, columns=["status", "created"],
    )  # fmt: skip

    assert answer["Location"] == f"{DELIVERIES}?status=pending&sort=created&rows=100"
    page = admin.get(DELIVERIES)
    assert (page.context["shown"].rows, sorted(page.context["shown"].columns)) == (100, ["created", "status"])
    assert "Attempts" not in page.content.decode().partition("<thead>")[2].partition("</thead>")[0]
    assert other.get(DELIVERIES).context["shown"].rows == 50
    assert len(other.get(DELIVERIES).context["shown"].columns) == 6
    assert admin.get(f"{DELIVERIES}?rows=200").context["shown"].rows == 200
    preferences = ListPreferences.objects.get()
    assert str(preferences) == f"list preferences {preferences.pk}"


def test_invalid_size_or_column_changes_nothing() -> None:
    admin = visitor()

    bare = _arrange(admin, "webhook_deliveries", offered=["status", "created"], columns=[])
    sized = _arrange(admin, "webhook_deliveries", rows="7", query="status=held")

    assert told(admin.get(bare["Location"])) == [
        "Leave at least one column.", "Choose one of these numbers of rows: 50, 100, 200.",
    ]  # fmt: skip
    assert sized["Location"] == f"{DELIVERIES}?status=held"
    assert ListPreferences.objects.count() == 0
    _arrange(admin, "webhook_deliveries", offered=["status", "made_up"], columns=["status"])
    assert ListPreferences.objects.get().hidden_columns == []


def test_columns_that_were_not_on_offer_stay_as_they_were() -> None:
    fit_driver()
    desk = visitor(UserRole.DISPATCH_SUPERVISOR)

    _arrange(desk, "credential_board", offered=["broken", "mvr", "driver_license"], columns=["driver_license"])
    _arrange(desk, "credential_board", query="of=vehicles", offered=["broken", "insurance"], columns=["broken"])

    assert ListPreferences.objects.get().hidden_columns == ["insurance", "mvr"]
    page = desk.get(CREDENTIALS)
    assert [kind for kind, _label in page.context["types"]] == [
        "driver_license", "exclusion_check_oig", "background_check",
    ]  # fmt: skip
    assert len(page.context["rows"][0]["cells"]) == 3


def test_lists_that_are_not_theirs_or_nowhere_keep_nothing() -> None:
    analyst = visitor(UserRole.ANALYST)

    assert _arrange(analyst, "exceptions").status_code == 403
    assert _arrange(analyst, "elsewhere").status_code == 404
    assert analyst.post(f"{LISTS}exceptions/views/", {"name": "x"}).status_code == 403
    assert analyst.post(f"{LISTS}elsewhere/views/", {"name": "x"}).status_code == 404
    board = visitor(UserRole.DISPATCHER).post(f"{LISTS}board/views/", {"name": "x"})
    assert board.status_code == 404, "the board has no views"
    assert (ListPreferences.objects.count(), SavedView.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("role", "page", "path", "query", "kept"),
    [
        (UserRole.ADMIN, "webhook_deliveries", DELIVERIES, "status=held&type=ride.%2A&secret=Abernathy&after=x",
         "status=held&type=ride.%2A"),
        (UserRole.ADMIN, "webhook_deliveries", DELIVERIES, "since=2026-11-01&ride=Abernathy&sort=created&rows=100",
         "since=2026-11-01&sort=created&rows=100"),
        (UserRole.DISPATCHER, "exceptions", DESK, "severity=critical&owner=x&rows=7&sort=harm",
         "severity=critical"),
        (UserRole.DISPATCHER, "exceptions_history", f"{DESK}history/", "closed=hand&facility=x&sort=opened",
         "closed=hand&sort=opened"),
        (UserRole.DISPATCHER, "fleet_drivers", DRIVERS, "q=Abernathy&activation=active&sort=-given",
         "activation=active&sort=-given"),
        (UserRole.DISPATCHER, "credential_board", CREDENTIALS, "of=vehicles&status=not_valid&page=2",
         "of=vehicles&status=not_valid"),
        (UserRole.DISPATCHER, "standing_orders", ORDERS, "status=on_hold&rider=Abernathy", "status=on_hold"),
        (UserRole.DISPATCHER, "reports", "/console/reports/", "period=last_month&rider=Abernathy&sort=-fulfillmentRate",
         "period=last_month&sort=-fulfillmentRate"),
    ],
)  # fmt: skip
def test_views_hold_what_the_list_knows_and_nothing_else(
    role: UserRole, page: str, path: str, query: str, kept: str
) -> None:
    client = visitor(role)

    saved = _save(client, page, query)

    assert told(saved) == ["The view is saved."]
    view = SavedView.objects.get()
    assert (view.page, view.query, view.shared_with) == (page, kept, "")
    shown = client.get(f"{path}?{kept}")
    assert _named(shown) == ["Mine"]
    assert [one["current"] for one in shown.context["views"]] == [True]


def test_views_are_seen_by_whom_they_are_shared_with() -> None:
    owner, desk = _person(UserRole.DISPATCHER, name="Dana Desk")
    _save(desk, "exceptions", "severity=critical", "Private")
    _save(desk, "exceptions", "severity=warning", "Ours", "role")
    _save(desk, "exceptions", "severity=info", "Everybody's", "all")

    colleague, lead = visitor(UserRole.DISPATCHER), visitor(UserRole.DISPATCH_SUPERVISOR)

    assert _named(desk.get(DESK)) == ["Everybody's", "Ours", "Private"]
    assert _named(colleague.get(DESK)) == ["Everybody's", "Ours"]
    assert _named(lead.get(DESK)) == ["Everybody's"]
    assert _named(lead.get(f"{DESK}history/")) == []
    assert "Everybody's Dana Desk" in text_of(lead.get(DESK))
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert _named(colleague.get(DESK)) == []


def test_views_of_what_lies_out_of_reach_are_not_offered() -> None:
    ours, theirs = factories.FacilityFactory.create(), factories.FacilityFactory.create()
    person, planner = _person(UserRole.PLANNER)
    person.facilities.add(ours)
    desk = visitor(UserRole.DISPATCHER)
    for name, facility in (("Ours", ours), ("Theirs", theirs)):
        _save(desk, "exceptions", f"facility={facility.pk}", name, "all")

    assert _named(planner.get(DESK)) == ["Ours"]
    assert str(theirs.pk) not in planner.get(DESK).content.decode()


def test_owner_alone_renames_shares_and_removes() -> None:
    desk, other = visitor(UserRole.DISPATCHER), visitor(UserRole.DISPATCHER)
    _save(desk, "exceptions", "severity=critical", "Mine", "all")
    _save(desk, "exceptions", "severity=info", "Other")
    view = SavedView.objects.get(name="Mine")
    page = f"{LISTS}views/{view.pk}/"

    assert {other.get(page).status_code, other.post(page, {"name": "x"}).status_code} == {404}
    assert other.post(f"{page}remove/").status_code == 404
    assert "Rename" not in text_of(other.get(DESK))
    assert 'value="Mine"' in desk.get(page).content.decode()
    empty, taken = desk.post(page, {"name": ""}), desk.post(page, {"name": "Other", "shared_with": "role"})
    nobody = desk.post(page, {"name": "Mine", "shared_with": "neighbours"})
    assert [answer.status_code for answer in (empty, taken, nobody)] == [422, 422, 422]
    assert "You already have a view with this name." in text_of(taken)

    done = desk.post(page, {"name": "Worst", "shared_with": "role"}, follow=True)

    assert told(done) == ["The view is saved."]
    assert done.redirect_chain[0][0] == f"{DESK}?severity=critical"
    view.refresh_from_db()
    assert (view.name, view.shared_with, str(view)) == ("Worst", "role", f"saved view {view.pk}")
    gone = desk.post(f"{page}remove/", follow=True)
    assert told(gone) == ["The view is removed."]
    assert list(SavedView.objects.values_list("name", flat=True)) == ["Other"]


def test_views_without_a_name_or_too_many_are_not_kept() -> None:
    desk = visitor(UserRole.DISPATCHER)

    nameless = _save(desk, "exceptions", "severity=info", "")
    assert told(nameless) == ["Give the view a name of at most 60 characters, and choose who sees it."]
    for number in range(saved_views.MOST):
        _save(desk, "exceptions", "severity=info", str(number))
    again = _save(desk, "exceptions", "severity=warning", "7")
    full = _save(desk, "exceptions", "severity=info", "one more")

    assert told(again) == ["The view is saved."]
    assert told(full) == ["There are 30 views already: remove one first."]
    assert SavedView.objects.count() == saved_views.MOST


def test_view_is_shared_with_no_others_than_there_are() -> None:
    view = SavedView(user=factories.UserFactory.create(), page="x", name="x", shared_with="x", created_at=NOW)

    with pytest.raises(ValidationError):
        view.full_clean()
    with pytest.raises(IntegrityError, match="saved_view_shared_known"):
        SavedView.objects.bulk_create([view])


def test_service_refuses_what_is_not_the_callers() -> None:
    by, nowhere = factories.principal(id=factories.UserFactory.create().pk), uuid4()

    with pytest.raises(NotFound):
        saved_views.change(view_id=nowhere, name="x", shared_with="", by=by)
    with pytest.raises(NotFound):
        saved_views.remove(view_id=nowhere, by=by)


def test_heads_say_how_the_list_is_sorted_and_turn_it() -> None:
    made.delivery(made.endpoint(), made.event())
    admin = visitor()

    usual = admin.get(f"{DELIVERIES}?status=pending&after=x").content.decode()
    turned = admin.get(f"{DELIVERIES}?status=pending&sort=created").content.decode()

    assert '<th scope="col" aria-sort="descending"><a class="sort" href="?status=pending&amp;sort=created">' in usual
    assert '<th scope="col" aria-sort="ascending"><a class="sort" href="?status=pending">' in turned
    assert '<input type="hidden" name="sort" value="created">' in turned


def test_heads_of_a_list_that_was_sent_are_buttons_of_its_form() -> None:
    fit_driver(last_name="Adair")

    page = visitor(UserRole.DISPATCHER).post(DRIVERS, {"q": "ada", "sort": "provider"}).content.decode()

    assert '<button type="submit" form="filters" class="sort" name="sort" value="-provider">' in page
    assert "?q=" not in page
    assert "A name that you search for is not saved with it." in page
