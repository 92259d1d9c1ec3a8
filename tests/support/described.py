"""Every answer that a test gets, held to what the service says of itself in its OpenAPI document."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import httpx
import jsonschema_rs
from werkzeug.exceptions import HTTPException

from service.web.app import bare_app
from service.web.operations import describe


@cache
def _document() -> dict[str, Any]:
    return describe(bare_app())


@cache
def _addresses() -> Any:
    return bare_app().url_map.bind("lab.test")


@cache
def _validator(path: str, method: str, status: str, kind: str) -> Any:
    content = _document()["paths"][path][method]["responses"][status].get("content", {})
    assert kind in content, f"{method} {path} {status} is not described as {kind}"
    return jsonschema_rs.validator_for({**content[kind].get("schema", {}), "components": _document()["components"]})


async def hold_to_the_description(answer: httpx.Response) -> None:
    """An event hook for a client: AssertionError if the status, the kind or the JSON is not as it is described."""
    request = answer.request
    method = request.method.lower()
    try:
        rule, _ = _addresses().match(request.url.path, method=request.method, return_rule=True)
    except HTTPException:
        return
    if method in ("head", "options"):
        return
    path = rule.rule.replace("<path:", "{").replace("<", "{").replace(">", "}")
    where = f"{request.method} {request.url.path} answered {answer.status_code}"
    described = _document()["paths"][path][method]["responses"]
    assert str(answer.status_code) in described, f"{where}, which is not described"
    if "content" not in described[str(answer.status_code)]:
        return
    kind = answer.headers.get("content-type", "").partition(";")[0]
    validator = _validator(path, method, str(answer.status_code), kind)
    if kind == "application/json":
        told = json.loads(await answer.aread())
        faults = [f"{fault.instance_path}: {fault.message}" for fault in validator.iter_errors(told)]
        assert not faults, f"{where}: {faults}"
