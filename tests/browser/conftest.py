"""One service and one Chromium for all browser tests; every page is watched, and its complaints fail the test.

These tests need a Chromium: Debian's (`apt install chromium`), another one named by TIPTRACE_CHROMIUM, or Playwright's
own (`playwright install chromium`). Without one they are skipped, and say so.

A module that uses `visit` says `pytestmark = pytest.mark.asyncio(loop_scope="session")`, since all share one browser.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Error, Playwright, async_playwright

from tests.browser.site import Filmed, Person, Site, filmed, running_site
from tests.browser.visitor import Visitor, Watch

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

Opens = Callable[..., Awaitable[Visitor]]
Makes = Callable[[str], str]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running


@pytest.fixture(scope="package")
def film(tmp_path_factory: pytest.TempPathFactory) -> Filmed:
    """A short movie with known truth."""
    return filmed(tmp_path_factory.mktemp("film") / "bean in blue light.mp4")


@pytest.fixture(scope="package")
def ada(site: Site) -> Person:
    """Owns the movies."""
    return site.person("Ada Green")


@pytest.fixture(scope="package")
def teacher(site: Site) -> Person:
    """Administers the course, so may edit what Ada may edit."""
    return site.person("Bo Field", admin=True)


@pytest.fixture(scope="package")
def bean(site: Site, ada: Person, film: Filmed) -> str:
    return site.traced(ada, film, "Bean in blue light")


@pytest.fixture
def traced_movie(site: Site, bean: str) -> str:
    """A traced movie for tests that only look at it, held by nobody."""
    site.free(bean)
    return bean


@pytest.fixture(scope="package")
def seed(site: Site, ada: Person, film: Filmed) -> str:
    return site.upload(ada, film, "Seed")


@pytest.fixture
def new_movie(site: Site, seed: str) -> Makes:
    """Makes movies of Ada's that are ready and untouched."""
    return lambda title: site.copy(seed, title)


@pytest.fixture
def new_traced_movie(site: Site, bean: str) -> Makes:
    """Makes movies of Ada's that are traced."""
    return lambda title: site.copy(bean, title)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await launched(playwright)
        yield browser
        await browser.close()


async def launched(playwright: Playwright) -> Browser:
    """The Chromium of this machine. Skips the test where there is none."""
    executable = os.environ.get("TIPTRACE_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    try:
        return await playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
    except Error as fault:
        pytest.skip(f"needs Chromium (apt install chromium, or set TIPTRACE_CHROMIUM): {fault.message[:200]}")


@pytest_asyncio.fixture(loop_scope="session")
async def visit(site: Site, chromium: Browser) -> AsyncIterator[Opens]:
    """Opens browser windows. At the end of the test none of them may have complained."""
    opened: list[Visitor] = []

    async def open_window(person: Person | None = None, *, width: int = 1280, **more: Any) -> Visitor:
        phone = width < 600
        context = await chromium.new_context(
            viewport={"width": width, "height": 844 if phone else 800}, has_touch=phone, is_mobile=phone, **more
        )
        context.set_default_timeout(15_000)
        watch = Watch()
        context.on("page", watch.follow)
        visitor = Visitor(site, context, await context.new_page(), watch)
        opened.append(visitor)
        if person is not None:
            await visitor.sign_in_as(person)
        return visitor

    yield open_window
    complaints = [text for visitor in opened for text in visitor.watch.complaints()]
    for visitor in opened:
        await visitor.context.close()
    assert complaints == []
