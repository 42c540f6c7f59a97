"""Action buttons of a record in /admin/: each has its own POST URL, checks its permission and calls one service."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.views.decorators.http import require_POST

from lib.admin import RowT, ScopedAdmin
from lib.errors import DomainError

Text = str | Promise


@dataclass(frozen=True, slots=True)
class Button:
    """An action on one record.

    `act` is the name of the admin's method that calls the service; it returns a message that reports the result, or a
    page.  `warning` is shown beside the button; `asks_reason` adds a required text field.
    """

    name: str
    label: Text
    act: str
    warning: Text
    asks_reason: bool = False
    offered: Callable[[Any], bool] = lambda row: True


class ButtonedAdmin(ScopedAdmin[RowT]):
    """An admin class whose records have action buttons; each requires the permission to change the model."""

    buttons: ClassVar[tuple[Button, ...]] = ()
    change_form_template = "admin/buttoned_change_form.html"

    def may_press(self, request: HttpRequest) -> bool:
        """Return whether the user may use the buttons; an admin class that is read-only otherwise may have them."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}"))

    def get_urls(self) -> list[Any]:
        return [self._route(button) for button in self.buttons] + super().get_urls()

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id)) if object_id and request.method == "GET" else None
        offered = [
            {"button": button, "url": reverse(f"admin:{self._name(button)}", args=[row.pk])}
            for button in self.buttons
            if row is not None and self.may_press(request) and button.offered(row)
        ]
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), "buttons": offered})

    def _name(self, button: Button) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{button.name}"

    def _route(self, button: Button) -> URLPattern:
        def pressed(request: HttpRequest, object_id: str) -> HttpResponse:
            return self._press(request, button, object_id)

        view = self.admin_site.admin_view(require_POST(pressed))
        route: URLPattern = path(f"<path:object_id>/{button.name.replace('_', '-')}/", view, name=self._name(button))
        return route

    def _press(self, request: HttpRequest, button: Button, object_id: str) -> HttpResponse:
        if not self.may_press(request):
            raise PermissionDenied
        row: models.Model | None = self.get_queryset(request).filter(pk=object_id).first()
        if row is None:
            raise Http404
        try:
            outcome = getattr(self, button.act)(request, row)
        except DomainError as refusal:
            messages.error(request, refusal.message)
        else:
            if isinstance(outcome, HttpResponse):
                return outcome
            messages.success(request, outcome)
        return HttpResponseRedirect(
            reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[row.pk])
        )
