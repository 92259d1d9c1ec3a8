"""The documents: built without a warning, complete, without a dead link, loading nothing from elsewhere, and true."""

from __future__ import annotations

import asyncio
import io
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args
from urllib.parse import unquote, urldefrag, urlsplit

import click
import pytest
from sphinx.application import Sphinx

from service.asgi import MAX_BODY_BYTES
from service.bridge import Bridge
from service.cli import main
from service.domain.audit import EventType
from service.domain.failures import SENTENCES
from service.metrics import REGISTRY
from service.settings import Settings
from service.web.app import bare_app, build_app
from service.worker.pool import Pool
from tests.support.asgi_server import serving
from tests.support.movies import sliding, write_movie
from tests.support.service import Lab

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}
_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass
class Page(HTMLParser):
    """What one built page says in code style and in the rows of its tables, its anchors, its links, what it loads."""

    name: str
    codes: set[str] = field(default_factory=set)
    anchors: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    rows: list[list[str]] = field(default_factory=list)
    _code: list[str] | None = None
    _in_cell: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attributes}
        if "id" in told:
            self.anchors.add(told["id"])
        if tag == "a" and "href" in told:
            self.links.add(told["href"])
        if _LOADING.get(tag) in told:
            self.loads.add(told[_LOADING[tag]])
        if tag == "code":
            self._code = []
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "code" and self._code is not None:
            self.codes.add(" ".join("".join(self._code).split()))
            self._code = None
        elif tag in ("td", "th"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self.rows[-1][-1] += data.strip("\n")
        if self._code is not None:
            self._code.append(data)


@dataclass(frozen=True)
class Built:
    folder: Path
    pages: dict[str, Page]

    def codes(self, name: str) -> set[str]:
        return self.pages[f"{name}.html"].codes


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """One build for the session, every warning an error."""
    folder = tmp_path_factory.mktemp("documents")
    path, said = sys.path[:], io.StringIO()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PendingDeprecationWarning)  # of one library about another's plans
            Sphinx(DOCS, DOCS, folder / "html", folder / "trees", "html", status=None, warning=said).build()
    finally:
        sys.path[:] = path
    assert said.getvalue() == ""
    pages = {}
    for file in sorted((folder / "html").glob("*.html")):
        pages[file.name] = page = Page(file.name)
        page.feed(file.read_text(encoding="utf-8"))
    return Built(folder / "html", pages)


def commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found
            yield from commands(f"{path} {name}", found)
    else:
        yield path, command


async def test_every_setting_and_every_command_stands_in_operations(built: Built) -> None:
    told = built.codes("operations")
    assert {f"TIPTRACE_{name.upper()}" for name in Settings.model_fields} <= told
    for path, command in commands("tiptrace", main):
        assert path in told
        options = {option for one in command.params if isinstance(one, click.Option) for option in one.opts}
        for option in options:
            assert any(code.startswith(option) for code in told), f"{path} {option}"


async def test_every_route_is_described_and_not_merely_listed(built: Built) -> None:
    described = (DOCS / "api.md").read_text(encoding="utf-8").partition("% list routes")[0]
    for rule in bare_app().url_map.iter_rules():
        path = _VARIABLE.sub(r"{\1}", rule.rule)
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            assert f"`{method} {path}`" in described
            assert f"{method} {path}" in built.codes("api")


async def test_every_parameter_says_what_it_is_for(built: Built) -> None:
    rows = built.pages["api.html"].rows
    four = [row for row in rows if len(row) == 4]  # parameters, and the codes of refusals
    assert len(four) > 150
    assert [row for row in four if not row[3]] == []


async def test_every_code_that_a_program_may_meet_is_explained(built: Built) -> None:
    """Wherever the service names a code, in a class or in an answer made by hand, the page about the API has it."""
    written = re.compile(
        r'\bcode(?:: ClassVar\[str\])? ?= ?"(\w+)"|"code": "(\w+)"|^\s+\d{3}: \("([a-z_]+)",',
        re.MULTILINE,
    )
    found = set(SENTENCES)
    for file in (ROOT / "service").rglob("*.py"):
        found |= {name for names in written.findall(file.read_text(encoding="utf-8")) for name in names if name}
    assert {"lease_lost", "overloaded", "method_not_allowed", "bad_link", "not_running"} <= found
    assert found - built.codes("api") == set()


async def test_every_metric_and_every_event_is_named(built: Built) -> None:
    shown = {one.name + ("_total" if one.type == "counter" else "") for one in REGISTRY.collect()}
    assert len(shown) > 15
    assert shown - built.codes("operations") == set()
    assert set(get_args(EventType)) - built.codes("teaching") == set()


async def test_every_link_inside_the_documents_leads_somewhere(built: Built) -> None:
    assert {"index.html", "api.html", "operations.html"} <= set(built.pages)
    for page in built.pages.values():
        for link in page.links:
            if urlsplit(link).scheme:
                continue
            target, anchor = urldefrag(link)
            name = unquote(target) or page.name
            assert (built.folder / name).is_file(), f"{page.name}: {link}"
            if anchor and name in built.pages:
                assert unquote(anchor) in built.pages[name].anchors, f"{page.name}: {link}"
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), f"README.md: {target}"


async def test_the_pages_load_nothing_from_another_host(built: Built) -> None:
    for page in built.pages.values():
        assert page.loads, page.name
        for address in page.loads:
            assert not urlsplit(address).netloc, f"{page.name}: {address}"
    for style in built.folder.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")), style.name


async def test_the_examples_of_the_api_page_run(lab: Lab, tmp_path: Path) -> None:
    """The Python example uploads, traces and reads the results; the curl example goes on with that movie."""
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    script = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    movie = tmp_path / "bean.mp4"
    write_movie(movie, sliding(320, 240, 8, (1.0, 0.5)))
    pool = Pool(lab.runtime.stores, lab.runtime.settings.model_copy(update={"grace_seconds": 0}), 1)
    working = asyncio.create_task(pool.run())
    try:
        async with serving(Bridge(build_app(lab.runtime), max_body_bytes=MAX_BODY_BYTES)) as port:
            at = {"TIPTRACE_URL": f"http://127.0.0.1:{port}", "TIPTRACE_KEY": lab.people.ada.api_key}
            said = await run(tmp_path, sys.executable, "-c", script, str(movie), **at)
            movie_id, points, scale = said.split(maxsplit=2)
            assert (points, scale.strip()) == ("24", "10 mm between Ruler 0mm and Ruler 10mm are 40.0 px.")
            if not shutil.which("curl"):
                pytest.skip("the curl example needs curl")
            (shell,) = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            said = await run(tmp_path, "bash", "-euo", "pipefail", "-c", shell, MOVIE_ID=movie_id, **at)
            assert said.count('"replayed":true') == said.count('"replayed":false') == 1
            assert (tmp_path / "bean-3.csv").read_text().startswith("frame_number,Apex x (mm)")
    finally:
        pool.stop()
        await working


async def test_the_films_and_traces_of_the_quick_start_and_readme_run_as_printed(tmp_path: Path) -> None:
    """Both pages name only a movie that one of their own commands makes."""
    text = (DOCS / "quick-start.md").read_text(encoding="utf-8")
    part = text.partition("## Trace a file without any service")[2].partition("\n## ")[0]
    quick = re.findall(r"^```sh\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    readme = re.findall(r"^\| `(tiptrace (?:demo-movie|trace) [^`]*)`", (ROOT / "README.md").read_text("utf-8"), re.M)
    scripts = {"quick": "\n".join(quick), "readme": "\n".join(readme)}
    for name, script in scripts.items():
        (folder := tmp_path / name).mkdir()
        own = str(Path(sys.executable).parent)
        said = await run(folder, "bash", "-euo", "pipefail", "-c", script, PATH=f"{own}:{os.environ['PATH']}")
        assert "plant.mp4: 120 frames" in said
        assert (folder / "tip.csv").read_text().count("\n") == 121
        assert (folder / "tip.html").stat().st_size > 10_000
    assert (tmp_path / "quick/traced.mp4").stat().st_size > 10_000


async def run(folder: Path, *words: str, **environment: str) -> str:
    """What a command prints; an error if it fails."""
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **environment},
    )
    async with asyncio.timeout(90):
        out, err = await process.communicate()
    assert process.returncode == 0, out.decode() + err.decode()
    return out.decode()
