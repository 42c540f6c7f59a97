"""The page of a user's display preferences."""

from typing import Final, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.http import require_http_methods

from apps.accounts.models import User
from apps.accounts.services import preferences
from apps.accounts.sessions import principal_of
from apps.console.kit.languages import language_of
from apps.console.kit.rights import UNPROCESSABLE
from lib.clocks import twelve_hours_are_usual

COMPACT: Final = "compact"
# Form values of the clock and their stored values.
CLOCKS: Final[dict[str, bool | None]] = {"usual": None, "24": False, "12": True}


def _clocks() -> list[tuple[str, str]]:
    default_label = _("As usual here: 12 hours") if twelve_hours_are_usual() else _("As usual here: 24 hours")
    labels = (default_label, _("24 hours, such as 14:30"), _("12 hours, such as 2:30 PM"))
    return list(zip(CLOCKS, labels, strict=True))


class PreferencesForm(forms.Form):
    """The preferences: shortcuts, density, language, clock, and alerts."""

    single_keys = forms.BooleanField(
        label=gettext_lazy("Single-key shortcuts"),
        required=False,
        help_text=gettext_lazy(
            "For example, c books a ride. Turn them off if you use speech input. Ctrl K always works."
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
        # Each language is named in itself, for users who cannot read the page.
        choices=[("", gettext_lazy("Browser default")), *settings.LANGUAGES],
    )
    clock = forms.ChoiceField(
        label=gettext_lazy("Clock"),
        widget=forms.RadioSelect,
        choices=_clocks,
    )
    alert_sound = forms.BooleanField(
        label=gettext_lazy("Sound"),
        required=False,
        help_text=gettext_lazy(
            "Two short tones for a new critical alert or warning, at most every ten seconds, in one tab. "
            "The browser may need a click on the page first."
        ),
    )
    alert_notices = forms.BooleanField(
        label=gettext_lazy("Browser notification"),
        required=False,
        help_text=gettext_lazy(
            "Shows the number and severity of new alerts, without names or details. Allow it in each browser."
        ),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def preferences_page(request: HttpRequest) -> HttpResponse:
    """Show and save the preferences; open to every signed-in user."""
    if request.method != "POST":
        return render(
            request, "accounts/preferences.html", {"form": PreferencesForm(initial=_initial(cast(User, request.user)))}
        )
    form = PreferencesForm(request.POST)
    if not form.is_valid():
        return render(request, "accounts/preferences.html", {"form": form}, status=UNPROCESSABLE)
    values = form.cleaned_data
    preferences.prefer(
        single_keys=values["single_keys"],
        compact=values["density"] == COMPACT,
        twelve_hours=CLOCKS[values["clock"]],
        alert_sound=values["alert_sound"],
        alert_notices=values["alert_notices"],
        language=values["language"],
        by=principal_of(request),
    )
    cast(User, request.user).language = values["language"]
    with override(language_of(request)):  # the redirected page is in the new language
        messages.success(request, _("Your preferences are saved."))
    return redirect("preferences")


def _initial(person: User) -> dict[str, object]:
    return {
        "single_keys": person.single_keys,
        "density": COMPACT if person.compact else "comfortable",
        "clock": next(name for name, stored in CLOCKS.items() if stored is person.twelve_hours),
        "alert_sound": person.alert_sound,
        "alert_notices": person.alert_notices,
        "language": person.language,
    }
