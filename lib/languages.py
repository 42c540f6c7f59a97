"""Names of languages."""

from django.utils.functional import lazy
from django.utils.translation import get_language_info


def language_name(tag: str) -> str:
    """Return the name of a language by its BCP 47 tag, in the active language; the tag itself if it is not known."""
    try:
        return str(get_language_info(tag.partition("-")[0].lower())["name_translated"])
    except KeyError:
        return tag


language_name_lazy = lazy(language_name, str)
