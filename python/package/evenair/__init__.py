"""Wi-Fi networks with TCP in virtual time: scenarios, runs and data frames.

>>> import evenair as ev
>>> run = ev.run(ev.Scenario.example("smoke"))
>>> run.valid
True
"""

from __future__ import annotations

import importlib
import os
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _evenair, models
from ._evenair import (
    Frame,
    InvalidRun,
    Policy,
    Problem,
    Progress,
    Run,
    RunError,
    Scenario,
    ScenarioError,
    Simulation,
    Status,
    StoreError,
    WorkerMismatch,
)
from ._provenance import Provenance
from .engines import dask, processes, ray
from .sweeps import Sweep, Until, compare, load_sweep, paired, sweep

if TYPE_CHECKING:
    from . import plot

__all__ = [
    "Frame",
    "InvalidRun",
    "Policy",
    "Problem",
    "Progress",
    "Provenance",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Status",
    "StoreError",
    "Sweep",
    "Until",
    "WorkerMismatch",
    "compare",
    "dask",
    "load",
    "models",
    "paired",
    "plot",
    "processes",
    "ray",
    "run",
    "sweep",
]

__version__: str = _evenair.__version__

#: What a scenario is made of: a checked one, the keys of its TOML, the TOML (with a newline), or a file.
Source = Scenario | Mapping[str, Any] | str | os.PathLike[str]


def __getattr__(name: str) -> Any:
    """Figures are loaded where they are drawn."""
    if name == "plot":
        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _bar(now: Progress) -> None:
    """One line on the terminal, written anew each time."""
    part = min(now.part, 1.0)
    end = "\n" if part >= 1.0 else ""
    print(f"\r{now.at_s:8.1f} of {now.duration_s:g} s [{'#' * round(30 * part):30}]", end=end, file=sys.stderr, flush=True)


def run(
    scenario: Source,
    *,
    policy: str | Policy | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    trace: str | os.PathLike[str] | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> Run:
    """Run a scenario to its end.

    The result is a function of scenario, settings, seed and version, and that of ``evenair sim run``. Other Python threads go on
    meanwhile; Ctrl-C stops the run within 0.2 s.

    :param policy: replaces the scenario's mechanisms, as ``evenair compare --policies`` does: a name of ``Policy.known()`` or one
        of your own.
    :param set: values by key, as ``--set``: ``{"radio.ap_buffer": "50 packets"}``. They count after the policy.
    :param trace: a folder for pcap files of the air and the wire.
    :param progress: called several times a second with a ``Progress``; ``None`` shows a bar where standard error is a terminal.
    :param keep: a folder for what ``evenair sim run`` keeps of a run, which ``load`` reads.
    :raises ScenarioError: the scenario, the policy or a setting is wrong.
    :raises RunError: the scenario asks for what the simulator does not do.
    """
    show = sys.stderr.isatty() if progress is None else progress
    report = _bar if show is True else show or None
    done = _evenair.run(scenario, policy=policy, seed=seed, set=set, trace=trace, progress=report)
    if report is _bar:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if keep is not None:
        done.save(keep)
    return done


def load(folder: str | os.PathLike[str]) -> Run | Sweep:
    """Read what this package or the program has written: the folder of a run, of the simulator or of the testbed, or the store of a
    sweep, with as many runs of each point as it has.

    >>> load("results/room").points()  # doctest: +SKIP

    :raises StoreError: the folder does not say all that its runs were made of, such as that of ``evenair sim sweep`` without
        ``--store``; the same ``sweep`` reads them.
    """
    path = pathlib.Path(folder)
    if (path / "experiment.json").exists() and not (path / "result.json").exists():
        return load_sweep(path)
    return _evenair.load(path)
