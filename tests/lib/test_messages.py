"""Texts with parameters: formatted in the language of the reader, stored as template and parameters."""

import datetime as dt

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy, override

from apps.riders.rules.needs import Mobility
from lib.console_forms import add_errors
from lib.errors import Code, Detail, DomainError, InvalidInput, ScopeMissing
from lib.messages import FieldName, Message, lowered


class _Refused(DomainError):
    code = Code.RULE_VIOLATION
    template = _("The token has %(count)s requests under way, which is all it may.")


def test_error_has_the_language_of_whoever_reads_it() -> None:
    with override("es"):
        error = _Refused(count=3)
        assert str(error) == "El token tiene 3 solicitudes en curso; no puede tener más."

    assert str(error) == error.message == "The token has 3 requests under way, which is all it may."


def test_parameters_that_are_texts_follow_the_language() -> None:
    error = ScopeMissing("rides:write", "rides:status")
    labels = Message(
        _("%(others)s or %(last)s"), {"others": [lowered(Mobility.STRETCHER.label), "x"], "last": _("None")}
    )

    assert str(error) == "This needs the scope rides:write or rides:status."
    with override("es"):
        assert str(error) == "Esto necesita el permiso rides:write o rides:status."
        assert str(labels) == "camilla, x o Ninguno"


def test_template_may_have_plural_forms() -> None:
    template = ngettext_lazy("%(count)s day", "%(count)s days", "count")

    assert [str(Message(template, {"count": count})) for count in (1, 2)] == ["1 day", "2 days"]


def test_stored_message_is_read_in_any_language() -> None:
    when = Message(_("in %(days)s days"), {"days": 3})
    message = Message(
        _("%(credential)s of %(owner)s: expires %(day)s, %(when)s."),
        {"credential": _("insurance"), "owner": _("a driver"), "day": dt.date(2026, 11, 23), "when": when},
    )
    with override("es"):
        stored = message.as_json()

    read = Message.from_json(stored)

    assert str(read) == str(message) == "insurance of a driver: expires Nov 23, 2026, in 3 days."
    assert stored["parameters"]["when"] == {"template": "in %(days)s days", "parameters": {"days": 3}}
    with override("es"):
        assert str(read) == "seguro de un conductor: vence el 23 Nov 2026, dentro de 3 días."
    with override(None):  # as in the API
        assert str(read) == "insurance of a driver: expires 2026-11-23, in 3 days."


def test_list_of_texts_survives_storage() -> None:
    stored = Message(_("%(others)s or %(last)s"), {"others": [_("a driver"), "V17"], "last": 2}).as_json()

    with override("es"):
        assert str(Message.from_json(stored)) == "un conductor, V17 o 2"


def test_forms_name_fields_by_their_labels() -> None:
    class Form(forms.Form):
        end = forms.CharField(label="Last day", required=False)
        start = forms.CharField(label="First day", required=False)

    form = Form({})
    detail = Detail(
        code="order",
        field="endDate",
        message=Message(_("%(field)s is before %(start_date)s."), {"start_date": FieldName("startDate")}),
    )
    error = InvalidInput("endDate", _("%(field)s is required."))

    add_errors(form, DomainError(details=[detail, *error.details]), {"endDate": "end", "startDate": "start"})

    assert form.errors["end"] == ["Last day is before first day.", "Last day is required."]
    assert str(error) == "endDate is required."
