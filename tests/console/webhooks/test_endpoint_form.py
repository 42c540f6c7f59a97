"""Form of an endpoint: what it stores, what it refuses, and its messages."""

import datetime as dt
import time
from typing import Any

import pytest
import time_machine

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.console.webhooks.forms import MASKED_VALUE
from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.rules.event_types import CATALOGUE, FAMILIES
from apps.webhooks.services.endpoint_validation import params_of
from tests import factories
from tests.callers import api_with
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db

ADD = "/console/developers/endpoints/add/"
GOOD = {
    "name": "Interface engine",
    "url": "http://127.0.0.1:9/hooks",
    "event_types": ["ride.completed", "driver.*"],
    "payload_level": "id-only",
    "ordering": "none",
    "max_in_flight": "8",
}


def _errors(response: Any) -> dict[str, list[str]]:
    return {name: list(map(str, errors)) for name, errors in response.context["form"].errors.items()}


def test_endpoint_is_registered_as_the_form_says_and_sent_a_test() -> None:
    facility, provider = factories.FacilityFactory.create(), factories.TransportProviderFactory.create()
    client = factories.ApiClientFactory.create()
    more = {
        "client": str(client.pk),
        "description": "Of the north site",
        "facilities": [str(facility.pk)],
        "providers": [str(provider.pk)],
        "payload_level": "summary",
        "ordering": "subject",
        "asymmetric": "on",
        "max_in_flight": "4",
        "headers": "X-Site: north\n\nAuthorization: Basic eDp5\n",
    }

    response = visitor().post(ADD, GOOD | more)

    endpoint = Endpoint.objects.get()
    wanted = params_of(endpoint)
    assert response.status_code == 200
    assert (endpoint.client, endpoint.state) == (client, "pending")
    assert (wanted.name, wanted.url, wanted.event_types) == (GOOD["name"], GOOD["url"], GOOD["event_types"])
    assert (wanted.facility_ids, wanted.provider_ids) == (frozenset({facility.pk}), frozenset({provider.pk}))
    assert (wanted.payload_level, wanted.ordering, wanted.asymmetric) == ("summary", "subject", True)
    assert (wanted.max_in_flight, wanted.description) == (4, "Of the north site")
    assert wanted.headers == {"X-Site": "north", "Authorization": "Basic eDp5"}
    assert Delivery.objects.get().trigger == "test"


def test_name_is_one_line() -> None:
    response = visitor().post(ADD, GOOD | {"name": "Interface\x0bengine"})

    assert (response.status_code, Endpoint.objects.count()) == (422, 0)
    assert _errors(response) == {"name": ["Name must not contain control characters."]}


def test_everything_says_more_than_the_kinds_beside_it() -> None:
    visitor().post(ADD, GOOD | {"event_types": ["ride.completed", "*"]})

    assert Endpoint.objects.get().event_types == ["*"]


@pytest.mark.parametrize(
    ("wrong", "errors"),
    [
        ({"name": ""}, {"name": ["This field is required."]}),
        ({"event_types": []}, {"event_types": ["Select at least one."]}),
        ({"url": "ftp://hooks.example.org"}, {"url": ["Address must be an http or https URL."]}),
        (
            {"url": "http://169.254.169.254/"},
            {"url": ["Address must not resolve to an address that is blocked for webhooks."]},
        ),
        ({"url": "https://nowhere.invalid/"}, {"url": ["Address must have a host name that resolves."]}),
        ({"payload_level": "full-resource"}, {"url": ["Address must be https to receive complete rides."]}),
        ({"max_in_flight": "65"}, {"max_in_flight": ["Ensure this value is less than or equal to 64."]}),
        ({"secret": "whsec_no"}, {"secret": ["Your own secret must be whsec_ and the base64 of 24 to 64 bytes."]}),
        ({"headers": "X-Site"}, {"headers": ["Each line has to be a name, a colon and a value."]}),
        ({"headers": "X-Site:"}, {"headers": ["Each line has to be a name, a colon and a value."]}),
        ({"headers": "A: 1\nA: 2"}, {"headers": ["Enter each name only once."]}),
        (
            {"headers": f"A: {MASKED_VALUE}"},
            {"headers": ["Dots are allowed only for a header that already has a value."]},
        ),
        (
            {"headers": "webhook-id: mine"},
            {"headers": ["Extra headers must not have names that deliveries or the connection use."]},
        ),
    ],
)
def test_invalid_form_shows_field_errors_and_saves_nothing(wrong: Any, errors: Any) -> None:
    response = visitor().post(ADD, GOOD | wrong)

    assert (response.status_code, _errors(response)) == (422, errors)
    assert not Endpoint.objects.exists()
    page = response.content.decode()
    (name,) = errors
    assert f'<a href="#id_{name}">' in page
    assert 'class="error-summary" tabindex="-1" autofocus' in page


def test_what_was_typed_stays_but_for_the_secret() -> None:
    response = visitor().post(ADD, GOOD | {"name": "", "secret": made.SECRET, "description": "North site"})

    page = response.content.decode()
    assert 'value="North site"' in page
    assert 'value="ride.completed" id="kind-ride.completed" data-family="ride" checked' in page
    assert made.SECRET not in page


def test_full_payload_needs_agreement_and_authorized_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.webhooks.services.endpoint_validation.check_url", lambda url: None)
    client = factories.ApiClientFactory.create()
    full = GOOD | {"url": "https://hooks.example.org/", "payload_level": "full-resource"}

    unsaid = visitor().post(ADD, full)
    ungranted = visitor().post(ADD, full | {"client": str(client.pk), "phi_agreement": "on"})
    api_with(TokenRole.EHR_INTEGRATOR, client=client)
    agreed = visitor().post(ADD, full | {"client": str(client.pk), "phi_agreement": "on"})

    assert list(_errors(unsaid)) == ["phi_agreement"]
    assert list(_errors(ungranted)) == ["payload_level"]
    assert agreed.status_code == 200
    assert Endpoint.objects.get().phi_agreed_at == NOW


def test_client_that_has_as_many_as_it_may_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    client = factories.ApiClientFactory.create()
    monkeypatch.setattr("apps.webhooks.services.endpoints.MAX_ENDPOINTS", 0)

    response = visitor().post(ADD, GOOD | {"client": str(client.pk)})

    assert _errors(response) == {"__all__": ["A client can have at most 0 endpoints."]}


def test_event_type_search_skips_validation_of_the_form() -> None:
    typed = {"name": "", "url": "ftp://x", "event_types": ["vehicle.updated"], "sought": "dropped", "find": "1"}

    response = visitor().post(ADD, typed)

    page = response.content.decode()
    families = {family.key: family for family in response.context["families"]}
    assert response.status_code == 200
    assert not Endpoint.objects.exists()
    assert "error-summary" not in page
    assert 'value="ftp://x"' in page
    assert [option.name for option in families["ride"].options if option.is_visible] == ["ride.completed"]
    assert [option.name for option in families["vehicle"].options if option.is_visible] == ["vehicle.updated"]
    assert (families["driver"].is_visible, families["vehicle"].is_visible) == (False, True)


def test_every_kind_stands_in_the_picker() -> None:
    page = visitor().get(ADD).content.decode()

    assert page.count('name="event_types"') == 1 + len(FAMILIES) + len(CATALOGUE)
    assert "ride.driver_arrived" in page


def test_form_opens_to_people_who_have_just_proven_who_they_are() -> None:
    client = visitor()

    with time_machine.travel(NOW + dt.timedelta(minutes=6), tick=False):
        opened = client.get(ADD)

    assert opened["Location"].startswith("/accounts/reauthenticate/?next=")


def test_late_form_retains_input_and_saves_nothing() -> None:
    client = visitor()

    with time_machine.travel(NOW + dt.timedelta(minutes=6), tick=False):
        late = client.post(ADD, GOOD | {"secret": made.SECRET})

    page = late.content.decode()
    assert late.status_code == 422
    assert "Your sign-in is more than five minutes old." in text_of(late)
    assert 'value="http://127.0.0.1:9/hooks"' in page
    assert made.SECRET not in page + str(client.session.items())
    assert not Endpoint.objects.exists()
    assert time.time() == NOW.timestamp()


def _change(endpoint: Endpoint) -> str:
    return f"/console/developers/endpoints/{endpoint.pk}/change/"


def _as_it_is(endpoint: Endpoint) -> dict[str, Any]:
    form = visitor().get(_change(endpoint)).context["form"]
    return {name: value for name in form.fields if (value := form[name].value()) not in (None, False)}


def test_form_shows_endpoint_and_masks_header_values() -> None:
    facility = factories.FacilityFactory.create()
    endpoint = made.endpoint(facility_ids=[facility.pk], event_types=["ride.*"])
    endpoint.headers_text = '{"Authorization": "Basic eDp5"}'
    endpoint.save()

    response = visitor().get(_change(endpoint))

    page = response.content.decode()
    assert response.context["form"]["headers"].value() == f"Authorization: {MASKED_VALUE}\n"
    assert response.context["form"]["facilities"].value() == [str(facility.pk)]
    assert 'id="all-ride" data-covers="ride" checked' in page
    assert "eDp5" not in page
    assert 'name="secret"' not in page


def test_change_keeps_headers_whose_value_is_dots() -> None:
    endpoint = made.endpoint()
    endpoint.headers_text = '{"Authorization": "Basic eDp5", "X-Site": "north"}'
    endpoint.save()
    asked = _as_it_is(endpoint) | {
        "name": "Engine of the north",
        "headers": f"Authorization: {MASKED_VALUE}\nX-Site: south",
    }

    response = visitor().post(_change(endpoint), asked)

    endpoint.refresh_from_db()
    assert response["Location"] == f"/console/developers/endpoints/{endpoint.pk}/"
    assert (endpoint.name, endpoint.version) == ("Engine of the north", 2)
    assert endpoint.own_headers == {"Authorization": "Basic eDp5", "X-Site": "south"}
    assert AuditEntry.objects.get(action="webhooks.change").details["changed"] == ["name", "headers"]


def test_change_of_what_somebody_changed_meanwhile_is_refused() -> None:
    endpoint = made.endpoint()
    asked = _as_it_is(endpoint) | {"name": "Late"}
    Endpoint.objects.update(version=2)

    response = visitor().post(_change(endpoint), asked)

    assert response.status_code == 422
    assert "Someone else changed the endpoint." in text_of(response)
    assert Endpoint.objects.get().name == "Interface engine"


def test_invalid_change_or_type_search_saves_nothing() -> None:
    endpoint = made.endpoint()
    asked = _as_it_is(endpoint) | {"name": ""}

    wrong = visitor().post(_change(endpoint), asked)
    finding = visitor().post(_change(endpoint), asked | {"sought": "driver", "find": "1"})

    assert (wrong.status_code, _errors(wrong)) == (422, {"name": ["This field is required."]})
    assert (finding.status_code, finding.context["form"].is_bound) == (200, False)
    assert Endpoint.objects.get().version == 1
