"""What a figure is drawn of: rows of any table, and their keys and measures in words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from . import _evenair

Row = Mapping[str, Any]

#: Columns that are no axes of a sweep.
_FIXED = ("seed", "phase", "kind", "name", "measure", "unit", "value", "mean", "low", "high", "n", "sd")

class Measure(NamedTuple):
    """A declared measure."""

    kind: str
    measure: str
    path: str
    unit: str
    meaning: str
    label: str

    @property
    def axis(self) -> str:
        """The text of an axis, with the unit."""
        return _axis(self.label, self.unit)


class Point(NamedTuple):
    """A value with its interval, where there is one."""

    mean: float
    low: float | None
    high: float | None


def rows(data: Any) -> list[Row]:
    """The rows of a sweep, a frame, or a table of polars, pandas or pyarrow."""
    for method in ("points", "measures"):
        if callable(getattr(data, method, None)):
            return rows(getattr(data, method)())
    if callable(getattr(data, "to_dicts", None)):
        return list(data.to_dicts())
    if callable(getattr(data, "to_pylist", None)):
        return list(data.to_pylist())
    if callable(getattr(data, "to_dict", None)) and hasattr(data, "columns"):
        return [{key: None if value != value else value for key, value in row.items()} for row in data.to_dict("records")]
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, Mapping)):
        return list(data)
    raise TypeError(f"{type(data).__name__} is none of: a sweep, a run, a frame, a table of polars, pandas or pyarrow, rows")


def nearest(word: str, known: Iterable[str]) -> str:
    """The three that are spelt most alike."""
    return ", ".join(difflib.get_close_matches(word, dict.fromkeys(known), n=3, cutoff=0.0))


#: All declared measures, once they have been loaded.
_CATALOGUE: list[Measure] = []


def catalogue() -> Sequence[Measure]:
    """All measures that are declared."""
    if not _CATALOGUE:
        frame = _evenair.catalogue()
        _CATALOGUE.extend(Measure(*values) for values in zip(*(frame[name] for name in Measure._fields), strict=True))
    return _CATALOGUE


def measure(name: str, found: Sequence[Row]) -> Measure:
    """The measure of this name, or of this path (``station.goodput_mbps``), that the rows have."""
    there = {(row["kind"], row["measure"]) for row in found}
    named = [one for one in catalogue() if name in (one.measure, one.path)]
    if not named:
        known = [text for one in catalogue() for text in (one.measure, one.path)]
        raise KeyError(f"no measure {name!r}; the nearest are {nearest(name, known)}")
    present = {(one.kind, one.measure): one for one in named if (one.kind, one.measure) in there}
    exact = [one for one in present.values() if one.path == name]
    if len(exact) == 1:
        return exact[0]
    if not present:
        have = [one.path for one in catalogue() if (one.kind, one.measure) in there]
        raise KeyError(f"the data have no {name!r}; the nearest are {nearest(name, have)}")
    if len(present) > 1:
        paths = ", ".join(repr(one.path) for one in present.values())
        raise ValueError(f"{name!r} is of several kinds; write one of {paths}")
    return next(iter(present.values()))


def one_phase(found: Sequence[Row], phase: str | None) -> list[Row]:
    """The rows of a phase, which may be left out where there is one."""
    phases = [str(one) for one in dict.fromkeys(row.get("phase") for row in found) if one is not None]
    if phase is None and len(phases) > 1:
        raise ValueError(f"the data have the phases {', '.join(phases)}: choose one, phase=...")
    if phase is not None and phase not in phases:
        raise KeyError(f"no phase {phase!r} in the data; the nearest are {nearest(phase, phases)}")
    return [row for row in found if phase is None or row.get("phase") == phase]


def axes(found: Sequence[Row]) -> list[str]:
    """Columns of what varied."""
    return [name for name in (found[0] if found else ()) if name not in _FIXED]


def column(found: Sequence[Row], key: str) -> str:
    """The column of a key: ``station.slow.mcs`` is ``station_slow_mcs``, ``lan.delay`` may be ``lan_delay_ms``."""
    plain = key.replace(".", "_")
    names = list(found[0]) if found else []
    if plain in names:
        return plain
    with_unit = [name for name in axes(found) if name.startswith(plain + "_") and "_" not in name[len(plain) + 1 :]]
    if len(with_unit) == 1:
        return with_unit[0]
    known = [*axes(found), *(name for name in ("name", "seed", "phase") if name in names)]
    raise KeyError(f"no axis {key!r} in the data; the nearest are {nearest(plain, known)}")


def label(name: str, kind: str | None = None) -> str:
    """A column in words, with its unit: ``station_slow_mcs`` is MCS of station slow. Names are those of a kind."""
    if name == "name" and kind is not None:
        return _axis(kind.replace("_", " "), "")
    return _axis(*_evenair.column_label(name))


def _axis(words: str, unit: str) -> str:
    words = words[:1].upper() + words[1:]
    return f"{words} ({unit})" if unit else words


def point(found: Sequence[Row]) -> Point:
    """Of rows of one point: as it is there, or of the runs' values."""
    if len(found) == 1 and found[0].get("mean") is not None:
        return Point(found[0]["mean"], found[0].get("low"), found[0].get("high"))
    values = [row["value"] for row in found if row.get("value") is not None]
    if not values:
        raise ValueError("the rows have neither mean nor value")
    estimate = _evenair.interval(values)
    assert estimate is not None
    return Point(*estimate)


def cells(found: Sequence[Row], keys: Sequence[str]) -> dict[tuple[Any, ...], Point]:
    """The point of each combination of these columns. What else varies makes an error: means over it would say nothing."""
    grouped: dict[tuple[Any, ...], list[Row]] = {}
    for row in found:
        grouped.setdefault(tuple(row.get(key) for key in keys), []).append(row)
    others = [name for name in (*axes(found), "name") if name not in keys]
    for group in grouped.values():
        varied = [name for name in others if len({row.get(name) for row in group}) > 1]
        seeds = [row.get("seed") for row in group]
        if varied or len(set(seeds)) < len(seeds):
            what = ", ".join(varied) or "the same run"
            raise ValueError(f"several rows for one point: {what}; filter the data, or draw by {' or '.join(varied) or 'seed'}")
    return {key: point(group) for key, group in grouped.items()}
