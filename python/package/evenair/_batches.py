"""Gives the runs of a sweep to the workers of an engine, in batches, and keeps what comes back."""

from __future__ import annotations

import math
import time
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ._evenair import Experiment, Status, WorkerMismatch
from .engines import Engine, Made

#: Number of batches queued per worker, so that it never waits for the next one.
_IN_FLIGHT = 4
#: Target duration of a batch in seconds: handing one out takes some milliseconds.
_BATCH_S = 1.0
#: Number of retries of a batch after its worker broke.
_AGAIN = 3
#: Interval of checks for ended batches, in seconds.
_LOOK_S = 0.01
#: Interval of reports, in seconds.
_REPORT_S = 0.05


class _Batch(NamedTuple):
    jobs: list[bytes]
    broken: int = 0
    """How many workers broke while they had it."""


class Batches:
    """The runs that an experiment misses, on their way to workers and back."""

    def __init__(self, experiment: Experiment, engine: Engine, report: Callable[[Status], None] | None) -> None:
        self._experiment = experiment
        self._engine = engine
        self._report = report
        self._jobs = deque(experiment.missing())
        self._before = experiment.status.known
        self._planned = self._before + len(self._jobs)
        self._again: deque[_Batch] = deque()
        self._flying: dict[Any, _Batch] = {}
        self._well = self._failed = 0
        self._start = time.monotonic()
        #: Number of runs of known duration, and the sum of their durations in seconds.
        self._timed, self._seconds = 0, 0.0

    def make(self) -> None:
        """Until all have ended. What was kept stays, whatever ends it.

        :raises WorkerMismatch: a worker has another build, or none.
        """
        reported = self._start
        self._tell()
        try:
            while self._jobs or self._again or self._flying:
                self._give_out()
                if not self._take_back():
                    time.sleep(_LOOK_S)
                if time.monotonic() - reported >= _REPORT_S:
                    reported = time.monotonic()
                    self._tell()
        except BaseException:
            self._engine.cancel(list(self._flying))
            raise
        self._tell()

    def _give_out(self) -> None:
        most = _IN_FLIGHT * self._engine.workers
        while len(self._flying) < most and (batch := self._next()) is not None:
            try:
                future = self._engine.submit(batch.jobs, batch.broken)
            except Exception as error:
                self._broke(batch, error)
                return
            self._flying[future] = batch

    def _next(self) -> _Batch | None:
        """What goes out next. The last try of a run is made by itself: others broke with it where a pool breaks as a whole."""
        if self._again and self._again[0].broken < _AGAIN:
            return self._again.popleft()
        if self._jobs:
            return _Batch([self._jobs.popleft() for _ in range(self._size())])
        return self._again.popleft() if self._again and not self._flying else None

    def _size(self) -> int:
        """Runs of a batch: about a second by the times so far, and few at the end, so that no worker is left with many."""
        wanted = round(_BATCH_S * self._timed / self._seconds) if self._seconds > 0.0 else 1
        return max(1, min(wanted, math.ceil(len(self._jobs) / (2 * self._engine.workers))))

    def _take_back(self) -> bool:
        """Keeps what has ended: whether there was any."""
        ended = [future for future in self._flying if future.done()]
        for future in ended:
            batch = self._flying.pop(future)
            try:
                made: Made = future.result()
            except WorkerMismatch:
                raise
            except ImportError as error:
                raise WorkerMismatch(f"a worker has not this package: {error}") from error
            except Exception as error:
                self._broke(batch, error)
                continue
            self._keep(batch, made)
        return bool(ended)

    def _keep(self, batch: _Batch, made: Made) -> None:
        records, seconds = made
        self._timed += len(batch.jobs)
        self._seconds += seconds
        for record in zlib.decompress(records).split(b"\n"):
            is_well = self._experiment.add(record)
            self._well += is_well
            self._failed += not is_well

    def _broke(self, batch: _Batch, error: Exception) -> None:
        """Each run goes back by itself, behind those that broke less often."""
        broken = batch.broken + 1
        if broken <= _AGAIN:
            self._again.extend(_Batch([job], broken) for job in batch.jobs)
            self._again = deque(sorted(self._again, key=lambda one: one.broken))
            return
        for job in batch.jobs:
            self._experiment.give_up(job, f"the worker broke {broken} times: {type(error).__name__}: {error}")
            self._failed += 1

    def _tell(self) -> None:
        if self._report is None:
            return
        ended = self._well + self._failed
        left = self._planned - self._before - ended
        left_s = (time.monotonic() - self._start) * left / ended if ended else None
        self._report(Status(self._planned, self._before + self._well, self._failed, left_s))
