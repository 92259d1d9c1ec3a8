"""Pages, their assets, what browsers are told about them, and the small routes that machines ask."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import re
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx
import pytest

from service import metrics, runtime
from service.web import charting
from service.web.app import bare_app
from service.web.editions import Edition
from service.web.headers import content_policy, storage_origins
from service.web.pages import frontend, missing
from tests.support.log_lines import logged
from tests.support.service import ORIGIN, Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGES = ("/", "/analyze", "/upload", "/activity", "/course", "/signin", "/docs")


async def test_every_page_comes_with_all_that_it_links_to(lab: Lab) -> None:
    for page in PAGES:
        answer = await lab.http.get(page)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        linked = set(re.findall(r'(?:src|href)="(static/[^"]+)"', answer.text))
        assert linked, page
        for asset in linked:
            assert (await lab.http.get(f"/{asset}")).status_code == 200, asset


async def test_every_asset_is_served_under_its_own_type(lab: Lab) -> None:
    types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    assets = [path for path in frontend().rglob("*") if path.suffix in types]
    assert len(assets) > 20
    for path in assets:
        answer = await lab.http.get(f"/static/{path.relative_to(frontend()).as_posix()}")
        assert answer.status_code == 200, path
        assert answer.headers["content-type"].partition(";")[0] == types[path.suffix]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.content == path.read_bytes()


async def test_a_browser_asks_whether_its_copy_still_holds(lab: Lab) -> None:
    for path in (*PAGES, "/static/js/api.js"):  # by a name without an edition, as bookmarks and old pages do
        first = await lab.http.get(path)
        again = await lab.http.get(path, headers={"if-none-match": first.headers["etag"]})
        assert (first.headers["cache-control"], again.status_code, again.content) == ("no-cache", 304, b"")


async def test_a_browser_keeps_what_a_page_is_made_of_until_any_of_it_changes(lab: Lab, tmp_path: Path) -> None:
    page = (await lab.http.get("/analyze")).text
    script = re.findall(r'src="(static/(e[0-9a-f]{12})/js/analyze\.js)"', page)
    assert len(script) == 1
    path, edition = script[0]
    kept = await lab.http.get(f"/{path}")
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert kept.content == (frontend() / "js" / "analyze.js").read_bytes()
    old = await lab.http.get(f"/{path.replace(edition, 'e' + 12 * '0')}")
    assert (old.status_code, old.headers["cache-control"]) == (200, "no-cache"), "half of an update may be elsewhere"
    for other in (
        f"/static/{edition}/index.html",
        f"/static/{edition}/{edition}/js/api.js",
        f"/static/{edition}/bokeh.js",
    ):
        assert (await lab.http.get(other)).status_code == 404, other

    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "one.js").write_text("1")
    here = Edition(tmp_path)
    before = here.now()
    assert (here.now(), here.holds(before), Edition(tmp_path).now()) == (before, True, before)
    (tmp_path / "js" / "one.js").write_text("22")
    assert here.now() != before
    assert not here.holds(before)


async def test_a_person_at_an_unknown_address_gets_a_page_and_a_program_its_refusal(lab: Lab) -> None:
    browser = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    for path in ("/nothing", "/course/of/old", "/analyze/m1", "/apiary"):
        page = await lab.http.get(path, headers=browser)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert (page.headers["cache-control"], page.headers["vary"]) == ("no-store", "Accept")
        links = re.findall(r'(?:src|href)="([^"]+)"', page.text)
        assert "/" in links
        for link in links:
            assert (await lab.http.get(link)).status_code == 200, link
        for headers in ({}, {"accept": "application/json"}, {"accept": "*/*"}):
            assert (await lab.http.get(path, headers=headers)).json()["code"] == "not_found"
    for path in ("/api/nothing", "/resize-api/v1/nothing", "/static/nothing.js", "/storage/nothing"):
        assert (await lab.http.get(path, headers=browser)).json()["code"] == "not_found", path
    with bare_app().test_request_context("/a/b", base_url="http://school.test/lab", headers=browser):
        answer = missing()
        assert answer is not None
        assert 'href="/lab/"' in answer.get_data(as_text=True), "home is where the service is mounted"


async def test_assets_travel_compressed_to_whoever_takes_that_and_are_the_same_to_all(lab: Lab) -> None:
    for path in ("/", "/static/css/base.css", "/static/js/api.js"):
        small = await lab.http.get(path, headers={"accept-encoding": "br;q=1, gzip"})
        plain = await lab.http.get(path, headers={"accept-encoding": "gzip;q=0"})
        assert (small.headers["content-encoding"], plain.headers.get("content-encoding")) == ("gzip", None)
        assert small.content == plain.content
        assert int(small.headers["content-length"]) < int(plain.headers["content-length"]) == len(plain.content)
        assert small.headers["etag"] != plain.headers["etag"], "two encodings are two representations"
        for answer in (small, plain):
            assert answer.headers["vary"] == "Accept-Encoding"
        crossed = {"accept-encoding": "gzip;q=0", "if-none-match": small.headers["etag"]}
        assert (await lab.http.get(path, headers=crossed)).status_code == 200
        head = await lab.http.head(path, headers={"accept-encoding": "gzip"})
        assert (head.content, head.headers["content-length"]) == (b"", small.headers["content-length"])


async def test_the_charting_library_comes_out_of_its_package_and_is_kept_for_good(lab: Lab) -> None:
    version = importlib.metadata.version("bokeh")
    leads = await lab.http.get("/static/bokeh.js")
    assert (leads.status_code, leads.headers["location"]) == (302, f"bokeh/{version}/bokeh.parts.js")
    assert leads.headers["cache-control"] == "no-cache", "the next version has another name"
    script = await lab.http.get(f"/static/bokeh/{version}/bokeh.parts.js")
    assert (script.status_code, script.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert b"Bokeh Contributors" in script.content, "its licence travels with it"
    assert int(script.headers["content-length"]) < 400_000
    again = await lab.http.get(script.request.url, headers={"if-none-match": script.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_the_charting_library_wakes_part_by_part_and_is_else_what_was_installed(lab: Lab) -> None:
    _, installed = charting.script()
    library = installed.read_bytes()
    served = (await lab.http.get("/static/bokeh.js", follow_redirects=True)).content
    assert served == library.replace(b'], 0, {"main":0', b'], "version", {"main":0')
    assert served != library, "this version of the library tells otherwise where it begins: see charting.part_by_part"
    assert charting.part_by_part(b"told otherwise") == b"told otherwise"


@pytest.mark.parametrize(
    "path",
    ["/static/bokeh/0.0.1/bokeh.parts.js", "/static/bokeh/bokeh.js", "/static/bokeh/%2e%2e/js/api.js", "/static/bokeh/",
     "/static/__init__.py", "/static/../app.py", "/static/%2e%2e/service/settings.py", "/static//etc/passwd",
     "/static/..%2f..%2fetc%2fpasswd", "/static/js", "/static/", "/static/index.html", "/static/js/api.js%00.css",
     "/static/" + "a" * 5000 + ".js", "/index.html"],
)  # fmt: skip
async def test_nothing_but_assets_is_served(lab: Lab, path: str) -> None:
    answer = await lab.http.get(path)
    assert (answer.status_code, answer.json()["error"]) == (404, True)


@pytest.mark.parametrize(
    "path",
    ["//evil.example/", "//evil.example/static", "///evil.example", "/\\evil.example", "/%5cevil.example",
     "/signin//evil.example", "/.//evil.example", "/signin?next=https://evil.example", "/?next=//evil.example",
     "/static//evil.example/a.js"],
)  # fmt: skip
async def test_no_address_of_ours_leads_to_another_host(lab: Lab, path: str) -> None:
    """Neither the path nor a parameter nor the host that a request claims decides where an answer leads."""
    for method in ("GET", "POST"):
        headers = {"origin": ORIGIN, "host": "evil.example", "x-forwarded-host": "evil.example", "accept": "text/html"}
        answer = await lab.http.request(method, httpx.URL(ORIGIN + path), headers=headers)
        leads = urlsplit(answer.headers.get("location", "/"))
        assert (leads.scheme, leads.netloc) == ("", ""), answer.headers
        assert not leads.path.startswith(("//", "/\\")), answer.headers
        assert "evil.example" not in answer.headers.get("set-cookie", "")


async def test_the_policy_lets_pages_use_their_own_files_and_the_store_and_nothing_else(lab: Lab) -> None:
    store = urlsplit(lab.runtime.endpoint or "")
    for path in (*PAGES, "/api/ver", "/nothing"):
        headers = (await lab.http.get(path)).headers
        rules = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["style-src"] == "'self'"
        assert rules["frame-ancestors"] == "'none'"
        for name in ("img-src", "media-src", "connect-src"):
            assert f"http://{store.netloc}" in rules[name].split()
        assert not {"*", "'unsafe-inline'", "'unsafe-eval'"} & set(headers["content-security-policy"].split())
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "same-origin"


async def test_no_name_stands_twice_in_a_page(lab: Lab) -> None:
    for page in PAGES:
        names = re.findall(r'\sid="([^"]+)"', (await lab.http.get(page)).text)
        assert sorted({name for name in names if names.count(name) > 1}) == [], page


async def test_pages_hold_nothing_that_the_policy_forbids(lab: Lab) -> None:
    for page in PAGES:
        text = (await lab.http.get(page)).text
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", text), page


async def test_on_aws_links_lead_to_the_buckets_own_host_names() -> None:
    class Meta:
        endpoint_url = "https://s3.eu-central-1.amazonaws.com"
        region_name = "eu-central-1"

    class Client:
        meta = Meta

    class Bucket:
        client = Client
        bucket = "lab-movies"
        front = None

    origins = storage_origins(Bucket)  # type: ignore[arg-type]
    assert origins == [
        "https://s3.eu-central-1.amazonaws.com",
        "https://lab-movies.s3.amazonaws.com",
        "https://lab-movies.s3.eu-central-1.amazonaws.com",
    ]
    assert "img-src 'self' data: blob: https://s3." in content_policy(origins)


async def test_machines_learn_how_it_is(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await lab.http.get("/healthz")).json() == {"error": False, "status": "ok"}
    ready = (await lab.http.get("/readyz")).json()
    assert abs(ready.pop("clock_skew_seconds")) < 2
    assert ready == {
        "error": False,
        "status": "ok",
        "dependencies": {"database": True, "storage": True, "queue": True},
    }
    monkeypatch.setattr(lab.runtime.stores.objects, "bucket", "there-is-none")
    broken = await lab.http.get("/readyz")
    assert (broken.status_code, broken.json()["code"]) == (503, "part_down")
    assert broken.json()["dependencies"] == {"database": True, "storage": False, "queue": True}
    assert "storage" in broken.json()["message"]
    assert int(broken.headers["retry-after"]) > 0
    assert (await lab.http.get("/healthz")).status_code == 200


async def test_a_dependency_that_hangs_is_down_after_its_time_and_hides_no_other(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(**_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(runtime, "HEALTH_SECONDS", 0.2)
    monkeypatch.setattr(lab.runtime.stores.database, "client", SimpleNamespace(describe_table=never))
    hanging = await lab.http.get("/readyz")
    assert hanging.status_code == 503
    assert hanging.json()["dependencies"] == {"database": False, "storage": True, "queue": True}
    assert "clock_skew_seconds" in hanging.json()


async def test_the_version_is_told_to_whoever_asks(lab: Lab) -> None:
    for answer in (await lab.http.get("/api/ver"), await lab.http.post("/api/ver")):
        assert (answer.json()["name"], answer.json()["error"]) == ("tiptrace", False)
        assert answer.json()["version"]
    assert (await lab.http.get("/resize-api/v1/ping")).json()["message"] == "pong"


async def test_answers_are_counted_by_route_and_never_by_path(lab: Lab) -> None:
    movie_id = await lab.movie()
    before = _count("/api/get-movie-metadata", "200")
    await lab.get("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id)
    await lab.http.get("/nothing-of-this-name")
    assert _count("/api/get-movie-metadata", "200") == before + 1
    text = (await lab.http.get("/metrics")).text
    assert 'tiptrace_http_request_seconds_count{route="(none)",status="4xx"}' in text
    assert movie_id not in text
    assert "nothing-of-this-name" not in text


def _count(route: str, status: str) -> float:
    return metrics.HTTP_REQUESTS.labels(route=route, status=status)._value.get()


async def test_an_answer_carries_its_request_id_and_takes_a_proxys(lab: Lab) -> None:
    own = (await lab.http.get("/healthz")).headers["x-request-id"]
    taken = await lab.http.get("/healthz", headers={"x-request-id": "proxy-0123456789"})
    odd = await lab.http.get("/healthz", headers={"x-request-id": "a b"})
    assert len(own) == 32
    assert taken.headers["x-request-id"] == "proxy-0123456789"
    assert odd.headers["x-request-id"] != "a b"


async def test_the_log_holds_one_line_per_request_and_no_secret(lab: Lab) -> None:
    with logged() as lines:
        movie_id, lease_id = await lab.marked_movie()
        await lab.get("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id, analysis_lease_id=lease_id)
        await lab.get("/signin", token="a-sign-in-token")
        await lab.get("/api/get-movie-metadata", movie_id=movie_id, api_key=lab.people.ada.api_key)
    asked = [line for line in lines if line.get("event") == "request"]
    assert [(line["route"], line["status"]) for line in asked] == [
        ("/api/acquire-movie-analysis-lease", 200),
        ("/api/put-frame-trackpoints", 200),
        ("/api/get-movie-metadata", 200),
        ("/signin", 200),
        ("/api/get-movie-metadata", 403),
    ]
    for line in asked[:3]:
        assert (line["movie_id"], line["user_id"]) == (movie_id, lab.people.ada.user_id)
    assert "movie_id" not in asked[3], "nothing is bound that belongs to the request before"
    for secret in (lease_id, lab.people.ada.api_key, "a-sign-in-token"):
        assert secret not in json.dumps(lines)
