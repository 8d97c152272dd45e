"""Sweeps: a scenario at many points, under several policies, with several seeds."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from . import _evenair
from ._arguments import Over, Source, asked, axes, bar, replications
from ._batches import Batches
from ._evenair import Frame, Policy, Run, Scenario, Status
from ._provenance import Provenance
from .engines import Engine, engine

if TYPE_CHECKING:
    import tempfile
    from concurrent.futures import Executor

    # The engine that makes the runs; a number is a number of threads.
    _On: TypeAlias = Engine | Executor | int | None

__all__ = ["Sweep", "Until", "compare", "paired", "sweep"]

#: Shows the progress of a sweep.
Show = bool | Callable[[Status], None] | None


@dataclass(frozen=True)
class Until:
    """Repeats each point until a measure is known well enough.

    >>> Until("total_goodput_mbps", 0.02)
    Until(measure='total_goodput_mbps', half_width=0.02, most=100)

    :param measure: a measure by its full name, or without its phase: then in each phase.
    :param half_width: half the width of the 95 % interval must not be above this part of the mean.
    :param most: no point has more runs than this.
    """

    measure: str
    half_width: float
    most: int = 100

    def __post_init__(self) -> None:
        _evenair.check_measure(self.measure)
        if not 0.0 < self.half_width < 1.0:
            raise ValueError(f"half_width: {self.half_width} is no part of a mean; allowed: between 0 and 1, such as 0.02")
        if not 2 <= self.most <= 100_000:
            raise ValueError(f"most: {self.most} is no number of runs with an interval; allowed: 2 to 100000")


def _make(experiment: _evenair.Experiment, on: Engine | int, until: Until | None, progress: Show) -> None:
    """Makes what is missing, then more where ``until`` asks for it."""
    show = sys.stderr.isatty() if progress is None else progress
    report = bar if show is True else show or None
    try:
        while True:
            if isinstance(on, int):
                experiment.run(on, report)
            else:
                Batches(experiment, on, report).make()
            if until is None or experiment.raise_runs(until.measure, until.half_width, until.most) == 0:
                return
    finally:
        experiment.release()
        if isinstance(on, Engine):
            on.close()
        if report is bar:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def paired(
    frame: Any,
    by: str = "policy",
    base: Any = None,
    measures: Sequence[str] | None = None,
    confidence: float = 0.95,
    adjust: Literal["holm", "none"] = "holm",
) -> Frame:
    """How each value of a column differs from a base, in runs of equal seeds (paired t test).

    A row for each measure of each comparison: what tells points apart, ``by``, ``base``, ``phase`` to ``unit``; ``n`` (pairs),
    ``base_mean``, ``mean`` (of the differences), ``low``, ``high`` (its interval, by Student; ``None`` with fewer than two pairs),
    ``percent`` (the mean in percent of the base's), ``effect`` (the mean in standard deviations of the differences), ``p``,
    ``p_adjusted``. In each comparison the greatest effect comes first; measures that are equal in all pairs are left out.

    >>> runs = study.runs().to_polars()  # doctest: +SKIP
    >>> paired(runs.filter(pl.col("phase") == "steady"), by="policy", base="fifo")  # doctest: +SKIP

    :param frame: rows as ``Sweep.runs`` has them, also some of them: a frame of polars, pandas or pyarrow, or anything else with the
        Arrow PyCapsule interface. All columns but ``seed`` and ``value`` are keys.
    :param by: the column whose values are compared, or the key that it is of.
    :param base: the value that the others are compared with; ``None``: the first one.
    :param measures: these alone, by their names (``ap.sojourn_p99_ms`` or ``phase.steady.ap.sojourn_p99_ms``).
    :param adjust: ``"holm"``: ``p_adjusted`` counts for the number of measures in a comparison; ``"none"``: it is ``p``.
    """
    return _evenair.paired(frame, asked(by, base, measures, confidence, adjust))


class Sweep:
    """What a sweep found, also of one that is not complete. ``sweep``, ``compare`` and ``load`` make it.

    >>> study = sweep(Scenario.example("smoke").with_(duration="2 s"), {"radio.ap_buffer": ["20 packets", "50 packets"]}, seeds=2)
    >>> study.status
    4 runs: 4 known
    >>> study.runs().columns
    ['radio_ap_buffer_packets', 'seed', 'phase', 'kind', 'name', 'measure', 'unit', 'value']
    """

    def __init__(
        self,
        experiment: _evenair.Experiment,
        store: pathlib.Path,
        temporary: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        """Not for users: ``sweep``, ``compare`` and ``load`` make sweeps."""
        self._experiment = experiment
        self._store = store
        self._temporary = temporary

    def runs(self) -> Frame:
        """A row for each number of each run that ended well: what varied, ``policy``, ``seed``, ``phase``, ``kind``, ``name``,
        ``measure``, ``unit``, ``value``. A value such as ``"5 ms"`` of ``lan.delay`` is a number in ``lan_delay_ms``.

        >>> study.runs().to_polars().filter(pl.col("measure") == "total_goodput_mbps")  # doctest: +SKIP
        """
        return self._experiment.runs()

    def series(self, kind: str = "flow") -> Frame:
        """A row for each interval of each flow of each run that has series: what varied, ``policy``, ``seed``, then the columns of
        ``Run.series``. Runs have them where ``sweep(..., series=...)`` asked for the kind.

        >>> study.series("station").to_polars()  # doctest: +SKIP

        :param kind: ``"flow"``, ``"station"``, ``"sender"``, ``"access_point"``, ``"domain"``, ``"medium"`` or ``"place"``.
        :raises ValueError: another kind, or no run has these series.
        """
        return self._experiment.series(kind)

    def points(self, confidence: float = 0.95) -> Frame:
        """A row for each measure of each point: what varied, ``policy``, ``phase`` to ``unit`` as in ``runs``, then ``mean``, ``low``
        and ``high`` (its interval, by Student; ``None`` with fewer than two runs), ``n`` and ``sd``.

        >>> study.points(confidence=0.99).to_pandas()  # doctest: +SKIP
        """
        return self._experiment.points(confidence)

    def paired(
        self,
        by: str = "policy",
        base: Any = None,
        measures: Sequence[str] | None = None,
        confidence: float = 0.95,
        adjust: Literal["holm", "none"] = "holm",
    ) -> Frame:
        """How each value of ``by`` differs from ``base``, in runs of equal seeds: ``paired`` of all runs.

        >>> study.paired(base="fifo", measures=["total_goodput_mbps", "ap.sojourn_p99_ms"]).to_polars()  # doctest: +SKIP
        """
        return self._experiment.paired(asked(by, base, measures, confidence, adjust))

    def rank(self, by: str = "measured_airtime.jain", constraint: str | None = None) -> Frame:
        """The points by the mean of a measure, the best first, in each phase by itself: ``rank``, what varied, ``phase`` to ``unit``,
        ``mean``, ``low``, ``high``, ``n``, ``constraint_mean`` and ``criterion``, which says in words by what they are ranked.

        >>> study.rank("total_goodput_mbps", "ap.sojourn_p99_ms < 20").to_polars()  # doctest: +SKIP

        :param by: a measure; the greatest is the best. ``"-ap.sojourn_p99_ms"``: the least is.
        :param constraint: a bound of a measure's mean; points beyond it are at the end, without a rank.
        """
        return self._experiment.rank(by, constraint)

    def run(self, *, seed: int | None = None, **keys: Any) -> Run:
        """Makes one of the runs again, whole, with series and events.

        >>> study.run(policy="evenair", station_slow_mcs=0, seed=3)  # doctest: +SKIP

        :param seed: the first of the point where it is left out.
        :param keys: a value of each key that has several; for ``station.slow.mcs`` write ``station_slow_mcs``.
        :raises KeyError: a key that does not vary; the text names those that do.
        """
        return _evenair.run(self._experiment.scenario_at(keys, seed))

    @property
    def provenance(self) -> Provenance:
        """What the sweep was made by.

        >>> print(study.provenance.cite())  # doctest: +SKIP
        """
        import datetime

        scenario, seeds, made = self._experiment.scenario, self._experiment.seeds, self._experiment.made
        kept = self._store / "experiment.json"
        date = made["date"] or datetime.date.fromtimestamp(kept.stat().st_mtime).isoformat()
        return Provenance(
            title=scenario.title,
            scenario=scenario.name,
            text=scenario.text,
            settings=scenario.settings,
            digest=scenario.digest,
            varied=dict(self._experiment.axes),
            seeds=(min(first for first, _ in seeds), max(first + count - 1 for first, count in seeds)),
            runs=self.status.known,
            version=made["version"] or _evenair.__version__,
            program=self._experiment.program,
            host=made["host"],
            date=datetime.date.fromisoformat(date),
        )

    @property
    def failed(self) -> Frame:
        """A row for each run that failed, and for each point that is wrong, which has no seed: what varied, ``seed``, ``reason``. The
        same call of ``sweep`` tries them again.

        >>> study.failed.to_dicts()  # doctest: +SKIP
        []
        """
        return self._experiment.failed

    @property
    def status(self) -> Status:
        """How many runs there are, and how they stand.

        >>> study.status  # doctest: +SKIP
        240 runs: 240 known
        """
        return self._experiment.status

    @property
    def axes(self) -> list[str]:
        """The keys that vary; ``policy`` is the last one.

        >>> study.axes  # doctest: +SKIP
        ['station.slow.mcs', 'policy']
        """
        return [key for key, _ in self._experiment.axes]

    @property
    def store(self) -> pathlib.Path:
        """The folder of the runs; a temporary one, which goes with the sweep, where none was named."""
        return self._store

    def __repr__(self) -> str:
        return f"Sweep({self._experiment.scenario.name!r} over {', '.join(self.axes) or 'seeds'}; {self.status!r})"


def sweep(
    scenario: Source,
    over: Over = {},
    *,
    policies: Sequence[str | Policy] = (),
    seeds: int | Iterable[int] = 10,
    until: Until | None = None,
    series: Sequence[str] = (),
    store: str | os.PathLike[str] | None = None,
    on: _On = None,
    progress: Show = None,
) -> Sweep:
    """Run a scenario at many points, each with the same seeds.

    Other Python threads go on meanwhile. Ctrl-C raises ``KeyboardInterrupt`` within 0.2 s; the runs that have ended are in the store,
    and the same call goes on from there. Program and package share a store: that of ``evenair sim sweep --store``.

    >>> study = sweep("room.toml", {"station.slow.mcs": range(12)}, policies=["fifo", "evenair"], store="results/room")  # doctest: +SKIP

    :param over: the values of each key, which make a grid, as ``--vary``: ``{"station.slow.mcs": [0, 11]}``. A list of mappings is
        the points as they are. Values are as in ``Scenario.with_``. Without any, what the scenario's own ``[[sweep]]`` varies.
    :param policies: each point is run under each of these, by names of ``Policy.known()`` or of your own: an axis ``policy``.
    :param seeds: how many seeds, from that of the scenario on; or seeds that follow each other, such as ``range(100, 110)``.
    :param until: repeats each point until a measure is known well enough; ``seeds`` is how often at first.
    :param series: kinds of time series that are kept of each run, such as ``("flow", "station")``, for ``Sweep.series``. Runs that were
        kept without them are made again.
    :param store: a folder that keeps the runs. A run that is there is not made again.
    :param on: what makes the runs: a number of threads; ``None``, one for each core; a ``concurrent.futures.Executor`` of processes,
        MPI, submitit, ipyparallel or Dask; ``ev.processes(n)``, ``ev.ray()``, ``ev.dask(client)``. The results are the same.
    :param progress: called several times a second with a ``Status``; ``None`` shows a bar where standard error is a terminal.
    :raises ScenarioError: scenario, policy or key is wrong, or each point is. Where some points are wrong, ``failed`` has them.
    :raises StoreError: the folder belongs to another experiment, or another process writes to it.
    :raises WorkerMismatch: a worker has another build of this package, or none.
    """
    made_on = engine(on)
    if isinstance(policies, str):
        raise TypeError(f"policies: {policies!r} is no list; write [{policies!r}]")
    if isinstance(series, str):
        raise TypeError(f"series: {series!r} is no list; write [{series!r}]")
    if until is not None and not isinstance(until, Until):
        raise TypeError(f"until: {until!r}; allowed: Until(measure, half_width)")
    first, count = replications(seeds)
    base = scenario if isinstance(scenario, Scenario) else Scenario(scenario)
    if first is not None:
        base = base.with_(seed=first)
    varied = axes(over)
    # It takes longer to load than this whole package.
    import tempfile

    temporary = tempfile.TemporaryDirectory(prefix="evenair-") if store is None else None
    folder = pathlib.Path(temporary.name if temporary is not None else os.fspath(store or ""))
    wanted = {"axes": varied, "policies": list(policies), "seeds": count, "series": list(series)}
    experiment = _evenair.Experiment(base, wanted, folder)
    _make(experiment, made_on, until, progress)
    return Sweep(experiment, folder, temporary)


def compare(
    scenario: Source,
    policies: Sequence[str | Policy] = ("fifo", "ap-mac80211", "adwiser", "evenair"),
    over: Over = {},
    *,
    seeds: int | Iterable[int] = 10,
    until: Until | None = None,
    series: Sequence[str] = (),
    store: str | os.PathLike[str] | None = None,
    on: _On = None,
    progress: Show = None,
) -> Sweep:
    """Run a scenario under several policies, with the same seeds: ``sweep`` with policies.

    >>> compare(Scenario.example("room"), ["fifo", "evenair"], seeds=3).paired()  # doctest: +SKIP
    """
    return sweep(
        scenario, over, policies=policies, seeds=seeds, until=until, series=series, store=store, on=on, progress=progress
    )


def load_sweep(folder: str | os.PathLike[str]) -> Sweep:
    """The sweep of a store."""
    return Sweep(_evenair.Experiment.of_folder(folder), pathlib.Path(folder))
