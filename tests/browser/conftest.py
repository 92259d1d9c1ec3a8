"""One service and one Chromium for all browser tests; every page is watched, and its complaints fail the test.

These tests need a Chromium: Debian's (`apt install chromium`), another one named by TIPTRACE_CHROMIUM, or Playwright's
own (`playwright install chromium`). Without one they are skipped, and say so.

A module that uses `visit` says `pytestmark = pytest.mark.asyncio(loop_scope="session")`, since all share one browser.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import pytest_asyncio
import structlog
from playwright.async_api import Browser, BrowserContext, Error, Playwright, async_playwright

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
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))  # as its settings say
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running
    structlog.reset_defaults()


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


@dataclass
class Profiles:
    """Browser profiles that wait for the next test: each knows who is signed in, and has the pages' files already."""

    chromium: Browser
    waiting: dict[Hashable, list[BrowserContext]] = field(default_factory=dict)

    async def take(self, wanted: Hashable, options: dict[str, Any]) -> BrowserContext:
        waiting = self.waiting.get(wanted)
        context = waiting.pop() if waiting else await self.chromium.new_context(**options)
        context.set_default_timeout(15_000)
        return context

    async def give_back(self, wanted: Hashable, context: BrowserContext) -> None:
        """Without its pages and what those remember. One in which a page has left something for good ends here."""
        marked = False
        for page in context.pages:
            marked = marked or (page.url.startswith("http") and await page.evaluate("localStorage.length > 0"))
            await page.close()
        if marked:
            await context.close()
        else:
            self.waiting.setdefault(wanted, []).append(context)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def profiles(chromium: Browser) -> Profiles:
    return Profiles(chromium)


@pytest_asyncio.fixture(loop_scope="session")
async def visit(site: Site, profiles: Profiles, request: pytest.FixtureRequest) -> AsyncIterator[Opens]:
    """Opens browser windows. At the end of the test none of them may have complained.

    `fresh`: a profile that nobody used before and nobody will use after, for tests that change its clock, say.
    """
    pictures = "not long" not in request.config.option.markexpr
    opened: list[Visitor] = []
    kept: dict[BrowserContext, Hashable] = {}

    async def open_window(
        person: Person | None = None, *, width: int = 1280, fresh: bool = False, **more: Any
    ) -> Visitor:
        phone = width < 600
        screen = {"width": width, "height": 844 if phone else 800}
        options = {"viewport": screen, "has_touch": phone, "is_mobile": phone}
        wanted = (person, width, *sorted(more.items()))
        if fresh or person is None:
            context = await profiles.chromium.new_context(**options, **more)
            context.set_default_timeout(15_000)
        else:
            context = await profiles.take(wanted, {**options, **more})
            kept[context] = wanted
        watch = Watch(pictures=pictures)
        context.on("page", watch.follow)
        visitor = Visitor(site, context, await context.new_page(), watch)
        opened.append(visitor)
        if person is not None:
            await visitor.sign_in_as(person)
        return visitor

    yield open_window
    complaints = [text for visitor in opened for text in visitor.watch.complaints()]
    for visitor in opened:
        visitor.context.remove_listener("page", visitor.watch.follow)
        if visitor.context in kept and not complaints:
            await profiles.give_back(kept[visitor.context], visitor.context)
        else:
            await visitor.context.close()
    assert complaints == []
