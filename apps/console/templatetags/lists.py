"""Heads of columns that a list is sorted by, and the addresses of its pages."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from apps.console.kit.lists import ListState
from lib.listing import DOWN

register = template.Library()

_ARROWS = {"ascending": "\N{UPWARDS ARROW}", "descending": "\N{DOWNWARDS ARROW}", "": "\N{UP DOWN ARROW}"}


@register.simple_tag
def head(state: ListState, column: str, label: str = "", kind: str = "") -> SafeString:
    """Draw the head of a column, a link that sorts by it; `label` is for one of another name here, `kind` a class.

    Screen readers hear from `aria-sort` how the list is sorted, so that the arrow is not for them.
    """
    direction = ""
    if state.sort.removeprefix(DOWN) == column:
        direction = "descending" if state.sort.startswith(DOWN) else "ascending"
    aria = format_html(' aria-sort="{}"', direction) if direction else ""
    css_class = format_html(' class="{}"', kind) if kind else ""
    next_sort = state.listing.turned(column, state.sort)
    name = label or state.listing.named(column)
    content = format_html('{} <span class="arrow" aria-hidden="true">{}</span>', name, _ARROWS[direction])
    if state.sent:
        link = format_html(
            '<button type="submit" form="filters" class="sort" name="sort" value="{}">{}</button>', next_sort, content
        )
    else:
        link = format_html('<a class="sort" href="{}">{}</a>', state.address(sort=next_sort), content)
    return format_html('<th scope="col"{}{}>{}</th>', css_class, aria, link)


@register.simple_tag
def pager(state: ListState, next_cursor: str) -> SafeString:
    """Draw the links to the first page and to the next one, as far as there are others."""
    links = []
    if state.after:
        links.append(format_html('<a class="button" href="{}">{}</a>', state.address(), gettext("To the beginning")))
    if next_cursor:
        links.append(
            format_html('<a class="button" href="{}">{}</a>', state.address(after=next_cursor), gettext("More"))
        )
    if not links:
        return SafeString("")
    return format_html('<nav class="pager" aria-label="{}">{}</nav>', gettext("Pages"), SafeString("".join(links)))
