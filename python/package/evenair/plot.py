"""Figures for papers and slides, of sweeps, runs and frames. They need matplotlib: ``pip install "evenair[plot]"``.

Each function takes a sweep, a frame, or any table with the columns of one, and gives a ``matplotlib.figure.Figure``, which can be
changed as any other. Labels are the meanings and units of the measures, in words. Values of several runs are drawn as their mean
with its 95 % confidence interval. ``save`` writes files that publishers take.

>>> import evenair as ev
>>> figure = ev.plot.lines(study, x="station.slow.mcs", y="total_goodput_mbps")  # doctest: +SKIP
>>> ev.plot.save(figure, "anomaly.pdf")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _style, _tidy
from ._style import save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._style import _Size as Size

__all__ = ["airtime", "bars", "cdf", "lines", "paired", "save", "series"]

#: Maximum number of curves in one panel; the smallest other flows are drawn as their sum.
_MOST = 8
#: Labels of the lines of the airtime balance.
_AIRTIME = {
    "groups": "beacons and groups",
    "neighbours": "other networks",
    "departed": "stations that left",
    "back-off": "back-off",
    "idle": "idle",
}


def lines(
    data: Any,
    x: str,
    y: str,
    by: str = "policy",
    size: Size = "column",
    models: Any = None,
    phase: str | None = None,
) -> Figure:
    """A measure over an axis of a sweep, a line for each policy, with intervals. Categories are points that no line joins.

    :param x: a varied key, ``station.slow.mcs``, or its column.
    :param y: a measure, by its name or its path: ``total_goodput_mbps``, ``station.goodput_mbps``.
    :param by: what the lines are of: ``policy``, another axis, ``name`` (the stations of a measure of stations).
    :param models: closed forms to lay over it, as ``ev.models`` gives them: a frame, with a line for each ``model``.
    :param phase: needed where the data have several.
    :raises KeyError: there is no such measure, axis or phase; the three nearest are named.
    :raises ValueError: a point has several rows, of which it would be the mean: filter, or choose ``by``.

    >>> from evenair import plot
    >>> plot.lines(study, "station.slow.mcs", "total_goodput_mbps", models=model)  # doctest: +SKIP
    """
    with _style.matplotlib().rc_context(_style.settings(size)):
        found, measure = _chosen(_tidy.rows(data), y, phase)
        column, group = _tidy.column(found, x), _group(found, by)
        cells = _tidy.cells(found, [column, group] if group else [column])
        made, (axes,) = _style.figure(size)
        positions = _positions([key[0] for key in cells])
        names = list(dict.fromkeys(key[1] if group else None for key in cells))
        is_joined = _is_number(next(iter(positions)))
        for at, name in enumerate(names):
            of_name = [(key[0], cell) for key, cell in cells.items() if not group or key[1] == name]
            shift = 0.0 if is_joined else (at - (len(names) - 1) / 2) * 0.6 / max(len(names), 4)
            _line(axes, [(positions[value] + shift, cell) for value, cell in of_name], at, name, is_joined)
        if models is not None:
            _models(axes, models, x, y, phase or found[0].get("phase"), positions)
        if not is_joined:
            _name_ticks(axes, positions)
        elif all(isinstance(value, int) for value in positions):
            axes.locator_params(axis="x", integer=True)
        _style.label_axes(axes, _tidy.label(column, measure.kind), measure.axis, size)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        _style.legend(made, axes, size)
        made.set_label(f"{measure.path} over {x} by {by}{_of(phase)}")
        return made


def bars(
    data: Any,
    y: str,
    by: str = "policy",
    x: str | None = None,
    size: Size = "column",
    phase: str | None = None,
) -> Figure:
    """A measure as bars with intervals: one for each policy, or groups of them over ``x``.

    :param x: what the groups are of: an axis, or ``name`` for the stations of a measure of stations.

    The others as of ``lines``.

    >>> from evenair import plot
    >>> plot.bars(study, "station.goodput_mbps", x="name")  # doctest: +SKIP
    """
    with _style.matplotlib().rc_context(_style.settings(size)):
        found, measure = _chosen(_tidy.rows(data), y, phase)
        group = _group(found, by)
        if x is None and group is None:
            raise KeyError(f"no column {by!r} in the data; the nearest are {_tidy.nearest(by, found[0])}")
        column = _tidy.column(found, x) if x is not None else group
        assert column is not None
        keys = [column] if group is None or group == column else [column, group]
        cells = _tidy.cells(found, keys)
        made, (axes,) = _style.figure(size)
        places = {value: float(at) for at, value in enumerate(dict.fromkeys(key[0] for key in cells))}
        names = list(dict.fromkeys(key[1] for key in cells)) if len(keys) > 1 else [None]
        width = 0.8 / len(names)
        for at, name in enumerate(names):
            of_name = [(key[0], cell) for key, cell in cells.items() if len(keys) == 1 or key[1] == name]
            at_x = [places[value] + (at - (len(names) - 1) / 2) * width for value, _ in of_name]
            points = [cell for _, cell in of_name]
            axes.bar(
                at_x, [one.mean for one in points], width * 0.92, label=None if name is None else str(name), edgecolor="white",
                linewidth=0.3, color=_style.COLOURS[at % 8], hatch=_style.HATCHES[at % 8] * (len(names) > 1),
            )  # fmt: skip
            axes.errorbar(at_x, [one.mean for one in points], _errors(points), fmt="none", ecolor="black", elinewidth=0.8)
        _name_ticks(axes, places)
        axes.grid(visible=False, axis="x")
        _style.label_axes(axes, _tidy.label(column, measure.kind), measure.axis, size)
        _style.legend(made, axes, size)
        made.set_label(f"{measure.path} by {' and '.join(keys)}{_of(phase)}")
        return made


def airtime(run: Any, size: Size = "column", phase: str | None = None) -> Figure:
    """Where the time of the medium went in a run: a bar for each station, in both directions, then what no station had.

    :param run: a run, or its frame ``run.airtime()``.
    :param phase: needed where there are several.

    >>> from evenair import Scenario, plot, run
    >>> plot.airtime(run(Scenario.example("smoke")))  # doctest: +SKIP
    """
    with _style.matplotlib().rc_context(_style.settings(size)):
        frame = run.airtime() if callable(getattr(run, "airtime", None)) else run
        found = _tidy.one_phase(_tidy.rows(frame), phase)
        names = [row["station"] for row in found if row["line"] == "station" and row["direction"] == "down"]
        others = [row for row in found if row["line"] != "station" and row["measured_share"] > 0]
        labels = [*names, *(_AIRTIME.get(row["line"], row["line"]) for row in others)]
        made, (axes,) = _style.figure(size, height=max(1.0, len(labels) / 14))
        places = dict(zip(names, range(len(names)), strict=True))
        left = [0.0] * len(names)
        for at, direction in enumerate(("down", "up")):
            rows = [row for row in found if row["line"] == "station" and row["direction"] == direction]
            shares = {places[row["station"]]: 100 * row["measured_share"] for row in rows}
            heights = [shares.get(place, 0.0) for place in range(len(names))]
            words = "to the station" if direction == "down" else "from the station"
            axes.barh(range(len(names)), heights, 0.75, left, label=words, color=_style.COLOURS[at], hatch="////" * at, edgecolor="white", linewidth=0.3)  # fmt: skip
            left = [a + b for a, b in zip(left, heights, strict=True)]
        rest = [100 * row["measured_share"] for row in others]
        axes.barh(range(len(names), len(labels)), rest, 0.75, label="of no station", color="#999999")
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        _style.label_axes(axes, "Part of the medium's time, measured (%)", "", size)
        _style.legend(made, axes, size)
        made.set_label(f"airtime of a run{_of(phase)}")
        return made


def series(run: Any, y: str = "goodput_mbps", size: Size = "column") -> Figure:
    """A measure of each flow over the time of a run. Of more than eight flows the seven largest have curves of their own; of rates, the sum of the
    others is drawn with them.

    :param run: a run, or its frame ``run.series()``.
    :param y: a measure of flows that the series have: ``goodput_mbps``, ``ip_mbps``, ``rtt_ms``, ``cwnd_segments``.

    >>> from evenair import Scenario, plot, run
    >>> plot.series(run(Scenario.example("smoke")))  # doctest: +SKIP
    """
    with _style.matplotlib().rc_context(_style.settings(size)):
        found = _tidy.rows(run.series() if callable(getattr(run, "series", None)) else run)
        declared = {one.measure: one for one in _tidy.catalogue() if one.kind == "flow" and found and one.measure in found[0]}
        if y not in declared:
            raise KeyError(f"no measure {y!r} in the series; the nearest are {_tidy.nearest(y, declared)}")
        flows: dict[str, dict[float, float]] = {}
        for row in found:
            if row[y] is not None:
                flows.setdefault(row["app"], {})[row["time_s"]] = row[y]
        ranked = sorted(flows, key=lambda name: -sum(flows[name].values()))
        own = [name for name in flows if name in (ranked if len(ranked) <= _MOST else ranked[: _MOST - 1])]
        made, (axes,) = _style.figure(size)
        for at, name in enumerate(own):
            axes.plot(list(flows[name]), list(flows[name].values()), color=_style.COLOURS[at], linestyle=_style.DASHES[at], label=name)
        rest = [name for name in flows if name not in own]
        if rest and y.endswith("mbps"):
            times = sorted({time for name in rest for time in flows[name]})
            total = [sum(flows[name].get(time, 0.0) for name in rest) for time in times]
            axes.plot(times, total, color="#777777", label=f"sum of {len(rest)} others")
        axes.set_ylim(bottom=0.0)
        measure = declared[y]._replace(label=declared[y].label.removesuffix(" at the intervals' ends"))
        _style.label_axes(axes, "Time (s)", measure.axis, size)
        _style.legend(made, axes, size)
        made.set_label(f"{y} of flows over time")
        return made


def cdf(data: Any, y: str, by: str = "policy", size: Size = "column", phase: str | None = None) -> Figure:
    """The distribution function of a measure over runs and stations, or of a column such as ``took_s`` of ``run.transfers()``.

    :param data: of a sweep its runs are taken, not the means of its points.

    >>> from evenair import Scenario, plot, run
    >>> plot.cdf(run(Scenario.example("smoke")), "station.goodput_mbps")  # doctest: +SKIP
    """
    with _style.matplotlib().rc_context(_style.settings(size)):
        found = _tidy.rows(data.runs() if callable(getattr(data, "runs", None)) else data)
        if found and "measure" not in found[0]:
            if y not in found[0]:
                raise KeyError(f"no column {y!r} in the data; the nearest are {_tidy.nearest(y, found[0])}")
            value, words, path = y, _tidy.label(y), y
        else:
            found, measure = _chosen(found, y, phase)
            value, words, path = "value", measure.axis, measure.path
        group = _group(found, by)
        values: dict[Any, list[float]] = {}
        for row in found:
            if row.get(value) is not None:
                values.setdefault(row[group] if group else None, []).append(row[value])
        made, (axes,) = _style.figure(size)
        for at, (name, some) in enumerate(values.items()):
            some.sort()
            parts = [0.0, *((rank + 1) / len(some) for rank in range(len(some)))]
            axes.step([some[0], *some], parts, where="post", color=_style.COLOURS[at % 8], linestyle=_style.DASHES[at % 8], label=None if name is None else str(name))  # fmt: skip
        axes.set_ylim(0.0, 1.0)
        _style.label_axes(axes, words, "Part of the values that are not larger", size)
        _style.legend(made, axes, size)
        made.set_label(f"distribution of {path} by {by}{_of(phase)}")
        return made


def paired(frame: Any, size: Size = "column", phase: str | None = None) -> Figure:
    """Differences of paired runs with their intervals, a panel for each measure and a row for each policy and point.

    :param frame: what ``Sweep.paired`` gives: ``measure``, what was compared, and ``mean``, ``low``, ``high`` of the differences.

    >>> from evenair import plot
    >>> plot.paired(study.paired(base="fifo", measures=["total_goodput_mbps"]))  # doctest: +SKIP
    """
    with _style.matplotlib().rc_context(_style.settings(size)):
        found = _tidy.one_phase(_tidy.rows(frame), phase)
        measures = list(dict.fromkeys((row["kind"], row["measure"]) for row in found))
        if not measures:
            raise ValueError("there are no differences in the frame")
        compared = [name for name in _compared(found) if len({row[name] for row in found}) > 1] or _compared(found)[:1]
        rows = list(dict.fromkeys(tuple(row.get(name) for name in compared) for row in found))
        made, panels = _style.figure(size, len(measures), height=len(measures) * (0.3 + 0.08 * len(rows)))
        for axes, (kind, name) in zip(panels, measures, strict=True):
            of_measure = [row for row in found if (row["kind"], row["measure"]) == (kind, name)]
            declared = _tidy.measure(name, of_measure)
            points = [_tidy.Point(row["mean"], row.get("low"), row.get("high")) for row in of_measure]
            at_y = [rows.index(tuple(row.get(one) for one in compared)) for row in of_measure]
            axes.axvline(0.0, color="#777777", linewidth=0.8)
            axes.errorbar([one.mean for one in points], at_y, xerr=_errors(points), fmt="o", color=_style.COLOURS[0])
            names = [", ".join(map(str, row)) for row in rows]
            axes.set_yticks(range(len(rows)), names)
            axes.set_ylim(len(rows) - 0.5, -0.5)
            axes.grid(visible=False, axis="y")
            words = ", ".join(_tidy.label(one, kind) for one in compared).replace(", Policy", ", policy")
            left = 0.7 + max(_style.inches(name, size) for name in names)
            _style.label_axes(axes, f"Difference: {declared.axis}", words, size, left)
        made.set_label(f"paired differences of {', '.join(name for _, name in measures)}{_of(phase)}")
        return made


def _chosen(found: list[_tidy.Row], y: str, phase: str | None) -> tuple[list[_tidy.Row], _tidy.Measure]:
    """The rows of a measure in a phase."""
    measure = _tidy.measure(y, found)
    of_measure = [row for row in found if (row["kind"], row["measure"]) == (measure.kind, measure.measure)]
    return _tidy.one_phase(of_measure, phase), measure


def _group(found: Sequence[_tidy.Row], by: str) -> str | None:
    """The column of what lines or bars are of; none where there are no policies."""
    return None if by == "policy" and found and "policy" not in found[0] else _tidy.column(found, by)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _positions(values: Sequence[Any]) -> dict[Any, float]:
    """Where values are on the axis: themselves, or categories beside one another."""
    distinct = list(dict.fromkeys(values))
    if all(map(_is_number, distinct)):
        return {value: float(value) for value in sorted(distinct)}
    return {value: float(at) for at, value in enumerate(distinct)}


def _name_ticks(axes: Axes, places: dict[Any, float]) -> None:
    """Categories, slanted where they would run into one another."""
    names = ["none" if value is None else str(value) for value in places]
    crowded = sum(map(len, names)) > 42
    turned: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    axes.set_xticks(list(places.values()), names, **turned)


def _errors(points: Sequence[_tidy.Point]) -> Any:
    """Below and above the means; nothing where a point has no interval."""
    below = [0.0 if one.low is None else one.mean - one.low for one in points]
    above = [0.0 if one.high is None else one.high - one.mean for one in points]
    return [below, above] if any(below) or any(above) else None


def _line(axes: Axes, points: list[tuple[float, _tidy.Point]], at: int, name: Any, is_joined: bool) -> None:
    points.sort(key=lambda one: one[0])
    cells = [cell for _, cell in points]
    axes.errorbar(
        [place for place, _ in points], [cell.mean for cell in cells], _errors(cells), label=None if name is None else str(name),
        color=_style.COLOURS[at % 8], marker=_style.MARKERS[at % 8], linestyle=_style.DASHES[at % 8] if is_joined else "none",
        elinewidth=0.8,
    )  # fmt: skip


def _models(axes: Axes, models: Any, x: str, y: str, phase: str | None, positions: dict[Any, float]) -> None:
    """Closed forms: lines without markers, or short strokes at categories."""
    found, _ = _chosen(_tidy.rows(models), y, None if phase is None else phase)
    column, group = _tidy.column(found, x), "model" if "model" in found[0] else None
    cells = _tidy.cells(found, [column, group] if group else [column])
    is_joined = _is_number(next(iter(positions)))
    for at, name in enumerate(dict.fromkeys(key[1] if group else "closed form" for key in cells)):
        of_name = [(key[0], cell.mean) for key, cell in cells.items() if not group or key[1] == name]
        look: dict[str, Any] = {"color": _style.GREYS[at % 3], "label": f"{name}{_style.MODEL}" if group else str(name)}
        if is_joined:
            of_name.sort()
            axes.plot(*zip(*of_name, strict=True), linestyle=_style.DASHES[2 - at % 2], zorder=1.5, **look)
        else:
            places = [(positions[value], mean) for value, mean in of_name if value in positions]
            axes.plot(*zip(*places, strict=True), linestyle="none", marker="_", markersize=9, **look)


def _compared(found: Sequence[_tidy.Row]) -> list[str]:
    """Columns that say what was compared."""
    statistics = ("base", "base_mean", "percent", "effect", "p", "p_adjusted")
    return [name for name in (*_tidy.axes(found), "name") if name in found[0] and name not in statistics]


def _of(phase: str | None) -> str:
    return "" if phase is None else f" in {phase}"
