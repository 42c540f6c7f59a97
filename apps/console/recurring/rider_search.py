"""The form that finds the rider of a new order."""

from django import forms
from django.utils.translation import gettext_lazy as _


class RiderSearch(forms.Form):
    """Whom the order is for, as the booking desk asks: by name, by what any other system calls them, by phone."""

    q = forms.CharField(
        label=_("Rider"),
        max_length=100,
        error_messages={"required": _("Say whom you look for.")},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("Name, MRN or phone"),
    )
