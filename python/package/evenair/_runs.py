"""One run of a scenario: made, or read from a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _evenair
from ._arguments import Source
from ._evenair import Policy, Progress, Run

if TYPE_CHECKING:
    from .sweeps import Sweep

__all__ = ["load", "run"]


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
    if _has(folder, "experiment.json") and not _has(folder, "result.json"):
        from .sweeps import load_sweep

        return load_sweep(folder)
    return _evenair.load(folder)


def _has(folder: str | os.PathLike[str], file: str) -> bool:
    return os.path.exists(os.path.join(folder, file))
