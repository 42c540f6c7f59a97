"""Management of endpoints: stored settings, refusals, and the effect on pending deliveries."""

import datetime as dt
import json
from typing import Any
from uuid import UUID

import pytest
from django.db import models

from apps.accounts.models import ApiClient
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.webhooks.models import Delivery, Endpoint, EndpointHealth, EndpointSecret, Job, SigningKey
from apps.webhooks.services import circuit_breaker, endpoint_states, endpoint_validation, endpoints, secrets
from apps.webhooks.services.endpoint_validation import EndpointParams
from lib.access import Phi, Principal
from lib.errors import Code, DomainError, NotFound, StaleVersion
from tests import factories
from tests.callers import api_with
from tests.factories import NOW
from tests.webhooks import made

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("names")]

URL = "https://hooks.example.org/rides"
STORED: list[type[models.Model]] = [
    Endpoint,
    EndpointHealth,
    EndpointSecret,
    SigningKey,
    Delivery,
    Event,
    AuditEntry,
    Job,
]


def admin(**columns: Any) -> Principal:
    return factories.principal(UserRole.ADMIN, **columns)


def system_of(client: ApiClient, **columns: Any) -> Principal:
    """Return a principal with a token of a client."""
    known: dict[str, Any] = {"phi": Phi.FULL, "client_id": client.pk, "api_version": "2026-11-20"}
    token = api_with(client=client).token
    return Principal(kind="token", id=token.pk, role="full-access", scopes=frozenset(), **(known | columns))


def wanted(**given: Any) -> EndpointParams:
    return EndpointParams(**({"name": "Engine", "url": URL, "event_types": ["ride.*"]} | given))


def stored() -> list[Any]:
    return [list(model._default_manager.order_by("pk").values()) for model in STORED]


def register(by: Principal, **given: Any) -> Endpoint:
    return endpoints.register(params=wanted(**given), by=by, at=NOW).endpoint


def refused(by: Principal, given: dict[str, Any], **more: Any) -> DomainError:
    """Register an invalid endpoint, and check that nothing is stored."""
    before = stored()
    with pytest.raises(DomainError) as refusal:
        endpoints.register(params=wanted(**given), by=by, at=NOW, **more)
    assert stored() == before
    return refusal.value


def told(refusal: DomainError) -> tuple[Code, str | None, str]:
    (detail,) = refusal.details
    return refusal.code, detail.field, detail.code


def test_new_endpoint_is_pending_and_is_sent_a_test() -> None:
    client = factories.ApiClientFactory.create()
    by = system_of(client)

    registered = endpoints.register(params=wanted(headers={"X-Site": "north"}), by=by, at=NOW)

    endpoint = Endpoint.objects.get()
    assert registered.endpoint == endpoint
    assert (endpoint.client_id, endpoint.state, endpoint.version, endpoint.sequence) == (client.pk, "pending", 1, 1)
    assert (endpoint.api_version, endpoint.created_by) == ("2026-11-20", by.actor)
    assert endpoint_validation.params_of(endpoint) == wanted(headers={"X-Site": "north"})
    assert endpoint.own_headers == {"X-Site": "north"}
    assert b"north" not in bytes(endpoint.headers_encrypted or b"")
    assert EndpointSecret.objects.get().text == registered.secret
    assert registered.secret.startswith("whsec_")
    assert registered.secret not in repr(registered)
    assert EndpointHealth.objects.get().endpoint_id == endpoint.pk
    delivery, event = Delivery.objects.get(), Event.objects.get()
    assert (delivery.trigger, delivery.status, delivery.event_id) == ("test", "pending", event.pk)
    assert (event.type, event.subject_id, event.sequence) == ("webhook.test", endpoint.pk, 1)
    assert AuditEntry.objects.get().action == "webhooks.register"
    assert not SigningKey.objects.exists()


def test_own_secret_is_kept_and_doubled_types_are_not() -> None:
    registered = endpoints.register(
        params=wanted(event_types=["ride.*", "*", "ride.*"], asymmetric=True),
        secret=made.SECRET,
        by=admin(),
        at=NOW,
    )

    assert registered.secret == EndpointSecret.objects.get().text == made.SECRET
    assert registered.endpoint.event_types == ["ride.*", "*"]
    assert SigningKey.objects.count() == 1


def test_people_register_for_a_client_or_for_the_operator() -> None:
    client = factories.ApiClientFactory.create()

    own = endpoints.register(params=wanted(), by=admin(), at=NOW).endpoint
    theirs = endpoints.register(params=wanted(), client_id=client.pk, by=admin(), at=NOW).endpoint

    assert (own.client_id, theirs.client_id) == (None, client.pk)
    assert own.api_version == "2026-11-20"


def test_token_registers_for_its_own_client_whatever_it_says() -> None:
    own, other = factories.ApiClientFactory.create_batch(2)

    endpoint = endpoints.register(params=wanted(), client_id=other.pk, by=system_of(own), at=NOW).endpoint

    assert endpoint.client_id == own.pk


def test_endpoint_of_a_caller_with_bounds_is_bound_to_them() -> None:
    facilities, providers = frozenset({_facility(), _facility()}), frozenset({_provider()})
    by = admin(facility_ids=facilities, provider_ids=providers)

    whole, part = register(by), register(by, facility_ids=frozenset(list(facilities)[:1]))

    assert (whole.facility_ids, whole.provider_ids) == (sorted(facilities), sorted(providers))
    assert part.facility_ids == list(facilities)[:1]


def _facility() -> UUID:
    return factories.FacilityFactory.create().pk


def _provider() -> UUID:
    return factories.TransportProviderFactory.create().pk


@pytest.mark.parametrize(("name", "field"), [("facility_ids", "facilityIds"), ("provider_ids", "providerIds")])
def test_endpoint_hears_of_no_more_than_its_caller(name: str, field: str) -> None:
    by = admin(**{name: frozenset({_facility()})})

    refusal = refused(by, {name: frozenset({_facility()})})

    assert told(refusal) == (Code.FORBIDDEN, field, "exceeds_caller")


@pytest.mark.parametrize(
    ("given", "field", "code"),
    [
        ({"event_types": ["ride.completed", "ride.flown"]}, "eventTypes", "unknown_event_type"),
        ({"event_types": ["ride"]}, "eventTypes", "unknown_event_type"),
        ({"facility_ids": frozenset({UUID(int=1)})}, "facilityIds", "unknown_id"),
        ({"provider_ids": frozenset({UUID(int=1)})}, "providerIds", "unknown_id"),
        ({"headers": {"Host": "x"}}, "headers", "bad_header"),
        ({"name": "Engine\r\nBcc: x@example.org"}, "name", "control"),
        ({"payload_level": "full-resource"}, "phiAgreement", "invalid"),
    ],
)
def test_wrong_wish_is_refused_by_its_field(given: dict[str, Any], field: str, code: str) -> None:
    assert told(refused(admin(), given)) == (Code.VALIDATION_ERROR, field, code)


@pytest.mark.parametrize("secret", ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_%%%%"])
def test_wrong_secret_is_refused(secret: str) -> None:
    assert told(refused(admin(), {}, secret=secret)) == (Code.VALIDATION_ERROR, "secret", "bad_secret")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("nonsense", "form"),
        ("https://u:p@hooks.example.org/", "form"),
        ("http://hooks.example.org/", "form"),
        ("https://hooks.example.org:9/", "form"),
        ("https://10.0.0.1/", "address"),
        ("https://169.254.169.254/", "address"),
        ("https://0x7f.1/", "address"),
        ("https://inside.example.org/", "address"),
        ("https://nowhere.example.org/", "unresolvable"),
    ],
)
def test_address_that_webhooks_may_not_go_to_is_refused(
    settings: Any, names: dict[str, list[str]], url: str, code: str
) -> None:
    settings.WEBHOOK_PLAIN_HTTP, settings.WEBHOOK_ALLOWED_NETWORKS = False, ()
    names |= {"inside.example.org": ["1.1.1.1", "10.0.0.1"], "nowhere.example.org": []}

    refusal = refused(admin(), {"url": url})

    assert told(refusal) == (Code.ENDPOINT_URL_BLOCKED, "url", code)
    assert url not in str(refusal.details)


def test_whole_rides_go_by_https_alone() -> None:
    given = {"payload_level": "full-resource", "phi_agreement": True, "url": "http://hooks.example.org/"}

    assert told(refused(admin(), given)) == (Code.ENDPOINT_URL_BLOCKED, "url", "plain_http")


def test_whole_rides_go_to_systems_that_were_given_them() -> None:
    given = {"payload_level": "full-resource", "phi_agreement": True}
    limited, full = factories.ApiClientFactory.create_batch(2)
    api_with(client=limited, phi_level="limited")
    api_with(client=full, phi_level="full")
    by = system_of(full)

    own = register(by, **given)
    theirs = endpoints.register(params=wanted(**given), client_id=full.pk, by=admin(), at=NOW).endpoint
    operators = register(admin(), **given)

    assert (own.phi_agreed_at, own.phi_agreed_by) == (NOW, by.actor)
    assert theirs.phi_agreed_at == operators.phi_agreed_at == NOW
    assert refused(system_of(full, phi=Phi.LIMITED), given).code is Code.PHI_NOT_PERMITTED
    assert refused(admin(), given, client_id=limited.pk).code is Code.PHI_NOT_PERMITTED


def test_client_that_is_none_or_switched_off_gets_no_endpoint() -> None:
    off = factories.ApiClientFactory.create(active=False)

    for client_id in (off.pk, UUID(int=1)):
        assert refused(admin(), {}, client_id=client_id).code is Code.NOT_FOUND


def test_client_has_a_hundred_endpoints_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_ENDPOINTS", 2)
    client = factories.ApiClientFactory.create()
    by = system_of(client)
    made.endpoint(client=client, deleted_at=NOW)
    register(by)
    register(by)

    assert refused(by, {}).code is Code.RULE_VIOLATION


def change(endpoint: Endpoint, by: Principal | None = None, version: int | None = None, **changes: Any) -> Endpoint:
    return endpoints.change(
        endpoint_id=endpoint.pk,
        changes=changes,
        expected_version=version,
        by=by or admin(),
        at=NOW + dt.timedelta(hours=1),
    )


def test_change_keeps_what_is_not_named() -> None:
    endpoint = register(admin(), headers={"X-Site": "north"}, description="old")

    changed = change(endpoint, version=1, description="new", asymmetric=True)

    endpoint.refresh_from_db()
    assert endpoint_validation.params_of(endpoint) == wanted(
        headers={"X-Site": "north"}, description="new", asymmetric=True
    )
    assert (changed.version, endpoint.version, endpoint.updated_at) == (2, 2, NOW + dt.timedelta(hours=1))
    assert SigningKey.objects.count() == 1
    entry = AuditEntry.objects.get(action="webhooks.change")
    assert entry.details == {"changed": ["description", "asymmetric"]}
    assert Delivery.objects.count() == 1  # the first test: the address is the same


def test_change_to_what_it_is_already_is_none() -> None:
    endpoint = register(admin())
    before = stored()

    change(endpoint, name="Engine", url=URL)

    assert stored() == before


def test_change_of_an_older_copy_or_of_nothing_is_refused() -> None:
    endpoint = register(admin())
    before = stored()

    with pytest.raises(StaleVersion):
        change(endpoint, version=2, name="Other")
    with pytest.raises(NotFound):
        change(Endpoint(), name="Other")
    with pytest.raises(endpoint_validation.EndpointUrlBlocked):
        change(endpoint, url="https://10.0.0.1/")

    assert stored() == before


def test_agreement_ends_with_the_level_that_needs_it() -> None:
    endpoint = register(admin(), payload_level="full-resource", phi_agreement=True)

    still = change(endpoint, name="Other")
    agreed_at = still.phi_agreed_at
    ended = change(endpoint, payload_level="summary")

    assert (agreed_at, ended.phi_agreed_at, ended.phi_agreed_by) == (NOW, None, "")


def test_new_address_has_to_answer_before_anything_is_sent_there() -> None:
    endpoint = made.endpoint()
    waiting = made.delivery(endpoint, made.event())

    changed = change(endpoint, url="https://new.example.org/")

    waiting.refresh_from_db()
    assert (changed.state, changed.state_reason, waiting.status) == ("paused", "unverified", "held")
    assert Delivery.objects.get(trigger="test").status == "pending"
    with pytest.raises(endpoints.NotVerified):
        endpoints.resume(endpoint_id=endpoint.pk, by=admin(), at=NOW)

    circuit_breaker.verify(endpoint.pk, version=changed.version, at=NOW)

    waiting.refresh_from_db()
    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.state_reason, waiting.status) == ("active", "", "pending")


def test_new_url_of_paused_endpoint_is_verified_but_stays_paused() -> None:
    endpoint = made.endpoint()
    endpoints.pause(endpoint_id=endpoint.pk, by=admin(), at=NOW)
    change(endpoint, url="https://new.example.org/")
    changed = change(endpoint, url="https://newer.example.org/")
    with pytest.raises(endpoints.NotVerified):
        endpoints.resume(endpoint_id=endpoint.pk, by=admin(), at=NOW)

    circuit_breaker.verify(endpoint.pk, version=changed.version, at=NOW)

    endpoint.refresh_from_db()
    assert (endpoint.state, endpoint.state_reason) == ("paused", "paused")
    assert endpoints.resume(endpoint_id=endpoint.pk, by=admin(), at=NOW).state == "active"


def test_test_of_the_old_url_does_not_verify_the_new_one() -> None:
    endpoint = register(admin())
    changed = change(endpoint, url="https://new.example.org/")

    circuit_breaker.verify(endpoint.pk, version=changed.version - 1, at=NOW)

    endpoint.refresh_from_db()
    assert endpoint.state == "pending"


def test_url_of_a_disabled_endpoint_can_be_corrected() -> None:
    endpoint = made.endpoint(state="disabled", state_reason=endpoint_states.DEAD)

    changed = change(endpoint, url="https://new.example.org/")

    assert (changed.state, changed.state_reason) == ("paused", "unverified")


def test_paused_endpoint_holds_what_waits_and_lets_tests_through() -> None:
    endpoint = made.endpoint()
    waiting = made.delivery(endpoint, made.event())
    test = made.delivery(endpoint, made.event("webhook.test"), trigger="test")

    paused = endpoints.pause(endpoint_id=endpoint.pk, by=admin(), at=NOW)

    statuses = dict(Delivery.objects.values_list("pk", "status"))
    assert statuses == {waiting.pk: "held", test.pk: "pending"}
    assert (paused.state, paused.state_reason, paused.version) == ("paused", "paused", 2)
    with pytest.raises(endpoints.EndpointAlreadyInState):
        endpoints.pause(endpoint_id=endpoint.pk, by=admin(), at=NOW)


@pytest.mark.parametrize(("deliver", "status", "jobs"), [(True, "pending", 1), (False, "held", 0)])
def test_resumed_endpoint_gets_what_was_held_if_it_wants(deliver: bool, status: str, jobs: int) -> None:
    endpoint = made.endpoint(state="paused", health={"open_count": 3, "failures": 9, "failing_since": NOW})
    held = made.delivery(endpoint, made.event(), status="held")

    resumed = endpoints.resume(endpoint_id=endpoint.pk, deliver_held=deliver, by=admin(), at=NOW)

    held.refresh_from_db()
    health = made.health_of(endpoint)
    assert (resumed.state, held.status, Job.objects.count()) == ("active", status, jobs)
    assert (health.open_count, health.failures, health.failing_since) == (0, 0, None)
    with pytest.raises(endpoints.EndpointAlreadyInState):
        endpoints.resume(endpoint_id=endpoint.pk, by=admin(), at=NOW)


def test_endpoint_that_never_answered_is_not_resumed() -> None:
    endpoint = register(admin())

    with pytest.raises(endpoints.NotVerified):
        endpoints.resume(endpoint_id=endpoint.pk, by=admin(), at=NOW)


def test_removed_endpoint_loses_secrets_and_pending_deliveries() -> None:
    endpoint = made.endpoint()
    rows = {status: made.delivery(endpoint, made.event(), status=status) for status in ("pending", "held")}
    rows["delivered"] = made.delivery(endpoint, made.event(), status="delivered", ended_at=NOW)
    with pytest.raises(StaleVersion):
        endpoints.remove(endpoint_id=endpoint.pk, expected_version=9, by=admin(), at=NOW)

    endpoints.remove(endpoint_id=endpoint.pk, expected_version=1, by=admin(), at=NOW)

    endpoint.refresh_from_db()
    statuses = {name: Delivery.objects.get(pk=row.pk).status for name, row in rows.items()}
    assert statuses == {"pending": "cancelled", "held": "cancelled", "delivered": "delivered"}
    assert (endpoint.deleted_at, endpoint.state, EndpointSecret.objects.count()) == (NOW, "disabled", 0)
    with pytest.raises(NotFound):
        endpoints.test(endpoint_id=endpoint.pk, by=admin(), at=NOW)


def test_removed_endpoint_loses_its_custom_headers() -> None:
    endpoint = made.endpoint()
    endpoint.headers_text = json.dumps({"Authorization": "Basic eDp5"})
    endpoint.save()

    endpoints.remove(endpoint_id=endpoint.pk, by=admin(), at=NOW)

    assert Endpoint.objects.get().headers_encrypted is None


def test_test_is_sent_whatever_the_state() -> None:
    endpoint = made.endpoint(state="disabled")

    delivery = endpoints.test(endpoint_id=endpoint.pk, by=admin(), at=NOW)

    assert (delivery.trigger, delivery.status, delivery.event_type) == ("test", "pending", "webhook.test")
    assert AuditEntry.objects.get().action == "webhooks.test"


def test_endpoints_of_others_are_absent() -> None:
    own, other = factories.ApiClientFactory.create_batch(2)
    endpoint = made.endpoint(client=other)
    operators = made.endpoint()
    by = system_of(own)

    for one in (endpoint, operators):
        with pytest.raises(NotFound):
            endpoints.pause(endpoint_id=one.pk, by=by, at=NOW)
        with pytest.raises(NotFound):
            secrets.rotate(endpoint_id=one.pk, by=by, at=NOW)
