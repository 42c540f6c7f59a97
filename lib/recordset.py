"""Many rows in one parameter of a statement: as JSON, which costs a tenth of what arrays of values cost to quote."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson


def source(kinds: Mapping[str, str], *, name: str) -> str:
    """Write what stands in FROM for the parameter `rows`: a row type `name` with these columns of these SQL types."""
    columns = ", ".join(f'"{column}" {kind}' for column, kind in kinds.items())
    return f"json_to_recordset(%(rows)s::json) AS {name}({columns})"


def rows(found: Iterable[Mapping[str, Any]]) -> str:
    """Write the parameter; instants have to be aware, and texts without NUL."""
    return orjson.dumps(list(found)).decode()


def ids(found: Iterable[object]) -> str:
    """Write ids as the text of a uuid[]."""
    return "{" + ",".join(map(str, found)) + "}"
