"""The examples run from end to end."""

from __future__ import annotations

import html
from pathlib import Path

import jupytext  # type: ignore[import-untyped]
import nbclient
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_notebook_of_the_anomaly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENAIR_SHORT", "1")
    notebook = jupytext.read(EXAMPLES / "anomaly.py")
    client = nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    cells = [cell["outputs"] for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) == 10

    def printed(number: int) -> str:
        return "".join(output["text"] for output in cells[number - 1] if output["output_type"] == "stream")

    def shown(number: int, form: str) -> str:
        return "".join(output["data"].get(form, "") for output in cells[number - 1] if "data" in output)

    assert "station.slow.mcs" in printed(2) and "Mb/s without a slow laptop" in printed(5)
    assert "16 runs" in printed(10) and "Varied: station.slow.mcs = 0, 11." in printed(10)
    # The run is shown as a card, in a frame from which no style leaks; tables and the figure are shown as such.
    card = html.unescape(shown(3, "text/html"))
    assert card.startswith("<iframe") and "Four fast laptops and a slow one" in card and card.count("<svg") == 2
    assert "<table" in shown(7, "text/html") and shown(9, "image/png")
    assert (tmp_path / "anomaly.pdf").read_bytes().startswith(b"%PDF")
