"""Ray and Dask give what threads give; a worker that is killed loses nothing and doubles nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from distributed import Client, LocalCluster

import evenair as ev

OVER = {"radio.ap_buffer": ["20 packets", "100 packets"]}
#: Process ids of the processes that make runs.
Workers = Callable[[], list[int]]


@pytest.fixture(scope="module")
def room() -> ev.Scenario:
    return ev.Scenario.example("smoke").with_(duration="6 s")


@pytest.fixture(scope="module")
def by_threads(room: ev.Scenario) -> ev.Sweep:
    return ev.sweep(room, OVER, policies=["fifo", "evenair"], seeds=20, on=2)


def ray_workers() -> list[int]:
    children = psutil.Process().children(recursive=True)
    return [child.pid for child in children if any("ray::make" in part for part in child.cmdline())]


@pytest.fixture(params=["ray", "dask", "executor of dask"])
def engine(request: pytest.FixtureRequest) -> Iterator[tuple[Any, Workers]]:
    if request.param == "ray":
        yield ev.ray(workers=2), ray_workers
        ray.shutdown()
        return
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp") as cluster, Client(cluster) as client:
        on = ev.dask(client) if request.param == "dask" else client.get_executor()
        yield on, lambda: list(client.run(os.getpid).values())


def test_engines_give_what_threads_give(room: ev.Scenario, by_threads: ev.Sweep, engine: tuple[Any, Workers], tmp_path: Path) -> None:
    on, workers = engine
    assert getattr(on, "workers", 2) == 2
    study = ev.sweep(room, OVER, policies=["fifo", "evenair"], seeds=10, store=tmp_path / "s", on=on)
    assert repr(study.status) == "40 runs: 40 known"
    killed: list[int] = []

    def kill(now: ev.Status) -> None:
        if now.known >= 45 and not killed and (pids := workers()):
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    study = ev.sweep(room, OVER, policies=["fifo", "evenair"], seeds=20, store=tmp_path / "s", on=on, progress=kill)
    assert killed and repr(study.status) == "80 runs: 80 known"
    assert (study.store / "runs.jsonl").read_text().count("\n") == 80
    assert study.runs().to_polars().equals(by_threads.runs().to_polars())
    assert study.points().to_polars().equals(by_threads.points().to_polars())


def test_until_works_with_ray(room: ev.Scenario) -> None:
    until = ev.Until("total_ip_mbps", 1e-6, most=4)
    one, other = (ev.compare(room, ["fifo", "evenair"], seeds=2, until=until, on=on) for on in (2, ev.ray(workers=2)))
    assert one.status.planned == 8 and one.runs().to_polars().equals(other.runs().to_polars())
    ray.shutdown()


def test_another_build_is_refused_by_ray(room: ev.Scenario, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on = ev.ray(workers=2)
    submit = on.submit
    monkeypatch.setattr(on, "submit", lambda jobs, attempt: submit([job.replace(b'"program":"', b'"program":"9') for job in jobs], attempt))
    with pytest.raises(ev.WorkerMismatch, match="and the job is for 9"):
        ev.sweep(room, OVER, seeds=2, store=tmp_path / "s", on=on)
    assert (tmp_path / "s" / "runs.jsonl").read_text() == ""
    ray.shutdown()


def test_a_local_cluster_of_ray_listens_on_this_machine_alone() -> None:
    ev.ray(workers=1)
    processes = [child for child in psutil.Process().children(recursive=True) if child.is_running()]
    places = {
        connection.laddr.ip.removeprefix("::ffff:")
        for process in processes
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    }
    ray.shutdown()
    assert places and places <= {"127.0.0.1", "::1"}, places


def test_an_interrupt_cancels_the_rest(room: ev.Scenario, tmp_path: Path) -> None:
    def stop(now: ev.Status) -> None:
        if now.known >= 2:
            raise KeyboardInterrupt

    on = ev.ray(workers=2)
    with pytest.raises(KeyboardInterrupt):
        ev.sweep(ev.Scenario.example("room"), {"station.slow.mcs": [0, 11]}, seeds=50, store=tmp_path / "s", on=on, progress=stop)
    assert 2 <= (tmp_path / "s" / "runs.jsonl").read_text().count("\n") < 100
    assert ev.sweep(room, OVER, seeds=2, on=on).status.is_complete
    ray.shutdown()
