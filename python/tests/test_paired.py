"""Differences of runs in pairs, ranks, and what a sweep was made by."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

import evenair as ev

BUFFERS = {"radio.ap_buffer": ["20 packets", "100 packets"]}
MEASURES = ["total_goodput_mbps", "jain_flows", "ap.sojourn_mean_ms"]
WORDS = ["policy", "base", "phase", "kind", "name", "measure", "unit"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> ev.Sweep:
    scenario = ev.Scenario.example("smoke").with_({"duration": "8 s"})
    return ev.sweep(scenario, BUFFERS, policies=["fifo", "ap-fq-codel", "evenair"], seeds=5, store=tmp_path_factory.mktemp("store") / "s")


def plain(frame: ev.Frame) -> pl.DataFrame:
    """With text in place of categories."""
    polars: pl.DataFrame = frame.to_polars()
    return polars.with_columns(pl.col(pl.Categorical).cast(pl.String))


def of_scipy(runs: pl.DataFrame, row: dict[str, Any], confidence: float) -> Any:
    """The paired t test of a row, and the pairs."""
    keys = ["radio_ap_buffer_packets", "phase", "kind", "name", "measure"]
    here = runs.filter(*[pl.col(key).eq_missing(pl.lit(row[key])) for key in keys])
    first = here.filter(pl.col("policy") == row["base"]).sort("seed")
    second = here.filter(pl.col("policy") == row["policy"]).sort("seed")
    both = first.join(second, on="seed")
    test = stats.ttest_rel(both["value_right"], both["value"])
    return test, test.confidence_interval(confidence), both


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_scipy_gives_the_same(study: ev.Sweep, confidence: float) -> None:
    runs = plain(study.runs())
    rows = study.paired(base="fifo", confidence=confidence).to_dicts()
    assert len(rows) > 100
    compared = 0
    for row in rows:
        test, interval, both = of_scipy(runs, row, confidence)
        assert row["n"] == len(both)
        difference = both["value_right"] - both["value"]
        assert row["mean"] == pytest.approx(difference.mean(), rel=1e-9)
        if row["n"] < 2:
            assert row["low"] is row["high"] is row["p"] is None
            continue
        if math.isinf(row["effect"]) or abs(row["effect"]) > 1e6:
            continue
        scale = abs(row["mean"]) + row["high"] - row["low"]
        assert [row["low"], row["high"]] == pytest.approx([interval.low, interval.high], abs=1e-9 * scale)
        assert row["p"] == pytest.approx(test.pvalue, rel=1e-9, abs=1e-15)
        assert row["effect"] == pytest.approx(difference.mean() / difference.std(), rel=1e-9)
        if row["base_mean"] != 0:
            assert row["percent"] == pytest.approx(100 * difference.mean() / abs(both["value"].mean()), rel=1e-9)
        compared += 1
    assert compared > 100


def test_statsmodels_adjusts_the_same(study: ev.Sweep) -> None:
    for measures in (None, MEASURES):
        frame = plain(study.paired(base="fifo", measures=measures))
        for _, one in frame.group_by("radio_ap_buffer_packets", "policy"):
            tested = one.filter(pl.col("p").is_not_null())
            adjusted = multipletests(tested["p"].to_numpy(), method="holm")[1]
            assert tested["p_adjusted"].to_list() == pytest.approx(list(adjusted), rel=1e-9, abs=1e-15)
    raw = plain(study.paired(base="fifo", adjust="none"))
    assert raw["p"].equals(raw["p_adjusted"])


def test_rows_are_ordered_by_effect_and_leave_out_what_is_equal(study: ev.Sweep) -> None:
    frame = plain(study.paired())
    names = ["n", "base_mean", "mean", "low", "high", "percent", "effect", "p", "p_adjusted"]
    assert frame.columns == ["radio_ap_buffer_packets", *WORDS, *names]
    for _, one in frame.group_by("radio_ap_buffer_packets", "policy", maintain_order=True):
        effects = one["effect"].drop_nulls().abs().to_list()
        assert effects == sorted(effects, reverse=True)
    assert set(frame["base"]) == {"fifo"} and set(frame["policy"]) == {"ap-fq-codel", "evenair"}
    # The duration of a run is fixed.
    assert (frame["mean"] != 0).any() and not frame.filter(pl.col("low") == 0, pl.col("high") == 0).height


def test_any_frame_of_this_shape(study: ev.Sweep) -> None:
    whole = plain(study.paired(base="evenair", measures=MEASURES))
    runs = study.runs()
    frames = [runs, runs.to_polars(), plain(runs), runs.to_arrow(), runs.to_pandas(), pyarrow.Table.from_batches(runs.to_arrow().to_batches())]
    for frame in frames:
        assert plain(ev.paired(frame, "policy", "evenair", MEASURES)).equals(whole)
    few = runs.to_polars().filter(pl.col("radio_ap_buffer_packets") == 100, pl.col("policy") != "fifo").drop("radio_ap_buffer_packets")
    mine = plain(ev.paired(few, base="evenair", measures=MEASURES))
    theirs = whole.filter(pl.col("radio_ap_buffer_packets") == 100, pl.col("policy") != "fifo").drop("radio_ap_buffer_packets")
    assert mine.equals(theirs)
    buffers = plain(study.paired(by="radio.ap_buffer", base=20, measures=["total_goodput_mbps"]))
    assert set(buffers["radio_ap_buffer_packets"]) == {100.0} and set(buffers["base"]) == {20.0}
    assert plain(study.paired(by="radio.ap_buffer", base="20 packets", measures=["total_goodput_mbps"])).equals(buffers)


def test_fewer_than_two_pairs_have_no_interval(study: ev.Sweep) -> None:
    one = study.runs().to_polars().filter(pl.col("seed") == pl.col("seed").min())
    rows = ev.paired(one, "policy", "fifo", ["total_goodput_mbps"]).to_dicts()
    assert rows and all(row["n"] == 1 and row["low"] is row["p"] is row["p_adjusted"] is row["effect"] is None for row in rows)
    assert len(ev.paired(one.filter(pl.col("policy") == "fifo"), "policy", "fifo")) == 0


def test_impossible_comparisons_are_reported(study: ev.Sweep) -> None:
    with pytest.raises(ValueError, match="policy is never \"fif\"; it is one of fifo, ap-fq-codel, evenair"):
        study.paired(base="fif")
    with pytest.raises(ValueError, match="there is no measure \"total_goodput\"; the nearest are total_goodput_mbps"):
        study.paired(measures=["total_goodput"])
    with pytest.raises(ValueError, match="there is no column \"polic\"; there are radio_ap_buffer_packets, policy"):
        study.paired(by="polic")
    with pytest.raises(ValueError, match="between 0 and 1"):
        study.paired(confidence=95)
    with pytest.raises(ValueError, match="allowed: \"holm\", \"none\""):
        study.paired(adjust="bonferroni")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"write \['jain_flows'\]"):
        study.paired(measures="jain_flows")
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        ev.paired([1, 2])
    with pytest.raises(ValueError, match="a column that tells its runs apart is missing"):
        ev.paired(study.runs().to_polars().drop("radio_ap_buffer_packets"))


def test_ranks_have_their_criterion(study: ev.Sweep) -> None:
    rows = study.rank("total_goodput_mbps").to_dicts()
    phases = {row["phase"] for row in rows}
    assert len(rows) == 6 * len(phases)
    first = [row for row in rows if row["phase"] == rows[0]["phase"]]
    assert [row["rank"] for row in first] == [1, 2, 3, 4, 5, 6]
    means = [row["mean"] for row in first]
    assert means == sorted(means, reverse=True) and first[0]["criterion"] == "greatest total_goodput_mbps"
    delays = [row["mean"] for row in study.rank("-ap.sojourn_mean_ms").to_dicts()[:6]]
    assert delays == sorted(delays)
    bound = delays[2]
    bounded = study.rank("total_goodput_mbps", f"ap.sojourn_mean_ms <= {bound}").to_dicts()[:6]
    met = sum(delay <= bound for delay in delays)
    assert met < 6 and [row["rank"] for row in bounded] == [*range(1, met + 1), *[None] * (6 - met)]
    assert all((row["constraint_mean"] <= bound) == (row["rank"] is not None) for row in bounded)
    with pytest.raises(ValueError, match="nearest are total_goodput_mbps"):
        study.rank("total_goodput")
    with pytest.raises(ValueError, match="with <, <=, > or >="):
        study.rank("total_goodput_mbps", "ap.sojourn_mean_ms")


def test_one_of_its_runs_is_made_again(study: ev.Sweep) -> None:
    scenario = ev.Scenario.example("smoke").with_(duration="8 s")
    again = study.run(policy="evenair", radio_ap_buffer="100 packets", seed=scenario.seed + 2)
    assert again.seed == scenario.seed + 2 and again.scenario.seed == again.seed
    measure = f"phase.{again.scenario.phases[0]}.total_goodput_mbps"
    (kept,) = [
        row["value"]
        for row in study.runs().to_dicts()
        if (row["policy"], row["radio_ap_buffer_packets"], row["seed"]) == ("evenair", 100, again.seed)
        and (row["phase"], row["measure"]) == (again.scenario.phases[0], "total_goodput_mbps")
    ]
    assert again[measure] == kept
    assert study.run(policy="evenair", radio_ap_buffer=100, seed=again.seed).to_json() == again.to_json()
    with pytest.raises(KeyError, match="no key .polcy. in this sweep; there are radio.ap_buffer, policy, seed"):
        study.run(polcy="evenair")
    with pytest.raises(ValueError, match=r"2 points have these values; say also radio.ap_buffer \(20 packets, 100 packets\)"):
        study.run(policy="evenair")
    with pytest.raises(ValueError, match="policy is never evenar"):
        study.run(policy="evenar")
    with pytest.raises(ValueError, match="seed: 99 is none of this point"):
        study.run(policy="evenair", radio_ap_buffer=20, seed=99)


def test_a_store_is_read_as_a_sweep(study: ev.Sweep, tmp_path: Path) -> None:
    again = ev.load(study.store)
    assert isinstance(again, ev.Sweep)
    assert again.status == study.status and again.axes == study.axes
    assert again.runs().to_polars().equals(study.runs().to_polars())
    own = ev.Policy("mine", {"radio": {"ap_queue": {"discipline": "drr"}}})
    made = ev.compare(ev.Scenario.example("smoke").with_(duration="2 s"), ["fifo", own], seeds=2, store=tmp_path / "own")
    read = ev.load(tmp_path / "own")
    assert isinstance(read, ev.Sweep)
    assert read.points().to_polars().equals(made.points().to_polars())
    (tmp_path / "brief").mkdir()
    (tmp_path / "brief" / "experiment.json").write_text('{"identity": "a"}')
    with pytest.raises(ev.StoreError, match="experiment.json has not all of the experiment"):
        ev.load(tmp_path / "brief")


def test_a_sweep_is_cited(study: ev.Sweep) -> None:
    made = study.provenance
    text = made.cite()
    scenario = ev.Scenario.example("smoke").with_({"duration": "8 s"})
    assert scenario.title in text and scenario.digest in text and ev.__version__ in text
    assert "Set: duration = 8 s." in text
    assert "Varied: radio.ap_buffer = 20 packets, 100 packets." in text
    assert "Policies: fifo, ap-fq-codel, evenair." in text
    assert f"Seeds: {scenario.seed} to {scenario.seed + 4}, the same at each point; 30 runs." in text
    assert made.host and made.host in text and made.date.isoformat() in text
