"""The examples run from end to end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_notebook_of_the_anomaly(tmp_path: Path) -> None:
    environment = {**os.environ, "EVENAIR_SHORT": "1"}
    command = [sys.executable, str(EXAMPLES / "anomaly.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "station.slow.mcs" in done.stdout and "Mb/s without a slow laptop" in done.stdout
    assert "16 runs" in done.stdout and "Varied: station.slow.mcs = 0, 11." in done.stdout
    assert (tmp_path / "anomaly.pdf").read_bytes().startswith(b"%PDF")
