"""A task that leaves a file behind: proof that it travelled through a broker to a worker."""

import os
from pathlib import Path

from config.celery import app


@app.task(name="tests.prove")
def prove(path: str) -> None:
    """Write the number of the worker's process into `path`, in one step."""
    fresh = Path(path).with_suffix(".new")
    fresh.write_text(str(os.getpid()))
    fresh.replace(path)
