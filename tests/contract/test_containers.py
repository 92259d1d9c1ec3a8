"""compose.yaml, the Containerfile and the units of systemd say what the command line understands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from service.cli import main

DEPLOY = Path(__file__).parents[2] / "deploy"
SERVICES: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def commands() -> Iterator[list[str]]:
    yield from (service["command"] for service in SERVICES.values() if "command" in service)
    for unit in (DEPLOY / "systemd").glob("*.service"):
        for started in re.findall(r"^ExecStart=/usr/bin/env tiptrace (.+)$", unit.read_text(), re.M):
            yield shlex.split(started)
    (given,) = re.findall(r"^CMD (\[.+\])$", (DEPLOY / "Containerfile").read_text(), re.M)
    yield json.loads(given)


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_what_is_started_is_a_command_with_options_that_it_has(words: list[str]) -> None:
    context = click.Context(main)
    command = main.get_command(context, words[0])
    assert command
    command.make_context(words[0], list(words[1:]), parent=context)  # raises what the command line would say


def test_web_service_worker_and_emulator_apart_share_network_user_and_folder() -> None:
    """The emulator answers its own machine and its own user alone."""
    apart = {name: service for name, service in SERVICES.items() if service["profiles"] == ["apart"]}
    assert {service["command"][0] for service in apart.values()} == {"emulator", "serve", "worker"}
    assert len({json.dumps([service["volumes"], service["image"]]) for service in apart.values()}) == 1
    assert {service.get("network_mode") for name, service in apart.items() if name != "emulator"} == {
        "service:emulator"
    }
    assert "--join" in apart["web-apart"]["command"]
    assert all(service["restart"] == "unless-stopped" for service in apart.values())


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_read_only_and_without_rights(name: str) -> None:
    """What it writes goes into a volume or memory, at the place that the image names."""
    service = SERVICES[name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    places = [one.split(":")[1] for one in service.get("volumes", [])]
    places += [one.split(":")[0] for one in service.get("tmpfs", [])]
    assert places == ["/var/lib/tiptrace"]
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
