"""What a sweep was made by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime


@dataclass(frozen=True)
class Provenance:
    """What a sweep was made by: enough to make it again. ``Sweep.provenance`` has it.

    >>> print(study.provenance.cite())  # doctest: +SKIP
    """

    title: str
    scenario: str
    """The scenario's name."""
    text: str
    """Its TOML."""
    settings: Mapping[str, str]
    """What is set in all runs."""
    digest: str
    """Of text and settings."""
    varied: Mapping[str, list[str]]
    """The values of each key that varies; ``policy`` is one of them."""
    seeds: tuple[int, int]
    """The first one and the last one."""
    runs: int
    """Runs that ended well."""
    version: str
    """Of this package, with the commit."""
    program: str
    """The simulator that made the runs, as their keys have it: version and hash of its sources."""
    host: str | None
    """The machine that made the last runs; ``None`` where this was loaded."""
    date: datetime.date
    """Of the last run."""

    @property
    def policies(self) -> list[str]:
        """The policies; empty where the scenario was run as it is."""
        return list(self.varied.get("policy", []))

    def cite(self) -> str:
        """Text for an appendix, a line for each fact.

        >>> print(study.provenance.cite())  # doctest: +SKIP
        """
        facts = [f"{self.title or self.scenario}.", f"Simulated with Evenair {self.version} (simulator {self.program})."]
        facts.append(f"Scenario: {self.scenario}, digest {self.digest}.")
        if self.settings:
            facts.append("Set: " + ", ".join(f"{key} = {value}" for key, value in self.settings.items()) + ".")
        for key, values in self.varied.items():
            if key != "policy":
                facts.append(f"Varied: {key} = {', '.join(values)}.")
        if self.policies:
            facts.append(f"Policies: {', '.join(self.policies)}.")
        first, last = self.seeds
        facts.append(f"Seeds: {first} to {last}, the same at each point; {self.runs} runs.")
        on = f" on {self.host}" if self.host else ""
        facts.append(f"Made{on}, {self.date.isoformat()}.")
        return "\n".join(facts)
