"""Errors in other languages: every template has a translation, and a page shows no English word of it."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import polib
import pytest
from django import forms
from django.contrib.messages import get_messages
from django.utils.translation import gettext_lazy, override

import apps
import lib
from apps.webhooks.services import endpoints
from lib.console_forms import add_errors
from lib.errors import DomainError, InvalidInput
from lib.messages import Message
from tests import texts
from tests.console.visits import visitor
from tests.webhooks import made

LANGUAGES = [path.parts[-3] for path in texts.CATALOGUES]
PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]")
# Names of fields, headers and paths, the same in every language: fromDate, oxygen.uses, If-Match, GET /rides.
NAME = re.compile(
    r"[A-Z]\w+(-[A-Z]\w+)+|\w*/[\w/.-]+|\w+_\w*|\w+[.=]\w+|[a-z]+[A-Z]\w*|\b[A-Z]{2,}\b|\w+-\w+-\d|%\(\w+\)[sd]"
)
VALUES = {"completions", "dimension", "none", "null", "other", "overview", "true"}  # values of the API
SAME_IN_SPANISH = {
    "authorization",
    "base",
    "byte",
    "bytes",
    "control",
    "cursor",
    "etag",
    "host",
    "https",
    "manual",
    "token",
}
SAME_IN_SPANISH |= {"endpoint", "endpoints", "webhook", "webhooks"}


class TripFull(DomainError):
    """An untranslated error: the tests below report it."""

    template = gettext_lazy("The wheelchair van carries another rider.")


def _classes(parent: type[DomainError]) -> Iterator[type[DomainError]]:
    for child in parent.__subclasses__():
        yield child
        yield from _classes(child)


@cache
def error_classes() -> list[type[DomainError]]:
    for package in (apps, lib):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations" not in module.name:
                importlib.import_module(module.name)
    return [one for one in _classes(DomainError) if one.__module__.startswith(("apps.", "lib."))]


@cache
def templates() -> list[str]:
    """Return the templates of error classes and those that errors and details are raised with."""
    raising = {"Detail", "Message", *(one.__name__ for one in error_classes())}
    found = set(map(_template, error_classes()))
    for path in (*Path("apps").rglob("*.py"), *Path("lib").rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in raising:
                found |= set(_marked(call))
    return sorted(found)


def _marked(call: ast.Call) -> Iterator[str]:
    for inner in ast.walk(call):
        if isinstance(inner, ast.Call) and getattr(inner.func, "id", "") in ("_", "gettext_lazy"):
            yield from (one.value for one in inner.args if isinstance(one, ast.Constant) and isinstance(one.value, str))


def untranslated(found: list[str], language: str) -> list[str]:
    catalogue = polib.pofile(str(texts.ROOT / "locale" / language / "LC_MESSAGES" / "django.po"))
    known = {entry.msgid for entry in catalogue if entry.translated() and not entry.fuzzy}
    return [template for template in found if template not in known]


def english_words(template: str, shown: str) -> set[str]:
    """Return the words of a template that a text in another language contains."""
    return _words(NAME.sub(" ", template)) & _words(NAME.sub(" ", shown)) - SAME_IN_SPANISH - VALUES


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{4,}", text.casefold()))


def _error(template: str) -> DomainError:
    names = set(PLACEHOLDER.findall(template))
    text = Message(gettext_lazy(template), dict.fromkeys(names - {"field"}, 3))
    return InvalidInput("fromDate", text) if "field" in names else DomainError(text)


def _template(raised: type[DomainError]) -> str:
    with override(None):
        return str(raised.template)


def _raising(error: DomainError) -> Callable[..., None]:
    def fail(**_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_error_template_is_translated(language: str) -> None:
    assert untranslated(templates(), language) == []


def test_untranslated_template_is_reported() -> None:
    assert untranslated([str(TripFull.template)], "es") == ["The wheelchair van carries another rider."]


def test_forms_show_errors_without_english_words() -> None:
    problems = {}
    for template in templates():
        form = forms.Form({})
        form.fields["first"] = forms.DateField(label="Desde", required=False)
        with override("es"):
            add_errors(form, _error(template), {"fromDate": "first"})
            shown = " ".join(str(error) for errors in form.errors.values() for error in errors)
        if words := english_words(template, shown):
            problems[template] = words

    assert problems == {}


def test_english_word_on_a_page_is_reported() -> None:
    assert english_words("There is no such ride.", "No existe: ride.") == {"ride"}


@pytest.mark.django_db
def test_page_shows_an_error_of_each_class_in_spanish(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of an endpoint shows why pausing it failed."""
    endpoint, browser = made.endpoint(), visitor()
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = "es"
    problems = {}
    for template in set(map(_template, error_classes())):
        monkeypatch.setattr(endpoints, "pause", _raising(_error(template)))

        answer = browser.post(f"/console/developers/endpoints/{endpoint.pk}/pause/")

        *_, message = get_messages(answer.wsgi_request)
        if english_words(template, str(message)):
            problems[template] = str(message)

    assert problems == {}
