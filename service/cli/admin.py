"""`tiptrace admin ...`: what operators do. Every command takes --json and --data."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from service.cli.doctor import doctor
from service.cli.lease_advice import lease_advice
from service.cli.manners import data_option, ends_plainly, joined, json_option, read_settings
from service.domain.access import Actor
from service.domain.address import normal_email
from service.domain.errors import UserNotFound
from service.domain.movie import condition
from service.local.connection import endpoint_of
from service.runtime import Runtime, make_everything
from service.usecases import analysis_lease, cancel_trace, people
from service.usecases.migrate import migrate as bring_up_to_date
from service.usecases.sweep import sweep as sweep_once
from service.web.people import sign_in_link as link_for


@click.group()
def admin() -> None:
    """What operators do."""


admin.add_command(doctor)
admin.add_command(lease_advice)


def say(as_json: bool, facts: dict[str, Any]) -> None:
    """One fact a line, or one JSON object."""
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False))
        return
    for name, value in facts.items():
        click.echo(f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")


@admin.command("create-tables")
@json_option
@data_option
@ends_plainly
async def create_tables(as_json: bool, data: Path | None) -> None:
    """Make tables, indexes, bucket and queue that are missing. Running it again changes nothing."""
    settings = read_settings(data=data, log_level="warning")
    async with endpoint_of(settings) as endpoint:
        made = await make_everything(settings, endpoint=endpoint)
    say(as_json, {"created": made.created, "present": made.present})


@admin.command("add-course")
@click.argument("course_id")
@click.option("--name", help="Title of the course. Default: its id.")
@click.option("--limit", type=click.IntRange(min=1), default=500, show_default=True, help="How many may register.")
@json_option
@data_option
@ends_plainly
async def add_course(course_id: str, name: str | None, limit: int, as_json: bool, data: Path | None) -> int:
    """A new course; prints the key that students register with."""
    async with joined(data) as runtime:
        course = await people.add_course(runtime.stores, course_id, name or course_id, limit=limit)
        if course is None:
            raise click.ClickException(f"There is a course {course_id} already.")
    say(as_json, {"course_id": course["course_id"], "course_key": course["course_key"]})
    return 0


@admin.command("add-user")
@click.option("--email", required=True)
@click.option("--name", required=True, help="The person's name, as others see it.")
@click.option("--course", "course_id", required=True)
@click.option("--course-admin", is_flag=True, help="May administer the course.")
@click.option("--super", "super_role", type=click.Choice(["superadmin", "superauditor"]))
@json_option
@data_option
@ends_plainly
async def add_user(
    email: str,
    name: str,
    course_id: str,
    course_admin: bool,
    super_role: str | None,
    as_json: bool,
    data: Path | None,
) -> None:
    """A new user of a course, with an API key."""
    async with joined(data) as runtime:
        added = await people.add_user(
            runtime.stores, email, name, course_id, course_admin=course_admin, super_role=super_role
        )
    say(as_json, {"user_id": added.user_id, "api_key": added.api_key})


@admin.command("add-key")
@click.argument("user_id")
@json_option
@data_option
@ends_plainly
async def add_key(user_id: str, as_json: bool, data: Path | None) -> None:
    """One more API key for a user."""
    async with joined(data) as runtime:
        if await runtime.stores.people.user(user_id) is None:
            raise UserNotFound
        say(as_json, {"user_id": user_id, "api_key": await people.add_key(runtime.stores, user_id)})


@admin.command("disable-key")
@click.argument("api_key")
@json_option
@data_option
@ends_plainly
async def disable_key(api_key: str, as_json: bool, data: Path | None) -> None:
    """Make a key useless; web processes forget it within five seconds."""
    async with joined(data) as runtime:
        stores = runtime.stores
        if not await stores.people.disable_key(api_key, stores.clock.now()):
            raise click.ClickException("There is no such key.")
        say(as_json, {"disabled": True})


@admin.command("sign-in-link")
@click.option("--email", required=True)
@click.option("--url", help="Address of the pages. Default: TIPTRACE_PUBLIC_URL, else http://127.0.0.1:8080.")
@json_option
@data_option
@ends_plainly
async def sign_in_link(email: str, url: str | None, as_json: bool, data: Path | None) -> None:
    """A link that signs a person in, once, within the hour: for a site that sends no mail.

    Whoever has the link is that person. Hand it over as you would a password.
    """
    async with joined(data) as runtime:
        user = await runtime.stores.people.user_of_email(normal_email(email))
        if user is None:
            raise UserNotFound
        base = url or runtime.settings.public_url or "http://127.0.0.1:8080"
        link = await link_for(runtime, user["user_id"], base)
    say(as_json, {"user_id": user["user_id"], "link": link})


@admin.command("job")
@click.argument("movie_id")
@json_option
@data_option
@ends_plainly
async def job(movie_id: str, as_json: bool, data: Path | None) -> None:
    """What a movie's job is doing, and what its receipt says."""
    async with joined(data) as runtime:
        say(as_json, await _job(runtime, movie_id))


async def _job(runtime: Runtime, movie_id: str) -> dict[str, Any]:
    stores = runtime.stores
    movie = await stores.movies.get(movie_id)
    if movie is None:
        raise click.ClickException("There is no such movie.")
    now = stores.clock.now()
    facts: dict[str, Any] = {
        "movie_id": movie_id,
        "status": condition(movie, now, stores.policy.max_attempts).status,
    }
    if movie.tracing is None:
        return facts
    running = movie.tracing
    receipt = await stores.receipts.get(running.receipt_id)
    return facts | {
        "job_id": running.job_id,
        "kind": running.kind,
        "state": running.state,
        "attempt": running.attempt,
        "failures": running.failures,
        "live": running.live(now),
        "seconds_left": running.expires_at - now,
        "last_frame_tracked": movie.row.get("last_frame_tracked", 0),
        "receipt": receipt.state if receipt else "missing",
    }


@admin.command("jobs")
@json_option
@data_option
@ends_plainly
async def jobs(as_json: bool, data: Path | None) -> None:
    """Every job that waits or runs."""
    async with joined(data) as runtime:
        stores = runtime.stores
        found = []
        for shard in stores.movies.shards():
            async for movie_id in stores.movies.due(shard, 2**40):
                facts = await _job(runtime, movie_id)
                if "job_id" in facts:
                    found.append(facts)
    if as_json:
        click.echo(json.dumps(found))
        return
    table = Table("movie", "job", "kind", "state", "attempt", "frame", "seconds left")
    for facts in found:
        table.add_row(
            facts["movie_id"],
            facts["job_id"],
            facts["kind"],
            facts["state"],
            str(facts["attempt"]),
            str(facts["last_frame_tracked"]),
            str(facts["seconds_left"]),
        )
    # Ids are there to be copied: what no window bounds is not cut.
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table if found else "No job waits or runs.")


@admin.command("release")
@click.argument("movie_id")
@json_option
@data_option
@ends_plainly
async def release(movie_id: str, as_json: bool, data: Path | None) -> None:
    """Free a movie: its analysis lease is dropped, its trace ends as cancelled."""
    async with joined(data) as runtime:
        stores = runtime.stores
        movie = await stores.movies.get(movie_id)
        if movie is None:
            raise click.ClickException("There is no such movie.")
        facts: dict[str, Any] = {"movie_id": movie_id, "analysis_lease_dropped": False, "trace_cancelled": False}
        operator = Actor("operator", "operator", roles=frozenset({"superadmin"}))
        facts["analysis_lease_dropped"] = await analysis_lease.drop(stores, operator, movie)
        if movie.tracing and movie.tracing.kind == "trace":
            await cancel_trace.cancel(stores, operator, movie_id)
            facts["trace_cancelled"] = True
    say(as_json, facts)


@admin.command("sweep")
@json_option
@data_option
@ends_plainly
async def sweep(as_json: bool, data: Path | None) -> None:
    """One pass of the sweeper, now."""
    async with joined(data) as runtime:
        swept = await sweep_once(runtime.stores)
    say(
        as_json,
        {
            "announced": swept.announced,
            "resumed": swept.resumed,
            "failed": swept.failed,
            "uploads_expired": swept.uploads_expired,
        },
    )


@admin.command("migrate")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@json_option
@data_option
@ends_plainly
async def migrate(dry_run: bool, as_json: bool, data: Path | None) -> None:
    """Bring tables and rows of an older service to what this one needs. Deletes nothing; may be run again.

    Adds tables and indexes, completes movie rows, writes down the names of markers, and turns points that were measured
    from the upper left corner, and brings addresses to the one form under which people are found. Movies without a
    known size and people who share an address are left as they are and listed.
    """
    async with joined(data) as runtime:
        done = await bring_up_to_date(runtime.stores, dry_run=dry_run, tell=_tell_progress)
    say(as_json, {"dry_run": dry_run, **asdict(done)})


def _tell_progress(movie_id: str, frames: int) -> None:
    click.echo(f"{movie_id}: {frames} frames", err=True)
