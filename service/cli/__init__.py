"""The `tiptrace` command. Commands are loaded when they are called, so that each starts as fast as it can."""

from __future__ import annotations

from importlib import import_module

import click

_COMMANDS = {
    "serve": ("service.cli.serve", "serve"),
    "worker": ("service.cli.serve", "worker"),
    "emulator": ("service.cli.serve", "emulator"),
    "demo": ("service.cli.demo", "demo"),
    "trace": ("service.cli.trace", "trace"),
    "demo-movie": ("service.cli.trace", "demo_movie"),
    "admin": ("service.cli.admin", "admin"),
    "bench": ("service.cli.bench", "bench"),
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tiptrace", prog_name="tiptrace")
def main() -> None:
    """Trace the movement of plants in time-lapse movies."""
