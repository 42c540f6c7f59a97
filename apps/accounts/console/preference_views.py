"""The page where people say how pages shall be for them."""

from typing import Final, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_http_methods

from apps.accounts.console.languages import language_of
from apps.accounts.console.rights import UNPROCESSABLE
from apps.accounts.models import User
from apps.accounts.services import preferences
from apps.accounts.sessions import principal_of

COMPACT: Final = "compact"
TWELVE: Final = "12"


class PreferencesForm(forms.Form):
    """What the page asks."""

    single_keys = forms.BooleanField(
        label=gettext_lazy("Shortcuts of a single key"),
        required=False,
        help_text=gettext_lazy(
            "Such as c to book a ride. Switch them off where speech input or a slip of the hand sets them off. "
            "Ctrl K works either way."
        ),
    )
    density = forms.ChoiceField(
        label=gettext_lazy("Density"),
        widget=forms.RadioSelect,
        choices=[("comfortable", gettext_lazy("Comfortable")), (COMPACT, gettext_lazy("Compact: more on a screen"))],
    )
    language = forms.ChoiceField(
        label=gettext_lazy("Language"),
        required=False,
        # Each in its own words, for whoever cannot read the page.
        choices=[("", gettext_lazy("As the browser says")), *settings.LANGUAGES],
    )
    clock = forms.ChoiceField(
        label=gettext_lazy("Clock"),
        widget=forms.RadioSelect,
        choices=[("24", gettext_lazy("24 hours, such as 14:30")), (TWELVE, gettext_lazy("12 hours, such as 2:30 PM"))],
    )


@require_http_methods(["GET", "HEAD", "POST"])
def preferences_page(request: HttpRequest) -> HttpResponse:
    """Ask how pages shall be; open to everybody who is signed in."""
    if request.method != "POST":
        return render(
            request, "accounts/preferences.html", {"form": PreferencesForm(initial=_initial(cast(User, request.user)))}
        )
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        return render(request, "accounts/preferences.html", {"form": form}, status=UNPROCESSABLE)
    wanted = form.cleaned_data
    preferences.prefer(
        single_keys=wanted["single_keys"],
        compact=wanted["density"] == COMPACT,
        twelve_hours=wanted["clock"] == TWELVE,
        language=wanted["language"],
        by=principal_of(request),
    )
    cast(User, request.user).language = wanted["language"]
    with override(language_of(request)):  # the next page's
        messages.success(request, _("Your preferences are saved."))
    return redirect("preferences")


def _initial(person: User) -> dict[str, object]:
    return {
        "single_keys": person.single_keys,
        "density": COMPACT if person.compact else "comfortable",
        "clock": TWELVE if person.twelve_hours else "24",
        "language": person.language,
    }
