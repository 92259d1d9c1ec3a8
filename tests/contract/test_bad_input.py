"""Whatever is sent to whatever route: the answer has the one shape of a refusal, and nothing breaks.

Also what every answer tells a browser, and that a cookie alone writes nowhere when another site sends the request.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import flask
import httpx
import pytest
import pytest_asyncio

from service.web.app import build_app
from service.web.takes import TAKES
from tests.contract.test_limits import Doors
from tests.contract.test_problems import COMPLETE, OPEN, assert_refused, filled, routes
from tests.support.service import ORIGIN, Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

TAKE_NO_FIELDS = {"/api/check-api_key", "/signout", "/api/ver"}
"""These look at no body at all, or at the key in it alone."""
JSON = "application/json"
EVERYWHERE = [
    ("torn", JSON, b"{", 400, "malformed_body"),
    ("not a number", JSON, b'{"movie_id": NaN}', 400, "malformed_body"),
    ("beyond every number", JSON, b'{"movie_id": 1e999}', 400, "malformed_body"),
    ("half a character", JSON, b'{"movie_id": "\\ud800"}', 400, "malformed_body"),
    ("another kind", "text/plain", b"movie_id=1", 415, "unsupported_media_type"),
]
ON_SOME = [
    ("infinity", JSON, b'{"count": -Infinity}', 400, "malformed_body"),
    ("a number of 400 digits", JSON, b'{"frame_number": 1' + b"0" * 400 + b"}", 400, "malformed_body"),
    ("half a character as a name", JSON, b'{"\\udfff": 1}', 400, "malformed_body"),
    ("no UTF-8", JSON, b'{"movie_id": "\xff\xfe"}', 400, "malformed_body"),
    ("a list", JSON, b"[]", 400, "malformed_body"),
    ("a text", "application/problem+json", b'"text"', 400, "malformed_body"),
    ("null", JSON, b"null", 400, "malformed_body"),
    ("deep", JSON, b'{"a":' * 30 + b"1" + b"}" * 30, 400, "malformed_body"),
    ("deeper than Python goes", JSON, b"[" * 100_000, 400, "malformed_body"),
    ("XML", "application/xml", b"<movie/>", 415, "unsupported_media_type"),
    ("a form that says two things", "application/x-www-form-urlencoded", b"a=1&a=2", 400, "invalid_parameter"),
]
"""All bodies are read in one place, so that a few routes of each kind are enough for these."""
SOME = ("/api/put-frame-trackpoints", "/resize-api/v1/trace-movie", "/api/register", "/api/default-course")


@pytest.fixture(scope="module")
def app(lab: Lab) -> flask.Flask:
    return build_app(lab.runtime)


@pytest.fixture(scope="module")
def doors(lab: Lab) -> Doors:
    return Doors(lab)


@pytest_asyncio.fixture(loop_scope="module")
async def visitor(doors: Doors) -> AsyncIterator[httpx.AsyncClient]:
    """Somebody from an address of his own, whose tries are not counted with those of other tests."""
    async with doors.from_() as client:
        yield client


def writing(app: flask.Flask) -> list[tuple[str, str]]:
    """Routes that take a body and look at it."""
    return [
        (method, filled(path))
        for method, path in routes(app)
        if method in ("POST", "PATCH") and path not in TAKE_NO_FIELDS
    ]


async def together(asked: list[Any]) -> list[httpx.Response]:
    return await asyncio.gather(*asked)


@pytest.mark.parametrize("row", EVERYWHERE + ON_SOME, ids=lambda row: row[0])
async def test_a_body_that_cannot_be_read_is_refused_by_every_route(
    lab: Lab, visitor: httpx.AsyncClient, app: flask.Flask, row: tuple[str, str, bytes, int, str]
) -> None:
    _, kind, body, status, code = row
    headers = {"content-type": kind, "origin": ORIGIN, **lab.people.ada.headers}
    where = [(method, path) for method, path in writing(app) if row in EVERYWHERE or path in SOME]
    assert len(where) >= len(SOME)
    for answer in await together(
        [visitor.request(method, path, content=body, headers=headers) for method, path in where]
    ):
        assert_refused(answer, status, code)


async def test_a_body_that_is_far_too_large_is_refused_by_every_route(lab: Lab, app: flask.Flask) -> None:
    body = b'{"movie_id": "' + b"x" * (1 << 20) + b'"}'
    for method, path in routes(app):
        answer = await lab.http.request(method, filled(path), content=body, headers={"content-type": JSON})
        assert_refused(answer, 413, "too_large")


WRONG: list[Any] = [
    None, "", " ", "0", 0, -1, 1.5, 2**31, 2**53, True, "NaN", "1e309", "\x00", "\ud7ff", "é\u202e\u2028" * 100,
    "=1+1", "' OR 1=1", "../../etc/passwd", "a\r\nb: c", "<script>", [], {}, [None], [[]], {"a": {}}, "x" * 20_000,
    "{}", "[]",
]  # fmt: skip
TRIED = 3
"""Values per parameter. They go round, so that over all routes each is tried dozens of times."""


@pytest.mark.parametrize("endpoint", sorted(TAKES))
async def test_each_parameter_of_each_route_survives_values_of_every_kind(
    lab: Lab, marked: tuple[str, str], app: flask.Flask, endpoint: str
) -> None:
    """Each in turn, beside good others. What is wrong with a parameter is said with its name."""
    (rule,) = [rule for rule in app.url_map.iter_rules() if rule.endpoint == endpoint]
    method = sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}, reverse=True)[0]
    good: dict[str, Any] = {
        **COMPLETE, "movie_id": marked[0], "request_key": "k", "set_movie_id": marked[0], "property": "title",
        "value": "t", "movie_data_sha256": "0" * 64, "movie_data_length": 1, "course_id": "bio", "new_label": "B",
        "email": "a@b.example", "course_key": "k", "emails": ["a@b.example"], "token": "t",
    }  # fmt: skip
    names = list(TAKES[endpoint].model_fields)
    first = sum(map(ord, endpoint))
    tried = [
        (name, WRONG[(first + 7 * place + number) % len(WRONG)])
        for place, name in enumerate([*names, "unheard-of"])
        for number in range(TRIED)
    ]
    headers = {**lab.people.ada.headers, "origin": ORIGIN}
    asked = []
    for name, value in tried:
        fields = {**{key: good[key] for key in names if key in good}, name: value}
        if method == "GET":
            text = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fields.items()}
            asked.append(lab.http.get(rule.rule, params=text, headers=headers))
        else:
            asked.append(lab.http.request(method, rule.rule, json=fields, headers=headers))
    for (name, value), answer in zip(tried, await together(asked), strict=True):
        assert answer.status_code < 500, (name, value, answer.text)
        if answer.status_code >= 400:
            told = assert_refused(answer, answer.status_code)
            if told["code"] == "invalid_parameter":
                assert re.match(r"[a-z0-9_]+: \S", told["message"]), told


IN_THE_PATH = [
    "%00", "%0d%0aX-Evil:%201", "..%2f..%2fetc%2fpasswd", "%ff%fe", "x" * 3000, "%e2%80%ae", "'%20OR%201=1", "%25",
    "a@b@c", " ",
]  # fmt: skip


async def test_whatever_stands_in_an_address_is_refused_in_the_same_shape(lab: Lab, app: flask.Flask) -> None:
    for method, rule in routes(app):
        for variable in re.findall(r"<(?:\w+:)?\w+>", rule):
            path = [filled(rule.replace(variable, value, 1)) for value in IN_THE_PATH]
            asked = [lab.http.request(method, address, headers=lab.people.root.headers) for address in path]
            for answer in await together(asked):
                assert answer.status_code in (400, 404), answer.request.url
                assert_refused(answer, answer.status_code)
                assert "x-evil" not in answer.headers


async def test_every_answer_of_every_route_tells_browsers_how_little_it_may_do(lab: Lab, app: flask.Flask) -> None:
    """Well or refused, a page, data or a picture."""
    for method, rule in routes(app):
        for headers in ({}, {**lab.people.ada.headers, "origin": ORIGIN}):
            answer = await lab.http.request(method, filled(rule), headers=headers)
            where = (method, rule, answer.status_code)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy, where
            assert "frame-ancestors 'none'" in policy, where
            assert "unsafe" not in policy, where
            assert answer.headers["x-content-type-options"] == "nosniff", where
            assert answer.headers["referrer-policy"] == "same-origin", where
            assert answer.headers["x-frame-options"] == "DENY", where
            assert answer.headers["cross-origin-resource-policy"] == "same-origin", where
            assert "access-control-allow-origin" not in answer.headers, where
            assert answer.headers.get("cache-control"), where
            assert "server" not in answer.headers, where
            for cookie in answer.headers.get_list("set-cookie"):
                assert "httponly" in cookie.lower(), where
                assert "samesite=lax" in cookie.lower(), where


FROM_ELSEWHERE = [{}, {"origin": "https://evil.example"}]
"""More kinds of claims: tests/contract/test_auth.py."""


async def test_a_cookie_alone_writes_nowhere_when_another_site_sends_the_request(
    lab: Lab, visitor: httpx.AsyncClient, app: flask.Flask
) -> None:
    """Every method that writes, on every route that a key opens, and on signing in and out."""
    cookie = {"cookie": f"api_key={lab.people.ada.api_key}"}
    for method, rule in routes(app):
        if method == "GET" or rule in OPEN - {"/signout"}:
            continue
        asked = [visitor.request(method, filled(rule), headers={**cookie, **claim}) for claim in FROM_ELSEWHERE]
        for answer in await together(asked):
            assert_refused(answer, 403, "cross_site")
    for claim in FROM_ELSEWHERE:
        answer = await visitor.post("/signin", data={"token": "t"}, headers={**cookie, **claim})
        assert_refused(answer, 403, "cross_site")


async def test_the_cookie_of_our_own_page_is_good_for_every_route(lab: Lab, app: flask.Flask) -> None:
    headers = {"cookie": f"api_key={lab.people.ada.api_key}", "origin": ORIGIN}
    for method, rule in routes(app):
        if rule not in OPEN and "signin" not in rule:
            answer = await lab.http.request(method, filled(rule), headers=headers)
            if answer.status_code == 403:
                assert answer.json()["code"] == "no_right", (method, rule)
