"""The box's insertion as a Gymnasium-style environment, without Gymnasium: an agent decides each 100 ms who holds the queues.

`reset` and `step` have the shapes of `gymnasium.Env`; a subclass of it only adds `action_space` and `observation_space`.
"""

from __future__ import annotations

from typing import Any

import evenair as ev

STEP_S = 0.1


class Insertion:
    """Actions: 0 leaves the queues to the access point, 1 lets the box hold them."""

    def __init__(self, scenario: ev.Scenario) -> None:
        self.scenario = scenario
        self.simulation = ev.Simulation(scenario, has_box=True)

    def reset(self, *, seed: int | None = None) -> tuple[list[float], dict[str, Any]]:
        self.simulation = ev.Simulation(self.scenario, seed, has_box=True)
        state = self.simulation.observe()
        return self.seen(state), state

    def step(self, action: int) -> tuple[list[float], float, bool, bool, dict[str, Any]]:
        before = self.simulation.observe()
        wanted = "insert" if action else "bypass"
        if (before["mode"] == "inserted") != bool(action):
            self.simulation.command(do=wanted)
        self.simulation.step(self.simulation.now + STEP_S)
        state = self.simulation.observe()
        carried = sum(flow["delivered_bytes"] for flow in state["flows"]) - sum(f["delivered_bytes"] for f in before["flows"])
        # Mb/s, minus one for each ten packets that wait in the access point.
        reward = carried * 8e-6 / STEP_S - state["ap_queue_packets"] / 10
        return self.seen(state), reward, False, self.simulation.is_over, state

    @staticmethod
    def seen(state: dict[str, Any]) -> list[float]:
        return [float(state["ap_queue_packets"]), float(state["held_packets"])]


if __name__ == "__main__":
    environment = Insertion(ev.Scenario.example("room").with_(duration="12 s"))
    for action in (0, 1):
        environment.reset(seed=1)
        total, over = 0.0, False
        while not over:
            seen, reward, terminated, over, state = environment.step(action)
            total += reward
        print("inserted" if action else "bypassed", round(total))
