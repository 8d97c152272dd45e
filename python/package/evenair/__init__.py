"""Wi-Fi networks with TCP in virtual time: scenarios, runs and data frames.

>>> import evenair as ev
>>> run = ev.run(ev.Scenario.example("smoke"))
>>> run.valid
True
"""

from . import _evenair
from ._evenair import (
    Frame,
    InvalidRun,
    Policy,
    Problem,
    Progress,
    Run,
    RunError,
    Scenario,
    ScenarioError,
    Simulation,
    Status,
    StoreError,
    WorkerMismatch,
)

# Instead of ``typing``, which takes longer to load than this whole package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import engines, models, plot, sweeps
    from ._arguments import Source as Source
    from ._provenance import Provenance
    from ._runs import load, run
    from .engines import dask, processes, ray
    from .sweeps import Sweep, Until, compare, paired, sweep

__all__ = [
    "Frame",
    "InvalidRun",
    "Policy",
    "Problem",
    "Progress",
    "Provenance",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "Status",
    "StoreError",
    "Sweep",
    "Until",
    "WorkerMismatch",
    "compare",
    "dask",
    "load",
    "models",
    "paired",
    "plot",
    "processes",
    "ray",
    "run",
    "sweep",
]

__version__: str = _evenair.__version__

#: Names that are loaded at their first use, which keeps the import of this package below 20 ms, with the module of each; an
#: empty module: the name is a module itself.
_LAZY = {
    "Provenance": "_provenance",
    "Source": "_arguments",
    "Sweep": "sweeps",
    "Until": "sweeps",
    "compare": "sweeps",
    "dask": "engines",
    "engines": "",
    "load": "_runs",
    "models": "",
    "paired": "sweeps",
    "plot": "",
    "processes": "engines",
    "ray": "engines",
    "run": "_runs",
    "sweep": "sweeps",
    "sweeps": "",
}


# Hidden from type checkers, which would otherwise accept any name of this package.
if not TYPE_CHECKING:

    def __getattr__(name):
        """Loads a name at its first use."""
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        module = import_module(f".{_LAZY[name] or name}", __name__)
        value = getattr(module, name) if _LAZY[name] else module
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """All names, also those that are not loaded yet."""
    return sorted({*globals(), *_LAZY})
