"""The two contestants of `deliveries`, each a process that runs once for each input line.

    python -m tests.bench.posting ours         a delivery worker: one delivery run for each line
    python -m tests.bench.posting bare PLAN    an aiohttp loop that posts the contents of PLAN, a pickle; each line
                                               contains the number of connections

It answers each line with a line of JSON.
"""

import asyncio
import ipaddress
import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any, Final

import aiohttp
import uvloop

import tests.bench  # noqa: F401  # prepares the settings
from apps.webhooks.services import delivery
from lib.outbound import Rules

RULES: Final = Rules(networks=(ipaddress.ip_network("127.0.0.0/8"),), plain_http=True)
Posts = list[tuple[str, bytes, dict[str, str]]]  # address, body, headers


def _ours() -> dict[str, Any]:
    done = delivery.deliver(rules=RULES, for_seconds=60.0)
    return {"delivered": 0 if done is None else done.delivered}


def _bare(plan: Posts, connections: int) -> dict[str, Any]:
    began = time.perf_counter()
    uvloop.run(_post_all(plan, connections))
    return {"delivered": len(plan), "seconds": time.perf_counter() - began}


async def _post_all(plan: Posts, connections: int) -> None:
    waiting = iter(plan)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post() -> None:
            for url, body, headers in waiting:
                async with session.post(url, data=body, headers=headers) as response:
                    await response.read()

        await asyncio.gather(*(post() for _ in range(connections)))


def main(name: str, *arguments: str) -> None:
    """Run once for each line of the standard input."""
    plan = pickle.loads(Path(arguments[0]).read_bytes()) if name == "bare" else []  # noqa: S301  # the parent's
    for line in sys.stdin:
        cpu = time.process_time()
        measured = _bare(plan, int(line)) if name == "bare" else _ours()
        sys.stdout.write(json.dumps(measured | {"cpu": time.process_time() - cpu}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
