"""Ten thousand frames of twenty markers on the Analyze page. Its figures are printed; only gross faults fail.

pytest -m bench tests/browser/test_many_points.py -s
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Route, expect

from tests.browser.conftest import Opens
from tests.browser.site import Person
from tests.browser.visitor import Visitor

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.bench, pytest.mark.timeout(300)]

FRAMES, MARKERS = 10_000, 20
LONGEST_MS = 200

_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
_WATCH = """() => {
    window.longest = [];
    new PerformanceObserver((list) => window.longest.push(...list.getEntries().map((one) => one.duration)))
        .observe({ type: 'longtask' });
}"""
_STEPS = """async ([first, count]) => {
    const bar = document.querySelector('#scrub');
    for (let step = 0; step < count; step += 1) {
        bar.value = String(first + step);
        bar.dispatchEvent(new Event('input'));
        await new Promise((resolve) => setTimeout(resolve, 33));
    }
}"""


def _markers(frame: int) -> list[dict[str, Any]]:
    """Markers that swing, each lost now and then and doubtful now and then."""
    return [
        {
            "label": f"Leaf {number}" if number else "Apex",
            "x": round(320 + 200 * math.sin(frame / 700 + number), 1),
            "y": round(20 * number + 15 * math.sin(frame / 90), 1),
            "color": _COLORS[number % len(_COLORS)],
            "status": int((frame + 37 * number) % 997 > 12),
            "err": 3.0 if (frame + 11 * number) % 501 < 4 else 0.2,
        }
        for number in range(MARKERS)
    ]


async def _tasks(at: Visitor, what: str) -> float:
    """The longest task since the last look, in milliseconds; below 50 the browser does not tell."""
    longest: list[float] = await at.page.evaluate("window.longest.splice(0)")
    worst = max(longest, default=0)
    print(f"\n{what}: {len(longest)} tasks above 50 ms, the longest {worst:.0f} ms", end="")
    return worst


async def test_stepping_zooming_and_pointing_stay_quick(
    ada: Person, traced_movie: str, visit: Opens, tmp_path: Path
) -> None:
    at = await visit(ada)
    page = at.page
    asked = page.context.request
    there = await (await asked.get(f"{at.site.url}/api/get-movie-metadata?movie_id={traced_movie}")).json()
    there["metadata"] |= {"total_frames": FRAMES, "trim_end_frame": FRAMES - 1}
    there["frames"] = {str(frame): {"markers": _markers(frame)} for frame in range(FRAMES)}
    points = tmp_path / "points.json"
    points.write_text(json.dumps(there))
    first = await asked.get(f"{at.site.url}/resize-api/v1/frame?movie_id={traced_movie}&frame_number=0")

    async def many(route: Route) -> None:
        await route.fulfill(path=points, content_type="application/json")

    async def picture(route: Route) -> None:
        await route.fulfill(response=first)

    await page.route("**/get-movie-metadata?*", many)
    await page.route("**/resize-api/v1/frame?*", picture)
    await page.add_init_script(f"({_WATCH})()")
    await at.open(f"/analyze?movie_id={traced_movie}")
    await expect(page.locator("#facts")).to_contain_text("10000 frames", timeout=60_000)
    await expect(page.locator("#chart-y .plot-cursor")).to_be_visible(timeout=30_000)
    await expect(page.locator("#have-results")).to_be_visible()
    await _tasks(at, f"opening {points.stat().st_size // 1_000_000} MB of points")

    await page.evaluate(_STEPS, [100, 60])
    stepping = await _tasks(at, "60 steps, 30 a second")
    await page.locator("#chart-x .plot-layer").scroll_into_view_if_needed()
    box = await page.locator("#chart-x .plot-layer").bounding_box()
    assert box is not None
    for place in range(20):
        await page.mouse.move(box["x"] + 80 + 20 * place, box["y"] + 60)
    pointing = await _tasks(at, "pointing at 20 places")
    await page.keyboard.down("Control")
    for _ in range(10):
        await page.mouse.wheel(0, -120)
    await page.keyboard.up("Control")
    await expect(page.locator("#chart-time")).not_to_contain_text("0 to 9999")
    zooming = await _tasks(at, "ten turns of the wheel")
    await at.shoot("analyze-many-points-1280-light", full=True)
    assert max(stepping, pointing) < LONGEST_MS
    assert zooming < 2 * LONGEST_MS
