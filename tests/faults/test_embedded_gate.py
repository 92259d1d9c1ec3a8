"""Who is answered by the embedded emulator: programs of this machine, and browsers with a signature."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from service.local.emulator import Emulator
from tests.support.emulator import emulator_in_thread
from tests.support.writers import client

pytestmark = pytest.mark.asyncio(loop_scope="module")
PAGE = {"Origin": "https://any.example"}
MOVIE = b"0123456789"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with emulator_in_thread(tmp_path_factory.mktemp("gate")) as emulator:
        yield emulator


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def s3(running: Emulator) -> AsyncIterator[Any]:
    async with client("s3", running.endpoint, signature_version="s3v4") as opened:
        await opened.create_bucket(Bucket="movies")
        await opened.put_object(Bucket="movies", Key="a.mp4", Body=MOVIE, ContentType="video/mp4")
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web(running: Emulator) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=running.endpoint) as opened:
        yield opened


async def test_a_page_reads_a_range_of_an_object_by_a_signed_address(s3: Any, web: httpx.AsyncClient) -> None:
    url = await s3.generate_presigned_url("get_object", Params={"Bucket": "movies", "Key": "a.mp4"}, ExpiresIn=60)
    reply = await web.get(url, headers={**PAGE, "Range": "bytes=2-4"})
    assert (reply.status_code, reply.content) == (206, b"234")
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.headers["content-range"] == "bytes 2-4/10"


async def test_a_signed_address_that_was_altered_or_has_expired_is_refused(s3: Any, web: httpx.AsyncClient) -> None:
    url = await s3.generate_presigned_url("get_object", Params={"Bucket": "movies", "Key": "a.mp4"}, ExpiresIn=60)
    altered = await web.get(url.replace("a.mp4", "b.mp4"), headers=PAGE)
    expired = await s3.generate_presigned_url("get_object", Params={"Bucket": "movies", "Key": "a.mp4"}, ExpiresIn=-5)
    assert altered.status_code == 403
    assert (await web.get(expired, headers=PAGE)).status_code == 403


@pytest.mark.parametrize(("length", "status"), [(10, 204), (9, 400), (11, 400)])
async def test_a_presigned_form_takes_the_exact_length_alone(
    s3: Any, web: httpx.AsyncClient, length: int, status: int
) -> None:
    form = await s3.generate_presigned_post("movies", "new.mp4", Conditions=[["content-length-range", 10, 10]])
    reply = await web.post(form["url"], data=form["fields"], files={"file": ("m.mp4", b"x" * length)}, headers=PAGE)
    assert reply.status_code == status


@pytest.mark.parametrize(
    "changed",
    [{"key": "other.mp4"}, {"Content-Type": "text/html"}, {"x-amz-signature": "0" * 64}, {"acl": "public-read"}],
)
async def test_a_presigned_form_takes_nothing_else_than_what_it_was_signed_for(
    s3: Any, web: httpx.AsyncClient, changed: dict[str, str]
) -> None:
    kind = {"Content-Type": "video/mp4"}
    form = await s3.generate_presigned_post("movies", "signed.mp4", Fields=kind, Conditions=[kind])
    for fields, status in ((form["fields"] | changed, 403), (form["fields"], 204)):
        reply = await web.post(form["url"], data=fields, files={"file": ("m.mp4", MOVIE)}, headers=PAGE)
        assert reply.status_code == status
        assert reply.headers["access-control-allow-origin"] == "*", "the page may read why"
    stored = await s3.list_objects_v2(Bucket="movies", Prefix="other")
    assert stored["KeyCount"] == 0


async def test_an_expired_form_is_refused(s3: Any, web: httpx.AsyncClient) -> None:
    form = await s3.generate_presigned_post("movies", "late.mp4", ExpiresIn=-5)
    reply = await web.post(form["url"], data=form["fields"], files={"file": ("m.mp4", MOVIE)})
    assert (reply.status_code, "expired" in reply.text) == (403, True)


async def test_a_form_with_a_field_after_the_file_is_refused(s3: Any, web: httpx.AsyncClient) -> None:
    form = await s3.generate_presigned_post("movies", "signed.mp4")
    late: dict[str, Any] = {"file": ("m.mp4", MOVIE), "key": (None, "other.mp4")}
    assert (await web.post(form["url"], data=form["fields"], files=late)).status_code == 403


@pytest.mark.parametrize("sign", [PAGE, {"Sec-Fetch-Mode": "no-cors"}])
async def test_a_page_without_a_signature_gets_nothing(s3: Any, web: httpx.AsyncClient, sign: dict[str, str]) -> None:
    assert (await web.get("/movies/a.mp4")).status_code == 200
    assert (await web.get("/movies/a.mp4", headers=sign)).status_code == 403
    tables = {"X-Amz-Target": "DynamoDB_20120810.ListTables", **sign}
    assert (await web.post("/", content=b"{}", headers=tables)).status_code == 403


async def test_a_foreign_name_that_points_here_gets_nothing(s3: Any, web: httpx.AsyncClient) -> None:
    assert (await web.get("/movies/a.mp4", headers={"Host": "rebound.example:80"})).status_code == 403


@pytest.mark.parametrize("path", ["/_ministack/reset", "/_ministack/config", "/_localstack/health"])
async def test_the_control_routes_are_shut(s3: Any, web: httpx.AsyncClient, path: str) -> None:
    assert (await web.post(path)).status_code == 403
    assert (await web.get("/movies/a.mp4")).content == MOVIE


async def test_half_a_surrogate_pair_is_refused_before_it_makes_a_table_unreadable(web: httpx.AsyncClient) -> None:
    item = rb'{"TableName": "any", "Item": {"k": {"S": "\ud83c"}}}'
    reply = await web.post("/", content=item, headers={"X-Amz-Target": "DynamoDB_20120810.PutItem"})
    assert reply.status_code == 400
    assert "SerializationException" in reply.text
