"""deploy/cloudformation/data.yaml as another implementation of CloudFormation makes it, and what `doctor` says of that.

moto leaves out point-in-time recovery, the time to live and all of a bucket but its name, so the doctor must find
exactly these missing; tables, indexes, queues and the way to the dead letters must be well. When moto learns one of
them, this test says so. The whole stack, with all properties: tests/contract/test_deployment.py.

    pip install -e '.[test,stack]' && pytest -m long tests/contract/test_data_stack_in_moto.py
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest

from tests.contract.test_deployment import SECRET, URL
from tests.support.stack import FOLDER

pytest.importorskip("flask_cors", reason="moto's server is not here: pip install -e '.[test,stack]'")
pytestmark = [pytest.mark.long, pytest.mark.asyncio(loop_scope="module")]
PREFIX, BUCKET = "stack-", "stack-movies"
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of moto's own in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("moto") / "log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=out) as server:
        try:
            for _ in range(300):
                assert server.poll() is None, log.read_text()
                try:
                    httpx.get(f"http://127.0.0.1:{port}/moto-api/", timeout=5)
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


@pytest.fixture(scope="module")
def stack(moto: str) -> str:
    """The endpoint on which the data stack stands."""
    client = boto3.client(
        "cloudformation",
        endpoint_url=moto,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    parameters = {"Prefix": PREFIX, "BucketName": BUCKET, "PublicUrl": URL}
    client.create_stack(
        StackName="data",
        TemplateBody=(FOLDER / "data.yaml").read_text(),
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
    )
    assert client.describe_stacks(StackName="data")["Stacks"][0]["StackStatus"] == "CREATE_COMPLETE"
    return moto


async def examined(endpoint: str, folder: Path) -> list[dict[str, Any]]:
    """The doctor's findings, by the command itself."""
    environment = {
        **KEYS,
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(sys.path),
        "TIPTRACE_BACKEND": "aws",
        "TIPTRACE_TABLE_PREFIX": PREFIX,
        "TIPTRACE_BUCKET": BUCKET,
        "TIPTRACE_PUBLIC_URL": URL,
        "TIPTRACE_TRUSTED_PROXIES": "1",
        "TIPTRACE_SECRET_KEY": SECRET,
        **{f"AWS_ENDPOINT_URL_{name}": endpoint for name in ("DYNAMODB", "S3", "SQS")},
    }
    command = [sys.executable, "-m", "service.cli", "admin", "doctor", "--json"]
    child = await asyncio.create_subprocess_exec(*command, env=environment, cwd=folder, stdout=subprocess.PIPE)
    said, _ = await child.communicate()
    findings: list[dict[str, Any]] = json.loads(said)["findings"]
    return findings


async def test_the_doctor_finds_the_stack_well_but_for_what_moto_leaves_out(stack: str, tmp_path: Path) -> None:
    found = [(one["verdict"], one["part"], one["said"]) for one in await examined(stack, tmp_path)]
    well = {part: said for verdict, part, said in found if verdict == "well"}
    assert "9 tables stack-" in well["tables"]
    assert "9 indexes" in well["tables"]
    assert "dead-letter queue" in well["queue"]
    assert {"settings", "clock"} <= set(well)
    missing = [(verdict, part, said) for verdict, part, said in found if verdict != "well" and part != "mail"]
    words = ["time to live", "Point-in-time recovery is off", "may be made public", "does not let pages", "for ever"]
    verdicts = [("advice", "tables")] * 2 + [("fault", "bucket")] * 2 + [("advice", "bucket")]
    assert [(verdict, part) for verdict, part, _ in missing] == verdicts, missing
    for word, (_, _, said) in zip(words, missing, strict=True):
        assert word in said, missing
