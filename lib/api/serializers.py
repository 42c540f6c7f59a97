"""The two kinds of serializer: `In` is strict, `Out` is explicit and read-only.  Both use camelCase keys.

Fields are declared in snake_case; keys on the wire are camelCase, and `validated_data` is snake_case again.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Final, cast

from django.db import models
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from lib.api import fields

_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}", re.ASCII)


def camel(name: str) -> str:
    """Turn `pickup_time` into `pickupTime`."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _in_camel_case(declared: dict[str, Any]) -> dict[str, Any]:
    """Key the fields by their name on the wire, reading and writing the declared name."""
    named = {}
    for name, field in declared.items():
        key = camel(name)
        if key != name and field.source is None:
            field.source = name
        named[key] = field
    return named


# The unbound fields of each class.
_BUILT: Final[dict[type, dict[str, Any]]] = {}


class _BuiltOnce:
    """Builds the fields of a serializer class once; each instance gets copies.

    REST Framework builds them for each instance from declarations and model, which takes most of the time of a request
    with a large body or response.
    """

    # Whether one instance serves many requests: only if its fields are the same for every caller.
    reusable: ClassVar[bool] = False

    def get_fields(self) -> dict[str, Any]:
        built = _BUILT.get(type(self))
        if built is None:
            built = _BUILT[type(self)] = self.finished(super().get_fields())  # type: ignore[misc]  # of the serializer
        return {key: _copied(field) for key, field in built.items()}

    def finished(self, declared: dict[str, Any]) -> dict[str, Any]:
        """Return the fields under the names of the API."""
        return _in_camel_case(declared)


def _copied(field: Any) -> Any:
    """Copy an unbound field, and the child of a list, so that each copy can have its own parent."""
    fresh = object.__new__(type(field))
    fresh.__dict__.update(field.__dict__)
    if getattr(field, "child", None) is not None:
        fresh.child = _copied(field.child)
        fresh.child.parent = fresh
    return fresh


class _InstanceCache(threading.local):
    """Instances of `reusable` serializers, per thread: binding the fields takes longer than using them."""

    def __init__(self) -> None:
        self._instances: dict[type, Any] = {}

    @contextmanager
    def lend(self, shape: Any, context: Mapping[str, Any]) -> Iterator[Any]:
        # Removed while in use, so that a nested use of the same class gets another instance.
        instance = self._instances.pop(shape, None) or shape()
        instance._context = context
        try:
            yield instance
        finally:
            if getattr(shape, "reusable", False):
                instance._context = {}
                self._instances[shape] = instance


_instances = _InstanceCache()


def read(shape: type["In"], data: Any, *, partial: bool = False, context: Mapping[str, Any]) -> dict[str, Any]:
    """Read a body or its part by its shape.

    Raises:
        rest_framework.exceptions.ValidationError: a field is missing, unknown or of the wrong form.
    """
    with _instances.lend(shape, context) as reader:
        reader.partial = partial
        return dict(reader.run_validation(data))


def show(shape: type[serializers.BaseSerializer[Any]], record: Any, *, context: Mapping[str, Any]) -> Any:
    """Convert one record to JSON types by its serializer."""
    with _instances.lend(shape, context) as writer:
        return writer.to_representation(record)


class In(_BuiltOnce, serializers.Serializer[Any]):
    """A request body or a part of one.  Keys that are not declared are refused, not dropped."""

    default_error_messages = {
        "required": "is required.",
        "null": "must not be null.",
        "invalid": "must be an object.",
    }

    def to_internal_value(self, data: Any) -> Any:
        errors: dict[str, Any] = {}
        if isinstance(data, Mapping):
            errors = {
                # A key is arbitrary text of the caller; only plain words are repeated in the message.
                str(key) if _PLAIN_KEY.fullmatch(str(key)) else "(unnamed)": [
                    ErrorDetail("is not a known field.", code="unknown")
                ]
                for key in data
                if key not in self.fields
            } | self._missing_in_element(data)
        try:
            value = super().to_internal_value(data)
        except ValidationError as failure:
            raise ValidationError(errors | cast(dict[str, Any], failure.detail)) from None
        if errors:
            raise ValidationError(errors)
        return value

    def _missing_in_element(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """List the fields missing in elements of lists: a PATCH replaces whole lists, so elements must be complete."""
        if not getattr(self.root, "partial", False) or not self._stands_in_list():
            return {}
        return {
            str(field.field_name): [ErrorDetail("is required.", code="required")]
            for field in self._writable_fields
            if field.required and field.field_name not in data
        }

    def _stands_in_list(self) -> bool:
        above: Any = self.parent
        while above is not None:
            if isinstance(above, serializers.ListField):
                return True
            above = above.parent
        return False


class OutShape(_BuiltOnce, serializers.Serializer[Any]):
    """An answer made of a dataclass or a dict: declared fields, all read-only."""

    def finished(self, declared: dict[str, Any]) -> dict[str, Any]:
        return _read_only(super().finished(declared))


class Out(_BuiltOnce, serializers.ModelSerializer[Any]):
    """An answer made of a row: `Meta.fields` named one by one, all read-only."""

    @cached_property
    def _columns(self) -> list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]:
        return [(name, _reader(field), field.to_representation) for name, field in self.fields.items()]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for name, read_value, show_value in self._columns:
            value = read_value(instance)
            data[name] = None if value is None else show_value(value)
        return data

    serializer_field_mapping: ClassVar[dict[Any, Any]] = serializers.ModelSerializer.serializer_field_mapping | {
        models.DateTimeField: fields.Instant,
        models.DateField: fields.LocalDate,
        models.TimeField: fields.ClockTime,
        models.DecimalField: fields.Number,
        models.UUIDField: fields.Uuid,
    }

    def finished(self, declared: dict[str, Any]) -> dict[str, Any]:
        return _read_only(super().finished(declared))

    def build_property_field(self, field_name: str, model_class: type[models.Model]) -> Any:
        """Map `client_id`, the column of a foreign key, to an id field."""
        column = model_class._meta.get_field(field_name)
        return fields.Uuid, {"read_only": True, "allow_null": column.null}


def _reader(field: Any) -> Callable[[Any], Any]:
    """Return a function that reads a field: directly for attributes of the row, else by REST Framework."""
    if type(field).get_attribute is not serializers.Field.get_attribute or field.source == "*":
        careful: Callable[[Any], Any] = field.get_attribute
        return careful
    return attrgetter(field.source)


def _read_only(declared: dict[str, Any]) -> dict[str, Any]:
    for field in declared.values():
        field.read_only = True
        field.required = False
    return declared
