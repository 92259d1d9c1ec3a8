"""The report of `tiptrace trace` in a browser: a file that asks for nothing and runs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.async_api import Browser

from service.cli.trace import trace
from tests.browser.site import Filmed
from tests.browser.visitor import ARTIFACTS, Watch

pytestmark = pytest.mark.asyncio(loop_scope="session")
HOSTILE = "</svg><img src=x onerror=alert(1)><script>alert(1)</script>"


@pytest.mark.long  # no page of the service
async def test_the_report_opens_without_a_word_in_light_and_dark(
    film: Filmed, chromium: Browser, tmp_path: Path
) -> None:
    out = tmp_path / "report.html"
    placed = [(marker.label, marker.x, marker.y) for marker in film.markers] + [(HOSTILE, 40, 40)]
    markers = [item for label, x, y in placed for item in ("--marker", f"{label}={x},{y}")]
    result = CliRunner().invoke(trace, [str(film.path), *markers, "--report", str(out)])
    assert result.exit_code == 0, result.output
    watch = Watch()
    grounds = []
    for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390)):
        context = await chromium.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        context.on("page", watch.follow)
        opened = await context.new_page()
        opened.on("dialog", lambda dialog: watch.found.append(f"dialog: {dialog.message}"))
        await opened.goto(out.as_uri())
        assert await opened.locator("figure").count() == 12
        assert await opened.locator(".legend").get_by_text(HOSTILE, exact=True).count() == 1
        assert await opened.locator("body img, script").count() == 0
        wide = await opened.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{wide} pixels wider than a screen of {width}"
        grounds.append(await opened.evaluate("getComputedStyle(document.body).backgroundColor"))
        ARTIFACTS.mkdir(exist_ok=True)
        await opened.screenshot(path=ARTIFACTS / f"report-{width}-{scheme}.png", full_page=True)
        await context.close()
    assert grounds[0] == grounds[2] != grounds[1]
    assert watch.complaints() == []
