"""Types of the compiled part."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, final

from typing_extensions import Self

__all__ = [
    "Experiment", "Frame", "InvalidRun", "Policy", "Problem", "Progress", "Run", "RunError", "Scenario", "ScenarioError",
    "Simulation", "Status", "StoreError", "WorkerMismatch", "__version__", "anomaly", "catalogue", "check_measure",
    "cite", "column_label", "interval", "load", "paired", "run", "run_batch",
]

__version__: str

_Source = Scenario | Mapping[str, Any] | str | os.PathLike[str]
_Kind = Literal[
    "run", "medium", "station", "flow", "sender", "access_point", "domain", "class", "rate", "direction", "loss", "place", "call",
    "page", "transfer", "echo", "application",
]

_Series = Literal["flow", "station", "sender", "access_point", "domain", "medium", "place"]

class ScenarioError(ValueError):
    """A scenario or a policy is wrong; ``problems`` has each place."""

    problems: tuple[Problem, ...]

class InvalidRun(RuntimeError):
    """The numbers of a run that says of itself that it is not valid."""

class RunError(RuntimeError):
    """A scenario or a command asks for what the simulator does not do."""

class StoreError(RuntimeError):
    """A folder belongs to another experiment, or another process writes to it."""

class WorkerMismatch(RuntimeError):
    """A worker of an engine has another build of the simulator, or none: it makes no run."""

@final
class Problem:
    """One place of a scenario that is wrong."""

    path: str
    """The key's path, such as ``station[2].rate``; empty where no key is concerned."""
    message: str
    allowed: str
    """What would be right; empty where any value of the kind is."""
    guess: str | None
    """A likely spelling."""
    file: str | None
    """The file, or the setting; ``None`` where the source was a mapping."""
    line: int | None
    column: int | None

@final
class Frame:
    """Named columns of equal length. Implements the Arrow PyCapsule interface, so that ``polars.DataFrame(frame)``,
    ``pyarrow.table(frame)`` and DuckDB take it over without a copy of its numbers. Text columns are dictionary-encoded."""

    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, column: str, /) -> list[Any]: ...
    def to_dicts(self) -> list[dict[str, Any]]: ...
    def to_csv(self) -> str: ...
    def to_polars(self) -> Any: ...
    def to_arrow(self) -> Any: ...
    def to_pandas(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

@final
class Policy:
    """A way to manage a WLAN: the tables ``manager``, ``radio`` and ``telemetry`` of a scenario, or some of them, under a name."""

    def __new__(cls, name: str, tables: Mapping[str, Any] | str | os.PathLike[str]) -> Self: ...
    @staticmethod
    def known() -> Frame: ...
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...

@final
class Progress:
    """How far a run has come."""

    at_s: float
    duration_s: float
    total_ip_mbps: float
    ap_queue_packets: int
    @property
    def part(self) -> float: ...

@final
class Scenario:
    """What a run is made of: radio, stations, applications, phases. Checked, immutable, hashable, picklable."""

    def __new__(cls, source: Mapping[str, Any] | str | os.PathLike[str]) -> Self: ...
    @staticmethod
    def example(name: str) -> Scenario: ...
    @staticmethod
    def examples() -> Frame: ...
    def with_(self, values: Mapping[str, Any] | None = None, /, **keys: Any) -> Scenario: ...
    def policy(self, policy: str | Policy) -> Scenario: ...
    def check(self) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def stations(self) -> list[str]: ...
    @property
    def applications(self) -> list[str]: ...
    @property
    def phases(self) -> list[str]: ...
    @property
    def published(self) -> Frame: ...
    @property
    def text(self) -> str: ...
    @property
    def settings(self) -> dict[str, str]: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def digest(self) -> str: ...

@final
class Run:
    """The results of one run. Tables of a run that is not valid raise ``InvalidRun`` unless ``allow_invalid``."""

    @property
    def valid(self) -> bool: ...
    @property
    def why_invalid(self) -> list[str]: ...
    @property
    def scenario(self) -> Scenario: ...
    @property
    def seed(self) -> int: ...
    @property
    def engine(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def provenance(self) -> dict[str, Any]: ...
    def __getitem__(self, name: str, /) -> float: ...
    def measures(self, kind: _Kind | None = None, *, allow_invalid: bool = False) -> Frame: ...
    def airtime(self, *, allow_invalid: bool = False) -> Frame: ...
    def series(self, kind: _Series = "flow", *, allow_invalid: bool = False) -> Frame:
        """A row for each interval of each flow, station or what else ``kind`` is: ``time_s`` (its end), what it is of, its values."""
    def rtt(self, application: str, *, allow_invalid: bool = False) -> Frame:
        """The histogram of an application's round-trip times, for distribution functions: ``phase``, ``rtt_ms`` (upper end of a
        bucket), ``count``, ``cumulative_share`` (the part of the phase's round trips that are not above it)."""
    def transfers(self, *, allow_invalid: bool = False) -> Frame: ...
    def pages(self, *, allow_invalid: bool = False) -> Frame: ...
    def calls(self, *, allow_invalid: bool = False) -> Frame: ...
    def events(self) -> Frame: ...
    def summary(self) -> str: ...
    def to_json(self) -> str: ...
    def report(self, path: str | os.PathLike[str]) -> None: ...
    def save(self, folder: str | os.PathLike[str], *, pictures: bool = False) -> None: ...
    def _repr_html_(self) -> str: ...

@final
class Status:
    """How a sweep stands.

    >>> study.status
    240 runs: 120 known, 2 failed, 118 missing
    """

    def __new__(cls, planned: int, known: int, failed: int = 0, left_s: float | None = None) -> Self: ...
    planned: int
    """Runs in all."""
    known: int
    """Runs that ended well."""
    failed: int
    left_s: float | None
    """How long the rest takes, if runs take as long as they did so far; ``None`` where that is not known."""
    @property
    def missing(self) -> int: ...
    @property
    def is_complete(self) -> bool: ...

@final
class Experiment:
    """A plan of runs and the folder where they are kept: what ``Sweep`` is made of."""

    def __new__(
        cls,
        scenario: _Source,
        wanted: Mapping[str, Any],
        store: str | os.PathLike[str],
    ) -> Self:
        """``wanted``: ``axes`` (key, values, whether it advances together with the one before; ``None``: the scenario's own),
        ``policies``, ``seeds`` (how many) and ``series`` (kinds that are kept)."""
    def run(self, threads: int, report: Callable[[Status], None] | None = None) -> None: ...
    def raise_runs(self, measure: str, half_width: float, most: int) -> int: ...
    def missing(self) -> list[bytes]:
        """The jobs of the runs that have not ended well, for ``run_batch``. A run that failed is among them."""
    def add(self, record: bytes) -> bool:
        """Keep a record that ``run_batch`` made: whether its run ended well."""
    def give_up(self, job: bytes, reason: str) -> None:
        """Keep the reason why there is no record of a job."""
    def release(self) -> None:
        """Write what was found, ``sweep.json``, and let other processes write to the folder."""
    @staticmethod
    def of_folder(folder: str | os.PathLike[str]) -> Experiment: ...
    def scenario_at(self, keys: Mapping[str, Any], seed: int | None = None) -> Scenario: ...
    def paired(self, asked: Mapping[str, Any]) -> Frame: ...
    def rank(self, by: str, constraint: str | None = None) -> Frame: ...
    def runs(self) -> Frame: ...
    def series(self, kind: str) -> Frame: ...
    def points(self, confidence: float) -> Frame: ...
    @property
    def failed(self) -> Frame: ...
    @property
    def status(self) -> Status: ...
    @property
    def axes(self) -> list[tuple[str, list[str]]]: ...
    @property
    def made(self) -> dict[str, Any]:
        """What made the folder: ``command``, ``version``, ``program``, ``host``, ``date``, as far as it says it."""
    @property
    def program(self) -> str: ...
    @property
    def seeds(self) -> list[tuple[int, int]]: ...
    @property
    def scenario(self) -> Scenario: ...

@final
class Simulation:
    """A run in virtual time that is stepped, commanded and observed. Its result is that of ``run``, however it is stepped."""

    def __new__(
        cls,
        scenario: _Source,
        seed: int | None = None,
        *,
        policy: str | Policy | None = None,
        set: Mapping[str, Any] | None = None,
        has_box: bool = False,
    ) -> Self:
        """``has_box``: there is a box to insert, bypassed at first, though no event of the scenario inserts it."""
    def step(self, until: float) -> None:
        """Run until ``until``, in seconds since the start: all that is due before it has happened then."""
    def command(self, **keys: Any) -> None:
        """Do now what an ``[[event]]`` with these keys does: ``command(do="rate", station="near", rate="6 Mb/s")``."""
    def observe(self) -> dict[str, Any]:
        """The state now: ``at_s``, ``mode``, ``held_packets``, ``ap_queue_packets``, ``stations``, ``flows``."""
    @property
    def now(self) -> float: ...
    @property
    def is_over(self) -> bool: ...
    def result(self) -> Run: ...

def anomaly(
    scenario: _Source, *, vary: str | None = None, values: list[Any] | None = None, phase: str | None = None
) -> Frame: ...
def catalogue() -> Frame: ...
def cite(of: Mapping[str, Any], /) -> str:
    """The text of a citation of what ``Provenance`` has."""
def interval(values: list[float]) -> tuple[float, float | None, float | None] | None: ...
def column_label(column: str) -> tuple[str, str]: ...
def run(
    scenario: _Source,
    *,
    policy: str | Policy | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    trace: str | os.PathLike[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Run: ...
def check_measure(name: str) -> None: ...
def paired(frame: Any, asked: Mapping[str, Any]) -> Frame: ...
def load(folder: str | os.PathLike[str]) -> Run: ...
def run_batch(jobs: list[bytes]) -> list[bytes]:
    """Make the runs of some jobs of ``Experiment.missing``, one after the other: their records.

    :raises WorkerMismatch: a job is for another build; no run is made.
    """
