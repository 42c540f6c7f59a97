"""How pages show what services wrote: in the language of the reader."""

from django import template

from lib import retelling

register = template.Library()


@register.filter
def retold(text: str) -> str:
    """Say a sentence that a service wrote, an alert or a refusal, in the reader's language."""
    return retelling.retold(text)


@register.filter
def each_retold(text: str) -> str:
    """Say phrases with commas between them in the reader's language, one by one."""
    return ", ".join(retelling.retold(part) for part in text.split(", "))
