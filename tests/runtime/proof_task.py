"""Task that writes a file: proof that it was sent through a broker to a worker."""

import os
from pathlib import Path

from config.celery import app


@app.task(name="tests.prove")
def prove(path: str) -> None:
    """Write the worker's process id to `path`, atomically."""
    fresh = Path(path).with_suffix(".new")
    fresh.write_text(str(os.getpid()))
    fresh.replace(path)
