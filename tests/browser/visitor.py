"""A person at a browser: a page that is watched for errors and for requests that leave the machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Page, Request, expect

from service.local.demo import Placed
from tests.browser.site import Person, Site

ARTIFACTS = Path(__file__).parents[1] / "artifacts"
_HOME = ("127.0.0.1", "")
"""Hosts that a page may speak to; the second is that of blob: and data: addresses."""


@dataclass
class Watch:
    """What a page did that it should not have done. `expected`: parts of messages that a test provokes.

    `pictures`: whether pictures of it are kept.
    """

    found: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    pictures: bool = True

    def follow(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.found.append(f"console {message.type}: {message.text} at {message.location.get('url')}")

    def _asked(self, request: Request) -> None:
        if (urlsplit(request.url).hostname or "") not in _HOME:
            self.found.append(f"left the machine: {request.url}")

    def complaints(self) -> list[str]:
        return [text for text in self.found if not any(part in text for part in self.expected)]


@dataclass
class Visitor:
    """One browser window of one person, with the ways in which a person uses the pages."""

    site: Site
    context: BrowserContext
    page: Page
    watch: Watch

    async def sign_in_as(self, person: Person) -> None:
        """By the cookie that a sign-in sets; the link itself has a test of its own."""
        await self.context.add_cookies(
            [{"name": "api_key", "value": person.api_key, "url": self.site.url, "httpOnly": True, "sameSite": "Lax"}]
        )

    async def open(self, path: str) -> None:
        await self.page.goto(self.site.url + path)

    async def analyze(self, movie_id: str) -> None:
        """Open the Analyze page and wait until it shows its movie."""
        await self.open(f"/analyze?movie_id={movie_id}")
        await expect(self.page.locator("#facts")).to_contain_text("frames")
        await expect(self.page.locator("#picture-problem")).to_be_hidden()

    async def editable(self) -> None:
        await expect(self.page.locator("#add-marker")).to_be_enabled(timeout=15_000)

    async def place_on_screen(self, x: float, y: float) -> tuple[float, float]:
        """Where a pixel of the analysis frame lies in the window, however closely the page looks at it."""
        box = await self.page.locator("#frame").bounding_box()
        assert box is not None
        scale, left, top = await self.view()
        return box["x"] + left + (x + 0.5) * scale, box["y"] + top + (y + 0.5) * scale

    async def view(self) -> tuple[float, float, float]:
        """How the frame is drawn on its canvas: CSS pixels per pixel, and its left and upper edge."""
        await expect(self.page.locator("#frame[data-view]")).to_be_attached()
        # What was done a moment ago is drawn in the next refresh of the screen.
        told: str = await self.page.evaluate(
            """() => new Promise((tell) => requestAnimationFrame(() => requestAnimationFrame(
                () => tell(document.querySelector('#frame').dataset.view))))"""
        )
        scale, left, top = map(float, told.split())
        return scale, left, top

    async def middle(self) -> tuple[float, float]:
        """The pixel of the analysis frame that stands in the middle of the canvas."""
        box = await self.page.locator("#frame").bounding_box()
        assert box is not None
        scale, left, top = await self.view()
        return (box["width"] / 2 - left) / scale - 0.5, (box["height"] / 2 - top) / scale - 0.5

    async def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """With the mouse, from one pixel of the frame to another."""
        mouse = self.page.mouse
        await mouse.move(*await self.place_on_screen(*start))
        await mouse.down()
        await mouse.move(*await self.place_on_screen((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), steps=3)
        await mouse.move(*await self.place_on_screen(*end), steps=3)
        await mouse.up()

    async def drag_default_markers_to(self, markers: Sequence[Placed]) -> None:
        homes = {"Apex": (50.0, 50.0), "Ruler 0mm": (50.0, 100.0), "Ruler 10mm": (50.0, 150.0)}
        for marker in markers:
            await self.drag(homes[marker.label], (marker.x, marker.y))

    async def position(self, label: str) -> tuple[float, float]:
        """A marker's stored coordinates as the list shows them."""
        row = self.page.locator("#marker-list li", has=self.page.locator(f".marker-name:text-is('{label}')"))
        x, _, y = (await row.locator(".marker-px").inner_text()).partition(", ")
        return float(x), float(y)

    async def saved(self) -> None:
        await expect(self.page.locator("#saving")).to_have_text("saved")

    async def shoot(self, name: str, *, full: bool = False) -> None:
        """Keep a picture of the page for eyes, in the long runs; the others have nobody who looks."""
        if not self.watch.pictures:
            return
        ARTIFACTS.mkdir(exist_ok=True)
        await self.page.wait_for_function(
            """() => [...document.images].every((picture) => picture.complete
                || picture.getBoundingClientRect().top > innerHeight)"""
        )
        await self.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=full)
