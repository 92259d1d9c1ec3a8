"""Markers: their names, their default places, and what a person may send as a frame's trackpoints."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID, uuid5

from service.domain.errors import InvalidParameter, LabelTaken
from service.domain.visible import is_blank

MAX_MARKERS = 50
MAX_NAMES = 200
"""That markers of a movie may have had: a name that no frame shows any more is still one that a frame may tell of."""
MAX_LABEL = 100
MARKER_MAP = -100
"""The frame number of the item that maps marker ids to labels and colours."""

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
"""Okabe and Ito's set, which people with any common colour blindness can tell apart."""

DEFAULTS: tuple[tuple[str, float, float], ...] = (
    ("Apex", 50.0, 50.0),
    ("Ruler 0mm", 50.0, 100.0),
    ("Ruler 10mm", 50.0, 150.0),
)
"""Where an untouched movie's markers wait: label, x, y in image coordinates (origin upper left)."""

MarkerMap = dict[str, dict[str, Any]]
"""marker_id -> {label, color, undeletable, stored_label}.

`stored_label` is the name under which points of the older service, which carry no marker id, mean this marker. It stays
when the marker is renamed.
"""

_OF_LABELS = UUID("5d0c1a52-6f0e-4f7e-9c0b-7a1f2d3e4b5c")
"""The namespace of marker ids that are derived from labels. It must never change: stored maps hold such ids."""


def label_id(label: str) -> str:
    """The marker id of a point that has only a label: the same for the same name, in every frame and process."""
    return uuid5(_OF_LABELS, _plain(label)).hex


def _plain(label: Any) -> str:
    """A stored label as a person would type it; points of the older service may carry none."""
    return unicodedata.normalize("NFC", str(label or "")).strip()


def identified(points: list[dict[str, Any]], labels: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The points, each with a marker id: label-only ones mean the map's marker of that name, else `label_id`'s.

    Changes nothing it was given. A list whose points all have ids is returned as it is: polls read thousands of them.
    """
    if all(point.get("marker_id") for point in points):
        return points
    meant = {entry.get("label"): marker for marker, entry in labels.items()}
    meant |= {entry["stored_label"]: marker for marker, entry in labels.items() if entry.get("stored_label")}
    return [
        point if point.get("marker_id") else {**point, "marker_id": meant.get(label) or label_id(label)}
        for point in points
        for label in [_plain(point.get("label"))]
    ]


def with_markers_of(points: Sequence[Mapping[str, Any]], labels: MarkerMap) -> MarkerMap:
    """The map, with the markers added that identified points name by their own label and the map does not know.

    What it was given is not changed.
    """
    known: MarkerMap | None = None
    for point in points:
        marker, label = point["marker_id"], _plain(point.get("label"))
        if not label or marker in (known or labels):
            continue
        known = known or {other: dict(entry) for other, entry in labels.items()}
        color = point.get("color")
        known[marker] = {
            "label": label,
            "color": color if _is_color(color) else _color(known),
            "stored_label": label,
            **({"undeletable": True} if point.get("undeletable") else {}),
        }
    return known or labels


def checked_label(label: Any, name: str = "label") -> str:
    """A label for a person: 1 to 100 characters after stripping, no control characters; normalised to NFC."""
    if not isinstance(label, str):
        raise InvalidParameter(name, "must be text")
    clean = unicodedata.normalize("NFC", label).strip()
    if is_blank(clean) or len(clean) > MAX_LABEL:
        raise InvalidParameter(name, f"must have 1 to {MAX_LABEL} characters")
    if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in clean):
        raise InvalidParameter(name, "must not hold control characters")
    return clean


def default_points(frame_height: int) -> list[dict[str, Any]]:
    """The markers shown on an untouched movie, in stored form (origin lower left), under stable ids of their own."""
    return [
        {"marker_id": f"default-{i}", "label": label, "x": x, "y": round(frame_height - y, 1), "status": 1, "err": 0.0}
        for i, (label, x, y) in enumerate(DEFAULTS)
    ]


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise InvalidParameter(name, "must be a number")
    try:
        number = float(value)
    except ValueError:
        raise InvalidParameter(name, "must be a number") from None
    if not math.isfinite(number) or abs(number) > 100_000:
        raise InvalidParameter(name, "must be a number of pixels near the picture")
    return round(number, 1)


def checked_points(
    sent: Any, known: Mapping[str, Mapping[str, Any]], new_id: Callable[[], str]
) -> tuple[list[dict[str, Any]], MarkerMap]:
    """One frame's whole set as a person placed it, and the marker map that goes with it.

    A point names its marker by `marker_id`, or by `label` (then the marker of that label is meant, or a new one is
    made). Returns points {marker_id, x, y, status 1, err 0, placed "user"} with one decimal, and the map with new
    markers added. Raises InvalidParameter or LabelTaken; changes nothing it was given.
    """
    if not isinstance(sent, Sequence) or isinstance(sent, str | bytes):
        raise InvalidParameter("trackpoints", "must be a JSON list of points")
    if len(sent) > MAX_MARKERS:
        raise InvalidParameter("trackpoints", f"a movie has at most {MAX_MARKERS} markers")
    labels: MarkerMap = {marker: dict(entry) for marker, entry in known.items()}
    by_label = {entry["label"]: marker for marker, entry in labels.items()}
    points: list[dict[str, Any]] = []
    seen: set[str] = set()
    for index, point in enumerate(sent):
        where = f"trackpoints[{index}]"
        if not isinstance(point, Mapping):
            raise InvalidParameter(where, "must be an object with x, y and label")
        marker = point.get("marker_id")
        if not (isinstance(marker, str) and marker in labels):
            label = checked_label(point.get("label"), f"{where}.label")
            marker = by_label.get(label)
            if marker is None:
                marker = new_id()
                color = point.get("color")
                labels[marker] = {"label": label, "color": color if _is_color(color) else _color(labels)}
                by_label[label] = marker
        if marker in seen:
            raise LabelTaken(label=labels[marker]["label"])
        seen.add(marker)
        points.append(
            {
                "marker_id": marker,
                "x": _number(point.get("x"), f"{where}.x"),
                "y": _number(point.get("y"), f"{where}.y"),
                "status": 1,
                "err": 0.0,
                "placed": "user",
            }
        )
    if len(labels) > MAX_NAMES:
        raise InvalidParameter("trackpoints", f"would give the movie more than {MAX_NAMES} marker names in its life")
    return points, labels


_OF_A_TRACE = {"status": 1, "err": 0.0, "placed": "trace"}
"""What a stored point means by leaving it out."""


def unmoved_kept(points: Sequence[Mapping[str, Any]], shown: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """`points` as a person sent them, but what did not move stays what it was in `shown`, the frame's set before.

    A page sends the whole set when one marker was moved. The others were not placed by a person thereby: a lost one
    stays lost, a traced one no anchor.
    """
    before = {point["marker_id"]: point for point in shown if "marker_id" in point}
    return [_as_before(point, before.get(point["marker_id"])) for point in points]


def _as_before(point: Mapping[str, Any], old: Mapping[str, Any] | None) -> dict[str, Any]:
    if old is None or (round(float(old["x"]), 1), round(float(old["y"]), 1)) != (point["x"], point["y"]):
        return dict(point)
    return {**point, **{name: old.get(name, usual) for name, usual in _OF_A_TRACE.items()}}


def _is_color(value: Any) -> bool:
    return (
        isinstance(value, str)
        and len(value) == 7
        and value[0] == "#"
        and all(c in "0123456789abcdefABCDEF" for c in value[1:])
    )


def _color(labels: Mapping[str, Mapping[str, Any]]) -> str:
    used = [entry.get("color") for entry in labels.values()]
    return min(COLORS, key=lambda c: (used.count(c), COLORS.index(c)))


def renamed(known: Mapping[str, Mapping[str, Any]], old: str, new: str) -> MarkerMap:
    """The marker map after a rename. InvalidParameter if the old label is unknown, LabelTaken if the new exists."""
    old, new = checked_label(old, "old_label"), checked_label(new, "new_label")
    labels: MarkerMap = {marker: dict(entry) for marker, entry in known.items()}
    by_label = {entry["label"]: marker for marker, entry in labels.items()}
    if old not in by_label:
        raise InvalidParameter("old_label", "no marker of this movie has this name")
    if new in by_label and new != old:
        raise LabelTaken(label=new)
    entry = labels[by_label[old]]
    if new != old and all(other.get("stored_label") != old for other in labels.values()):
        entry.setdefault("stored_label", old)
    entry["label"] = new
    return labels


def shown_point(point: Mapping[str, Any], labels: Mapping[str, Mapping[str, Any]], frame_number: int) -> dict[str, Any]:
    """One identified trackpoint as the contract shows it. A marker that the map does not know keeps its own label."""
    marker = point["marker_id"]
    entry = labels.get(marker) or {}
    return {
        "frame_number": frame_number,
        "marker_id": marker,
        "label": entry.get("label") or point.get("label") or "",
        "x": float(point["x"]),
        "y": float(point["y"]),
        "status": int(point.get("status", 1)),
        "err": float(point.get("err", 0.0)),
        "color": entry.get("color") or point.get("color") or COLORS[0],
        "undeletable": bool(entry.get("undeletable") or point.get("undeletable")),
        "placed": point.get("placed", "trace"),
    }
