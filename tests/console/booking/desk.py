"""Requests of the booking form, with its fields filled in."""

from typing import Any

from django.test import Client

BOOK = "/console/book/"


def sent(client: Client, about: str = "", **changes: Any) -> dict[str, Any]:
    """Open the form and return what it submits, with some fields changed."""
    page = client.get(f"{BOOK}{about}")
    form, desk = page.context["form"], page.context["desk"]
    shown = {name: form[name].value() for name in form.fields}
    hidden = {"preset": desk.preset_key, "rider": str(desk.rider.rider.pk) if desk.rider else ""}
    filled = shown | hidden | changes
    return {name: value for name, value in filled.items() if value is not None and value is not False}


def book(client: Client, about: str = "", **changes: Any) -> Any:
    """Fill in the form and book; follow to the confirmation page."""
    return client.post(BOOK, sent(client, about, **changes), follow=True)


def desk_of(response: Any) -> Any:
    """Return the data of the booking form from the template context."""
    return response.context["desk"]
