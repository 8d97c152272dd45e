"""Closed forms beside the simulator."""

from __future__ import annotations

import pytest

import evenair as ev


@pytest.fixture(scope="module")
def room() -> ev.Scenario:
    return ev.Scenario.example("room").with_({"duration": "12 s", "phase.steady.to": "12 s"})


def total(frame: ev.Frame, model: str) -> list[float]:
    rows = frame.to_dicts()
    return [row["value"] for row in rows if row["model"] == model and row["measure"] == "total_goodput_mbps"]


def test_the_frame_has_the_key_as_sweeps_have_it(room: ev.Scenario) -> None:
    frame = ev.models.anomaly(room, vary="station.slow.mcs")
    assert frame.columns == ["station_slow_mcs", "model", "phase", "kind", "name", "measure", "unit", "value"]
    assert list(dict.fromkeys(frame["station_slow_mcs"])) == list(range(12))
    assert set(frame["model"]) == {"equal packets", "equal airtime"}
    rows = frame.to_dicts()
    for value in range(12):
        for model in ("equal packets", "equal airtime"):
            of_point = [row for row in rows if (row["station_slow_mcs"], row["model"]) == (value, model)]
            assert {row["name"] for row in of_point if row["kind"] == "station"} == set(room.stations)
            parts = sum(row["value"] for row in of_point if row["kind"] == "station")
            assert parts == pytest.approx(next(row["value"] for row in of_point if row["kind"] == "run"))
    assert total(frame, "equal packets") == sorted(total(frame, "equal packets"))
    delays = ev.models.anomaly(room, vary="lan.delay", values=["1 ms", "2 ms"])
    assert delays.columns[0] == "lan_delay_ms" and len(set(total(delays, "equal airtime"))) == 1


def measured(scenario: ev.Scenario, policy: str) -> float:
    return ev.run(scenario, policy=policy, seed=1)["phase.steady.total_goodput_mbps"]


# All datagrams arrive at the same rate, so the FIFO's flows have equal packets. With MCS 0 a run has only some hundred aggregates.
@pytest.mark.parametrize(("mcs", "within"), [(0, 0.12), (4, 0.02), (11, 0.02)])
def test_one_fifo_of_datagrams_gives_what_equal_packets_give(mcs: int, within: float) -> None:
    udp = {"name": "flood", "stations": ["fast", "slow"], "server": "server", "direction": "down", "rate": "80 Mb/s", "payload": "1472 B"}
    radio = {"standard": "802.11ax", "ap_buffer": "1000 packets", "edca_parameters": "hostapd"}
    stations = [{"name": "fast", "count": 4, "mcs": 11, "streams": 2}, {"name": "slow", "mcs": mcs}]
    scenario = ev.Scenario({
        "version": 1, "name": "flood", "duration": "12 s", "radio": radio, "station": stations, "server": [{"name": "server"}],
        "udp": [udp], "phase": [{"name": "steady", "from": "5 s", "to": "12 s"}],
    })  # fmt: skip
    assert measured(scenario, "fifo") == pytest.approx(total(ev.models.anomaly(scenario), "equal packets")[0], rel=within)


# TCP shares a FIFO evenly if all stations are fast. Beside a slow one, whose turns are long, the fast ones' packets overtake.
def test_one_fifo_of_tcp_gives_equal_packets_at_least(room: ev.Scenario) -> None:
    fast = room.with_({"station.slow.mcs": 11})
    assert measured(fast, "fifo") == pytest.approx(total(ev.models.anomaly(fast), "equal packets")[0], rel=0.10)
    equal_packets, equal_airtime = (total(ev.models.anomaly(room), f"equal {what}")[0] for what in ("packets", "airtime"))
    assert equal_packets < measured(room, "fifo") < 0.5 * equal_airtime


@pytest.mark.parametrize("mcs", [0, 4, 11])
def test_airtime_fairness_gives_what_equal_airtime_gives(room: ev.Scenario, mcs: int) -> None:
    here = room.with_({"station.slow.mcs": mcs})
    expected = total(ev.models.anomaly(here), "equal airtime")[0]
    assert measured(here, "evenair") == pytest.approx(expected, rel=0.04)
    # The access point gives a station at MCS 0 over a third more than its share of the time.
    assert 0.8 * expected < measured(here, "ap-mac80211") < expected


@pytest.mark.parametrize(("standard", "fast", "slow"), [("802.11a", "54 Mb/s", "6 Mb/s"), ("802.11g", "54 Mb/s", "6 Mb/s")])
def test_single_frames(standard: str, fast: str, slow: str) -> None:
    scenario = ev.Scenario({
        "version": 1, "name": "single", "duration": "40 s", "radio": {"standard": standard}, "server": [{"name": "server"}],
        "station": [{"name": "fast", "count": 4, "rate": fast}, {"name": "slow", "rate": slow}],
        "bulk": [{"name": "file", "stations": ["fast", "slow"], "server": "server", "direction": "down"}],
        "phase": [{"name": "steady", "from": "10 s", "to": "40 s"}],
    })  # fmt: skip
    frame = ev.models.anomaly(scenario)
    assert measured(scenario, "fifo") == pytest.approx(total(frame, "equal packets")[0], rel=0.08)
    assert measured(scenario, "ap-mac80211") == pytest.approx(total(frame, "equal airtime")[0], rel=0.03)


def flood(rates: tuple[str, str]) -> ev.Scenario:
    stations = [{"name": f"s{at}", "rate": rate} for at, rate in enumerate(rates)]
    udp = {"name": "flood", "stations": ["s0", "s1"], "server": "server", "direction": "up", "rate": "20 Mb/s", "payload": "1472 B"}
    return ev.Scenario({
        "version": 1, "name": "flood", "duration": "30 s", "radio": {"standard": "802.11b"}, "station": stations,
        "server": [{"name": "server"}], "udp": [udp],
    })  # fmt: skip


def test_uploads_of_datagrams_share_accesses() -> None:
    mixed = flood(("11 Mb/s", "1 Mb/s"))
    frame = ev.models.anomaly(mixed)
    run = ev.run(mixed)
    assert run["phase.all.total_goodput_mbps"] == pytest.approx(total(frame, "equal accesses")[0], rel=0.02)
    # Heusse et al.: 0.78 Mb/s each, of 1500 bytes.
    of_stations = [row["value"] for row in frame.to_dicts() if row["kind"] == "station" and row["model"] == "equal accesses"]
    assert of_stations == pytest.approx([0.78 * 1472 / 1500] * 2, rel=0.03)


def test_a_missing_closed_form_is_an_error_with_the_reason(room: ev.Scenario) -> None:
    with pytest.raises(ValueError, match="losses"):
        ev.models.anomaly(room.with_({"station.slow.loss": "1 %"}))
    with pytest.raises(ValueError, match="needs values"):
        ev.models.anomaly(room, vary="lan.delay")
    with pytest.raises(ValueError, match="vary="):
        ev.models.anomaly(room, values=[1])
    with pytest.raises(KeyError, match="steady"):
        ev.models.anomaly(room, phase="stedy")
    with pytest.raises(ev.ScenarioError):
        ev.models.anomaly(room, vary="station.slow.mcs", values=[12])
