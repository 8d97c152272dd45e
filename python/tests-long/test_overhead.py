"""How much longer a sweep takes on a local cluster of Ray with four workers that is there already than on two threads."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any

import ray

import evenair as ev

#: Approximate duration of the sweep on two threads, in seconds.
WANTED_S = float(os.environ.get("EVENAIR_OVERHEAD_S", "60"))
ROUNDS = 3


def took(seeds: int, on: Any) -> float:
    start = time.monotonic()
    # Runs of less than a second, so that the last ones of a sweep do not occupy a worker for long.
    scenario = ev.Scenario.example("smoke").with_(duration="60 s")
    study = ev.sweep(scenario, {"radio.ap_buffer": ["20 packets", "100 packets"]}, policies=["fifo", "evenair"], seeds=seeds, on=on)
    assert study.status.is_complete
    return time.monotonic() - start


def test_ray_takes_at_most_15_percent_longer_than_threads() -> None:
    on = ev.ray(workers=4)
    took(1, on)
    seeds = max(1, round(5 * WANTED_S / took(5, 2)))
    # In turns, so that other load affects both.
    times = [(took(seeds, 2), took(seeds, on)) for _ in range(ROUNDS)]
    ray.shutdown()
    threads, cluster = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{4 * seeds} runs: threads {threads:.1f} s, Ray {cluster:.1f} s, {100 * (cluster / threads - 1):+.1f} %; {times}")
    assert cluster <= 1.15 * threads, times
