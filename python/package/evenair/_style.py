"""How figures look and how they are written: sizes, colours, fonts, files that are the same bytes for the same data."""

from __future__ import annotations

import io
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _evenair

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    _Size = Literal["column", "page", "slide"]

#: Okabe and Ito's colours, which are distinct for any colour vision; yellow, too light for lines, comes last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES: tuple[Any, ...] = (
    "-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1.5, 1)), (0, (8, 2)), (0, (3, 1)), (0, (1, 1.5)), (0, (6, 1, 1, 1, 1, 1)),
)  # fmt: skip
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----", "++++", "oooo")
#: Suffix of the name of a closed form.
MODEL = " (model)"
#: Colours of closed forms.
GREYS = ("#000000", "#777777", "#AAAAAA")


class _Form(NamedTuple):
    width: float
    height: float
    points: float


#: Width and height in inches, and text size in points.
_FORMS: dict[str, _Form] = {"column": _Form(3.5, 2.5, 8), "page": _Form(7.16, 3.2, 8), "slide": _Form(10, 5.6, 18)}


def settings(size: _Size) -> dict[str, Any]:
    """Of matplotlib, which hold while a figure is made and while it is written."""
    if size not in _FORMS:
        raise ValueError(f"no size {size!r}; allowed: {', '.join(_FORMS)}")
    points = _FORMS[size].points
    scale = points / 8
    return {
        "font.size": points, "axes.labelsize": points, "axes.titlesize": points, "legend.fontsize": points - 1,
        "xtick.labelsize": points - 1, "ytick.labelsize": points - 1, "font.family": "DejaVu Sans",
        "lines.linewidth": 1.1 * scale, "lines.markersize": 3.5 * scale, "axes.linewidth": 0.6 * scale,
        "xtick.major.width": 0.6 * scale, "ytick.major.width": 0.6 * scale, "grid.linewidth": 0.4 * scale,
        "hatch.linewidth": 0.6 * scale, "errorbar.capsize": 2 * scale, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "grid.color": "#DDDDDD", "axes.axisbelow": True, "legend.frameon": False,
        "legend.handlelength": 2.4, "legend.borderaxespad": 0.2, "legend.columnspacing": 1.2,
    }  # fmt: skip


#: Settings of matplotlib while a figure is written.
_WRITTEN: Mapping[str, Any] = {
    "pdf.fonttype": 42, "ps.fonttype": 42, "pdf.use14corefonts": False, "svg.hashsalt": "evenair", "svg.fonttype": "path",
    "pdf.compression": 6, "savefig.dpi": 300, "savefig.bbox": None, "savefig.transparent": False,
}  # fmt: skip


def matplotlib() -> Any:
    """The library, which the package needs for figures alone."""
    try:
        import matplotlib.figure
    except ImportError as missing:
        raise ImportError('figures need matplotlib: pip install "evenair[plot]"') from missing
    return matplotlib


def _png(made: Figure) -> bytes:
    """What notebooks show."""
    out = io.BytesIO()
    made.savefig(out, format="png", dpi=150)
    return out.getvalue()


def figure(size: _Size, panels: int = 1, height: float = 1.0) -> tuple[Figure, list[Axes]]:
    """A figure with panels below one another, that notebooks show. ``height`` is a factor."""
    library = matplotlib()
    picture = type("Picture", (library.figure.Figure,), {"_repr_png_": _png})
    form = _FORMS[size]
    made: Figure = picture(figsize=(form.width, form.height * height), layout="constrained")
    return made, [made.add_subplot(panels, 1, at + 1) for at in range(panels)]


def wrapped(words: str, of_inches: float, size: _Size) -> str:
    """A label in lines that fit along an axis: a character is about 0.52 of the text's size wide."""
    return textwrap.fill(words, max(12, int(of_inches * 72 / (0.54 * _FORMS[size].points))))


def inches(words: str, size: _Size) -> float:
    """How long words at a tick are, nearly: text is about half as wide as high."""
    return len(words) * 0.5 * (_FORMS[size].points - 1) / 72


def label_axes(axes: Axes, x: str, y: str, size: _Size, left: float = 0.7) -> None:
    """Words at the axes, of which ``left`` inches are taken by what is beside the vertical one."""
    form = _FORMS[size]
    whole = axes.get_figure(root=True)
    tall = form.height if whole is None else whole.get_size_inches()[1] / len(whole.axes)
    axes.set_xlabel(wrapped(x, form.width - left, size))
    axes.set_ylabel(wrapped(y, tall - 0.5 * form.points / 8 - 0.2, size))


def legend(made: Figure, axes: Axes, size: _Size) -> None:
    """Above the axes, where it hides nothing; none for one entry."""
    handles, words = axes.get_legend_handles_labels()
    if len(words) < 2:
        return
    # Closed forms come last.
    order = sorted(range(len(words)), key=lambda at: words[at].endswith(MODEL))
    handles, words = [handles[at] for at in order], [words[at] for at in order]
    longest = max(inches(word, size) for word in words) + 0.55 * _FORMS[size].points / 8
    columns = max(1, min(len(words), int(_FORMS[size].width / longest)))
    made.legend(handles, words, loc="outside upper center", ncols=columns)


def save(made: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PDF, SVG, EPS or PNG, by the ending of the name.

    Fonts are embedded as TrueType (type 42: publishers refuse type 3), there is no date in the file, and the version and what is
    drawn are in its metadata. The same figure gives the same bytes, with the same version of matplotlib.

    :raises ValueError: another ending.

    >>> from evenair import plot
    >>> plot.save(figure, "anomaly.pdf")  # doctest: +SKIP
    """
    library = matplotlib()
    kind = Path(path).suffix.lower().lstrip(".")
    program, what = f"evenair {_evenair.__version__}", made.get_label()
    metadata: dict[str, dict[str, str | None]] = {
        "pdf": {"Creator": program, "Subject": str(what), "CreationDate": None},
        "svg": {"Creator": program, "Description": str(what), "Date": None},
        "png": {"Software": program, "Description": str(what)},
        "eps": {"Creator": program},
    }
    if kind not in metadata:
        raise ValueError(f"a figure cannot be written as {kind or 'a file without ending'!r}; allowed: {', '.join(metadata)}")
    out = io.BytesIO()
    with library.rc_context(dict(_WRITTEN)):
        made.savefig(out, format=kind, metadata=metadata[kind])
    written = out.getvalue()
    if kind == "eps":
        written = b"\n".join(line for line in written.split(b"\n") if not line.startswith(b"%%CreationDate"))
    Path(path).write_bytes(written)
