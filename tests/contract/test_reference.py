"""The description that a running service gives of itself: the document, and the page made from it."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from service.asgi import MAX_BODY_BYTES
from service.bridge import Bridge
from service.web.app import build_app
from service.web.openapi import document
from service.web.outcomes import refusals
from service.web.reference_page import page
from service.web.takes import TAKES
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Outline(HTMLParser):
    """Anchors, links, and every attribute and element by name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attributes}
        self.elements.add(tag)
        self.attributes |= set(told)
        if "id" in told:
            assert told["id"] not in self.anchors, f"{told['id']} stands there twice"
            self.anchors.add(told["id"])
        self.links |= {told[name] for name in ("href", "src") if name in told}


async def test_the_service_answers_its_own_document_and_links_the_page(lab: Lab) -> None:
    answer = await lab.get("/openapi.json")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == {**document(), "servers": [{"url": "/"}]}
    assert "(docs)" in answer.json()["info"]["description"]
    assert answer.json()["externalDocs"]["url"] == "docs"
    again = await lab.get("/openapi.json", headers={"if-none-match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_below_a_mount_the_document_says_where_its_routes_are(lab: Lab) -> None:
    host = Starlette(routes=[Mount("/lab", Bridge(build_app(lab.runtime), max_body_bytes=MAX_BODY_BYTES))])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(host), base_url="http://host.test") as client:
        told = (await client.get("/lab/openapi.json")).json()
        shown = await client.get("/lab/docs")
    assert told["servers"] == [{"url": "/lab"}]
    assert shown.status_code == 200
    assert not [link for link in Outline(shown.text).links if link.startswith("/")], "these would miss the mount"


async def test_the_page_shows_every_route_parameter_answer_and_code(lab: Lab) -> None:
    text = unescape((await lab.get("/docs")).text)
    told = document()
    for path, operations in told["paths"].items():
        for method, operation in operations.items():
            route = text.partition(f"<code>{method.upper()} {path}</code>")[2].partition("</article>")[0]
            assert route, f"{method} {path}"
            for status in operation["responses"]:
                assert f"<code>{status}</code>" in route, f"{method} {path} {status}"
    for endpoint, takes in TAKES.items():
        for name in takes.model_json_schema()["properties"]:
            assert f"<code>{name}</code>" in text
        assert all(f"<code>{code}</code>" in text for codes in refusals(endpoint, "POST").values() for code in codes)
    assert {"lease_lost", "request_key_reused", "bad_link"} <= set(re.findall(r"<code>(\w+)</code>", text))


async def test_the_page_runs_nothing_and_needs_no_other_host(lab: Lab) -> None:
    outline = Outline((await lab.get("/docs")).text)
    assert outline.elements & {"script", "style", "iframe", "img", "form"} <= {"img"}
    assert not [name for name in outline.attributes if name.startswith("on") or name == "style"]
    for link in outline.links:
        assert not re.match(r"[a-z]+:|//", link), link
        if link.startswith("#"):
            assert link[1:] in outline.anchors, link


async def test_what_the_document_says_is_text_and_no_markup() -> None:
    told = document()
    told["paths"]["/healthz"]["get"]["summary"] = "<script>alert(1)</script> `<b>`"
    assert "<script" not in page(told)
    assert "<code>&lt;b&gt;</code>" in page(told)
