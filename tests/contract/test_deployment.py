"""The templates in deploy/ are true to the code, and `tiptrace admin doctor` tells a good deployment from a bad one."""

from __future__ import annotations

import asyncio
import json
import logging
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import structlog
from cfnlint.api import lint_file
from click.testing import CliRunner

from service.cli import main
from service.local.emulator import Emulator
from service.runtime import Clients, open_clients
from service.store.queue import ensure_queue
from service.store.schema import TABLES, definition
from tests.support.mailroom import MailRoom, mail_room
from tests.support.stack import FOLDER, make_data_stack, resolved, resources

pytestmark = pytest.mark.asyncio(loop_scope="module")

URL = "https://lab.example.org"
SECRET = "a secret of more than two and thirty characters"


@pytest.fixture(autouse=True)
def _own_log() -> Iterator[None]:
    """A command sets up the log of its process; other tests of this process keep theirs."""
    root = logging.getLogger()
    before, handlers, level = structlog.get_config(), root.handlers[:], root.level
    yield
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(emulator: Emulator) -> AsyncIterator[Clients]:
    async with open_clients(emulator.endpoint) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def post() -> AsyncIterator[MailRoom]:
    async with mail_room() as room:
        yield room


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(emulator: Emulator, clients: Clients, post: MailRoom) -> dict[str, str]:
    """The environment of a process on the data stack, as service.yaml gives it."""
    await make_data_stack(clients, "stack-", "stack-movies", URL)
    return {
        "TIPTRACE_BACKEND": "aws",
        "TIPTRACE_TABLE_PREFIX": "stack-",
        "TIPTRACE_BUCKET": "stack-movies",
        "TIPTRACE_PUBLIC_URL": URL,
        "TIPTRACE_TRUSTED_PROXIES": "1",
        "TIPTRACE_SECRET_KEY": SECRET,
        "TIPTRACE_SMTP_URL": post.url.replace("smtp://", "smtp://lab:pass%20word@"),
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        **{f"AWS_ENDPOINT_URL_{name}": emulator.endpoint for name in ("DYNAMODB", "S3", "SQS")},
    }


async def seen(environment: dict[str, str], *words: str, **changed: str) -> tuple[int, str]:
    """What the doctor says: exit code and text."""
    run = CliRunner(env={**environment, **changed}).invoke
    result = await asyncio.to_thread(run, main, ["admin", "doctor", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert not any(secret in result.output for secret in (SECRET, "pass word", "pass%20word", "wrong-pass"))
    return result.exit_code, result.output


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.yaml")))
async def test_the_linter_of_templates_finds_nothing(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [str(fault) for fault in lint_file(FOLDER / name)] == []


async def test_the_tables_of_the_template_are_those_of_the_schema() -> None:
    """Keys, types of attributes, indexes, billing, and which rows end by themselves."""
    made = {}
    for properties in resources("data", "AWS::DynamoDB::Table").values():
        table = resolved(properties, {"Prefix": "p-"})
        assert table.pop("PointInTimeRecoverySpecification") == {"PointInTimeRecoveryEnabled": True}
        assert table.pop("DeletionProtectionEnabled") is True
        ends = table.pop("TimeToLiveSpecification", None)
        made[table["TableName"]] = (table, ends)
    needed = {
        f"p-{shape.name}": (
            definition(shape, "p-"),
            {"AttributeName": shape.ttl, "Enabled": True} if shape.ttl else None,
        )
        for shape in TABLES
    }
    assert made == needed


async def test_the_queues_of_the_template_are_those_that_the_worker_expects(
    stack: dict[str, str], clients: Clients
) -> None:
    await ensure_queue(clients.sqs, "made-jobs")
    await ensure_queue(clients.sqs, "made-inspections")
    for name in ("jobs", "jobs-dead", "inspections", "inspections-dead"):
        told = [await attributes_of(clients.sqs, f"{prefix}-{name}") for prefix in ("made", "stack")]
        assert told[0] == told[1]
        assert told[0]["VisibilityTimeout"]


async def attributes_of(sqs: Any, name: str) -> dict[str, str]:
    """How a queue behaves, whatever it is called."""
    url = (await sqs.get_queue_url(QueueName=name))["QueueUrl"]
    told = (await sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"]))["Attributes"]
    kept = {key: told.get(key) for key in ("VisibilityTimeout", "MessageRetentionPeriod", "FifoQueue", "DelaySeconds")}
    redrive = json.loads(told.get("RedrivePolicy", "{}"))
    leads_to = redrive.get("deadLetterTargetArn", "").rpartition(":")[2].partition("-")[2]
    return {**kept, "dies after": redrive.get("maxReceiveCount"), "leads to": leads_to}


async def test_the_doctor_is_content_with_the_data_stack(stack: dict[str, str], clients: Clients) -> None:
    code, said = await seen(stack)
    assert (code, said.splitlines()[-1]) == (0, "All is well."), said
    for part in ("settings", "tables", "clock", "queue", "bucket", "mail"):
        assert f"well   {part}" in said
    assert (await clients.s3.list_objects_v2(Bucket="stack-movies")).get("Contents", []) == []
    code, said = await seen(stack, "--json")
    told = json.loads(said)
    assert (code, told["well"]) == (0, True)
    assert {finding["verdict"] for finding in told["findings"]} == {"well"}


async def test_create_tables_leaves_the_data_stack_as_it_is(stack: dict[str, str], clients: Clients) -> None:
    run = CliRunner(env=stack).invoke
    result = await asyncio.to_thread(run, main, ["admin", "create-tables", "--json"])
    assert json.loads(result.stdout)["created"] == []
    rules = (await clients.s3.get_bucket_cors(Bucket="stack-movies"))["CORSRules"]
    assert [rule["AllowedOrigins"] for rule in rules] == [[URL]]


async def test_the_doctor_is_content_with_the_embedded_default(tmp_path: Path) -> None:
    code, said = await seen({}, "--data", str(tmp_path))
    assert (code, said.splitlines()[-1]) == (0, "All is well."), said
    assert f"Letters are put into {tmp_path / 'outbox'}." in said


async def test_the_doctor_says_what_is_not_there_and_how_to_get_it(stack: dict[str, str]) -> None:
    code, said = await seen(stack, TIPTRACE_TABLE_PREFIX="nothing-", TIPTRACE_BUCKET="no-bucket")
    assert code == 1
    assert "There is no table nothing-users, nothing-unique_emails" in said
    assert "There is no queue nothing-jobs." in said
    assert "There is no queue nothing-inspections: inspections wait behind traces." in said
    assert "There is no bucket no-bucket." in said
    assert said.count("> Run `tiptrace admin create-tables`.") == 4
    assert said.splitlines()[-1] == "3 faults, 1 to look at."


async def test_the_doctor_sees_a_bucket_that_is_open_to_all_and_shut_to_our_pages(
    stack: dict[str, str], clients: Clients
) -> None:
    await clients.s3.create_bucket(Bucket="bad-movies")
    rule = {"ID": "thirty-days", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 30}}
    await clients.s3.put_bucket_lifecycle_configuration(Bucket="bad-movies", LifecycleConfiguration={"Rules": [rule]})
    elsewhere = {"AllowedMethods": ["GET"], "AllowedOrigins": [URL], "AllowedHeaders": ["*"]}
    await clients.s3.put_bucket_cors(Bucket="bad-movies", CORSConfiguration={"CORSRules": [elsewhere]})
    code, said = await seen(stack, TIPTRACE_BUCKET="bad-movies")
    assert code == 1
    assert "bad-movies may be made public" in said
    assert f"does not let pages of {URL} send movies to it (POST)." in said
    assert "thirty-days of bad-movies deletes movies and results" in said
    assert said.splitlines()[-1] == "3 faults, nothing to look at."


async def test_the_doctor_sees_a_queue_of_another_kind(stack: dict[str, str], clients: Clients) -> None:
    url = (await clients.sqs.create_queue(QueueName="theirs", Attributes={"VisibilityTimeout": "30"}))["QueueUrl"]
    code, said = await seen(stack, TIPTRACE_QUEUE_URL=url)
    assert code == 1
    assert "comes again after 30 s. It must be 60 s." in said
    assert "has no dead-letter queue" in said
    assert "stack-inspections" not in said, "one queue that is named is the queue of all jobs"
    code, said = await seen(stack, TIPTRACE_INSPECT_QUEUE_URL=url)
    assert code == 1
    assert "The queue stack-jobs has its dead-letter queue." in said
    assert "comes again after 30 s. It must be 60 s." in said
    code, said = await seen(stack, TIPTRACE_QUEUE_URL=url + "-not")
    assert code == 1
    assert "Correct TIPTRACE_QUEUE_URL" in said


async def test_the_doctor_says_when_letters_are_dead(stack: dict[str, str], clients: Clients) -> None:
    url = (await clients.sqs.get_queue_url(QueueName="stack-jobs-dead"))["QueueUrl"]
    await clients.sqs.send_message(QueueUrl=url, MessageBody="not ours")
    try:
        code, said = await seen(stack)
        assert (code, said.splitlines()[-1]) == (0, "No faults, 1 to look at.")
        assert "1 message lies in stack-jobs-dead." in said
    finally:
        await clients.sqs.purge_queue(QueueUrl=url)


async def test_the_doctor_says_why_mail_does_not_go_and_tells_no_password(
    stack: dict[str, str], post: MailRoom
) -> None:
    host = post.url.removeprefix("smtp://")
    code, said = await seen(stack, TIPTRACE_SMTP_URL=f"smtp://lab:wrong-pass@{host}")
    assert code == 1
    assert f"The mail server {host} refuses the login (535)." in said
    code, said = await seen(stack, TIPTRACE_SMTP_URL=f"smtp://{host}?starttls")
    assert code == 1
    assert f"The mail server {host} does not let us in" in said
