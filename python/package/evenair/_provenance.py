"""What a sweep was made by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _evenair

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
    """Of the program or package that made the runs, with the commit."""
    program: str
    """The simulator that made the runs, as their keys have it: version and hash of its sources."""
    host: str | None
    """The machine where the sweep began; ``None`` where an earlier version made it."""
    date: datetime.date
    """When it began, in UTC."""

    @property
    def policies(self) -> list[str]:
        """The policies; empty where the scenario was run as it is."""
        return list(self.varied.get("policy", []))

    def cite(self) -> str:
        """Text for an appendix, a line for each fact.

        >>> print(study.provenance.cite())  # doctest: +SKIP
        """
        facts = {**vars(self), "settings": list(self.settings.items()), "varied": list(self.varied.items())}
        return _evenair.cite({**facts, "date": self.date.isoformat()})
