"""The one way pages write headings, labels and buttons, also on pages that a library brings along."""

from django import template

register = template.Library()


@register.filter
def sentence_case(text: object) -> str:
    """Write `Change Password` as `Change password`; words all in capitals, such as PIN, stay."""
    first, *rest = (word if word.isupper() else word.lower() for word in str(text).split() or [""])
    return " ".join([first[:1].upper() + first[1:], *rest])
