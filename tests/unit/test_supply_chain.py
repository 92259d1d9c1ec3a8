"""What the image installs is what pyproject.toml asks for, by hashes, under known licences; audits are heard."""

from __future__ import annotations

import json
import re
import runpy
import sysconfig
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "deploy" / "requirements.lock"
BUILD = ROOT / "deploy" / "build.lock"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
_PINNED = re.compile(
    r"^([a-z0-9.-]+)==(\S+)(?: ; ([^\\]+?))? \\$((?:\n    --hash=sha256:[0-9a-f]{64}(?: \\)?$)+)", re.M
)


def locked(path: Path) -> dict[str, str]:
    """Version by name. Every line that is not a comment must belong to a package with its hashes."""
    text = path.read_text()
    rest = _PINNED.sub("", text)
    assert [line for line in rest.splitlines() if line.strip() and not line.lstrip().startswith("#")] == []
    return {name: version for name, version, *_ in _PINNED.findall(text)}


@pytest.fixture
def licence_list(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    return import_module("licence_list")


@pytest.mark.parametrize(
    ("file", "asked"),
    [(LOCK, PROJECT["project"]["dependencies"]), (BUILD, PROJECT["build-system"]["requires"])],
    ids=["the service", "its build"],
)
def test_the_lock_holds_what_pyproject_asks_for_in_a_version_that_it_allows(file: Path, asked: list[str]) -> None:
    held = locked(file)
    for one in map(Requirement, asked):
        name = canonicalize_name(one.name)
        assert name in held, f"{name} is missing: run deploy/lock"
        assert one.specifier.contains(held[name]), f"{name} {held[name]} is not {one.specifier}: run deploy/lock"


def test_the_locks_name_no_index_and_no_place_on_a_disk() -> None:
    for file in (LOCK, BUILD):
        assert not re.search(r"://|--index|--find-links|--extra|(^|\s)/\w+", file.read_text()), file


def test_the_image_installs_by_hashes_alone() -> None:
    words = (ROOT / "deploy" / "Containerfile").read_text().replace("\\\n", " ")
    installs = re.findall(r"pip (?:--python \S+ )?(?:install|wheel) [^&\n]+", words)
    assert len(installs) == 4
    for one in installs:
        assert "--require-hashes" in one or "--no-deps" in one, one
    assert "requirements.lock" in words
    assert "build.lock" in words


def test_every_range_has_both_ends() -> None:
    project = PROJECT["project"]
    extras = [one for extra in project["optional-dependencies"].values() for one in extra]
    for one in map(Requirement, [*project["dependencies"], *extras, *PROJECT["build-system"]["requires"]]):
        ends = {clause.operator for clause in one.specifier}
        assert one.name == "tiptrace" or {">=", "<"} <= ends, one


def test_the_bill_of_materials_is_that_of_the_lock(licence_list: Any) -> None:
    told = {canonicalize_name(one["name"]): one["version"] for one in licence_list.components()}
    assert told == locked(LOCK), "run deploy/lock"
    bill = json.loads(licence_list.SBOM.read_text())
    needs = {one["ref"]: one.get("dependsOn", []) for one in bill["dependencies"]}["root-component"]
    asked = {canonicalize_name(Requirement(one).name) for one in PROJECT["project"]["dependencies"]}
    assert {canonicalize_name(one.partition("==")[0]) for one in needs} == asked
    assert bill["metadata"]["component"]["version"] == PROJECT["project"]["version"]


def test_no_package_has_an_unknown_licence_or_a_copyleft_one(licence_list: Any) -> None:
    free = r"MIT|MIT-CMU|BSD|BSD-[23]-Clause|0BSD|Apache-2\.0|PSF-2\.0|Python-2\.0|Zlib|CC0-1\.0"
    for one in licence_list.components():
        said = licence_list.licence(one)
        assert re.fullmatch(rf"({free})((, | AND | OR )({free}))*", said), f"{one['name']}: {said or 'unknown'}"
    assert {one["name"] for one in licence_list.components()} >= set(licence_list.READ)


def test_encoders_under_the_gpl_that_packages_carry_are_named_in_the_documents() -> None:
    told = (ROOT / "docs" / "supply.md").read_text()
    carrying = list(Path(sysconfig.get_path("platlib")).glob("*.libs"))
    if not carrying:
        pytest.skip("nothing here carries libraries: the packages were built on this machine")
    found = {
        (folder.name.removesuffix(".libs"), library)
        for folder in carrying
        for library in ("libx264", "libx265", "libxvid", "libpostproc", "librubberband", "libvidstab")
        if any(folder.glob(f"{library}*"))
    }
    for package, library in found:
        assert re.search(rf"^\* `{package}`[^*]*`{library}`", told, re.M), f"{package} carries {library}"


JUDGED = [
    ("a known flaw fails", [{"id": "CVE-1", "fix_versions": ["2.1"]}], "", True, "jinja2 2.0: CVE-1, mended in 2.1"),
    ("a flaw without a cure fails", [{"id": "CVE-2", "fix_versions": []}], "", True, "mended in no release"),
    ("nothing known passes", [], "", False, "No vulnerability of 1 packages is known to osv"),
    ("a service that knows no package passes and is told", None, "", False, "could not ask osv"),
    ("a service that is away passes and is told", ..., "requests.exceptions.ConnectionError: no", False, "could not"),
    ("a tool that is broken fails", ..., "TypeError: no", True, "did not work: TypeError: no"),
    ("no answer at all fails", ..., "", True, "did not work"),
]


@pytest.mark.parametrize(
    ("flaws", "errors", "fails", "words"), [case[1:] for case in JUDGED], ids=[c[0] for c in JUDGED]
)
def test_what_pip_audit_said_is_heard(flaws: Any, errors: str, fails: bool, words: str) -> None:
    audit = runpy.run_path(str(ROOT / ".ci" / "audit.py"))
    row = {"name": "jinja2", "version": "2.0", "vulns": flaws}
    if flaws is None:
        row = {"name": "jinja2", "skip_reason": "not found"}
    told = "" if flaws is ... else json.dumps({"dependencies": [row], "fixes": []})
    answer = audit["judged"]("osv", told, f"Traceback\n{errors}")
    assert answer.fails is fails
    assert words in answer.words
