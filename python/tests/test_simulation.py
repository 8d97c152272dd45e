"""Runs that are stepped."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import evenair as ev

ROOM = ev.Scenario.example("room").with_(duration="6 s")


def test_stepping_and_observing_change_nothing() -> None:
    simulation = ev.Simulation(ROOM, 3)
    while not simulation.is_over:
        simulation.step(simulation.now + 0.37)
        simulation.observe()
    assert simulation.result().to_json() == ev.run(ROOM, seed=3).to_json()


def test_a_command_is_an_event_of_the_scenario() -> None:
    simulation = ev.Simulation(ROOM, has_box=True)
    simulation.step(2.0)
    assert simulation.observe()["mode"] != "inserted"
    simulation.command(do="insert")
    simulation.step(4.0)
    state = simulation.observe()
    assert state["mode"] == "inserted"
    assert state["at_s"] == 4.0
    assert {flow["app"] for flow in state["flows"]} == set(ROOM.applications)
    assert sum(flow["delivered_bytes"] for flow in state["flows"]) > 0


def test_wrong_commands_are_refused_and_change_nothing() -> None:
    simulation = ev.Simulation(ROOM)
    simulation.step(1.0)
    with pytest.raises(ev.ScenarioError):
        simulation.command(do="inser")
    with pytest.raises(ev.ScenarioError):
        simulation.command(do="rate", station="nowhere", rate="6 Mb/s")
    with pytest.raises(ev.RunError, match="box"):
        simulation.command(do="insert")
    with pytest.raises(ValueError, match="until"):
        simulation.step(-1.0)
    assert simulation.result().to_json() == ev.run(ROOM).to_json()
    with pytest.raises(ev.RunError, match="given its result"):
        simulation.observe()


def test_the_environment_of_the_examples_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[1] / "examples" / "insertion_environment.py"), run_name="__main__")
    lines = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert float(lines["inserted"]) > float(lines["bypassed"])
