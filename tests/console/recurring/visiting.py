"""Requests of the pages of an order: its forms, and the messages of the next page."""

import re
from typing import Any

from django.test import Client

from apps.recurring.models import StandingOrder

BASE = "/console/recurring/"


def page_of(order: StandingOrder, more: str = "") -> str:
    return f"{BASE}{order.pk}/{more}"


def send(client: Client, order: StandingOrder, action: str, **form: Any) -> Any:
    """Submit a form of the page, filled in from the current order; follow to the next page."""
    version = StandingOrder.objects.get(pk=order.pk).version
    return client.post(page_of(order, f"{action}/"), {"version": version} | form, follow=True)


def change_series(desk: Client, order: StandingOrder, **changes: Any) -> Any:
    """Open the form and submit it with some fields changed."""
    shown = desk.get(page_of(order, "change/")).context["form"]
    filled = {name: shown[name].value() for name in shown.fields}
    sent = {name: value for name, value in (filled | changes).items() if value is not None and value is not False}
    return desk.post(page_of(order, "change/"), sent, follow=True)


def cell(response: Any, day: int) -> str:
    """Return the accessible name of a day of the calendar."""
    names = re.findall(r'<td[^>]*><a [^>]*>\s*<span class="visually-hidden">([^<]*)</span>', response.content.decode())
    return str(names[day - 1])
