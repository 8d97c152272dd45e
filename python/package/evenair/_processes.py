"""Processes of this machine that make runs."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import BrokenExecutor, Executor
from concurrent.futures import ProcessPoolExecutor as Pool
from typing import Any

from .engines import Engine

__all__ = ["Executor", "Pool", "Processes"]


class Processes(Engine):
    """A pool of processes, and another like it when one of them has died: the pool is of no use then."""

    def __init__(self, given: Pool | None, count: int) -> None:
        """:param given: a pool of the caller, who closes it."""
        super().__init__(given, lambda: count)
        # Not forked: the threads of this process would be missing in the copies.
        self._like: dict[str, Any] = {"mp_context": multiprocessing.get_context("spawn")}
        if given is not None:
            names = ("mp_context", "initializer", "initargs")
            self._like = {name: getattr(given, f"_{name}") for name in names if hasattr(given, f"_{name}")}
        self._own: Pool | None = None

    def submit(self, jobs: list[bytes], attempt: int) -> Any:
        try:
            if self._executor is not None:
                return super().submit(jobs, attempt)
        except BrokenExecutor:
            self.close()
        self._executor = self._own = Pool(self.workers, **self._like)
        return super().submit(jobs, attempt)

    def cancel(self, futures: list[Any]) -> None:
        super().cancel(futures)
        if self._own is not None:
            # Python 3.14 has terminate_workers() for this.
            for process in list((getattr(self._own, "_processes", None) or {}).values()):
                process.terminate()

    def close(self) -> None:
        if self._own is not None:
            self._own.shutdown(wait=True, cancel_futures=True)
            self._executor = self._own = None
