"""Responses that PostgreSQL cannot store unchanged: one of them must not prevent storing the results of its batch."""

import socket
import threading

import pytest

from apps.webhooks.models import Attempt, Delivery
from tests.webhooks import made

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock]

ANSWER = b"HTTP/1.1 500 Oops\r\nserver: a\xffb\r\ncontent-length: 5\r\nconnection: close\r\n\r\na\0b\xffc"


def _answer_once(listening: socket.socket) -> None:
    caller, _ = listening.accept()
    with caller:
        caller.recv(65_536)
        caller.sendall(ANSWER)


def test_bytes_that_are_no_text_are_kept_as_marks_of_replacement() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=_answer_once, args=(listening,))
        answering.start()
        made.endpoint(f"http://127.0.0.1:{listening.getsockname()[1]}/hook")
        made.event()

        made.work()

        answering.join()
    attempt = Attempt.objects.get()
    assert (attempt.code, attempt.response_snippet) == (500, "a\ufffdb\ufffdc")
    assert attempt.response_headers == {"content-length": "5", "server": "a?b"}
    assert Delivery.objects.get().status == "pending"
