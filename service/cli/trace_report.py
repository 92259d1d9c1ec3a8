"""From a finished trace to the page of `tiptrace trace --report`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from service.cli.trace_run import Run
from tracer.geometry import flip_y
from tracer.report import ContactSheet, Told, Way, page


def write_report(path: Path, run: Run, sheet: ContactSheet, results: Mapping[str, Any], fpm: float | None) -> None:
    """Write the page. Raises OSError."""
    size = (int(run.told["frame_width"]), int(run.told["frame_height"]))
    told = Told(
        title=run.path.stem,
        facts=_facts(run, fpm),
        results=results,
        ways=[_way(run, label, size[1]) for label, _, _ in run.placed],
        tiles=sheet.tiles(),
        size=size,
        notes=run.warnings,
    )
    path.write_text(page(told), encoding="utf-8")


def _facts(run: Run, fpm: float | None) -> list[tuple[str, str]]:
    told, first, last = run.told, run.start, run.told["trim_end_frame"]
    facts = [
        ("frames", f"{first} to {last}"),
        ("source", f"{told['width']} × {told['height']} px"),
        ("analysis frame", f"{told['frame_width']} × {told['frame_height']} px"),
        ("plays at", f"{told['fps']:.4g} frames per second"),
    ]
    return facts + ([("taken", f"{fpm:.4g} per minute")] if fpm else [])


def _way(run: Run, label: str, height: int) -> Way:
    rows = [row for row in run.rows if row["label"] == label]
    return Way(
        label=label,
        color=rows[0]["color"],
        frames=np.array([row["frame_number"] for row in rows]),
        points=np.array([(row["x"], flip_y(row["y"], height)) for row in rows], float),
        seen=np.array([row["status"] == 1 for row in rows]),
        err=np.array([row["err"] for row in rows], float),
    )
