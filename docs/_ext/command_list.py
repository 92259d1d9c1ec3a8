"""The commands with their options, as click knows them."""

from __future__ import annotations

from collections.abc import Iterator

import click
from pieces import code, plain, table

from service.cli import main


def commands() -> str:
    """A section for every command: its usage, what it does, its options."""
    return "\n".join(_section(path, command) for path, command in every_command())


def every_command() -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by the words that call it, groups opened."""
    yield from _below("tiptrace", main, click.Context(main, info_name="tiptrace"))


def _below(path: str, command: click.Command, ctx: click.Context) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(ctx):
        found = command.get_command(ctx, name)
        if found is not None and not found.hidden:
            yield from _below(f"{path} {name}", found, click.Context(found, info_name=name, parent=ctx))


def _section(path: str, command: click.Command) -> str:
    ctx = click.Context(command, info_name=path)
    usage = " ".join(command.collect_usage_pieces(ctx))
    told = "\n\n".join(map(plain, (command.help or "").split("\n\n")))
    records = [record for one in command.get_params(ctx) if (record := one.get_help_record(ctx)) is not None]
    rows = [(code(option), plain(said)) for option, said in records if not option.startswith("--help")]
    options = table(("option", "what it does"), rows) if rows else ""
    return f"### {code(path)}\n\n```text\n{path} {usage}\n```\n\n{told}\n\n{options}"
