"""Privacy mode: a screen shows riders by their initials.

It is a setting of the browser, not of the user: a dispatcher who is signed in at a wall display and at a desk wants
full names at the desk.  A cookie stores it, and it outlasts the session: after the next login the wall display still
shows no names.
"""

from contextlib import AbstractContextManager
from typing import Final

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from lib.privacy_mode import initials_alone

COOKIE: Final = "carelane_privacy"  # its only value is ON
ON: Final = "on"
_MAX_AGE: Final = 400 * 86_400  # the longest time that browsers keep a cookie


def privacy_mode(request: HttpRequest) -> AbstractContextManager[None]:
    """Show riders' names or initials, as the cookie of the browser says."""
    return initials_alone(request.COOKIES.get(COOKIE) == ON)


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Switch privacy mode of this browser `on` or `off`, and redirect to the page `next`."""
    mode = request.POST.get("privacy", "")
    if mode not in (ON, "off"):
        raise BadRequest("privacy has to be on or off")
    next_url = request.POST.get("next", "")
    response = redirect(next_url if url_has_allowed_host_and_scheme(next_url, allowed_hosts=None) else "start")
    if mode == ON:
        messages.success(request, _("Privacy mode is on: this screen shows riders by their initials."))
        response.set_cookie(
            COOKIE, ON, max_age=_MAX_AGE, secure=settings.SESSION_COOKIE_SECURE, httponly=True, samesite="Lax"
        )
    else:
        messages.success(request, _("Privacy mode is off: this screen shows riders by name."))
        response.delete_cookie(COOKIE, samesite="Lax")
    return response
