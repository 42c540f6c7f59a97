"""Visits of the booking desk: what its form sends, as it was filled in."""

from typing import Any

from django.test import Client

BOOK = "/console/book/"


def sent(client: Client, about: str = "", **changes: Any) -> dict[str, Any]:
    """Open the form and give what it would send, with some fields otherwise."""
    page = client.get(f"{BOOK}{about}")
    form, desk = page.context["form"], page.context["desk"]
    shown = {name: form[name].value() for name in form.fields}
    hidden = {"preset": desk.preset_key, "rider": str(desk.rider.rider.pk) if desk.rider else ""}
    filled = shown | hidden | changes
    return {name: value for name, value in filled.items() if value is not None and value is not False}


def book(client: Client, about: str = "", **changes: Any) -> Any:
    """Fill the form in and book; follow to the page that tells of it."""
    return client.post(BOOK, sent(client, about, **changes), follow=True)


def desk_of(response: Any) -> Any:
    """Say what a page of the desk is about."""
    return response.context["desk"]
