"""The base of every admin class in /admin/: data scope, PHI levels, audit, and no personal data in URLs.

`ScopedSite` is the interface through which admin classes get the principal and write audit rows.  It is implemented in
config/admin_site.py, because admin classes of lower apps may not import the app that implements it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar, cast
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.admin.options import BaseModelAdmin
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.db.models.constants import LOOKUP_SEP
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override
from django_stubs_ext import StrOrPromise

from lib.access import Phi, Principal
from lib.admin_filters import ScopedRelatedFilter, SpokenChoicesFilter, SpokenValuesFilter
from lib.admin_names import Words, with_names
from lib.pagination import CappedPaginator
from lib.phones import PhoneField

RowT = TypeVar("RowT", bound=models.Model)
_FILTERING = {"exact", "in", "gte", "lt", "isnull"}  # lookups that filters and links of the admin use
ParentT = TypeVar("ParentT", bound=models.Model)
Rows = models.QuerySet[Any]


class ScopedSite(ABC, admin.AdminSite):
    """An admin site whose admin classes know the principal of a request."""

    @abstractmethod
    def principal_of(self, request: HttpRequest) -> Principal:
        """Return the principal of the request."""

    @abstractmethod
    def record(
        self,
        request: HttpRequest,
        *,
        action: str,
        subject_type: str = "",
        subject_id: UUID | None = None,
        rider_ids: Iterable[UUID] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        """Write one audit row on behalf of the request."""


class SeenVersionForm(forms.ModelForm[Any]):
    """A form that carries the version it was rendered with, so that a concurrent change is not overwritten unseen."""

    seen_version = forms.IntegerField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.initial["seen_version"] = self.instance.version

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        seen = self.cleaned_data.get("seen_version")
        if not self.instance._state.adding and seen != self.instance.version:
            raise ValidationError(
                _("Someone else changed this record. Open it again to see the changes."),
                code="stale",
            )
        return cleaned


class PostedSearchChangeList(ChangeList):
    """A list whose search text is sent in the body of a POST, never in the URL."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> Rows:
        self.query = request.POST.get(SEARCH_VAR, "").replace("\0", "")[:100] if request.method == "POST" else ""
        rows: Rows = super().get_queryset(request, exclude_parameters)
        return rows


class _Choosing(BaseModelAdmin[RowT]):
    """Form fields whose choices are within the principal's data scope, with native date and time inputs."""

    words: ClassVar[Words] = {}  # labels that other pages use for choices, by column

    formfield_overrides = {
        models.DateField: {"widget": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")},
        models.TimeField: {"widget": forms.TimeInput(attrs={"type": "time"}, format="%H:%M")},
    }

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if isinstance(db_field, ArrayField) and db_field.base_field.choices:
            return forms.MultipleChoiceField(
                choices=[(value, capfirst(str(label))) for value, label in db_field.base_field.choices],
                required=not db_field.blank,
                label=capfirst(str(db_field.verbose_name)),
                widget=forms.CheckboxSelectMultiple,
            )
        if db_field.name == "phone":
            return PhoneField(label=capfirst(str(db_field.verbose_name)), required=not db_field.blank)
        form_field = super().formfield_for_dbfield(db_field, request, **kwargs)
        for adornment in ("can_add_related", "can_change_related", "can_delete_related", "can_view_related"):
            # No pop-up windows to edit the related record.
            if form_field is not None and hasattr(form_field.widget, adornment):
                setattr(form_field.widget, adornment, False)
        return form_field

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", self.choices_of(db_field, request))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        kwargs.setdefault("queryset", self.choices_of(db_field, request))
        kwargs.setdefault("widget", forms.CheckboxSelectMultiple)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def choices_of(self, field: Any, request: HttpRequest) -> Rows:
        """Return the records that the field may refer to, within the principal's data scope."""
        rows: Rows = field.remote_field.model._default_manager.all()
        if hasattr(rows, "visible_to"):
            rows = rows.visible_to(cast(ScopedSite, self.admin_site).principal_of(request))
        return rows.order_by("name") if _has_field(field.remote_field.model, "name") else rows


class ScopedAdmin(_Choosing[RowT], admin.ModelAdmin[RowT]):
    """The base of an admin class.

    Subclasses define `scope`, unless the model's manager has `visible_to`; `subject_type` and, if rows contain data of
    riders, `rider_ids_of`; `needs_phi` for columns that require a PHI level; and `read_only` for models that only
    services may change.
    """

    read_only: ClassVar[bool] = False
    subject_type: ClassVar[str] = ""
    audits_reads: ClassVar[bool] = False
    # Columns and form fields, with the PHI level required to see them.
    needs_phi: ClassVar[Mapping[str, Phi]] = {}
    search_placeholder: ClassVar[StrOrPromise] = ""
    # Columns that links of other pages filter by, in addition to those of `list_filter`.
    linked_filters: ClassVar[tuple[str, ...]] = ()

    actions = None
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0

    @property
    def site(self) -> ScopedSite:
        """Return the site; admin classes of this type are registered only there."""
        return cast(ScopedSite, self.admin_site)

    def scope(self, rows: Rows, principal: Principal) -> Rows:
        """Filter rows by the principal's data scope."""
        scoped: Rows = rows.visible_to(principal)  # type: ignore[attr-defined]  # managers that lack it override `scope`
        return scoped

    def rider_ids_of(self, row: RowT) -> Iterable[UUID]:
        """Return the riders whose data a row shows."""
        return ()

    def name_of(self, row: RowT, request: HttpRequest) -> str:
        """Return the row's label on other records: names of people only for users who may open the row."""
        return str(row)

    # Rights

    def has_add_permission(self, request: HttpRequest) -> bool:
        return not self.read_only and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: RowT | None = None) -> bool:
        return not self.read_only and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: RowT | None = None) -> bool:
        return False

    # Reading

    def get_queryset(self, request: HttpRequest) -> Rows:
        return self.scope(super().get_queryset(request), self.site.principal_of(request))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> RowT | None:
        """Return a row in the data scope, locked if it is about to be saved, so that saves are serialized."""
        row = super().get_object(request, object_id, from_field)
        if row is not None and request.method == "POST" and not self.read_only:
            type(row)._default_manager.select_for_update(of=("self",)).get(pk=row.pk)
            row.refresh_from_db()
        return row

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return PostedSearchChangeList

    def permitted(self, names: Iterable[Any], request: HttpRequest) -> list[Any]:
        """Return the columns that the principal may see."""
        level = self.site.principal_of(request).phi
        return [name for name in names if level >= self.needs_phi.get(name, Phi.NONE)]

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        columns = self.permitted(super().get_list_display(request), request)
        return with_names(columns, self.model, self.site, request, linked=False, words=self.words)

    def get_list_display_links(self, request: HttpRequest, list_display: Any) -> list[Any]:
        """Return the columns that link to their row, including the ones that replace foreign keys and choices."""
        links = super().get_list_display_links(request, list_display) or ()
        return [column for column in list_display if column in links or str(column) in links]

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        level = self.site.principal_of(request).phi
        fields = super().get_search_fields(request)
        return [name for name in fields if level >= self.needs_phi.get(name.partition(LOOKUP_SEP)[0], Phi.NONE)]

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        """Replace relational filters by filters within the data scope; `list_filter` contains only column names."""
        named = cast(Iterable[str], super().get_list_filter(request))
        return [self._filter_by(self.opts.get_field(name)) for name in named]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow only filters by the listed columns: filtering by any other column would reveal its values by trial."""
        column, *steps = lookup.split(LOOKUP_SEP)
        if steps[:1] == ["id"]:
            steps = steps[1:]
        is_listed = column in {*self.list_filter, *self.linked_filters}
        return is_listed and len(steps) < 2 and _FILTERING.issuperset(steps)

    def get_fieldsets(self, request: HttpRequest, obj: RowT | None = None) -> Any:
        fieldsets: list[tuple[Any, dict[str, Any]]] = [
            (title, {**options, "fields": self.permitted(options["fields"], request)})
            for title, options in super().get_fieldsets(request, obj)
        ]
        if issubclass(self.form, SeenVersionForm) and self.fieldsets:
            fieldsets[-1][1]["fields"] = [*fieldsets[-1][1]["fields"], "seen_version"]
        if obj is not None and not self.has_change_permission(request, obj):
            for _title, options in fieldsets:
                names = options["fields"]
                options["fields"] = with_names(names, self.model, self.site, request, linked=True, words=self.words)
        return [(title, options) for title, options in fieldsets if options["fields"]]

    def get_inlines(self, request: HttpRequest, obj: RowT | None) -> Any:
        """Return the inlines of a record; when adding a record, only the editable ones."""
        inlines = super().get_inlines(request, obj)
        return inlines if obj is not None else [inline for inline in inlines if not issubclass(inline, ReadOnlyInline)]

    def get_readonly_fields(self, request: HttpRequest, obj: RowT | None = None) -> Any:
        return self.permitted(super().get_readonly_fields(request, obj), request)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if SEARCH_VAR in request.GET:
            return HttpResponseRedirect(request.path)
        title = {"title": capfirst(self.opts.verbose_name_plural)}
        response = super().changelist_view(request, {**title, **(extra_context or {})})
        if isinstance(response, TemplateResponse) and response.context_data and "cl" in response.context_data:
            changelist = response.context_data["cl"]
            self._record_read(request, list(changelist.result_list), searched=bool(changelist.query))
        return response

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        response = super().changeform_view(request, object_id, form_url, extra_context)
        if isinstance(response, TemplateResponse) and response.context_data:
            row = response.context_data.get("original")
            if row is not None:
                self._record_read(request, [row], subject_id=row.pk)
        return response

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the history of a row.

        Checks the permission before the look-up, so that the response does not reveal whether the row exists.
        """
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        response: Any = super().history_view(request, object_id, extra_context)
        row = response.context_data["object"]
        self._record_read(request, [row], subject_id=row.pk)
        return cast(HttpResponse, response)

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        """Raise 404 for a row that is absent or out of scope; Django would redirect with the key in a message."""
        raise Http404

    # Writing

    def save_model(self, request: HttpRequest, obj: RowT, form: Any, change: bool) -> None:
        """Save the changed fields, raise the version by one, and write an audit row with the names of the fields."""
        if change and _has_field(type(obj), "version"):
            obj.version += 1  # type: ignore[attr-defined]  # checked in the line above
        super().save_model(request, obj, form, change)
        self.site.record(
            request,
            action=f"{self._topic}.{'update' if change else 'create'}",
            subject_type=self.subject_type,
            subject_id=obj.pk,
            details={"fields": sorted(set(form.changed_data) - {"seen_version"})} if change else None,
        )

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        super().save_formset(request, form, formset, change)
        if formset.new_objects or formset.changed_objects or formset.deleted_objects:
            self.site.record(
                request,
                action=f"{self._topic}.update",
                subject_type=self.subject_type,
                subject_id=form.instance.pk,
                details={"fields": [formset.prefix]},
            )

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        self.record_event(request, form.instance)

    def record_event(self, request: HttpRequest, row: RowT) -> None:
        """Record an event of the change, in the transaction of the form; overridden for models with public events."""

    def _filter_by(self, column: Any) -> Any:
        if column.is_relation:
            return column.name, ScopedRelatedFilter
        if column.choices:
            return column.name, SpokenChoicesFilter
        worded = isinstance(column, models.CharField)
        return (column.name, SpokenValuesFilter) if worded else column.name

    @property
    def _topic(self) -> str:
        """Return the model's name in audit actions, as in the API: `drivers.update`."""
        with override(settings.LANGUAGE_CODE):  # stored, so independent of the user's language
            return str(self.opts.verbose_name_plural).replace(" ", "_").lower()

    def _record_read(
        self, request: HttpRequest, rows: list[RowT], *, subject_id: UUID | None = None, searched: bool = False
    ) -> None:
        rider_ids = {rider_id for row in rows for rider_id in self.rider_ids_of(row)}
        if rider_ids or self.audits_reads or searched:
            self.site.record(
                request,
                action=f"{self._topic}.{'search' if searched else 'read'}",
                subject_type=self.subject_type,
                subject_id=subject_id,
                rider_ids=sorted(rider_ids),
            )


class NamedFieldsFormSet(forms.BaseInlineFormSet[Any, Any, Any]):
    """A formset that labels its fields for screen readers: the column headers of a table are not labels."""

    def add_fields(self, form: forms.ModelForm[Any], index: int | None) -> None:
        super().add_fields(form, index)
        for name, form_field in form.fields.items():
            label = _("Delete this row") if name == DELETION_FIELD_NAME else form_field.label
            form_field.widget.attrs["aria-label"] = label


class ScopedInline(_Choosing[RowT], admin.TabularInline[RowT, ParentT]):
    """Rows that belong to a parent record and share its data scope."""

    extra = 0
    show_change_link = False
    removable: ClassVar[bool] = False
    formset = NamedFieldsFormSet
    template = "admin/scoped_inline.html"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.removable and self.has_change_permission(request, obj)


class ReadOnlyInline(ScopedInline[RowT, ParentT]):
    """Rows of a parent record that only services write."""

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        names = super().get_fields(request, obj)
        return with_names(names, self.model, self.admin_site, request, linked=True, words=self.words)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _has_field(model: type[models.Model], name: str) -> bool:
    return any(field.name == name for field in model._meta.get_fields())
