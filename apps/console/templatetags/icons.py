"""Icons from the one sprite (static/vendor/lucide)."""

from django import template
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    """Draw an icon beside its text; screen readers pass over it.  Arrows turn round where one reads from the right."""
    sprite = static("vendor/lucide/sprite.svg")
    kind = "icon ahead" if name.startswith(("arrow-", "chevron-")) and name.endswith(("-left", "-right")) else "icon"
    markup = '<svg class="{}" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>'
    return format_html(markup, kind, sprite, name)
