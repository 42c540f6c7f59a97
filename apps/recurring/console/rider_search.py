"""The form that finds the rider of a new order."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _


class RiderSearch(forms.Form):
    """Whom the order is for: by name, or by what another system calls them."""

    name = forms.CharField(
        label=_("Name"),
        required=False,
        max_length=60,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("First letters of a name, or of two, such as “doe, or”."),
    )
    system = forms.CharField(
        label=_("System"), required=False, max_length=100, help_text=_("Such as the name of your record system.")
    )
    value = forms.CharField(
        label=_("Id in that system"),
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        if bool(values.get("system")) != bool(values.get("value")):
            self.add_error("value", _("A system and an id belong together."))
        elif not values.get("name") and not values.get("system"):
            self.add_error("name", _("Say whom you look for."))
        return values

    def criteria(self) -> dict[str, Any]:
        values = self.cleaned_data
        named = {"name": values["name"]} if values["name"] else {}
        known = {"external_id": {"system": values["system"], "value": values["value"]}} if values["system"] else {}
        return {**named, **known}
