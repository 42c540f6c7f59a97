"""Pages of schedules: created from a report, changed, run, paused, unsubscribed and downloaded; visibility."""

from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.console.exports import labels
from apps.exports.models import Export, ReportSchedule, ScheduleRun
from apps.exports.models.destinations import UploadErrorCode
from apps.exports.models.schedules import RunOutcome
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.callers import api_with
from tests.console.visits import text_of, told
from tests.exports.places import bucket
from tests.exports.scheduled import Clock, exports_daily, ids, keep, person, reports_weekly, tick, to_bucket
from tests.factories import NOW

pytestmark = pytest.mark.django_db
PAGE = "/console/reports/schedules/"
SUPERVISOR = UserRole.DISPATCH_SUPERVISOR


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = str(tmp_path / "exports")


def visit(user: User) -> Client:
    client = Client()
    sign_in(client, user)
    return client


def filled(client: Client, url: str, **given: Any) -> dict[str, Any]:
    """Return what a form submits as it is shown, with some fields changed."""
    form = client.get(url).context["form"]
    values = {one.name: one.value() for one in form}
    values["at_time"] = f"{values['at_time']:%H:%M}"
    return {name: value for name, value in {**values, **given}.items() if value is not None}


def test_report_page_links_to_filtered_weekly_schedule_form() -> None:
    planner = person(UserRole.PLANNER, name="Paula Planner")
    facility = factories.FacilityFactory.create(name="St. Brigid", timezone="America/Denver")
    planner.facilities.set([facility])
    client = visit(planner)
    report = client.get(f"/console/reports/pickupOnTimeRate/?facility={facility.pk}&type=dialysis").content.decode()
    link = f"{PAGE}new/report/?report=pickupOnTimeRate&amp;facility={facility.pk}&amp;type=dialysis"
    assert link in report
    url = link.replace("&amp;", "&")

    response = client.post(url, filled(client, url, name="Our week"))

    schedule = ReportSchedule.objects.get()
    assert response.headers["Location"] == f"{PAGE}{schedule.pk}/"
    assert (schedule.report, schedule.covers, schedule.every) == ("pickupOnTimeRate", "previous_week", "week")
    assert (schedule.weekdays, f"{schedule.at_time:%H:%M}", schedule.zone) == ([0], "07:00", "America/Denver")
    assert schedule.filters == {"facilityId": str(facility.pk), "serviceType": "dialysis"}
    assert list(schedule.recipients.all()) == [planner]
    said = text_of(client.get(response.headers["Location"]))
    for part in ("Our week", "St. Brigid, Dialysis".lower(), "monday at 07:00", "the week before", "paula planner"):
        assert part.lower() in said.lower()


def test_export_is_kept_changed_and_what_the_api_narrowed_stays() -> None:
    owner = person()
    place = bucket()
    client = visit(owner)
    url = f"{PAGE}new/export/"
    client.post(url, filled(client, url, name="Claims", destination_id=str(place.pk), dataset="completions", phi="0"))
    schedule = ReportSchedule.objects.get()
    kept = (schedule.way, schedule.every, schedule.covers, schedule.format, schedule.recipients.count())
    schedule.filters, schedule.columns = {"status": ["completed"]}, ["rideId", "status"]
    schedule.save()
    change = f"{PAGE}{schedule.pk}/change/"

    same = client.post(change, filled(client, change, name="Others", phi="0"))
    schedule.refresh_from_db()
    columns = schedule.columns
    stale = client.post(change, filled(client, change, version=1, phi="0"))
    other = client.post(
        change, filled(client, change, dataset="rides", phi="2", destination_id="", recipients=[str(owner.pk)])
    )

    schedule.refresh_from_db()
    assert kept == ("destination", "day", "previous_day", "csv", 0)
    assert (same.status_code, stale.status_code, other.status_code) == (302, 422, 302)
    assert columns == ["rideId", "status"]
    assert (schedule.dataset, schedule.phi, schedule.columns, schedule.way) == ("rides", 2, None, "mail")
    assert schedule.filters == {"status": ["completed"]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "This field is required."),
        ({"at_time": "25:00"}, "Enter a valid time."),
        ({"weekdays": []}, "must have at least one day"),
        ({"recipients": []}, "must be 1 to 20 people"),
    ],
)
def test_form_that_makes_no_sense_comes_back_and_nothing_is_kept(given: dict[str, Any], said: str) -> None:
    client = visit(person(UserRole.ANALYST))
    url = f"{PAGE}new/report/"

    response = client.post(url, filled(client, url, **{"name": "Week", **given}))

    assert (response.status_code, ReportSchedule.objects.count()) == (422, 0)
    assert said in text_of(response)


def test_schedule_errors_are_shown_in_the_readers_language() -> None:
    client = visit(person(UserRole.ANALYST, language="es"))
    url = f"{PAGE}new/report/"

    response = client.post(url, filled(client, url, name="Week", weekdays=[]))
    owner = person(language="es")
    paused = keep(reports_weekly(recipients=ids(owner)), owner)
    buttons = visit(owner)
    twice = [buttons.post(f"{PAGE}{paused.pk}/pause/", follow=True) for _ in range(2)]

    assert response.status_code == 422
    assert response.context["form"].errors["weekdays"] == ["Días de la semana debe tener al menos un día."]
    assert told(twice[1]) == ["La programación ya está en pausa."]


def test_changed_report_schedule_shows_all_its_filters() -> None:
    owner, provider = person(UserRole.DISPATCHER), factories.TransportProviderFactory.create(name="Prairie Rides")
    schedule = keep(reports_weekly(recipients=ids(owner)), owner)
    client, change = visit(owner), f"{PAGE}{schedule.pk}/change/"

    client.post(change, filled(client, change, provider_id=str(provider.pk), basis="live", report="noShowRate"))

    page = client.get(f"{PAGE}{schedule.pk}/")
    assert "Prairie Rides, Live" in text_of(page)
    address = f"/console/reports/noShowRate/?provider={provider.pk}&amp;basis=live"
    assert address in page.content.decode()


def test_actions_are_done_and_refusals_are_said() -> None:
    owner = person()
    schedule = keep(exports_daily(recipients=ids(owner)), owner)
    client = visit(owner)
    at = f"{PAGE}{schedule.pk}/"
    found = []
    for action in ("pause", "pause", "resume", "resume", "run", "run", "unsubscribe", "remove"):
        response = client.post(f"{at}{action}/", follow=True)
        found.append((action, response.status_code, told(response)))

    assert found == [
        ("pause", 200, ["The schedule is paused."]),
        ("pause", 200, ["The schedule is already paused."]),
        ("resume", 200, ["The schedule is active again."]),
        ("resume", 200, ["The schedule is not paused."]),
        ("run", 200, ["The run has started."]),
        ("run", 200, ["A run is in progress."]),
        ("unsubscribe", 200, ["You are unsubscribed."]),
        ("remove", 200, ["The schedule is removed."]),
    ]
    assert ReportSchedule.objects.count() == 0


def test_recipient_sees_it_and_may_leave_and_do_nothing_else() -> None:
    owner, reader, stranger = person(), person(UserRole.ANALYST), person(UserRole.ANALYST)
    schedule = keep(reports_weekly(recipients=ids(owner, reader)), owner)
    at, client = f"{PAGE}{schedule.pk}/", visit(reader)

    refused = {action: client.post(f"{at}{action}/").status_code for action in ("pause", "resume", "run", "remove")}
    seen, foreign = text_of(client.get(at)), visit(stranger).get(at).status_code
    change = client.get(f"{at}change/").status_code
    left, again = client.post(f"{at}unsubscribe/"), client.post(f"{at}unsubscribe/").status_code

    assert set(refused.values()) == {404}
    assert "Unsubscribe" in seen
    assert "Run now" not in seen
    assert (foreign, change, left.headers["Location"], again) == (404, 404, PAGE, 404)
    assert list(schedule.recipients.all()) == [owner]


def test_bound_reader_sees_report_schedule_and_can_unsubscribe() -> None:
    """They receive their own figures; other recipients elsewhere are not visible to them."""
    owner, reader = person(name="Olga Owner"), person(UserRole.PLANNER, name="Rita Reader")
    reader.facilities.set([factories.FacilityFactory.create()])
    schedule = keep(reports_weekly(recipients=ids(owner, reader)), owner)
    at, client = f"{PAGE}{schedule.pk}/", visit(reader)

    listed, seen = text_of(client.get(PAGE)), text_of(client.get(at))
    left = client.post(f"{at}unsubscribe/")

    assert "Week" in listed
    assert "Rita Reader and one other" in seen
    assert "Olga Owner" not in seen.partition("Recipients")[2].partition("Owner Olga")[0]
    assert left.headers["Location"] == PAGE
    assert list(schedule.recipients.all()) == [owner]


def test_downgraded_reader_loses_export_but_can_unsubscribe() -> None:
    owner, reader = person(), person()
    schedule = keep(exports_daily(recipients=ids(owner, reader), phi=2), owner)
    User.objects.filter(pk=reader.pk).update(role=UserRole.ANALYST)
    at, client = f"{PAGE}{schedule.pk}/", visit(User.objects.get(pk=reader.pk))

    assert client.get(at).status_code == 404
    assert client.post(f"{at}unsubscribe/").headers["Location"] == PAGE
    assert list(schedule.recipients.all()) == [owner]


def test_who_manages_accounts_sees_all_and_may_stop_them() -> None:
    owner = person()
    schedule = keep(reports_weekly(recipients=ids(owner)), owner)
    token = api_with()
    bound = to_bucket(person())
    ReportSchedule.objects.filter(pk=bound.pk).update(user=None, client=token.token.client)
    at, client = f"{PAGE}{schedule.pk}/", visit(person(UserRole.ADMIN))

    listed = text_of(client.get(PAGE))
    shown = text_of(client.get(f"{PAGE}{bound.pk}/"))

    assert "Week" in listed
    assert "Report by e-mail" not in listed
    assert token.token.client.name in listed
    assert token.token.client.name in shown
    assert client.post(f"{at}pause/", follow=True).status_code == 200
    assert client.post(f"{at}run/").status_code == 404
    assert client.get(f"{PAGE}new/report/").status_code == 403
    schedule.refresh_from_db()
    assert (schedule.active, schedule.paused_for) == (False, "by_people")
    assert "It was paused" in text_of(client.get(PAGE))


def test_ready_export_is_mailed_and_downloaded_by_recipients() -> None:
    owner, reader = person(), person(UserRole.ANALYST)
    schedule = keep(exports_daily(recipients=ids(owner, reader)), owner)
    visit(owner).post(f"{PAGE}{schedule.pk}/run/")
    clock = Clock(NOW)
    tick(clock)
    tick(clock)
    export = Export.objects.get()
    url = f"{PAGE}{schedule.pk}/files/{export.pk}/"

    Export.objects.update(sent_to=[])
    untold = visit(reader).post(url).status_code
    Export.objects.update(sent_to=[reader.pk])
    fetched = visit(reader).post(url)
    stranger = visit(person(UserRole.ANALYST)).post(url).status_code
    file = Client().get(fetched.headers["Location"])

    assert sorted(message.to[0] for message in mail.outbox) == sorted([owner.email, reader.email])
    assert {message.subject for message in mail.outbox} == {"[Carelane] Your export is ready"}
    assert all(f"{PAGE}{schedule.pk}/" in str(message.body) for message in mail.outbox)
    assert all("/files/" not in str(message.body) for message in mail.outbox)  # no download key in a mail
    assert "Nov 19, 2026" in str(mail.outbox[0].body)
    assert (fetched.status_code, file.status_code, stranger) == (302, 200, 404)
    assert untold == 404
    assert "Fetch" in text_of(visit(reader).get(f"{PAGE}{schedule.pk}/"))


def test_file_with_riders_needs_login_and_expired_is_reported() -> None:
    owner = person()
    schedule = keep(exports_daily(recipients=ids(owner), phi=2, covers="changes"), owner)
    client = visit(owner)
    client.post(f"{PAGE}{schedule.pk}/run/")
    tick(Clock(NOW))
    url = f"{PAGE}{schedule.pk}/files/{Export.objects.get().pk}/"
    session = client.session
    session["account_authentication_methods"] = []
    session.save()

    asked = client.post(url)
    Export.objects.update(state="expired", expires_at=None)
    gone = client.post(url, follow=True)

    assert "reauthenticate" in asked.headers["Location"]
    assert told(gone)[-1] == "The export is expired."
    assert "Your export is ready." in str(mail.outbox[0].body)


def test_list_and_page_take_as_many_queries_for_three_as_for_one(django_assert_num_queries: Any) -> None:
    owner = person()
    schedule = keep(reports_weekly(recipients=ids(owner)), owner)
    ScheduleRun.objects.create(schedule=schedule, due_at=NOW, try_at=NOW, created_at=NOW)
    client = visit(owner)
    client.get(PAGE)
    with django_assert_num_queries(5):
        client.get(PAGE)
    for _number in range(2):
        keep(reports_weekly(recipients=ids(owner)), owner)

    with django_assert_num_queries(5):
        assert len(client.get(PAGE).context["rows"]) == 3


def test_empty_list_explains_schedules_and_unknown_kind_is_404() -> None:
    client = visit(person(UserRole.ANALYST))

    assert "No schedules yet" in text_of(client.get(PAGE))
    assert client.get(f"{PAGE}new/guess/").status_code == 404
    assert visit(person(UserRole.PLANNER)).get(f"{PAGE}new/export/").status_code == 403


@pytest.mark.parametrize("code", [*RunOutcome.values, *UploadErrorCode.values])
def test_every_outcome_is_said_with_what_to_do(code: str) -> None:
    for state in ("queued", "failed"):
        said = labels.run_badge(ScheduleRun(state=state, outcome=code))

        assert said["outcome"]
        assert said["advice"]


@pytest.mark.parametrize(
    ("every", "said"),
    [
        ("day", "Every day at 06:00"),
        ("weekdays", "Monday to Friday at 06:00"),
        ("month", "Every month on day 3 at 06:00"),
    ],
)
def test_cadence_is_said(every: str, said: str) -> None:
    owner = person()

    schedule = keep(exports_daily(every=every, month_day=3, recipients=ids(owner)), owner)

    assert labels.schedule_cadence(schedule) == said
    assert labels.schedule_content(schedule) == "Completions, for billing, CSV"
