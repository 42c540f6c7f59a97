"""Query parameters, as strict as bodies: unknown, repeated and empty ones are refused."""

import re
from functools import lru_cache
from typing import Any

from django.http import QueryDict
from rest_framework.exceptions import ErrorDetail, ValidationError

from lib.api import fields
from lib.api.serializers import In


class Query(In):
    """The query parameters of one operation."""

    of_query = True

    def to_internal_value(self, data: QueryDict) -> Any:
        errors = {
            key: [ErrorDetail("is given more than once.", code="repeated")]
            if len(values) > 1
            else [ErrorDetail("must not be empty.", code="blank")]
            for key, values in data.lists()
            if len(values) > 1 or values[0] == ""
        }
        if errors:
            raise ValidationError(errors)
        return super().to_internal_value(data.dict())


class PageQuery(Query):
    """The parameters of every list: `limit` (above 200 is clamped) and `cursor`."""

    limit = fields.Integer(default=50, min_value=1, help_text="Rows per page; more than 200 counts as 200.")
    cursor = fields.Text(required=False, max_length=1000, help_text="`page.nextCursor` of the page before.")


class CountedPageQuery(PageQuery):
    """A list that can also return the total number of rows."""

    include_total = fields.Boolean(default=False, help_text="Adds `page.total`, exact up to 10,000.")


def parse(query: type[Query], parameters: QueryDict) -> dict[str, Any]:
    """Read the parameters of an operation.  Values in the result are shared between requests: do not change them.

    Raises:
        rest_framework.exceptions.ValidationError: one is unknown, repeated, empty or of the wrong form.
    """
    cursor = parameters.get("cursor")
    if cursor is None or not _CURSOR.fullmatch(cursor) or len(parameters.getlist("cursor")) > 1:
        return dict(_parsed(query, parameters.urlencode()))
    # Cursors never repeat, but the other parameters of a list do: cache without the cursor.
    uniform = parameters.copy()
    uniform["cursor"] = "x"
    parsed = _parsed(query, uniform.urlencode())
    return {**parsed, "cursor": cursor} if "cursor" in parsed else dict(parsed)


_CURSOR = re.compile(r"[A-Za-z0-9_-]{1,1000}")


@lru_cache(maxsize=1024)
def _parsed(query: type[Query], text: str) -> dict[str, Any]:
    """Parse a query string.  Cached, because building a serializer takes longer than the rest of a request."""
    shape = query(data=QueryDict(text))
    shape.is_valid(raise_exception=True)
    return dict(shape.validated_data)
