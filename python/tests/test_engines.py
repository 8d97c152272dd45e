"""A sweep gives the same wherever its runs are made; workers that die lose nothing and double nothing."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

import evenair as ev
from evenair.engines import Engine

BUFFERS = {"radio.ap_buffer": ["20 packets", "100 packets"]}
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def room() -> ev.Scenario:
    return ev.Scenario.example("smoke").with_(duration="4 s")


@pytest.fixture(scope="module")
def by_threads(room: ev.Scenario) -> ev.Sweep:
    return ev.sweep(room, BUFFERS, policies=["fifo", "evenair"], seeds=10, on=2)


def is_same(one: ev.Sweep, other: ev.Sweep) -> bool:
    pairs = [(one.runs(), other.runs()), (one.points(), other.points())]
    return all(a.to_polars().equals(b.to_polars()) for a, b in pairs)


def lines(store: Path) -> int:
    return (store / "runs.jsonl").read_text().count("\n")


class Broken(concurrent.futures.Executor):
    """Threads, some of whose calls break as a worker would; it notes how it is used."""

    _max_workers = 2

    def __init__(self, breaks: Callable[[list[bytes]], Exception | None], change: Callable[[bytes], bytes] = bytes) -> None:
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.breaks, self.change = breaks, change
        self.sizes: list[int] = []
        self.open: list[concurrent.futures.Future[Any]] = []
        self.most = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **_: Any) -> concurrent.futures.Future[Any]:
        jobs, attempt = args
        self.sizes.append(len(jobs))

        def call() -> Any:
            if error := self.breaks(jobs):
                raise error
            return fn([self.change(job) for job in jobs], attempt)

        future = self.pool.submit(call)
        self.open = [one for one in (*self.open, future) if not one.done()]
        self.most = max(self.most, len(self.open))
        return future


def test_processes_give_what_threads_give(room: ev.Scenario, by_threads: ev.Sweep) -> None:
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=SPAWN) as pool:
        seen: list[ev.Status] = []
        study = ev.sweep(room, BUFFERS, policies=["fifo", "evenair"], seeds=10, on=pool, progress=seen.append)
        assert pool.submit(os.getpid).result() != os.getpid(), "the pool is not ours to close"
    assert is_same(study, by_threads) and lines(study.store) == 40
    assert repr(seen[0]) == "40 runs: 0 known, 40 missing" and seen[-1] == ev.Status(40, 40, 0, 0.0)
    # All runs are known: no process is started.
    again = ev.sweep(room, BUFFERS, policies=["fifo", "evenair"], seeds=10, store=study.store, on=ev.processes(2))
    assert again.status.is_complete and not multiprocessing.active_children()


@pytest.mark.parametrize("is_given", [True, False])
def test_a_killed_process_loses_nothing_and_doubles_nothing(room: ev.Scenario, by_threads: ev.Sweep, is_given: bool) -> None:
    killed: list[int] = []

    def kill(now: ev.Status) -> None:
        children = multiprocessing.active_children()
        if now.known >= 3 and not killed and children:
            killed.append(children[0].pid or 0)
            os.kill(killed[0], signal.SIGKILL)

    pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=SPAWN)
    on = pool if is_given else ev.processes(2)
    study = ev.sweep(room, BUFFERS, policies=["fifo", "evenair"], seeds=10, on=on, progress=kill)
    pool.shutdown()
    assert killed and repr(study.status) == "40 runs: 40 known"
    assert is_same(study, by_threads) and lines(study.store) == 40
    assert not multiprocessing.active_children()


def test_batches_are_small_and_few_are_under_way(room: ev.Scenario, by_threads: ev.Sweep) -> None:
    executor = Broken(lambda _: None)
    study = ev.sweep(room, BUFFERS, policies=["fifo", "evenair"], seeds=10, on=executor)
    assert is_same(study, by_threads)
    assert executor.sizes[:8] == [1] * 8 and sum(executor.sizes) == 40 and executor.sizes[-1] == 1
    assert executor.most <= 8


def test_a_batch_that_breaks_its_worker_goes_back_three_times(room: ev.Scenario) -> None:
    tries: dict[bytes, int] = {}

    def breaks(jobs: list[bytes]) -> Exception | None:
        for job in jobs:
            tries[job] = tries.get(job, 0) + 1
        is_bad = [b'"seed":%d,' % (room.seed + 3) in job or b'"seed":%d}' % (room.seed + 3) in job for job in jobs]
        return BrokenProcessPool("killed") if any(is_bad) else None

    study = ev.sweep(room, BUFFERS, seeds=8, on=Broken(breaks))
    assert repr(study.status) == "16 runs: 14 known, 2 failed" and lines(study.store) == 16
    assert sorted(tries.values())[-2:] == [4, 4]
    rows = study.failed.to_dicts()
    assert [row["seed"] for row in rows] == [room.seed + 3] * 2
    assert "the worker broke 4 times: BrokenProcessPool: killed" in rows[0]["reason"]
    # The same call tries them again.
    assert ev.sweep(room, BUFFERS, seeds=8, store=study.store, on=Broken(lambda _: None)).status.is_complete


def test_one_run_that_kills_its_worker_takes_no_other_with_it(room: ev.Scenario) -> None:
    alive = iter([True] * 5 + [False] * 3 + [True] * 100)
    study = ev.sweep(room, BUFFERS, seeds=4, on=Broken(lambda _: None if next(alive) else BrokenProcessPool("killed")))
    assert repr(study.status) == "8 runs: 8 known"


def test_another_build_is_refused_before_it_runs(room: ev.Scenario, by_threads: ev.Sweep, tmp_path: Path) -> None:
    program = by_threads.provenance.program.encode()
    with pytest.raises(ev.WorkerMismatch, match=f"this worker has the simulator {program.decode()}, and the job is for other"):
        ev.sweep(room, BUFFERS, seeds=4, store=tmp_path / "s", on=Broken(lambda _: None, lambda job: job.replace(program, b"other")))
    assert lines(tmp_path / "s") == 0
    with pytest.raises(ev.WorkerMismatch, match="a worker has not this package: No module"):
        ev.sweep(room, BUFFERS, seeds=4, on=Broken(lambda _: ModuleNotFoundError("No module named 'evenair'")))
    # The store is unlocked again.
    assert ev.sweep(room, BUFFERS, seeds=1, store=tmp_path / "s").status.is_complete


def test_until_and_comparisons_work_with_engines(room: ev.Scenario) -> None:
    until = ev.Until("total_ip_mbps", 1e-6, most=4)
    one, other = (ev.compare(room, ["fifo", "evenair"], seeds=2, until=until, on=on) for on in (2, ev.processes(2)))
    assert one.status.planned == 8 and is_same(one, other)


INTERRUPTED = """
import sys, time
import evenair as ev
def report(now):
    if now.known >= 2 and not begun:
        begun.append(now)
        print("begun", flush=True)
begun = []
if __name__ == "__main__":
    try:
        ev.sweep(ev.Scenario.example("room"), {"station.slow.mcs": [0, 11]}, seeds=50, store=sys.argv[1], on=ev.processes(2), progress=report)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
"""


def test_ctrl_c_keeps_completed_runs_in_the_store(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(INTERRUPTED)
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        stopped = float(child.stdout.readline())
        # The processes end, too; some extra time for a busy machine.
        assert stopped - sent < 2.0
        assert child.wait(timeout=10) == 0
    assert 2 <= lines(tmp_path / "s") < 100


def test_invalid_engines_are_refused(room: ev.Scenario) -> None:
    for wrong in (0, True, "ray", object()):
        with pytest.raises(TypeError, match=r"makes no runs; allowed: None .*, ev.ray\(\), ev.dask\(client\)"):
            ev.sweep(room, BUFFERS, on=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="processes: 0"):
        ev.processes(0)
    assert isinstance(ev.processes(), Engine) and ev.processes(3).workers == 3


@pytest.mark.parametrize(("call", "extra"), [("ray()", "ray"), ("dask(None)", "dask")])
def test_without_the_engine_the_extra_is_named(call: str, extra: str) -> None:
    code = (
        "import sys; sys.modules['ray'] = sys.modules['distributed'] = None\n"
        "import evenair as ev\n"
        f"try: ev.{call}\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f'pip install "evenair[{extra}]"' in done.stdout
