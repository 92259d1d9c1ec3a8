"""Settings: refused when they cannot work, and documented to the last one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from service.settings import Settings

README = Path(__file__).parents[2] / "README.md"


def test_a_lease_shorter_than_three_heartbeats_is_refused() -> None:
    assert Settings(lease_seconds=90, heartbeat_seconds=30).policy().lease_seconds == 90
    with pytest.raises(ValidationError, match="at most a third"):
        Settings(lease_seconds=89, heartbeat_seconds=30)


def test_every_setting_stands_in_the_readme_with_its_default_and_nothing_else_does() -> None:
    told = {}
    for line in README.read_text().splitlines():
        if line.startswith("| `TIPTRACE_"):
            name, default, words = (cell.strip() for cell in line.strip("|").split(" | "))
            told[name.strip("` ").removeprefix("TIPTRACE_").lower()] = (default.strip("`"), words)
    assert set(told) == set(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        default, words = told[name]
        assert words == field.description
        if name != "data":
            plain = int(field.default) if isinstance(field.default, bool) else field.default
            assert default == ("unset" if plain is None else str(plain)), name


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTRACE_MAX_FRAMES", "77")
    monkeypatch.setenv("TIPTRACE_LEGACY_QUERY_KEY", "1")
    settings = Settings()
    assert (settings.policy().max_frames, settings.legacy_query_key) == (77, True)
