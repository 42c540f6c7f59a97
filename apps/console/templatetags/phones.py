"""Phone numbers on pages, as links that dial them."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from lib.phone_input import dial_uri
from lib.phones import phone_text

register = template.Library()


@register.simple_tag
def phone_link(number: str | None, ext: str | None = "") -> SafeString | str:
    """Write an E.164 number as people in the operator's region do, with its extension; "" without a number."""
    if not number:
        return ""
    return format_html('<a class="nowrap phone" href="{}">{}</a>', dial_uri(number, ext or ""), phone_text(number, ext))
