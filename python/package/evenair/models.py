"""Closed forms, as frames that are laid over simulated points.

>>> import evenair as ev
>>> frame = ev.models.anomaly(ev.Scenario.example("room"), vary="station.slow.mcs", values=[0, 11])
>>> sorted(set(frame["model"]))
['equal airtime', 'equal packets']
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import _evenair

if TYPE_CHECKING:
    from ._arguments import Source
    from ._evenair import Frame

__all__ = ["anomaly"]


def anomaly(
    scenario: Source,
    *,
    vary: str | None = None,
    values: Iterable[Any] | None = None,
    phase: str | None = None,
) -> Frame:
    """The performance anomaly (Heusse et al., INFOCOM 2003) of a scenario's stations, and what equal airtime gives instead.

    A row for each value, phase, model, and station: the varied key as in the frames of a sweep (``station_slow_mcs``), ``model``,
    ``phase``, ``kind``, ``name``, ``measure`` (``total_goodput_mbps`` of the kind ``run``, ``goodput_mbps`` of the kind
    ``station``), ``unit``, ``value``. The models:

    - ``equal packets``, of downloads: one FIFO at the access point, in which each flow has the same number of packets;
    - ``equal accesses``, of uploads: DCF gives each station the same number of accesses, each with a packet or an aggregate;
    - ``equal airtime``: each station has the same time.

    The times are those of the simulator's standards: inter-frame spaces, back-off, RTS, aggregates as large as format, scenario
    and the flow's part of the buffer allow, ACKs of the MAC and of TCP (one for two packets with delayed ACKs). Of TCP the
    contention is that of DATA with its ACKs; uploads of datagrams contend as in Bianchi's model. Senders always have packets.
    Losses, beacons, encryption, several PPDUs in a TXOP and the windows of TCP are left out.

    Beside the simulator: datagrams through a FIFO, uploads of datagrams, and the box's airtime fairness are within some percent. TCP
    does not fill a FIFO evenly where an access takes all packets of one receiver (aggregates with the order ``arrival``): the fast
    flows' packets overtake, and ``equal packets`` is what such a FIFO gives at least. An access point that holds the shares of
    airtime less strictly gives less than ``equal airtime`` (``ap-mac80211`` with a station at MCS 0: a sixth).

    :param vary: a key as ``Scenario.with_`` takes it, such as ``station.slow.mcs``.
    :param values: its values; not needed of a key ``mcs`` or ``rate``, whose values all are taken.
    :param phase: one phase; ``None``: all of the scenario.
    :raises ValueError: the closed form does not apply, and why: traffic of several kinds, losses, rate control, several access
        points.
    :raises ScenarioError: a value is wrong.
    :raises KeyError: there is no such phase.

    >>> from evenair import Scenario
    >>> rows = anomaly(Scenario.example("room")).to_dicts()
    >>> [row["model"] for row in rows if row["measure"] == "total_goodput_mbps"]
    ['equal packets', 'equal airtime']
    """
    return _evenair.anomaly(scenario, vary=vary, values=None if values is None else list(values), phase=phase)
