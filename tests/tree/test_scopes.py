"""Every address of the API has a scope: unlisted addresses are refused, and reported here."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver

from config import api
from lib.access import ANY_TOKEN, PUBLIC
from lib.scopes import Scope


def _patterns(entries: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for entry in entries:
        if isinstance(entry, URLResolver):
            yield from _patterns(entry.url_patterns)
        else:
            yield entry


ROUTES = list(_patterns(api.urlpatterns))
ACTIONS = [route for route in ROUTES if getattr(route.callback, "actions", None)]
# Served without a viewset and without a token: they show no data of users or riders.
PLAIN = {"health/live", "health/ready", "openapi.json", "docs"}


def test_api_has_routes_without_a_trailing_slash() -> None:
    paths = [str(route.pattern) for route in ROUTES]

    assert len(paths) > 10
    assert [path for path in paths if path.endswith("/")] == []
    assert len(set(paths)) == len(paths)


def test_routes_except_health_and_schema_are_viewset_actions() -> None:
    others = {str(route.pattern) for route in ROUTES if route not in ACTIONS}

    assert others <= PLAIN


@pytest.mark.parametrize("route", ACTIONS, ids=lambda route: str(route.pattern))
def test_route_names_a_scope_for_each_of_its_actions(route: URLPattern) -> None:
    view: Any = route.callback
    scopes = view.cls.scopes

    missing = sorted(action for action in view.actions.values() if action not in scopes)

    assert missing == []
    assert [value for value in scopes.values() if value not in {*Scope, PUBLIC, ANY_TOKEN}] == []
