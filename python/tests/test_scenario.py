"""Scenarios and policies: what they are made of, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenair as ev

SMALL: dict[str, Any] = {
    "version": 1,
    "name": "small",
    "duration": "2 s",
    "radio": {"standard": "802.11g"},
    "station": [{"name": "near", "rate": "54 Mb/s"}, {"name": "far", "rate": "6 Mb/s"}],
    "server": [{"name": "server"}],
    "bulk": [{"name": "bulk", "stations": ["near", "far"], "server": "server", "direction": "down"}],
    "phase": [{"name": "all", "from": "1 s", "to": "2 s"}],
}


def test_a_mapping_a_text_and_a_file_give_the_same_run(tmp_path: Path) -> None:
    of_mapping = ev.Scenario(SMALL)
    file = tmp_path / "small.toml"
    file.write_text(of_mapping.text)
    runs = [ev.run(source) for source in (SMALL, of_mapping.text, file, str(file))]
    assert len({run.to_json() for run in runs}) == 1
    assert of_mapping.stations == ["near", "far"]
    assert of_mapping.phases == ["all"]


def test_each_problem_has_its_parts() -> None:
    wrong = {**SMALL, "radio": {"standard": "802.11be"}, "station": [{"name": "near", "rate": "54 Mbps"}, SMALL["station"][1]]}
    with pytest.raises(ev.ScenarioError) as caught:
        ev.Scenario(wrong)
    problems = {problem.path: problem for problem in caught.value.problems}
    assert "802.11be" in problems["radio.standard"].message
    assert "802.11ax" in problems["radio.standard"].allowed
    assert problems["radio.standard"].file is None and problems["radio.standard"].line is None
    assert any("Mbps" in problem.message for problem in problems.values())
    assert str(caught.value).startswith("2 problems\n")


def test_a_text_has_places_and_a_guess(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(ev.Scenario(SMALL).text.replace("duration", "durration"))
    with pytest.raises(ev.ScenarioError) as caught:
        ev.Scenario(file)
    problem = next(problem for problem in caught.value.problems if "durration" in problem.message + problem.path)
    assert problem.file == str(file)
    assert problem.line is not None and problem.column is not None
    assert problem.guess == "duration"


def test_a_missing_file_raises_pythons_exception(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        ev.Scenario(tmp_path / "missing.toml")
    assert caught.value.filename == str(tmp_path / "missing.toml")
    assert caught.value.strerror == "No such file or directory"
    with pytest.raises(FileNotFoundError, match=r"Scenario.example\("):
        ev.Scenario("room")


@pytest.mark.parametrize("nonsense", [5, None, b"abc", [1], 1.5])
def test_other_types_are_a_type_error(nonsense: Any) -> None:
    for use in (ev.Scenario, ev.run, ev.Simulation):
        with pytest.raises(TypeError, match="is none of: a mapping, TOML with a newline, a path"):
            use(nonsense)


def test_a_mapping_without_its_keys_has_problems_without_places() -> None:
    with pytest.raises(ev.ScenarioError) as caught:
        ev.Scenario({})
    assert len(caught.value.problems) == 4
    assert all(problem.file is None for problem in caught.value.problems)
    assert "<mapping>" not in str(caught.value)


def test_settings_are_those_of_the_command_line() -> None:
    scenario = ev.Scenario(SMALL)
    changed = scenario.with_({"station.far.rate": "12 Mb/s"}, radio__ap_buffer="50 packets", seed=9)
    assert changed.seed == 9
    assert changed.settings == {"station.far.rate": "12 Mb/s", "radio.ap_buffer": "50 packets", "seed": "9"}
    assert changed.digest != scenario.digest
    assert scenario.with_() == scenario
    assert ev.run(changed).to_json() == ev.run(scenario, set=changed.settings).to_json()
    with pytest.raises(ev.ScenarioError) as caught:
        scenario.with_(radio__ap_bufer="50 packets")
    assert caught.value.problems[0].guess == "ap_buffer" or "ap_buffer" in str(caught.value)


def test_values_that_toml_lacks_are_a_type_error() -> None:
    with pytest.raises(TypeError):
        ev.Scenario({**SMALL, "radio": {"standard": object()}})


def test_policies_change_the_mechanism() -> None:
    names = ev.Policy.known()["name"]
    assert {"fifo", "adwiser", "evenair", "fq-codel"} <= set(names)
    goodput = {name: ev.run(SMALL, policy=name)["phase.all.station.near.goodput_mbps"] for name in ("fifo", "evenair")}
    assert goodput["evenair"] > 2 * goodput["fifo"]
    own = ev.Policy("mine", {"manager": {"queue": {"discipline": "fq-codel"}}})
    assert ev.run(SMALL, policy=own).to_json() == ev.run(SMALL, policy="fq-codel").to_json()
    with pytest.raises(ev.ScenarioError, match="did you mean \"evenair\""):
        ev.run(SMALL, policy="evenare")
    with pytest.raises(ev.ScenarioError, match="no part of a policy"):
        ev.Policy("mine", {"station": []})


def test_the_package_has_the_scenarios() -> None:
    examples = ev.Scenario.examples()
    assert {"room", "adwiser/a07-calls"} <= set(examples["name"])
    for name in examples["name"]:
        assert ev.Scenario.example(name).text
    with pytest.raises(KeyError, match="nearest"):
        ev.Scenario.example("rom")
