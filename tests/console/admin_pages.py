"""Users of pages of /admin/, and the data that their forms contain and submit."""

from typing import Any

from django.db.models import Model
from django.test import Client
from django.urls import reverse

from apps.accounts.rules.roles import UserRole
from tests import factories
from tests.accounts.signed_in import sign_in


def signed_in_as(role: UserRole, **memberships: Any) -> Client:
    person = factories.UserFactory.create(role=role)
    for name, places in memberships.items():
        getattr(person, name).set(places)
    client = Client()
    sign_in(client, person)
    return client


def address_of(model: type[Model], page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def context_of(response: Any) -> dict[str, Any]:
    context: dict[str, Any] = response.context_data
    return context


def form_of(client: Client, url: str, **changes: Any) -> dict[str, Any]:
    """Return the data of a change form as a browser submits it, with changes."""
    context = context_of(client.get(url))
    forms = [context["adminform"].form]
    for inline in context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.initial_forms]
    sent: dict[str, Any] = {}
    for form in forms:
        for field in form:
            value = field.value()
            if value is not None and value is not False:
                sent[field.html_name] = "on" if value is True else value
                if field.field.show_hidden_initial:
                    sent[field.html_initial_name] = value
    return sent | changes
