"""Figures: words, intervals, categories, and files."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy
import polars
import pytest
from matplotlib.figure import Figure

import evenair as ev

POLICIES = ("fifo", "ap-mac80211", "evenair")


class Sweep:
    """What a sweep gives, made by hand: a total and two stations, over an axis."""

    def __init__(self, axis: str, values: list[Any], seeds: int = 3) -> None:
        self.axis, self.values, self.seeds = axis, values, seeds

    def _rows(self, **more: Any) -> list[dict[str, Any]]:
        keys = [("run", None, "total_goodput_mbps"), ("station", "a", "goodput_mbps"), ("station", "b", "goodput_mbps")]
        return [
            {self.axis: value, "policy": policy, "phase": "steady", "kind": kind, "name": name, "measure": measure,
             "unit": "Mb/s", "at": 10.0 * (row + 1) + place + 3 * (name == "b"), **more}
            for row, policy in enumerate(POLICIES) for place, value in enumerate(self.values) for kind, name, measure in keys
        ]  # fmt: skip

    def points(self) -> polars.DataFrame:
        frame = polars.DataFrame(self._rows(n=self.seeds, sd=1.0)).with_columns(mean=polars.col("at"))
        return frame.with_columns(low=polars.col("mean") - 2.0, high=polars.col("mean") + 2.0).drop("at")

    def runs(self) -> polars.DataFrame:
        frames = [polars.DataFrame(self._rows(seed=seed)).with_columns(value=polars.col("at") + seed) for seed in range(self.seeds)]
        return polars.concat(frames).drop("at")


@pytest.fixture
def sweep() -> Sweep:
    return Sweep("station_slow_mcs", [0, 1, 2, 4, 7, 11])


@pytest.fixture(scope="module")
def smoke() -> ev.Run:
    return ev.run(ev.Scenario.example("smoke"))


def texts(figure: Figure) -> list[str]:
    axes = figure.axes[0]
    return [" ".join(text.split()) for text in (axes.get_xlabel(), axes.get_ylabel())]


def joined(figure: Figure) -> int:
    """Lines of data that join their points."""
    return sum(line.get_linestyle() not in ("None", "") and len(line.get_xdata()) > 1 for line in figure.axes[0].lines)  # type: ignore[arg-type]


def test_lines_say_in_words_what_they_show(sweep: Sweep) -> None:
    figure = ev.plot.lines(sweep, "station.slow.mcs", "total_goodput_mbps")
    assert texts(figure) == ["MCS of station slow", "Bytes that applications received (Mb/s)"]
    assert figure.get_size_inches()[0] == pytest.approx(3.5)
    assert figure.axes[0].xaxis.label.get_fontsize() == 8
    assert joined(figure) == len(POLICIES)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(POLICIES)
    styles = {(line.get_color(), line.get_marker()) for line in figure.axes[0].lines if line.get_label() or len(line.get_xdata()) == 6}  # type: ignore[arg-type]
    assert len(styles) >= len(POLICIES)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    # One confidence interval at each point.
    assert len(figure.axes[0].containers) == len(POLICIES)


@pytest.mark.parametrize("of", ["runs", "points", "frame", "pandas", "arrow", "rows"])
def test_any_table_is_taken(sweep: Sweep, of: str) -> None:
    points = sweep.points()
    taken = {"runs": sweep.runs, "points": lambda: points, "frame": lambda: sweep, "pandas": points.to_pandas, "arrow": points.to_arrow, "rows": points.to_dicts}[of]()  # fmt: skip
    assert joined(ev.plot.lines(taken, "station.slow.mcs", "total_goodput_mbps")) == len(POLICIES)


def test_intervals_of_runs_are_students(sweep: Sweep) -> None:
    figure = ev.plot.bars(sweep.runs().filter(polars.col("station_slow_mcs") == 0), "total_goodput_mbps")
    # 10, 11, 12: mean 11, standard deviation 1, t = 4.3027 with two degrees of freedom.
    segments = figure.axes[0].collections[0].get_segments()  # type: ignore[attr-defined]
    assert segments[0][:, 1] == pytest.approx([11 - 4.3027 / 3**0.5, 11 + 4.3027 / 3**0.5], abs=1e-3)


def test_categories_are_never_joined() -> None:
    figure = ev.plot.lines(Sweep("radio_standard", ["802.11b", "802.11n", "802.11ax"]), "radio.standard", "total_goodput_mbps")
    assert joined(figure) == 0
    assert texts(figure)[0] == "Standard"
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["802.11b", "802.11n", "802.11ax"]


def test_closed_forms_are_laid_over_it() -> None:
    room = ev.Scenario.example("room")
    model = ev.models.anomaly(room, vary="station.slow.mcs")
    figure = ev.plot.lines(Sweep("station_slow_mcs", [0, 11]), "station.slow.mcs", "total_goodput_mbps", models=model)
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == [*POLICIES, "equal packets (model)", "equal airtime (model)"]


def test_bars_by_station(sweep: Sweep) -> None:
    data = sweep.points().filter(polars.col("station_slow_mcs") == 0)
    figure = ev.plot.bars(data, "station.goodput_mbps", x="name")
    assert len(figure.axes[0].patches) == 2 * len(POLICIES)
    assert texts(figure) == ["Station", "What the station's applications received, either end (Mb/s)"]
    with pytest.raises(ValueError, match="name"):
        ev.plot.bars(data, "station.goodput_mbps")
    with pytest.raises(ValueError, match="station_slow_mcs"):
        ev.plot.bars(sweep, "total_goodput_mbps")


def test_figures_of_a_run(smoke: ev.Run) -> None:
    phase = smoke.scenario.phases[0]
    figure = ev.plot.airtime(smoke, phase=phase)
    wide = sum(patch.get_width() for patch in figure.axes[0].patches)  # type: ignore[attr-defined]
    assert wide == pytest.approx(100.0, abs=0.01)
    assert "%" in texts(figure)[0]
    assert texts(ev.plot.series(smoke)) == ["Time (s)", "Bytes that the flow's receiver got (Mb/s)"]
    assert "RTT" not in texts(ev.plot.series(smoke, "rtt_ms"))[1]
    figure = ev.plot.cdf(smoke, "station.goodput_mbps", phase=phase)
    assert numpy.max(figure.axes[0].lines[0].get_ydata()) == 1.0


def test_paired_differences_have_a_zero_and_intervals() -> None:
    rows = [
        {"station_slow_mcs": 0, "policy": policy, "phase": "steady", "kind": kind, "name": None, "measure": measure, "unit": "",
         "mean": at, "low": at - 1, "high": at + 1, "percent": 10.0, "p": 0.01}
        for kind, measure in [("run", "total_goodput_mbps"), ("medium", "measured_airtime.jain")]
        for at, policy in enumerate(POLICIES)
    ]  # fmt: skip
    figure = ev.plot.paired(rows, size="page")
    assert len(figure.axes) == 2
    assert texts(figure)[0].startswith("Difference: Bytes that applications received")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list(POLICIES)


def test_an_unknown_name_is_reported_with_the_three_closest(sweep: Sweep) -> None:
    with pytest.raises(KeyError, match="total_goodput_mbps"):
        ev.plot.lines(sweep, "station.slow.mcs", "total_goodput")
    with pytest.raises(KeyError, match="station_slow_mcs"):
        ev.plot.lines(sweep, "station.slow.msc", "total_goodput_mbps")
    with pytest.raises(KeyError, match="the data have no"):
        ev.plot.lines(sweep, "station.slow.mcs", "total_ip_mbps")
    with pytest.raises(KeyError, match="steady"):
        ev.plot.lines(sweep, "station.slow.mcs", "total_goodput_mbps", phase="stedy")
    with pytest.raises(ValueError, match="column, page, slide"):
        ev.plot.lines(sweep, "station.slow.mcs", "total_goodput_mbps", size="poster")  # type: ignore[arg-type]


def streams(pdf: bytes) -> bytes:
    """A PDF with its streams inflated: objects may be in them."""
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    inflated = [zlib.decompressobj().decompress(data) for data in found if data[:1] == b"x"]
    return b"\n".join([pdf, *inflated])


@pytest.mark.parametrize("kind", ["pdf", "svg", "png", "eps"])
def test_the_same_data_are_the_same_bytes(sweep: Sweep, tmp_path: Path, kind: str) -> None:
    written = []
    # To embed a font in EPS, matplotlib reads all its glyphs, which takes seconds.
    for at in range(1 if kind == "eps" else 2):
        figure = ev.plot.lines(sweep, "station.slow.mcs", "total_goodput_mbps")
        ev.plot.save(figure, tmp_path / f"{at}.{kind}")
        written.append((tmp_path / f"{at}.{kind}").read_bytes())
    code = (
        "import sys, evenair as ev, polars\n"
        "figure = ev.plot.lines(polars.read_parquet(sys.argv[1]), 'station.slow.mcs', 'total_goodput_mbps')\n"
        "ev.plot.save(figure, sys.argv[2])\n"
    )
    sweep.points().write_parquet(tmp_path / "points.parquet")
    command = [sys.executable, "-c", code, str(tmp_path / "points.parquet"), str(tmp_path / f"other.{kind}")]
    subprocess.run(command, check=True)
    written.append((tmp_path / f"other.{kind}").read_bytes())
    assert len(set(written)) == 1
    content = streams(written[0])
    assert f"evenair {ev.__version__}".encode() in content
    assert b"CreationDate" not in content and b"<dc:date>" not in content
    if kind == "pdf":
        assert b"/Type3" not in content and b"/FontFile2" in content
        if shutil.which("pdffonts"):
            fonts = subprocess.run(["pdffonts", str(tmp_path / "0.pdf")], check=True, capture_output=True, text=True).stdout
            assert "Type 3" not in fonts and "TrueType" in fonts


def test_another_ending_is_refused(sweep: Sweep, tmp_path: Path) -> None:
    figure = ev.plot.lines(sweep, "station.slow.mcs", "total_goodput_mbps")
    with pytest.raises(ValueError, match="pdf, svg, png, eps"):
        ev.plot.save(figure, tmp_path / "figure.docx")


def test_without_matplotlib_the_remedy_is_named() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import evenair as ev\n"
        "try: ev.plot.lines([], 'x', 'y')\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "evenair[plot]"' in done.stdout
