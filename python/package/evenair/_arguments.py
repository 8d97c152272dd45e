"""Arguments of sweeps, checked."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._evenair import Scenario, Status

#: Anything from which a scenario can be made: a checked one, the keys of its TOML, the TOML (with a newline), or a file.
Source = Scenario | Mapping[str, Any] | str | os.PathLike[str]
#: Varied keys: the values of each, which make a grid; or a list of points.
Over = Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]]
#: A key, its values, and whether it advances together with the previous one.
Axis = tuple[str, list[Any], bool]


def values_of(key: str, given: Any) -> list[Any]:
    """The values of a key."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"over: {key}: {given!r} is no list of values; write [{given!r}]")
    # TOML does not accept scalars of numpy as numbers.
    plain = [value.item() if hasattr(value, "item") else value for value in given]
    if not plain:
        raise ValueError(f"over: {key} has no values")
    return plain


def axes(over: Over) -> list[Axis] | None:
    """The axes of a sweep; ``None``: what the scenario's own ``[[sweep]]`` varies."""
    if isinstance(over, Mapping):
        return [(key, values_of(key, values), False) for key, values in over.items()] or None
    points = [dict(point) for point in over]
    if not points:
        return None
    keys = list(points[0])
    for number, point in enumerate(points):
        missing = [key for key in keys if key not in point]
        more = [key for key in point if key not in keys]
        if missing or more:
            what = f"has no value of {missing[0]}" if missing else f"has a value of {more[0]}, which point 0 has not"
            raise ValueError(f"over: point {number} {what}; all points need the same keys")
    return [(key, values_of(key, [point[key] for point in points]), at > 0) for at, key in enumerate(keys)]


def replications(seeds: int | Iterable[int]) -> tuple[int | None, int]:
    """The first seed, if it is not the scenario's, and how many follow."""
    if isinstance(seeds, int):
        first, count = None, seeds
    else:
        wanted = list(seeds)
        if not wanted or wanted != list(range(wanted[0], wanted[0] + len(wanted))):
            raise ValueError(f"seeds: {wanted} do not follow each other; allowed: a number of seeds, or such as range(100, 110)")
        first, count = wanted[0], len(wanted)
    if not 1 <= count <= 1_000_000:
        raise ValueError(f"seeds: {count} is no number of runs; allowed: 1 to 1000000")
    return first, count


def bar(now: Status) -> None:
    """One line on the terminal, written anew each time."""
    ended = now.known + now.failed
    failed = f", {now.failed} failed" if now.failed else ""
    left = f", {now.left_s:.0f} s left" if now.left_s is not None and ended < now.planned else ""
    part = ended / max(now.planned, 1)
    print(f"\r\x1b[K[{'#' * round(30 * part):30}] {ended} of {now.planned} runs{failed}{left}", end="", file=sys.stderr, flush=True)


def asked(by: str, base: Any, measures: Sequence[str] | None, confidence: float, adjust: str) -> dict[str, Any]:
    """What is compared, as the compiled part takes it."""
    if isinstance(measures, str):
        raise TypeError(f"measures: {measures!r} is no list; write [{measures!r}]")
    text = None if base is None else str(base.item() if hasattr(base, "item") else base)
    wanted = None if measures is None else list(measures)
    return {"by": by, "base": text, "measures": wanted, "confidence": confidence, "adjust": adjust}
