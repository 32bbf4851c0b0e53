# SPDX-License-Identifier: BSD-3-Clause
"""Figures as an SVG picture: a bar for each, on a scale of how many times its goal it is (or what is beside it, where
there is no goal). The line at 1 is the goal, the diamond what is beside the figure."""
import math
from xml.sax.saxutils import escape

from figures import amount, verdict

LINE, TOP, FOOT = 22, 56, 34
LABEL, CHART, NOTE = 430, 340, 390
LEAST, MOST = 0.1, 10.0
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10)
COLOURS = {True: "#2e8b57", False: "#c0392b", None: "#7f8c8d"}


def x_of(share):
    """Of the picture; logarithmic, what is beyond the scale is at its end."""
    share = min(max(share, LEAST), MOST)
    return LABEL + CHART * (math.log10(share / LEAST) / math.log10(MOST / LEAST))


def text(x, y, what, anchor="start", more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{more}>{escape(what)}</text>'


def bar(figure, y):
    """One figure's line; y is its middle."""
    share = figure.of_goal if figure.limit is not None else figure.ratio
    note = f"{amount(figure.value)} {figure.unit}"
    note += f", {figure.ratio:.2f} x {figure.beside}" if figure.ratio is not None else ""
    note = note if len(note) < 68 else note[:65] + "..."
    lines = [text(LABEL - 8, y + 4, figure.what if len(figure.what) < 72 else figure.what[:69] + "...", "end"),
             text(LABEL + CHART + 8, y + 4, note)]
    if share is None:
        return lines
    sign = "" if figure.limit is None else ("at most" if figure.goal.at_most else "at least")
    left, right = sorted((x_of(1), x_of(share)))
    told = escape(" ".join((sign, verdict(figure))))
    lines.append(f'<rect x="{left:.1f}" y="{y - 6}" width="{max(right - left, 2):.1f}" height="12" '
                 f'fill="{COLOURS[figure.met]}"><title>{told}</title></rect>')
    if figure.ratio and figure.limit is not None:
        at = x_of(share / figure.ratio)
        lines.append(f'<path d="M{at:.1f},{y - 6} l6,6 l-6,6 l-6,-6 z" fill="none" stroke="#2c3e50"/>')
    return lines


def svg(figures, title):
    height = TOP + LINE * len(figures) + FOOT
    width = LABEL + CHART + NOTE
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
             f'height="{height}" font-family="sans-serif" font-size="11">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             text(12, 22, title, more=' font-size="14"'),
             text(12, 40, "Bars begin at the goal, or without one at what is beside the figure; green: met, red: "
                  "missed, grey: no goal. Diamonds: the bound or peer of the same run.")]
    for tick in TICKS:
        colour = "#2c3e50" if tick == 1 else "#dddddd"
        lines.append(f'<line x1="{x_of(tick):.1f}" x2="{x_of(tick):.1f}" y1="{TOP - 6}" y2="{height - FOOT + 4}" '
                     f'stroke="{colour}"/>')
        lines.append(text(x_of(tick), height - FOOT + 18, f"{tick:g}", "middle"))
    for i, figure in enumerate(figures):
        lines += bar(figure, TOP + LINE * i + LINE // 2)
    return "\n".join(lines + ["</svg>"]) + "\n"
