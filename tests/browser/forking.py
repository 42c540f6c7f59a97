"""A fresh service for every test in milliseconds: a process that has loaded everything forks them.

python -m tests.browser.forking    prints its port; each input line ends the current service, "start" forks a new one
"""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.serving import ROOT, await_answer, environment


class Forge:
    """Starts one service after the other, on the same address."""

    def __init__(self, process: "subprocess.Popen[str]", url: str) -> None:
        self._process, self._url = process, url

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Run a new service on the test database; yields its address."""
        try:
            self._tell("start")
            await_answer(self._url, self._process)
            yield self._url
        finally:
            self._tell("stop")

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def forge() -> Iterator[Forge]:
    """Run the forking process; at the end it and its services are ended.  Coverage does not follow it."""
    variables = environment(0)
    variables.pop("COVERAGE_PROCESS_CONFIG", None)
    command = [sys.executable, "-m", "tests.browser.forking"]
    with subprocess.Popen(
        command, cwd=ROOT, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        yield Forge(process, f"http://127.0.0.1:{int(process.stdout.readline())}")
        process.communicate()  # it exits at the end of its input


def main() -> None:
    """Load the service, and follow each input line."""
    listener = socket.create_server(("127.0.0.1", 0))  # shared: no other process can take the port
    port = listener.getsockname()[1]
    os.environ["BASE_URL"] = f"http://127.0.0.1:{port}"
    import uvicorn  # noqa: PLC0415  # tests import this module only for its other side

    from config.asgi import application  # noqa: PLC0415  # knows its address from here on

    server = uvicorn.Server(uvicorn.Config(application, lifespan="off", log_level="error"))
    _say(str(port))
    child = 0
    for line in sys.stdin:
        child = _end(child)
        if line == "start\n":
            child = os.fork()
            if child == 0:
                with suppress(BaseException):  # the child must not return into this loop
                    server.run(sockets=[listener])
                os._exit(0)
        _say("done")
    _end(child)


def _end(child: int) -> int:
    if child:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    return 0


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
