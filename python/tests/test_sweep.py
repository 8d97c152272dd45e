"""Sweeps: their runs, points and stores, and what stops them."""

from __future__ import annotations

import doctest
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import evenair as ev
from evenair import _evenair, sweeps

SMOKE = Path(__file__).parents[2] / "scenarios" / "smoke.toml"
BUFFERS = {"radio.ap_buffer": ["20 packets", "100 packets"]}


@pytest.fixture(scope="module")
def room() -> ev.Scenario:
    return ev.Scenario.example("smoke").with_(duration="4 s")


@pytest.fixture(scope="module")
def study(room: ev.Scenario, tmp_path_factory: pytest.TempPathFactory) -> ev.Sweep:
    store = tmp_path_factory.mktemp("store") / "new"
    return ev.sweep(room, BUFFERS, policies=["fifo", "evenair"], seeds=3, store=store)


def test_runs_are_rows_with_typed_keys(room: ev.Scenario, study: ev.Sweep) -> None:
    assert study.status == ev.sweep(room, BUFFERS, policies=["fifo", "evenair"], seeds=3, store=study.store).status
    assert repr(study.status) == "12 runs: 12 known" and study.status.is_complete
    assert study.axes == ["radio.ap_buffer", "policy"]
    runs = study.runs()
    keys = ["radio_ap_buffer_packets", "policy", "seed", "phase", "kind", "name", "measure", "unit", "value"]
    assert runs.columns == keys
    frame = runs.to_polars()
    one = frame.filter(pl.col("radio_ap_buffer_packets") == 100, pl.col("policy") == "evenair", pl.col("seed") == room.seed + 1)
    alone = ev.run(room.with_({"radio.ap_buffer": "100 packets"}), policy="evenair", seed=room.seed + 1).measures().to_polars()
    assert one.select(alone.columns).cast({"value": pl.Float64}).rows() == [row for row in alone.rows() if abs(row[-1]) < float("inf")]
    assert frame["seed"].unique().sort().to_list() == [room.seed, room.seed + 1, room.seed + 2]


def test_series_are_those_of_single_runs(room: ev.Scenario, tmp_path: Path) -> None:
    plain = ev.sweep(room, BUFFERS, seeds=2, store=tmp_path)
    with pytest.raises(ValueError, match=r'no run of this sweep has series of flow; make them with sweep\(..., series=\["flow"\]\)'):
        plain.series()
    study = ev.sweep(room, BUFFERS, seeds=2, store=tmp_path, series=("flow", "station"), on=ev.processes(1))
    assert study.runs().to_polars().equals(plain.runs().to_polars())
    for kind in ("flow", "station"):
        for kept in (study, ev.load(tmp_path)):
            assert isinstance(kept, ev.Sweep)
            frame = kept.series(kind).to_polars()
            one = frame.filter(pl.col("radio_ap_buffer_packets") == 100, pl.col("seed") == room.seed + 1)
            alone = ev.run(room.with_({"radio.ap_buffer": "100 packets"}), seed=room.seed + 1).series(kind).to_polars()
            assert frame.columns == ["radio_ap_buffer_packets", "seed", *alone.columns]
            assert one.select(alone.columns).rows() == alone.rows()
    with pytest.raises(ValueError, match="allowed: flow, station, sender"):
        ev.sweep(room, BUFFERS, store=tmp_path / "new", series=["flows"])
    assert not (tmp_path / "new").exists()
    with pytest.raises(TypeError, match=r"write \['flow'\]"):
        ev.sweep(room, BUFFERS, series="flow")
    with pytest.raises(ValueError, match="no run of this sweep has series of sender"):
        study.series("sender")


def test_points_are_means_with_intervals(study: ev.Sweep) -> None:
    points = study.points().to_polars()
    keys = ["radio_ap_buffer_packets", "policy", "phase", "kind", "name", "measure", "unit"]
    assert points.columns == [*keys, "mean", "low", "high", "n", "sd"]
    text = [key for key in keys if key != "radio_ap_buffer_packets"]
    runs = study.runs().to_polars().with_columns(pl.col(text).cast(pl.String))
    means = runs.group_by(keys, maintain_order=True).agg(pl.col("value").mean().alias("of_runs"))
    both = points.with_columns(pl.col(text).cast(pl.String)).join(means, on=keys, nulls_equal=True)
    assert len(both) == len(points) == len(means)
    assert both["mean"].to_list() == pytest.approx(both["of_runs"].to_list(), rel=1e-12)
    wide = study.points(confidence=0.99).to_polars()
    assert (wide["high"] - wide["low"] >= points["high"] - points["low"]).all()
    with pytest.raises(ValueError, match="between 0 and 1"):
        study.points(confidence=95)


def test_one_run_of_a_point_has_no_interval(room: ev.Scenario) -> None:
    study = ev.sweep(room, BUFFERS, seeds=1)
    assert set(study.points()["low"]) == {None}
    assert study.store.is_dir()


def test_a_list_of_points(room: ev.Scenario) -> None:
    over = [{"duration": "2 s", "radio.ap_buffer": "20 packets"}, {"duration": "3 s", "radio.ap_buffer": "50 packets"}]
    study = ev.sweep(room, over, seeds=range(40, 42))
    rows = {(row["duration_s"], row["radio_ap_buffer_packets"], row["seed"]) for row in study.runs().to_dicts()}
    assert rows == {(2.0, 20.0, 40), (2.0, 20.0, 41), (3.0, 50.0, 40), (3.0, 50.0, 41)}
    with pytest.raises(ValueError, match="point 1 has no value of radio.ap_buffer"):
        ev.sweep(room, [over[0], {"duration": "3 s"}])


def test_a_comparison_needs_nothing_varied(room: ev.Scenario) -> None:
    study = ev.compare(room, ["fifo", ev.Policy("mine", {"manager": {}})], seeds=2)
    assert study.axes == ["policy"] and set(study.runs()["policy"]) == {"fifo", "mine"}


def test_until_repeats_a_point(room: ev.Scenario) -> None:
    study = ev.sweep(room, BUFFERS, seeds=2, until=ev.Until("total_ip_mbps", 1e-6, most=4), on=2)
    assert study.status.planned == 8
    with pytest.raises(ValueError, match='did you mean "total_ip_mbps"'):
        ev.Until("totl_ip_mbps", 0.1)
    with pytest.raises(ValueError, match="half_width"):
        ev.Until("total_ip_mbps", 2)


@pytest.mark.skipif("EVENAIR_LAB" not in os.environ, reason="EVENAIR_LAB does not name the program evenair-lab")
def test_program_and_package_share_a_store(tmp_path: Path) -> None:
    def program(store: Path) -> str:
        command = [os.environ["EVENAIR_LAB"], "sim", "sweep", str(SMOKE), "--vary", "radio.ap_buffer=20 packets,100 packets", "--policies"]
        command += ["fifo,evenair", "--set", "duration=4 s", "--replications", "2", "--store", str(store), "--quiet"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def package(store: Path) -> ev.Sweep:
        seen: list[int] = []
        scenario = ev.Scenario(SMOKE).with_(duration="4 s")
        policies = ["fifo", "evenair"]
        study = ev.sweep(scenario, BUFFERS, policies=policies, seeds=2, store=store, progress=lambda now: seen.append(now.known))
        known.append(seen[0])
        return study

    known: list[int] = []
    assert "8 of 8 runs made" in program(tmp_path / "a")
    package(tmp_path / "a")
    assert known == [8]
    study = package(tmp_path / "b")
    assert "0 of 8 runs made" in program(tmp_path / "b")
    assert study.runs().to_polars().equals(pl.read_parquet(tmp_path / "b" / "runs.parquet"))
    assert study.points().to_polars().equals(pl.read_parquet(tmp_path / "b" / "points_long.parquet"))


@pytest.mark.skipif("EVENAIR_LAB" not in os.environ, reason="EVENAIR_LAB does not name the program evenair-lab")
def test_the_program_shows_a_folder_and_makes_it_again(room: ev.Scenario, tmp_path: Path) -> None:
    def program(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([os.environ["EVENAIR_LAB"], "results", command, str(folder)], capture_output=True, text=True, check=False)

    own = ev.Policy("mine", {"radio": {"ap_queue": {"discipline": "drr"}}})
    study = ev.sweep(room, BUFFERS, policies=["fifo", own], seeds=2, store=tmp_path / "sweep")
    shown = program("show", study.store)
    assert shown.returncode == 0 and study.provenance.cite() in shown.stdout
    assert "complete  yes" in shown.stdout and f"command   {' '.join(sys.orig_argv[:1])}" in shown.stdout
    assert program("rerun", study.store).stdout == "the same: 8 runs of runs.jsonl\n"

    ev.run(room, policy=own, seed=7, set={"radio.ap_buffer": "50 packets"}, keep=tmp_path / "run")
    shown = program("show", tmp_path / "run")
    assert shown.returncode == 0 and f"Simulated with Evenair {ev.__version__}" in shown.stdout and "not known" not in shown.stdout
    assert program("rerun", tmp_path / "run").stdout.startswith("the same: result.json")
    # The provenance of a run is stored with it.
    made = (tmp_path / "run" / "made.json").read_text()
    loaded = ev.load(tmp_path / "run")
    assert isinstance(loaded, ev.Run)
    pickle.loads(pickle.dumps(loaded)).save(tmp_path / "copy")
    assert (tmp_path / "copy" / "made.json").read_text() == made

    simulation = ev.Simulation(room, has_box=True)
    simulation.result().save(tmp_path / "commanded")
    again = program("rerun", tmp_path / "commanded")
    assert again.returncode == 1 and "the folder does not keep its commands; run it again: " in again.stderr


def test_a_store_of_another_experiment_is_refused(room: ev.Scenario, study: ev.Sweep) -> None:
    with pytest.raises(ev.StoreError, match="is the store of another experiment: .*radio.ap_buffer is 20 packets, 100 packets there"):
        ev.sweep(room, {"radio.ap_buffer": ["20 packets"]}, policies=["fifo", "evenair"], seeds=3, store=study.store)


def test_errors_are_reported(room: ev.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ev.ScenarioError, match="ap_buffer") as raised:
        ev.sweep(room, {"radio.ap_bufer": ["20 packets"]})
    assert raised.value.problems[0].guess == "ap_buffer"
    with pytest.raises(ev.ScenarioError, match='did you mean "evenair"'):
        ev.sweep(room, policies=["evenar"])
    with pytest.raises(TypeError, match=r"over: radio.ap_buffer: '20 packets' is no list of values; write \['20 packets'\]"):
        ev.sweep(room, {"radio.ap_buffer": "20 packets"})
    with pytest.raises(TypeError, match=r"allowed: None \(a thread for each core\), a number of threads, a concurrent"):
        ev.sweep(room, BUFFERS, on="ray")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="do not follow each other"):
        ev.sweep(room, BUFFERS, seeds=[1, 3])
    with pytest.raises(ValueError, match="seeds: 0"):
        ev.sweep(room, BUFFERS, seeds=0)
    with pytest.raises(OSError):
        (tmp_path / "file").write_text("")
        ev.sweep(room, BUFFERS, store=tmp_path / "file" / "store")


def test_a_wrong_point_does_not_touch_the_others(room: ev.Scenario) -> None:
    study = ev.sweep(room, {"radio.ap_buffer": ["20 packets", "-3 packets"]}, seeds=2)
    assert repr(study.status) == "4 runs: 2 known, 2 failed"
    (row,) = study.failed.to_dicts()
    assert row["seed"] is None and "ap_buffer" in row["reason"]


INTERRUPTED = """
import sys, time
import evenair as ev
def report(now):
    if now.known >= 1 and not reports:
        reports.append(now)
        print("begun", flush=True)
reports = []
try:
    ev.sweep(ev.Scenario.example("room"), {"station.slow.mcs": [0, 11]}, seeds=50, store=sys.argv[1], progress=report)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


def test_ctrl_c_keeps_completed_runs_in_the_store(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(tmp_path / "s")], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.3)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        stopped = float(child.stdout.readline())
        # 0.2 s as promised, and some extra time for a busy machine.
        assert stopped - sent < 0.7
        assert child.wait(timeout=10) == 0
    kept = (tmp_path / "s" / "runs.jsonl").read_text().count("\n")
    assert 1 <= kept < 100
    seen: list[ev.Status] = []

    def stop(now: ev.Status) -> None:
        seen.append(now)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        ev.sweep(ev.Scenario.example("room"), {"station.slow.mcs": [0, 11]}, seeds=50, store=tmp_path / "s", progress=stop)
    assert seen[0].known >= kept and seen[0].planned == 100


def test_runs_as_bytes_give_the_same(room: ev.Scenario, study: ev.Sweep, tmp_path: Path) -> None:
    axes = [("radio.ap_buffer", BUFFERS["radio.ap_buffer"], False)]
    experiment = _evenair.Experiment(room, {"axes": axes, "policies": ["fifo", "evenair"], "seeds": 3, "series": []}, tmp_path / "s")
    jobs = experiment.missing()
    assert len(jobs) == 12
    for record in _evenair.run_batch(jobs[::-1]):
        experiment.add(record)
    experiment.release()
    assert experiment.missing() == [] and experiment.runs().to_polars().equals(study.runs().to_polars())
    with pytest.raises(ev.StoreError, match="lock"):
        experiment.add(record)
    with pytest.raises(ev.WorkerMismatch, match="the job is for other"):
        _evenair.run_batch([jobs[0].replace(study.provenance.program.encode(), b"other")])
    with pytest.raises(ValueError, match="no job"):
        _evenair.run_batch([b"{}"])


def test_the_examples_of_the_documentation_work() -> None:
    assert doctest.testmod(sweeps).attempted > 3
    assert doctest.testmod(sweeps).failed == 0
