from collections.abc import Iterator

import pytest

from tests.live.hearing import Listener, listening


@pytest.fixture
def listener(transactional_db: None) -> Iterator[Listener]:
    with listening() as session:
        yield session
