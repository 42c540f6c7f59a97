"""Ids that contain their creation time."""

import datetime as dt
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from lib.ids import moment_of, oldest_of

MILLISECOND = dt.timedelta(milliseconds=1)


@given(st.integers(1, 2**42))
def test_instant_of_the_oldest_id_is_the_instant_itself(milliseconds: int) -> None:
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + milliseconds * MILLISECOND

    id_ = oldest_of(moment)

    assert moment_of(id_) == moment_of(UUID(int=id_.int | (1 << 62) - 1)) == moment
    assert (id_.version, id_.variant) == (7, "specified in RFC 4122")
    assert oldest_of(moment - MILLISECOND) < id_ < oldest_of(moment + MILLISECOND)
