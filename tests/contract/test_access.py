"""One rule says on every route who may do what: each route x each role x own and foreign x published, hidden, deleted.

A31. The table names every route of the application, so that a new one without a decision about its access fails here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
import pytest_asyncio

from service.domain.audit import event
from service.store.people import actor_of
from service.usecases import people
from service.usecases.list_movies import list_movies
from service.web.app import bare_app
from tests.support.service import Lab, Person

pytestmark = pytest.mark.asyncio(loop_scope="module")

LEASE = "5ecre7" + "0" * 26
JOB = "10b" + "0" * 29
OWNER, MEMBER, ADMIN, STRANGER, DEAN, AUDITOR, ROOT = "owner", "member", "admin", "stranger", "dean", "auditor", "root"
"""The movies are the owner's, in bio. The stranger is a member of chem, the dean its administrator."""

EDITORS = {OWNER, ADMIN, ROOT}
WATCHERS = EDITORS | {AUDITOR}
EVERYBODY = {OWNER, MEMBER, ADMIN, STRANGER, DEAN, AUDITOR, ROOT}


@dataclass(frozen=True)
class Who:
    """Who may use a route, by the state of the movie or by the course that is asked for; None: no key is needed."""

    published: set[str] | None
    hidden: set[str] | None = None
    deleted: set[str] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


def read(**fields: Any) -> Who:
    return Who(WATCHERS | {MEMBER}, WATCHERS, WATCHERS, fields)


def edit(**fields: Any) -> Who:
    return Who(EDITORS, EDITORS, EDITORS, fields)


def oversee() -> Who:
    seers = {ADMIN, AUDITOR, ROOT}
    return Who(seers, seers, seers)


OPEN = Who(None)
SIGNED_IN = Who(EVERYBODY)

MOVIE_ROUTES: dict[tuple[str, str], Who] = {
    ("POST", "/api/acquire-movie-analysis-lease"): read(),  # who may only read gets no lease: see below
    ("POST", "/api/heartbeat-movie-analysis-lease"): Who(EVERYBODY, EVERYBODY, EVERYBODY),  # asks for the token alone
    ("POST", "/api/release-movie-analysis-lease"): Who(EVERYBODY, EVERYBODY, EVERYBODY),
    ("POST", "/api/put-frame-trackpoints"): edit(frame_number=0, trackpoints="[]"),
    ("POST", "/api/rename-marker"): edit(old_label="Apex", new_label="Tip"),
    ("POST", "/api/reset-movie-tracing"): edit(),
    ("POST", "/api/set-movie-trim"): edit(trim_end_frame=5),
    ("POST", "/api/set-movie-fpm"): edit(fpm=2),
    ("POST", "/api/rotate-movie"): edit(rotation=90),
    ("POST", "/resize-api/v1/process-upload"): edit(),
    ("POST", "/api/delete-movie"): edit(delete=1),
    ("POST", "/api/set-metadata"): edit(property="description", value="Seen by many"),
    ("POST", "/api/set-research-metadata"): Who({OWNER}, {OWNER}, {OWNER}, {"research_use": 1}),
    ("POST", "/resize-api/v1/trace-movie"): edit(),
    ("POST", "/resize-api/v1/cancel-trace"): edit(),
    ("GET", "/api/get-movie-metadata"): read(frame_start=0, frame_count=1),
    ("POST", "/api/get-movie-metadata"): read(),
    ("GET", "/api/get-movie-trackpoints"): read(format="json"),
    ("POST", "/api/get-movie-trackpoints"): read(),
    ("GET", "/resize-api/v1/first-frame"): read(),
    ("GET", "/resize-api/v1/frame"): read(frame_number=0),
    ("GET", "/resize-api/v1/movie-data"): read(),
    ("GET", "/api/admin/movies/<movie_id>/media"): oversee(),
    ("GET", "/api/admin/movies/<movie_id>/storage-health"): oversee(),
}
OF_BIO, OF_CHEM = {OWNER, MEMBER, ADMIN, ROOT}, {STRANGER, DEAN, AUDITOR, ROOT}
COURSE_ROUTES: dict[tuple[str, str], tuple[set[str], set[str], dict[str, Any]]] = {
    # who for bio, who for chem
    ("POST", "/api/list-movies"): (OF_BIO | {AUDITOR}, OF_CHEM, {}),
    ("GET", "/api/list-users"): ({ADMIN, AUDITOR, ROOT}, {DEAN, AUDITOR, ROOT}, {}),
    ("POST", "/api/list-users"): ({ADMIN, AUDITOR, ROOT}, {DEAN, AUDITOR, ROOT}, {}),
    ("GET", "/api/list-users-courses"): ({ADMIN, AUDITOR, ROOT}, {DEAN, AUDITOR, ROOT}, {}),
    ("POST", "/api/list-users-courses"): ({ADMIN, AUDITOR, ROOT}, {DEAN, AUDITOR, ROOT}, {}),
    ("POST", "/api/bulk-register"): ({ADMIN, ROOT}, {DEAN, ROOT}, {"emails": "not an address"}),
    ("PATCH", "/api/default-course"): (OF_BIO, OF_CHEM, {}),
    ("PATCH", "/api/current-course"): (OF_BIO, OF_CHEM, {}),
    ("PUT", "/api/admin/courses/<path:course_id>/administrators/<user>"): ({ROOT}, {ROOT}, {}),
    ("DELETE", "/api/admin/courses/<path:course_id>/administrators/<user>"): ({ROOT}, {ROOT}, {}),
}
OTHER_ROUTES: dict[tuple[str, str], Who] = {
    **{("GET", path): OPEN for path in ("/", "/analyze", "/upload", "/activity", "/course", "/signin")},
    ("GET", "/static/<path:name>"): OPEN,
    **{("GET", path): OPEN for path in ("/healthz", "/readyz", "/metrics", "/api/ver", "/resize-api/v1/ping")},
    **{("GET", path): OPEN for path in ("/openapi.json", "/docs")},
    **{("POST", path): OPEN for path in ("/api/ver", "/signin", "/signout", "/api/register", "/api/resend-link")},
    ("POST", "/api/check-api_key"): SIGNED_IN,
    ("POST", "/api/new-movie"): SIGNED_IN,
    ("GET", "/resize-api/v1/sample-movie"): SIGNED_IN,
    ("GET", "/api/get-receipt"): SIGNED_IN,  # finds the caller's own alone
    ("GET", "/api/get-logs"): SIGNED_IN,  # each event is judged: see below
    ("POST", "/api/get-logs"): SIGNED_IN,
    ("GET", "/api/admin/summary"): Who({AUDITOR, ROOT}),
    ("POST", "/api/admin/courses"): Who({ROOT}, fields={"course_id": "bio"}),
}
UNFENCED = ("/api/set-metadata", "/resize-api/v1/cancel-trace", "/resize-api/v1/process-upload")
"""What editors may do without a lease."""


@dataclass
class Cast:
    lab: Lab
    roles: dict[str, Person]
    movies: dict[str, str]

    async def ask(self, method: str, rule: str, who: str | None, **fields: Any) -> httpx.Response:
        path = rule
        for name in re.findall(r"<(?:\w+:)?(\w+)>", rule):
            path = re.sub(rf"<(?:\w+:)?{name}>", str(fields.pop(name, "css/base.css")), path)
        headers = self.roles[who].headers if who else {}
        if method == "GET":
            return await self.lab.http.get(path, params=fields, headers=headers)
        return await self.lab.http.request(method, path, json=fields, headers=headers)

    async def let_in(self, method: str, rule: str, **fields: Any) -> set[str]:
        """Whom a route lets in; everybody else is told that he has no right, in one way."""
        roles = sorted(self.roles)
        answers = await asyncio.gather(*(self.ask(method, rule, role, **fields) for role in roles))
        inside = set()
        for role, answer in zip(roles, answers, strict=True):
            assert LEASE not in answer.text, f"{rule} tells {role} the secret of a lease"
            if answer.status_code != 403:
                assert answer.status_code < 500, answer.text
                inside.add(role)
            else:
                assert answer.json()["code"] == "no_right", answer.text
        return inside


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cast(lab: Lab) -> Cast:
    stores, them = lab.runtime.stores, lab.people
    dean = await people.add_user(stores, "dean@school.test", "Dean", "chem", course_admin=True)
    now = lab.clock.now()
    lease = {
        "analysis_lease_id": LEASE, "analysis_started_by_user_id": them.ada.user_id, "analysis_started_at": now,
        "analysis_started_by_user_name": "Ada", "analysis_heartbeat_at": now, "analysis_expires_at": now + 900,
    }  # fmt: skip
    return Cast(
        lab,
        {
            OWNER: them.ada, MEMBER: them.ben, ADMIN: them.teacher, STRANGER: them.eve, AUDITOR: them.auditor,
            ROOT: them.root, DEAN: Person(dean.user_id, dean.api_key, "Dean"),
        },
        {
            "published": await lab.movie(published=True, **lease),
            "hidden": await lab.movie(**lease),
            "deleted": await lab.movie(published=True, deleted=True, **lease),
        },
    )  # fmt: skip


async def test_every_route_has_a_decision_about_its_access() -> None:
    served = {
        (method, rule.rule)
        for rule in bare_app().url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    decided = [*MOVIE_ROUTES, *COURSE_ROUTES, *OTHER_ROUTES]
    assert served == set(decided)
    assert len(decided) == len(set(decided))


@pytest.mark.parametrize("state", ["published", "hidden", "deleted"])
async def test_who_may_use_which_route_of_a_movie_a31(cast: Cast, state: str) -> None:
    movie_id = cast.movies[state]
    for (method, rule), who in MOVIE_ROUTES.items():
        name = "set_movie_id" if rule == "/api/set-metadata" else "movie_id"
        found = await cast.let_in(method, rule, **{name: movie_id, "analysis_lease_id": "0" * 32, **who.fields})
        assert found == getattr(who, state), (method, rule, state)


async def test_the_lease_goes_to_editors_alone_and_each_knows_only_his_own(cast: Cast) -> None:
    movie_id = await cast.lab.movie(published=True)
    given: dict[str, str] = {}
    for role in sorted(cast.roles):
        told = (await cast.ask("POST", "/api/acquire-movie-analysis-lease", role, movie_id=movie_id)).json()
        if told.get("lease_id"):
            given[role] = told["lease_id"]
            fields = {"movie_id": movie_id, "analysis_lease_id": given[role]}
            for other in {OWNER, MEMBER, ADMIN} - {role}:
                beat = await cast.ask("POST", "/api/heartbeat-movie-analysis-lease", other, **fields)
                assert beat.json()["active"] is False, "the token is worth nothing in another's hands"
                left = await cast.ask("POST", "/api/release-movie-analysis-lease", other, **fields)
                assert left.json()["released"] is False
                seen = await cast.ask("POST", "/api/get-movie-metadata", other, movie_id=movie_id)
                assert given[role] not in seen.text
            released = await cast.ask("POST", "/api/release-movie-analysis-lease", role, **fields)
            assert released.json()["released"] is True
    assert set(given) == EDITORS


async def test_the_list_shows_what_the_direct_route_lets_in_and_nothing_else(cast: Cast) -> None:
    for role, person in cast.roles.items():
        actor = actor_of(await cast.lab.runtime.stores.people.user(person.user_id) or {})
        found = {entry["movie_id"] for entry in await list_movies(cast.lab.runtime.stores, actor, course_id="bio")}
        for state, movie_id in cast.movies.items():
            direct = await cast.ask("GET", "/api/get-movie-metadata", role, movie_id=movie_id)
            assert (movie_id in found) == (direct.status_code == 200), (role, state)


@pytest.mark.parametrize("state", ["published", "hidden", "deleted"])
async def test_the_history_of_a_movie_is_for_its_readers_and_its_circumstances_for_those_who_oversee_it_a31(
    cast: Cast, state: str
) -> None:
    movie_id, stores = cast.movies[state], cast.lab.runtime.stores
    now = cast.lab.clock.now()
    told = event(
        stores.ids.log_id(now), "movie.tracing.failed", now, user_id=cast.roles[ADMIN].user_id, movie_id=movie_id,
        course_id="bio", ipaddr="192.0.2.7", request_key="a-wish", error_type="cut_off", error_summary="It is cut off.",
    )  # fmt: skip
    await stores.database.write(stores.audit.event_write(told))
    readers, knowing = set(), set()
    for role in cast.roles:
        logs = (await cast.ask("GET", "/api/get-logs", role, movie_id=movie_id)).json()["logs"]
        if logs:
            (found,) = logs
            readers.add(role)
            assert found["sentence"].endswith("ended without a result: It is cut off.")
            circumstances = {"ipaddr", "request_key", "error_type", "error_summary"} & found.keys()
            assert len(circumstances) in (0, 4), role
            knowing |= {role} if circumstances else set()
    assert readers == getattr(read(), state)
    assert knowing == {ADMIN, AUDITOR, ROOT}


async def test_what_happened_to_a_course_is_for_its_members(cast: Cast) -> None:
    stores, now = cast.lab.runtime.stores, cast.lab.clock.now()
    for course_id, right in (("bio", OF_BIO | {AUDITOR}), ("chem", OF_CHEM)):
        told = event(
            stores.ids.log_id(now), "course.admin.assigned", now, user_id=cast.roles[ROOT].user_id,
            course_id=course_id, ipaddr="192.0.2.7", subject_user_id=cast.roles[DEAN].user_id,
        )  # fmt: skip
        await stores.database.write(stores.audit.event_write(told))
        for role in cast.roles:
            logs = (await cast.ask("GET", "/api/get-logs", role, course_id=course_id)).json()["logs"]
            found = [entry for entry in logs if entry["log_id"] == told["log_id"]]
            assert bool(found) == (role in right | {DEAN}), (role, course_id)
            oversees = role in ({ADMIN} if course_id == "bio" else {DEAN}) | {AUDITOR, ROOT}
            assert all(("ipaddr" in entry) == oversees for entry in found), (role, course_id)


async def test_who_may_use_which_route_of_a_course_a31(cast: Cast) -> None:
    try:
        for (method, rule), (bio, chem, fields) in COURSE_ROUTES.items():
            more = {"user": cast.roles[DEAN].user_id} if "administrators" in rule else {}
            for course_id, right in (("bio", bio), ("chem", chem)):
                found = await cast.let_in(method, rule, course_id=course_id, **fields, **more)
                assert found == right, (method, rule, course_id)
    finally:  # the requests have made the dean an administrator and none, and sent people to other courses
        await cast.ask("PUT", "/api/admin/courses/<course_id>/administrators/<user>", ROOT, course_id="chem",
                       user=cast.roles[DEAN].user_id)  # fmt: skip


async def test_who_may_use_the_routes_that_name_neither(cast: Cast) -> None:
    for (method, rule), who in OTHER_ROUTES.items():
        if who.published is not None:
            assert await cast.let_in(method, rule, **who.fields) == who.published, (method, rule)


async def test_nobody_without_a_key_gets_anything_but_what_is_open(cast: Cast) -> None:
    movie = {"movie_id": cast.movies["published"], "course_id": "bio", "user": cast.roles[OWNER].user_id}
    for (method, rule), who in (MOVIE_ROUTES | OTHER_ROUTES | dict.fromkeys(COURSE_ROUTES, SIGNED_IN)).items():
        answer = await cast.ask(method, rule, None, **movie)
        refused = answer.status_code == 403 and answer.json()["code"] == "invalid_api_key"
        assert refused == (who.published is not None), (method, rule)


async def test_a_job_id_is_no_authority_on_any_route(cast: Cast) -> None:
    """Whoever reads a movie learns the id of its job. Shown as key or as lease it opens nothing."""
    now = cast.lab.clock.now()
    job = {
        "trace_job_id": JOB, "trace_job_kind": "trace", "tracing_state": "running", "tracing_attempt": 1,
        "tracing_claim_id": LEASE, "tracing_expires_at": now + 900, "tracing_started_at": now, "status": "tracing",
        "trace_receipt_id": "r", "tracing_started_by_user_id": cast.roles[OWNER].user_id,
    }  # fmt: skip
    movie_id = await cast.lab.movie(published=True, **job)
    seen = await cast.ask("GET", "/api/get-movie-metadata", MEMBER, movie_id=movie_id)
    assert seen.json()["metadata"]["tracking_lock"]["job_id"] == JOB
    before = await cast.lab.row(movie_id)
    for method, rule in sorted(MOVIE_ROUTES):
        who = MOVIE_ROUTES[method, rule]
        fields = {**who.fields, "movie_id": movie_id, "analysis_lease_id": JOB, "job_id": JOB, "request_key": JOB}
        if method == "POST":
            keyed = await cast.lab.http.post(rule, json={**fields, "api_key": JOB})
            assert (keyed.status_code, keyed.json()["code"]) == (403, "invalid_api_key"), rule
        if who.published == EDITORS and rule not in UNFENCED:
            for role, status in ((MEMBER, 403), (STRANGER, 403), (OWNER, 409)):
                answer = await cast.ask(method, rule, role, **fields)
                assert answer.status_code == status, (rule, role, answer.text)
    assert await cast.lab.row(movie_id) == before
