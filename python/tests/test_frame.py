"""Frames as Arrow, in the libraries that read it."""

from __future__ import annotations

import csv
import io

import pandas
import polars
import pyarrow
import pytest

import evenair as ev


@pytest.fixture(scope="module")
def frame() -> ev.Frame:
    return ev.run(ev.Scenario.example("smoke")).measures()


def test_polars_pyarrow_and_pandas_read_the_same(frame: ev.Frame) -> None:
    arrow = pyarrow.table(frame)
    assert arrow.column_names == frame.columns
    assert arrow.column("value").to_pylist() == frame["value"]
    assert pyarrow.types.is_dictionary(arrow.schema.field("kind").type)
    assert arrow.column("name").to_pylist() == frame["name"]
    of_polars = polars.DataFrame(frame)
    assert of_polars.shape == (len(frame), len(frame.columns))
    assert of_polars["value"].to_list() == frame["value"]
    assert of_polars["phase"].cast(polars.String).to_list() == frame["phase"]
    of_pandas = frame.to_pandas()
    assert isinstance(of_pandas, pandas.DataFrame)
    assert of_pandas["value"].tolist() == frame["value"]
    assert frame.to_polars().equals(of_polars)
    assert frame.to_arrow().equals(arrow)


def test_the_schema_is_that_of_the_rows(frame: ev.Frame) -> None:
    assert pyarrow.schema(frame) == pyarrow.table(frame).schema


def test_plain_python_needs_no_library(frame: ev.Frame) -> None:
    rows = frame.to_dicts()
    assert len(rows) == len(frame)
    assert [row["value"] for row in rows] == frame["value"]
    read = list(csv.DictReader(io.StringIO(frame.to_csv())))
    assert [float(row["value"]) for row in read] == frame["value"]
    with pytest.raises(KeyError, match="nearest are value"):
        frame["valu"]


def test_a_frame_outlives_its_run() -> None:
    table = pyarrow.table(ev.run(ev.Scenario.example("smoke")).series())
    assert table.num_rows > 0 and table.column("ip_mbps").to_pylist()


def test_a_notebook_shows_ten_rows(frame: ev.Frame) -> None:
    html = frame._repr_html_()  # type: ignore[attr-defined]
    assert html.count("<tr>") == 11 and "more rows" in html
