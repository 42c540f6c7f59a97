"""The control of the simulator on the home page."""

from functools import cached_property
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from apps.accounts.sessions import principal_of
from apps.demo.models import Simulation
from lib.scopes import Scope


def control(request: HttpRequest) -> dict[str, Any]:
    """Template context of every page in demo mode; evaluated only if a template uses it."""
    user = getattr(request, "user", None)
    return {"demo": Control(request) if user is not None and user.is_authenticated else {}}


class Control:
    """Whether the user may pause the simulator, and whether it pauses.  One query, on first use."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @cached_property
    def simulation(self) -> Simulation | None:
        return Simulation.objects.first() if _may_pause(self._request) else None


@require_POST
def pause(request: HttpRequest) -> HttpResponse:
    """Pause the simulator, or let it go on: then it plays first what was due in the meantime."""
    if not _may_pause(request):
        raise PermissionDenied
    Simulation.objects.update(paused=request.POST.get("paused") == "true")
    return redirect("home")


def _may_pause(request: HttpRequest) -> bool:
    by = principal_of(request)
    return by.has_scope(Scope.ASSIGNMENTS_WRITE) or by.has_scope(Scope.USERS_MANAGE)
