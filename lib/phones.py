"""Phone numbers in forms and texts, as people in the operator's region (PHONE_REGION) write them."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _

from lib.phone_input import e164, example, readable


class PhoneField(forms.CharField):
    """A phone number, cleaned to E.164; "" if empty.  Without a plus sign, a number of `PHONE_REGION`."""

    def __init__(self, **options: Any) -> None:
        widget = forms.TextInput(attrs={"autocomplete": "off", "inputmode": "tel"})
        super().__init__(max_length=40, widget=widget, **options)

    def to_python(self, value: Any) -> str:
        text = super().to_python(value) or ""
        number = e164(text, region=settings.PHONE_REGION) if text else ""
        if number is None:
            message = _("This is not a phone number. Write it like %(example)s, without an extension.")
            raise forms.ValidationError(message % {"example": example(settings.PHONE_REGION)}, code="invalid")
        return number

    def prepare_value(self, value: Any) -> Any:
        """Show a stored number as people write it, and what was typed as it was typed."""
        is_stored = isinstance(value, str) and e164(value, region=settings.PHONE_REGION) == value
        return readable(value, region=settings.PHONE_REGION) if is_stored else value


def phone_text(number: str | None, ext: str | None = "") -> str:
    """Write an E.164 number as people in the operator's region do, with its extension; "" without a number."""
    if not number:
        return ""
    text = readable(number, region=settings.PHONE_REGION)
    return _("%(number)s ext. %(extension)s") % {"number": text, "extension": ext} if ext else text
