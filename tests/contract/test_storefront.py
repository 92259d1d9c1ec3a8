"""Movies go in and out through the embedded service's own address, so that other computers reach them as well."""

from __future__ import annotations

import base64
import hashlib
import json
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from service.asgi import Service, create_app
from service.local.storefront import Storefront
from service.settings import Settings
from service.usecases import people
from service.usecases.upload_movie import upload_key
from tests.support.asgi_server import serving

pytestmark = pytest.mark.asyncio(loop_scope="module")
BYTES = b"<html>a movie's bytes</html>" * 1000


@dataclass
class Site:
    service: Service
    http: httpx.AsyncClient
    address: str

    async def announced(self, length: int = len(BYTES)) -> tuple[str, dict[str, str], str]:
        """A new movie: its id, the form's fields and the form's address."""
        digest = hashlib.sha256(BYTES).hexdigest()
        answer = await self.http.post(
            "/api/new-movie", data={"title": "Bean", "movie_data_sha256": digest, "movie_data_length": length}
        )
        form = answer.json()["presigned_post"]
        return answer.json()["movie_id"], form["fields"], form["url"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    settings = Settings(_env_file=None, data=tmp_path_factory.mktemp("data"), workers=0)  # type: ignore[call-arg]
    service = create_app(settings)
    async with serving(service, lifespan="on") as port:
        address = f"http://127.0.0.1:{port}"
        await people.add_course(service.runtime.stores, "bio", "Bio")
        added = await people.add_user(service.runtime.stores, "ada@school.test", "Ada", "bio")
        async with httpx.AsyncClient(base_url=address, headers={"x-api-key": added.api_key}) as http:
            yield Site(service, http, address)


async def test_a_movie_goes_in_and_out_through_the_services_own_address(site: Site) -> None:
    movie_id, fields, url = await site.announced()
    assert url.startswith(f"{site.address}/storage/")
    async with httpx.AsyncClient() as anybody:
        sent = await anybody.post(url, data=fields, files={"file": ("movie", BYTES)})
        assert sent.status_code == 204, sent.text
        stores = site.service.runtime.stores
        assert await stores.objects.get(upload_key(movie_id)) == BYTES
        link = site.address + await stores.objects.link(upload_key(movie_id), disposition="attachment")
        whole = await anybody.get(link)
        part = await anybody.get(link, headers={"range": "bytes=5-9"})
        head = await anybody.head(link)
        beyond = await anybody.get(link, headers={"range": "bytes=999999-"})
    assert (whole.status_code, whole.content) == (200, BYTES)
    assert (part.status_code, part.content) == (206, BYTES[5:10])
    assert part.headers["content-range"] == f"bytes 5-9/{len(BYTES)}"
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(BYTES)))
    assert beyond.status_code == 416
    # Whatever was uploaded must not run as a page of ours.
    assert whole.headers["content-type"] == "application/octet-stream"
    assert "sandbox" in whole.headers["content-security-policy"]
    assert (whole.headers["x-content-type-options"], whole.headers["content-disposition"]) == ("nosniff", "attachment")


async def test_a_file_of_another_length_than_was_announced_is_not_stored(site: Site) -> None:
    for length in (len(BYTES) - 1, len(BYTES) + 1):
        movie_id, fields, url = await site.announced(length)
        sent = await site.http.post(url, data=fields, files={"file": ("movie", BYTES)})
        assert (sent.status_code, sent.json()["code"]) == (400, "invalid_parameter")
        assert await site.service.runtime.stores.objects.head(upload_key(movie_id)) is None


async def test_a_file_for_which_there_is_no_room_can_be_sent_again(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    movie_id, fields, url = await site.announced()
    with monkeypatch.context() as full:
        full.setattr(tempfile, "tempdir", str(tmp_path / "full"))
        sent = await site.http.post(url, data=fields, files={"file": ("movie", BYTES)})
    assert (sent.status_code, sent.json()["error"]) == (503, True)
    sent = await site.http.post(url, data=fields, files={"file": ("movie", BYTES)})
    assert sent.status_code == 204, sent.text
    assert await site.service.runtime.stores.objects.get(upload_key(movie_id)) == BYTES


async def test_an_address_serves_one_deed_until_its_end_and_no_other_can_be_made_up(site: Site) -> None:
    movie_id, _, url = await site.announced()
    key = upload_key(movie_id)
    ours = site.service.runtime.stores.objects.front
    assert isinstance(ours, Storefront)
    tried = [
        ("GET", url.removeprefix(site.address)),
        ("POST", ours.link(key, None, 60)),
        ("GET", ours.link(key, None, -1)),
        ("GET", Storefront("another secret").link(key, None, 60)),
        ("GET", ours.link(key, None, 60).rpartition("/")[0][:-1]),
        ("DELETE", ours.link(key, None, 60)),
        ("GET", "/storage/"),
        ("GET", f"/storage/tiptrace-movies/{key}?X-Amz-Signature=x"),
        ("GET", _told_another(ours, key, "later")),
        ("GET", _told_another(ours, key, "of another object")),
    ]
    right = ours.link(key, None, 60)
    assert (await site.http.get(right)).json()["message"] == "There is no such file."  # nothing has been uploaded
    await site.service.runtime.stores.objects.put(key, b"bytes", "video/mp4")
    await site.service.runtime.stores.objects.put(f"{key}2", b"of somebody else", "video/mp4")
    assert (await site.http.get(right)).content == b"bytes"
    for method, path in tried:
        answer = await site.http.request(method, path)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), (method, path)


def _told_another(ours: Storefront, key: str, what: str) -> str:
    """A link of ours whose signed words were changed, under the signature that they had."""
    start, _, name = ours.link(key, None, 60).removeprefix("/storage/").partition("/")
    words, _, signature = start.rpartition(".")
    claim = json.loads(base64.urlsafe_b64decode(words + "=" * (-len(words) % 4)))
    if what == "later":
        claim[3] += 3600
    else:
        claim[1] += "2"
    forged = base64.urlsafe_b64encode(json.dumps(claim).encode()).decode().rstrip("=")
    return f"/storage/{forged}.{signature}/{name}"


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "text/javascript", ""])
async def test_what_is_no_movie_picture_or_archive_is_never_handed_out_as_what_it_calls_itself(
    site: Site, kind: str
) -> None:
    ours = site.service.runtime.stores.objects.front
    assert isinstance(ours, Storefront)
    await site.service.runtime.stores.objects.put("uploads/page", b"<script>alert(1)</script>", kind)
    answer = await site.http.get(ours.link("uploads/page", None, 60))
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/octet-stream")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


async def test_a_movies_links_lead_to_where_the_asker_asked(site: Site) -> None:
    movie_id, _, _ = await site.announced()
    told = await site.http.post(
        "/api/get-movie-metadata", data={"movie_id": movie_id}, headers={"host": "lab.example:8080"}
    )
    assert "movie_data_url" not in told.json()["metadata"]
    form = await site.http.post(
        "/api/new-movie",
        data={"title": "B", "movie_data_sha256": hashlib.sha256(b"b").hexdigest(), "movie_data_length": 1},
        headers={"host": "lab.example:8080"},
    )
    assert form.json()["presigned_post"]["url"].startswith("http://lab.example:8080/storage/")
