"""Whatever is wrong with a request, on whatever route, the refusal has one shape and says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flask
import httpx
import pytest

from service.domain import errors
from service.web.app import build_app
from service.web.problems import status_of
from tests.support.service import Lab, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPEN = {
    "/", "/analyze", "/upload", "/activity", "/course", "/signin", "/static/<path:name>", "/healthz", "/readyz",
    "/metrics", "/api/ver", "/resize-api/v1/ping", "/signout", "/api/register", "/api/resend-link", "/openapi.json",
    "/docs",
}  # fmt: skip
HAVE_NO_MOVIE = {
    "/api/new-movie", "/api/list-movies", "/api/check-api_key", "/api/get-receipt", "/api/set-metadata",
    "/api/bulk-register", "/api/list-users", "/api/list-users-courses", "/api/get-logs", "/api/default-course",
    "/api/current-course", "/resize-api/v1/sample-movie",
}  # fmt: skip
COMPLETE: dict[str, Any] = {
    "analysis_lease_id": "0" * 32, "frame_number": 0, "trackpoints": [], "old_label": "a", "new_label": "b",
    "trim_start_frame": 0, "fpm": 1, "delete": 1, "research_use": 1, "rotation": 90,
}  # fmt: skip
"""Everything that any route may want, but the movie."""
NOBODY = "m00000000-0000-4000-8000-000000000000"


def assert_refused(answer: httpx.Response, status: int, code: str | None = None) -> dict[str, Any]:
    where = f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text[:200]}"
    assert answer.status_code == status, where
    assert answer.headers["content-type"] == "application/json", where
    told: dict[str, Any] = answer.json()
    assert told["error"] is True, where
    assert isinstance(told["message"], str), where
    assert len(told["message"]) > 10, where
    assert isinstance(told["code"], str), where
    assert "Traceback" not in answer.text, where
    if code is not None:
        assert told["code"] == code, where
    return told


@pytest.fixture(scope="module")
def app(lab: Lab) -> flask.Flask:
    return build_app(lab.runtime)


def routes(app: flask.Flask) -> Iterator[tuple[str, str]]:
    """(method, path) of everything that is served."""
    for rule in app.url_map.iter_rules():
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            yield method, rule.rule


def guarded(app: flask.Flask) -> list[tuple[str, str]]:
    """Routes that ask for a key, with something in the place of each variable."""
    return [(method, filled(path)) for method, path in routes(app) if path not in OPEN]


def filled(path: str) -> str:
    """A rule as an address. What stands for its variables is well formed; whether it exists is another matter."""
    for variable, value in (("<path:name>", "css/base.css"), ("<path:course_id>", "bio"), ("<user>", "a@b.example"),
                            ("<movie_id>", NOBODY)):  # fmt: skip
        path = path.replace(variable, value)
    return path


def have_a_movie(app: flask.Flask) -> list[tuple[str, str]]:
    """Those of them that name a movie by a field."""
    return [(m, path) for m, path in guarded(app) if path not in HAVE_NO_MOVIE and not path.startswith("/api/admin/")]


async def ask(lab: Lab, method: str, path: str, person: Person | None = None, **fields: Any) -> httpx.Response:
    headers = person.headers if person else {}
    if method == "GET":
        return await lab.http.get(path, params=fields, headers=headers)
    return await lab.http.request(method, path, json=fields, headers=headers)


async def test_there_are_as_many_guarded_routes_as_the_contract_names(app: flask.Flask) -> None:
    assert len(guarded(app)) >= 40


async def test_nobody_gets_in_without_a_key(lab: Lab, app: flask.Flask) -> None:
    for method, path in guarded(app):
        assert_refused(await ask(lab, method, path, movie_id=NOBODY), 403, "invalid_api_key")


async def test_an_unknown_a_malformed_and_a_disabled_key_are_refused_alike(lab: Lab, app: flask.Flask) -> None:
    from service.usecases.people import add_key

    disabled = await add_key(lab.runtime.stores, lab.people.ben.user_id)
    await lab.runtime.stores.people.disable_key(disabled, lab.clock.now())
    messages = set()
    for key in ("a" + "0" * 32, "nonsense", "é", disabled):
        for method, path in guarded(app):
            answer = await lab.http.request(method, path, headers={"x-api-key": key.encode()})
            messages.add(assert_refused(answer, 403, "invalid_api_key")["message"])
    assert len(messages) == 1


async def test_the_wrong_method_is_refused_and_the_right_ones_are_named(lab: Lab, app: flask.Flask) -> None:
    allowed: dict[str, set[str]] = {}
    for method, path in routes(app):
        allowed.setdefault(filled(path), set()).add(method)
    for path, right in allowed.items():
        for wrong in {"GET", "POST", "PUT", "PATCH", "DELETE"} - right:
            answer = await lab.http.request(wrong, path)
            assert_refused(answer, 405, "method_not_allowed")
            assert set(answer.headers["allow"].split(", ")) - {"HEAD", "OPTIONS"} == right


async def test_an_unknown_address_is_refused_in_the_same_shape(lab: Lab) -> None:
    for path in (
        "/nothing",
        "/api/nothing",
        "/resize-api/v1/nothing",
        "/static/js/nothing.js",
        "/api//list-movies",
        "/é",
    ):
        assert_refused(await lab.http.get(path), 404)


async def test_a_malformed_movie_id_is_named_and_an_unknown_movie_is_404(lab: Lab, app: flask.Flask) -> None:
    for method, path in have_a_movie(app):
        for bad in ("12", "m" + "0" * 35, NOBODY + "0", "M" + NOBODY[1:], NOBODY.upper(), "", "é" * 37):
            told = assert_refused(await ask(lab, method, path, lab.people.ada, **COMPLETE, movie_id=bad), 400)
            assert told["message"] == "movie_id: is not the id of a movie"
        missing = assert_refused(await ask(lab, method, path, lab.people.ada, **COMPLETE), 400, "invalid_parameter")
        assert missing["message"] == "movie_id: is required"
        if "lease" in path and "acquire" not in path:
            continue  # whether the movie or the lease is gone makes no difference to its former holder
        assert_refused(
            await ask(lab, method, path, lab.people.ada, **COMPLETE, movie_id=NOBODY), 404, "movie_not_found"
        )


async def test_a_movie_of_another_course_is_a_conflict_when_the_course_is_named(lab: Lab, app: flask.Flask) -> None:
    movie_id = await lab.movie()
    for method, path in have_a_movie(app):
        if "heartbeat" in path or "release" in path:
            continue
        told = {**COMPLETE, "movie_id": movie_id, "course_id": "chem"}
        assert_refused(await ask(lab, method, path, lab.people.ada, **told), 409, "wrong_course")


async def test_a_form_that_is_far_too_large_is_refused(lab: Lab) -> None:
    huge = {"movie_id": NOBODY, "trackpoints": "x" * 3_000_000}
    for form in ({"data": huge}, {"files": {name: (None, value) for name, value in huge.items()}}):
        answer = await lab.http.post("/api/put-frame-trackpoints", headers=lab.people.ada.headers, **form)
        assert_refused(answer, 413, "too_large")


async def test_a_field_that_is_sent_twice_with_two_values_is_refused(lab: Lab) -> None:
    movie_id = await lab.movie()
    twice = f"movie_id={movie_id}&movie_id={NOBODY}"
    answer = await lab.http.get(f"/api/get-movie-metadata?{twice}", headers=lab.people.ada.headers)
    told = assert_refused(answer, 400, "invalid_parameter")
    assert told["message"].startswith("movie_id:")


async def test_names_and_form_json_and_query_all_carry_the_same_fields(lab: Lab) -> None:
    movie_id = await lab.movie()
    path, headers = "/api/get-movie-metadata", lab.people.ada.headers
    answers = [
        await lab.http.post(path, data={"movie_id": movie_id}, headers=headers),
        await lab.http.post(path, files={"movie_id": (None, movie_id)}, headers=headers),
        await lab.http.post(path, json={"movie_id": movie_id}, headers=headers),
        await lab.http.post(path, params={"movie_id": movie_id}, headers=headers),
        await lab.http.get(path, params={"movie_id": movie_id}, headers=headers),
    ]
    assert [answer.json()["metadata"]["movie_id"] for answer in answers] == [movie_id] * 5


async def test_the_body_goes_before_the_query(lab: Lab) -> None:
    movie_id = await lab.movie()
    answer = await lab.http.post(
        "/api/get-movie-metadata",
        params={"movie_id": NOBODY},
        data={"movie_id": movie_id},
        headers=lab.people.ada.headers,
    )
    assert answer.json()["metadata"]["movie_id"] == movie_id


async def test_every_error_that_can_reach_a_person_has_a_status_of_its_own() -> None:
    inner = {errors.EngineCrashed, errors.FenceLost}  # a worker's, never a request's
    for kind in _descendants(errors.TiptraceError):
        if kind not in inner and not issubclass(kind, tuple(inner)):
            assert status_of(kind.__new__(kind)) != 500, kind


def _descendants(kind: type[errors.TiptraceError]) -> Iterator[type[errors.TiptraceError]]:
    for child in kind.__subclasses__():
        yield child
        yield from _descendants(child)


async def test_an_unexpected_fault_is_told_without_a_word_of_it(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from service.web import movies

    async def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("s3://secret/key")

    monkeypatch.setattr(lab.http, "event_hooks", {})  # a 500 is described nowhere
    monkeypatch.setattr(movies, "list_movies", broken)
    answer = await lab.post("/api/list-movies", lab.people.ada)
    assert_refused(answer, 500, "internal")
    assert "secret" not in answer.text


async def test_an_unreachable_database_is_503_with_the_time_to_wait(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_: Any, **__: Any) -> None:
        raise errors.StoreUnavailable

    movie_id = await lab.movie()
    monkeypatch.setattr(lab.runtime.stores.database, "_repeat_read", gone)
    answer = await lab.post("/api/get-movie-metadata", lab.people.ada, movie_id=movie_id)
    assert_refused(answer, 503, "store_unavailable")
    assert int(answer.headers["retry-after"]) > 0
