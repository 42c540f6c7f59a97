"""Names that tests of other folders import from here; the fixtures are in tests/conftest.py."""

from tests.callers import TokenClient as TokenClient
from tests.callers import api_with as api_with
