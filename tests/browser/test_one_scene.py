"""A movie that ends in another app's card: the page offers to leave it out. The labelled movie plays (A03, B17)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.async_api import expect

from tests.browser.conftest import Opens
from tests.browser.site import Filmed, Person, Site
from tests.support.movies import textured, write_movie

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_trim_that_leaves_a_card_out_is_one_click(
    site: Site, ada: Person, visit: Opens, tmp_path: Path
) -> None:
    plant, card = textured(320, 240, 1), np.roll(textured(320, 240, 2), 60, axis=0)
    film = Filmed(write_movie(tmp_path / "lapse.mp4", [plant] * 9 + [card] * 4), None, [])  # type: ignore[arg-type]
    movie_id = site.upload(ada, film, "Bean with a card")
    at = await visit(ada)
    await at.analyze(movie_id)
    await at.editable()
    await expect(at.page.locator("#banner-text")).to_contain_text("The picture changes at frame 9")
    await expect(at.page.locator("#movie-warnings")).to_contain_text("trim the movie to end at frame 8.")
    await at.shoot("analyze-trim-offer-1280-light")
    await at.page.get_by_role("button", name="Trim to frame 8").click()
    await expect(at.page.locator("#banner")).to_be_hidden()
    await expect(at.page.locator("#trim-end")).to_have_value("8")
    await at.page.reload()
    await expect(at.page.locator("#trim-end")).to_have_value("8")
    await expect(at.page.locator("#banner")).to_be_hidden()


@pytest.mark.long  # the list plays one
async def test_the_labelled_movie_plays_and_shows_every_frame(traced_movie: str, ada: Person, visit: Opens) -> None:
    """By the browser's own player, from the link that the page offers."""
    at = await visit(ada)
    await at.analyze(traced_movie)
    told = await at.page.evaluate(
        """async (movie) => {
            const reply = await fetch(`api/get-movie-metadata?movie_id=${movie}`).then((answer) => answer.json());
            const video = document.createElement('video');
            if (!video.canPlayType('video/mp4; codecs="avc1.64001f"')) return null;
            video.muted = true;
            const happens = (name) => new Promise((done, failed) => {
                video.addEventListener(name, done, { once: true });
                video.addEventListener('error', () => failed(new Error(video.error.message)), { once: true });
            });
            video.src = URL.createObjectURL(await fetch(reply.metadata.movie_traced_url).then((file) => file.blob()));
            await happens('loadeddata');
            video.playbackRate = 4;
            await Promise.all([happens('ended'), video.play()]);
            const { totalVideoFrames } = video.getVideoPlaybackQuality();
            return [video.videoWidth, video.videoHeight, video.duration, totalVideoFrames, reply.metadata.total_frames];
        }""",
        traced_movie,
    )
    if told is None:
        pytest.skip("this Chromium was built without H.264")
    width, height, duration, shown, frames = told
    assert (width, height, frames) == (640, 480, 40)
    assert duration == pytest.approx(frames / 20, abs=0.06)
    assert shown >= frames - 1
