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
def head(shown: ListState, column: str, label: str = "", kind: str = "") -> SafeString:
    """Draw the head of a column, a link that sorts by it; `label` is for one of another name here, `kind` a class.

    Screen readers hear from `aria-sort` how the list is sorted, so that the arrow is not for them.
    """
    direction = ""
    if shown.sort.removeprefix(DOWN) == column:
        direction = "descending" if shown.sort.startswith(DOWN) else "ascending"
    aria = format_html(' aria-sort="{}"', direction) if direction else ""
    named = format_html(' class="{}"', kind) if kind else ""
    turned = shown.listing.turned(column, shown.sort)
    name = label or shown.listing.named(column)
    inside = format_html('{} <span class="arrow" aria-hidden="true">{}</span>', name, _ARROWS[direction])
    if shown.sent:
        does = format_html(
            '<button type="submit" form="filters" class="sort" name="sort" value="{}">{}</button>', turned, inside
        )
    else:
        does = format_html('<a class="sort" href="{}">{}</a>', shown.address(sort=turned), inside)
    return format_html('<th scope="col"{}{}>{}</th>', named, aria, does)


@register.simple_tag
def pager(shown: ListState, following: str) -> SafeString:
    """Draw the links to the first page and to the next one, as far as there are others."""
    links = []
    if shown.after:
        links.append(format_html('<a class="button" href="{}">{}</a>', shown.address(), gettext("To the beginning")))
    if following:
        links.append(format_html('<a class="button" href="{}">{}</a>', shown.address(after=following), gettext("More")))
    if not links:
        return SafeString("")
    return format_html('<nav class="pager" aria-label="{}">{}</nav>', gettext("Pages"), SafeString("".join(links)))
