"""`tiptrace admin doctor`: what is right with a deployment, and what to do about the rest."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import aiosmtplib
import click
from botocore.exceptions import NoRegionError

from service.cli.manners import data_option, ends_plainly, json_option, read_settings
from service.domain.finding import Finding, Verdict, all_well, fault, well
from service.domain.origin import origin_of
from service.local.connection import endpoint_of
from service.mail import talk_to
from service.mail_server import Server, server_of
from service.queues import named_urls, queue_names
from service.runtime import make_everything, open_clients
from service.settings import Settings
from service.sound_settings import judge_settings
from service.usecases.examine_bucket import examine_bucket
from service.usecases.examine_queue import examine_queue
from service.usecases.examine_tables import examine_tables

_SIGNS: dict[Verdict, tuple[str, str | None]] = {
    "well": ("well", "green"),
    "advice": ("look", "yellow"),
    "fault": ("FAULT", "red"),
}


@click.command("doctor")
@json_option
@data_option
@ends_plainly
async def doctor(as_json: bool, data: Path | None) -> int:
    """Look at a deployment, and say in words what is right and what to do about the rest.

    Looks at settings, tables, indexes, queue, bucket, clock and mail server, and at what this process may do. Writes
    one small object and deletes it again; changes nothing else. Ends with 0 if there is no fault, else with 1.
    """
    settings = read_settings(data=data, log_level="error")
    found = list(dict.fromkeys(await examine(settings)))  # who has no credentials has none for anything
    told = all_well(found)
    if as_json:
        click.echo(json.dumps({"well": told, "findings": [asdict(finding) for finding in found]}, ensure_ascii=False))
    else:
        click.echo(in_words(found))
    return 0 if told else 1


async def examine(settings: Settings) -> list[Finding]:
    """Everything that can be found out from here."""
    async with endpoint_of(settings) as endpoint:
        if endpoint:  # the embedded default makes whatever is missing at every start
            await make_everything(settings, endpoint=endpoint)
        return [
            *judge_settings(settings),
            *await _examine_aws(settings, endpoint),
            *await _examine_mail(settings),
        ]


async def _examine_aws(settings: Settings, endpoint: str | None) -> list[Finding]:
    """Database, queue and storage, where they are: AWS, another server that speaks its protocols, or our own."""
    try:
        async with open_clients(endpoint) as clients:
            origin = origin_of(settings.public_url) if settings.public_url else None
            return [
                *await examine_tables(
                    clients.dynamodb,
                    settings.table_prefix,
                    time.time,
                    settings.lease_seconds,
                    backups=endpoint is None,
                ),
                *await _examine_queues(clients.sqs, settings, here=endpoint is not None),
                *await examine_bucket(
                    clients.s3,
                    settings.bucket,
                    secrets.token_hex(8),
                    origin=origin,
                    for_browsers=endpoint is None,  # the embedded storage is reached through the web service alone
                ),
            ]
    except NoRegionError:
        return [fault("settings", "It is not said in which region of AWS this is.", "Set AWS_REGION.")]


async def _examine_queues(sqs: Any, settings: Settings, *, here: bool) -> list[Finding]:
    """That of traces, and that of inspections if it is another. `here`: the embedded ones, which no setting names."""
    names = queue_names(settings)
    urls = dict.fromkeys(names, None) if here else named_urls(settings)
    found = await examine_queue(sqs, names["trace"], urls["trace"], "TIPTRACE_QUEUE_URL")
    if urls["inspect"] is None or urls["inspect"] != urls["trace"]:
        found += await examine_queue(
            sqs,
            names["inspect"],
            urls["inspect"],
            "TIPTRACE_INSPECT_QUEUE_URL",
            without="inspections wait behind traces",
        )
    return found


async def _examine_mail(settings: Settings) -> list[Finding]:
    if settings.smtp_url is None:
        if settings.backend == "aws":
            return []  # which judge_settings has told
        return [well("mail", f"No mail server is set. Letters are put into {settings.data / 'outbox'}.")]
    return [await _greet(server_of(settings.smtp_url.get_secret_value()))]


async def _greet(server: Server) -> Finding:
    """Connect, encrypt and sign in as for a letter, and leave again. No word of the server is passed on."""
    what = f"The mail server {server.host}:{server.port}"
    try:
        async with talk_to(server) as conversation:
            await conversation.ehlo()
    except aiosmtplib.SMTPAuthenticationError as refusal:
        return fault("mail", f"{what} refuses the login ({refusal.code}).", "Correct user and password.")
    except (aiosmtplib.SMTPException, OSError, TimeoutError) as failure:
        said = f"{what} does not let us in ({type(failure).__name__})."
        return fault("mail", said, "Look at host, port, ?starttls, and the way through the network.")
    how = "without encryption" if server.tls == "none" else "with encryption"
    login = f" and takes the login of {server.user}" if server.user else ""
    return well("mail", f"{what} answers {how}{login}.")


def in_words(findings: Sequence[Finding]) -> str:
    """One finding a line, what to do about it below."""
    wide = max(len(finding.part) for finding in findings)
    lines = []
    for finding in findings:
        word, colour = _SIGNS[finding.verdict]
        lines.append(f"{click.style(f'{word:5}', fg=colour)}  {finding.part:{wide}}  {finding.said}")
        if finding.todo:
            lines.append(f"{'':5}  {'':{wide}}  > {finding.todo}")
    return "\n".join([*lines, _in_short(findings)])


def _in_short(findings: Sequence[Finding]) -> str:
    faults, looks = (sum(finding.verdict == verdict for finding in findings) for verdict in ("fault", "advice"))
    if not faults and not looks:
        return "All is well."
    return f"{faults or 'No'} {'fault' if faults == 1 else 'faults'}, {looks or 'nothing'} to look at."
