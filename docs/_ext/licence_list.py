"""What the image holds and under which licences, out of deploy/sbom.cdx.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pieces import code, table

SBOM = Path(__file__).parents[2] / "deploy" / "sbom.cdx.json"
PLAIN = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD",
}
"""What packages say in words of the package index instead of an identifier."""
READ = {"multidict": "Apache-2.0"}
"""Packages whose metadata holds only a text ("Apache License 2.0"), read by hand."""


def components() -> list[dict[str, Any]]:
    """What is installed beside tiptrace itself, by name."""
    found: list[dict[str, Any]] = json.loads(SBOM.read_text(encoding="utf-8"))["components"]
    return sorted(found, key=lambda one: one["name"].lower())


def licence(component: dict[str, Any]) -> str:
    """The licences of a component as one expression; empty if it is not known."""
    said: list[str] = []
    for one in component.get("licenses", ()):
        told = one.get("expression") or one["license"].get("id") or one["license"]["name"]
        told = PLAIN.get(told, told)
        if told not in said:
            said.append(told)
    return ", ".join(said) or READ.get(component["name"], "")


def licences() -> str:
    """A row for every package."""
    return table(
        ("package", "version", "licence"),
        ((code(one["name"]), one["version"], licence(one) or "unknown") for one in components()),
    )
