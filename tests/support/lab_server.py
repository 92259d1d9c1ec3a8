"""The web service as a process of its own, over tables that a test filled: python -m tests.support.lab_server SETTINGS.

SETTINGS is a JSON object: `endpoint`, and the settings. Prints the port once it listens; ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import sys

from service.asgi import MAX_BODY_BYTES
from service.bridge import Bridge
from service.runtime import open_runtime
from service.settings import Settings
from service.web.app import build_app
from tests.support.asgi_server import serving


async def serve(endpoint: str, **changed: object) -> None:
    settings = Settings(_env_file=None, **changed)  # type: ignore[arg-type]
    async with (
        open_runtime(settings, endpoint=endpoint) as runtime,
        serving(Bridge(build_app(runtime), max_body_bytes=MAX_BODY_BYTES)) as port,
    ):
        print(port, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(serve(**json.loads(sys.argv[1])))
