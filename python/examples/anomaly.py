# %% [markdown]
# # One slow laptop, and the whole room is slow
# Ten cells: the performance anomaly, its repair by airtime fairness, and a figure for a paper. Some minutes on two cores; with
# `EVENAIR_SHORT=1` in the environment, some seconds, of fewer runs. To run it: `pip install "evenair[plot]" polars jupyterlab jupytext`.

# %% 1: a scenario is the TOML format as a dict
import os

import polars as pl

import evenair as ev

is_short = "EVENAIR_SHORT" in os.environ
room = ev.Scenario({
    "version": 1, "name": "room", "title": "Four fast laptops and a slow one", "duration": "8 s" if is_short else "30 s",
    "radio": {"standard": "802.11ax", "ap_buffer": "1000 packets", "edca_parameters": "hostapd"},
    "station": [{"name": "fast", "count": 4, "mcs": 11, "streams": 2}, {"name": "slow", "mcs": 0}],
    "server": [{"name": "server"}],
    "bulk": [{"name": "file", "stations": ["fast", "slow"], "server": "server", "direction": "down"}],
    "phase": [{"name": "steady", "from": "5 s", "to": "8 s" if is_short else "30 s"}],
})  # fmt: skip
room

# %% 2: mistakes have a place and a remedy
try:
    room.with_({"station.slow.mcs": 12})
except ev.ScenarioError as error:
    print(error)

# %% 3: one run; what it found is shown, as it is the last line of the cell
today = ev.run(room, policy="fifo", seed=1)
today

# %% 4: who holds the air
air = today.airtime().to_polars()
air.filter(pl.col("line") == "station").group_by("station").agg(pl.col("measured_share").sum()).sort("measured_share", descending=True)

# %% 5: without the slow one, for comparison: all of a room for one laptop
alone = ev.run(room.with_({"station.slow.mcs": 11, "station.slow.streams": 2}), policy="fifo", seed=1)
print(
    f"{alone['phase.steady.total_goodput_mbps']:.0f} Mb/s without a slow laptop, "
    f"{today['phase.steady.total_goodput_mbps']:.0f} Mb/s with one"
)

# %% 6: the question as an experiment: how slow may it be, and what helps? Stopped and started again it goes on where it was
study = ev.sweep(
    room,
    over={"station.slow.mcs": [0, 11] if is_short else [0, 1, 2, 4, 7, 11]},
    policies=["fifo", "ap-fq-codel", "ap-mac80211", "evenair"],
    seeds=2 if is_short else 10,
    store="results/room",
)
study.status

# %% 7: tidy numbers: a row, a number
total = study.runs().to_polars().filter(pl.col("measure") == "total_goodput_mbps")
total.group_by("policy", "station_slow_mcs").agg(pl.col("value").mean()).sort("policy", "station_slow_mcs")

# %% 8: is it luck? Runs of the same seed in pairs, 95 % intervals, adjusted for the number of questions
study.paired(base="fifo", measures=["total_goodput_mbps", "measured_airtime.jain", "ap.sojourn_p99_ms"]).to_polars()

# %% 9: the figure, with the closed form laid over it
figure = ev.plot.lines(
    study, x="station.slow.mcs", y="total_goodput_mbps", by="policy", size="column",
    models=ev.models.anomaly(room, vary="station.slow.mcs"),
)  # fmt: skip
ev.plot.save(figure, "anomaly.pdf")
figure

# %% 10: what it was made by, for the appendix of the paper
print(study.provenance.cite())
