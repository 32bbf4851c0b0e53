# SPDX-License-Identifier: BSD-3-Clause
"""The figures that docs/performance.md has: kept in docs/performance.json, from which its table and picture are made.
Those of some rows can be taken again by themselves, so each row has its commit and the load it was measured under."""
import io
import json
import os

from figures import Failure, Figure, markdown
from picture import svg

BEGIN, END = "<!-- tools/bench --accept writes from here -->\n", "<!-- to here -->\n"


def tables(figures, rows):
    out = io.StringIO()
    markdown(figures, out)
    print("\n| row | commit | runs | load of the machine before and after | |\n| --- | --- | --- | --- | --- |", file=out)
    for name in dict.fromkeys(f.row for f in figures):
        row = rows[name]
        print(f"| {name} | {row['commit'][:12]} | {row['runs']} | {row['load_before']:.0f}, {row['load_after']:.0f} | "
              f"{'quick' if row['quick'] else ''} |", file=out)
    return out.getvalue()


def accept(figures, about, order, folder):
    """Puts them in the place of those of the same rows. order: the names of all rows, as they are to stand."""
    path = lambda ending: os.path.join(folder, "performance." + ending)
    kept = {"rows": {}, "figures": []}
    if os.path.exists(path("json")):
        with open(path("json"), encoding="utf-8") as f:
            kept = json.load(f)
    new = {f.row for f in figures}
    every = figures + [Figure.from_dict(f) for f in kept["figures"] if f["row"] not in new]
    every.sort(key=lambda f: order.index(f.row))
    rows = {**kept["rows"], **{name: about for name in new}}
    with open(path("md"), encoding="utf-8") as f:
        text = f.read()
    if BEGIN not in text or END not in text:
        raise Failure(f"{path('md')} has no place for figures: \"{BEGIN.strip()}\" and \"{END.strip()}\"")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    with open(path("md"), "w", encoding="utf-8") as f:
        f.write(before + BEGIN + tables(every, rows) + END + after)
    with open(path("json"), "w", encoding="utf-8") as f:
        json.dump({"version": 2, "rows": rows, "figures": [f.as_dict() for f in every]}, f, indent=1, allow_nan=False)
        f.write("\n")
    with open(path("svg"), "w", encoding="utf-8") as f:
        f.write(svg(every, f"roced on {about['machine']['cpu']}"))
