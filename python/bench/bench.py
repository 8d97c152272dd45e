"""How fast the package is on this machine, as a table: each figure with its bound. Called by ``scripts/python bench``, with the program
``evenair-lab``, the wheel, and the notebook; the environment has what the notebook needs but not the package."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROUNDS = 5
#: Scenarios whose runs are compared, and their durations in simulated seconds: some seconds of CPU time each.
SCENARIOS = {
    "room": "300 s", "adwiser/a10-mixed-rates": "1200 s", "adwiser/a07-calls": "1200 s", "venues/office-11n": "120 s",
    "access-points/e02-three-stations-tcp": "400 s",
}  # fmt: skip

IMPORT = "import evenair"
RUN = """
import sys, time
import evenair as ev
start = time.process_time()
ev.run(sys.argv[1], set={"duration": sys.argv[2]})
print(time.process_time() - start)
"""
#: A million rows: forty flows, 25,000 intervals.
ROWS = """
import statistics, sys, time
import evenair as ev
import pandas, polars, pyarrow
room = ev.Scenario({
    "version": 1, "name": "rows", "duration": "250 s", "measure": {"interval": "10 ms"}, "radio": {"standard": "802.11a"},
    "station": [{"name": "s", "count": 40, "rate": "54 Mb/s"}], "server": [{"name": "server"}],
    "udp": [{"name": "slow", "stations": ["s"], "server": "server", "direction": "down", "rate": "10 kb/s"}],
})
frame = ev.run(room).series()
assert len(frame) == 1_000_000, len(frame)
for convert in (lambda: polars.DataFrame(frame), lambda: pyarrow.table(frame), frame.to_pandas):
    times = []
    for _ in range(int(sys.argv[1])):
        start = time.perf_counter()
        convert()
        times.append(time.perf_counter() - start)
    print(statistics.median(times))
"""
INTERRUPT = """
import os, signal, threading, time
import evenair as ev
# A shell makes its background jobs ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
sent = []
def interrupt():
    time.sleep(1.0)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    ev.run(ev.Scenario.example("room").with_(duration="36000 s"))
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""


class Row(NamedTuple):
    """A figure beside its bound."""

    what: str
    figure: str
    bound: str
    holds: bool


def processor_s(command: list[str]) -> float:
    """Processor time of a command and what it started, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def printed(python: Path, program: str, *arguments: str) -> list[float]:
    done = subprocess.run([python, "-c", program, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return [float(line) for line in done.stdout.split()]


def median(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(ROUNDS))


def importing(python: Path) -> Row:
    # In turns, so that other load affects both.
    above = [processor_s([str(python), "-c", IMPORT]) - processor_s([str(python), "-c", "pass"]) for _ in range(4 * ROUNDS)]
    ms = 1e3 * statistics.median(above)
    return Row("import, processor time above a bare interpreter", f"{ms:.0f} ms", "20 ms", ms <= 20)


def running(python: Path, lab: Path, scenarios: Path) -> list[Row]:
    rows = []
    for name, duration in SCENARIOS.items():
        file = str(scenarios / f"{name}.toml")
        with tempfile.TemporaryDirectory() as out:
            command = [str(lab), "sim", "run", file, "--set", f"duration={duration}", "--out", out, "--json", "--quiet"]
            # In turns, so that other load affects both.
            pairs = [(printed(python, RUN, file, duration)[0], processor_s(command)) for _ in range(ROUNDS)]
        ours, program = (statistics.median(column) for column in zip(*pairs, strict=True))
        figure = f"{ours:.2f} s, the program {program:.2f} s"
        rows.append(Row(f"`ev.run`, {name}, {duration}, processor time", figure, "that of the program", ours <= program))
    return rows


def tables(python: Path) -> list[Row]:
    names = ("polars", "pyarrow", "pandas")
    bounds = (50.0, 50.0, 500.0)
    times = [1e3 * seconds for seconds in printed(python, ROWS, str(ROUNDS))]
    rows = zip(names, times, bounds, strict=True)
    return [Row(f"1,000,000 rows to {name}", f"{ms:.1f} ms", f"{bound:.0f} ms", ms <= bound) for name, ms, bound in rows]


def interrupting(python: Path) -> Row:
    seconds = median(lambda: printed(python, INTERRUPT)[0])
    return Row("Ctrl-C stops a run", f"{seconds:.3f} s", "0.2 s", seconds <= 0.2)


def notebook(wheel: Path, example: Path) -> Row:
    """From a bare environment to the figure. Packages that pip has fetched before are taken from its cache."""
    environment = {name: value for name, value in os.environ.items() if name != "EVENAIR_SHORT"}
    with tempfile.TemporaryDirectory() as folder:
        bare, start = Path(folder) / "venv", time.monotonic()
        venv.create(bare, with_pip=True)
        pip = [str(bare / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{wheel}[plot]", "polars"], check=True)
        installed = time.monotonic() - start
        subprocess.run([bare / "bin/python", example], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
        took = time.monotonic() - start
        assert (Path(folder) / "anomaly.pdf").read_bytes().startswith(b"%PDF")
    cores = os.cpu_count()
    return Row(f"notebook, from `pip install` to its figure, {cores} cores", f"{took:.0f} s, {installed:.0f} s of it pip", "120 s", took <= 120)


def main() -> int:
    python, lab, wheel, root = (Path(argument).absolute() for argument in sys.argv[1:5])
    size = wheel.stat().st_size / 1e6
    measurements: list[Callable[[], list[Row]]] = [
        lambda: [Row("wheel", f"{size:.2f} MB", "8 MB", size <= 8)],
        lambda: [importing(python)],
        lambda: tables(python),
        lambda: [interrupting(python)],
        lambda: running(python, lab, root / "scenarios"),
        lambda: [notebook(wheel, root / "python/examples/anomaly.py")],
    ]
    print("| what | here | at most | |\n|---|---|---|---|")
    held = True
    for measure in measurements:
        for row in measure():
            print(f"| {row.what} | {row.figure} | {row.bound} | {'holds' if row.holds else 'MISSED'} |", flush=True)
            held &= row.holds
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
