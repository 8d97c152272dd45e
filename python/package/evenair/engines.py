"""Where the runs of a sweep are made: threads, processes, Ray, Dask, or any executor.

A batch of runs is bytes: jobs go to a worker, records come back. What a run gives does not depend on where it was made. The process
that called ``sweep`` alone writes the store.

>>> import evenair as ev
>>> ev.sweep(room, over, on=ev.processes(8))  # doctest: +SKIP
>>> ev.sweep(room, over, on=ev.ray("auto"))  # doctest: +SKIP
>>> ev.sweep(room, over, on=ev.dask(client))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
import os
import time
import zlib
from collections.abc import Callable
from typing import Any

from . import _evenair

__all__ = ["Engine", "cores", "dask", "engine", "processes", "ray"]

#: Records of a batch, compressed, one per line; duration of the batch, in seconds.
Made = tuple[bytes, float]


def make(jobs: list[bytes], attempt: int) -> Made:
    """What a worker does. ``attempt`` makes a batch that is given out again another call to engines that remember calls."""
    start = time.perf_counter()
    records = zlib.compress(b"\n".join(_evenair.run_batch(jobs)), 1)
    return records, time.perf_counter() - start


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Engine:
    """Makes batches of runs on an executor: ``submit`` gives a future, which has ``done``, ``result`` and ``cancel``."""

    def __init__(self, executor: Any, workers: Callable[[], int]) -> None:
        """Not for users: ``processes``, ``ray`` and ``dask`` make engines.

        :param workers: how many batches are made at the same time, now.
        """
        self._executor = executor
        self._workers = workers

    @property
    def workers(self) -> int:
        """How many batches are made at the same time."""
        return max(1, self._workers())

    def submit(self, jobs: list[bytes], attempt: int) -> Any:
        """Gives a batch to a worker: the future of a ``Made``."""
        return self._executor.submit(make, jobs, attempt)

    def cancel(self, futures: list[Any]) -> None:
        """Gives up batches, as far as the engine can; their results are not wanted any more."""
        for future in futures:
            future.cancel()

    def close(self) -> None:
        """The sweep has ended."""


class _Ray(Engine):
    """Tasks of Ray."""

    def __init__(self, module: Any, workers: int | None) -> None:
        super().__init__(None, lambda: workers or int(module.cluster_resources().get("CPU", 1)))
        self._ray = module
        # A worker that dies has its task reassigned; the caller handles exceptions of a batch.
        self._task = module.remote(max_retries=3, num_cpus=1)(make)
        self._references: dict[Any, Any] = {}

    def submit(self, jobs: list[bytes], attempt: int) -> Any:
        reference = self._task.remote(jobs, attempt)
        future = reference.future()
        self._references[future] = reference
        future.add_done_callback(lambda done: self._references.pop(done, None))
        return future

    def cancel(self, futures: list[Any]) -> None:
        for future in futures:
            reference = self._references.pop(future, None)
            if reference is not None:
                self._ray.cancel(reference)


def _start_ray_here(module: Any, options: dict[str, Any]) -> None:
    """Starts a cluster that listens on 127.0.0.1 alone. Where Ray takes machines for parts of clusters, it replaces this address by
    that of the machine, and listens on all; its switch for systems where it does not is one of the environment, which it reads when it
    is imported."""
    constants: Any = importlib.import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER, os.environ.get(constants.ENABLE_RAY_CLUSTERS_ENV_VAR)
    constants.ENABLE_RAY_CLUSTER, os.environ[constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = False, "0"
    try:
        module.init(**{"address": "local", "_node_ip_address": "127.0.0.1", "include_dashboard": False, **options})
    finally:
        constants.ENABLE_RAY_CLUSTER = before[0]
        if before[1] is None:
            del os.environ[constants.ENABLE_RAY_CLUSTERS_ENV_VAR]
        else:
            os.environ[constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = before[1]


def _optional(module: str, extra: str) -> Any:
    """A module that an extra of the package brings."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f'{module} is not installed; it comes with: pip install "evenair[{extra}]"') from error


def processes(count: int | None = None) -> Engine:
    """Processes of this machine; a run that brings its process down does not take the sweep with it.

    They are started anew, not copied: in a script, what calls ``sweep`` must be below ``if __name__ == "__main__":``.

    :param count: how many; ``None``: one for each core.
    :raises ValueError: the number is not positive.

    >>> processes(8).workers
    8
    """
    wanted = cores() if count is None else count
    if wanted < 1:
        raise ValueError(f"processes: {count}; allowed: from 1, or None (one for each core)")
    # Its modules take longer to load than all others of this package.
    from . import _processes

    return _processes.Processes(None, wanted)


def ray(address: str | None = None, *, workers: int | None = None, **options: Any) -> Engine:
    """A cluster of Ray (``pip install "evenair[ray]"``), whose machines have this package in the same version.

    A cluster that this process is connected to already is used as it is.

    :param address: as of ``ray.init``: ``"auto"``, ``"ray://head:10001"``; ``None``: a new one on this machine, which listens on
        127.0.0.1 alone and has no dashboard. It ends with this process, or with ``ray.shutdown()``.
    :param workers: how many runs are made at the same time; ``None``: as many as the cluster has CPUs.
    :param options: others of ``ray.init``.
    :raises ImportError: Ray is not installed.

    >>> study = sweep(room, over, on=ray("auto"), store="/scratch/room")  # doctest: +SKIP
    """
    module = _optional("ray", "ray")
    if not module.is_initialized():
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        if address in (None, "local"):
            _start_ray_here(module, {**quiet, "num_cpus": workers or cores(), **options})
        else:
            module.init(address, **{**quiet, **options})
    return _Ray(module, workers)


def dask(client: Any) -> Engine:
    """A cluster of Dask (``pip install "evenair[dask]"``), whose machines have this package in the same version.

    :param client: a ``distributed.Client``. Workers may come and go.
    :raises ImportError: Dask is not installed.
    :raises TypeError: it is no client.

    >>> study = sweep(room, over, on=dask(Client("tcp://head:8786")), store="/scratch/room")  # doctest: +SKIP
    """
    if not isinstance(client, _optional("distributed", "dask").Client):
        raise TypeError(f"dask: {client!r}; allowed: a distributed.Client")
    return Engine(client.get_executor(pure=False, retries=3), lambda: sum(client.nthreads().values()))


def _workers(executor: Any) -> int:
    """How many calls an executor makes at the same time, where it says so; the cores of this machine where it does not."""
    if (client := getattr(executor, "_client", None)) is not None and hasattr(client, "nthreads"):
        return sum(client.nthreads().values())
    if (view := getattr(executor, "view", None)) is not None and hasattr(view, "__len__"):
        return len(view)
    for name in ("num_workers", "_max_workers"):
        if isinstance(count := getattr(executor, name, None), int):
            return count
    return cores()


def engine(on: Any) -> Engine | int:
    """What makes the runs: a number is so many threads of this process.

    :raises TypeError: it makes none.
    """
    if on is None:
        return cores()
    if isinstance(on, Engine) or isinstance(on, int) and not isinstance(on, bool) and on >= 1:
        return on
    from . import _processes

    if isinstance(on, _processes.Pool):
        return _processes.Processes(on, _workers(on))
    # submitit's executors are recognised by their methods only.
    if isinstance(on, _processes.Executor) or callable(getattr(on, "submit", None)) and hasattr(on, "map_array"):
        return Engine(on, lambda: _workers(on))
    allowed = "None (a thread for each core), a number of threads, a concurrent.futures.Executor, ev.processes(n), ev.ray(), ev.dask(client)"
    raise TypeError(f"on: {on!r} makes no runs; allowed: {allowed}")
