# SPDX-License-Identifier: BSD-3-Clause
"""The form that every figure of tools/bench has: what was measured in several runs, what bounds it or does the same
work in those runs, and the goal. As JSON and as a Markdown table; picture.py draws them."""
import json
import math
import statistics
from dataclasses import dataclass, field
from typing import Callable, NamedTuple, Optional


class Failure(Exception):
    """A figure cannot be had; says why."""


class Goal(NamedTuple):
    """Of a figure: at most (or at least) `times` what is beside it, and `plus` in the figure's unit."""
    at_most: bool
    times: float = 0.0
    plus: float = 0.0

    def limit(self, beside):
        return self.times * beside + self.plus

    def __str__(self):
        parts = [f"{self.times:g} x"] if self.times else []
        parts += [amount(self.plus)] if self.plus or not self.times else []
        return ("<= " if self.at_most else ">= ") + " + ".join(parts)


def at_most(times=0.0, plus=0.0):
    return Goal(True, times, plus)


def at_least(times=0.0, plus=0.0):
    return Goal(False, times, plus)


@dataclass
class Figure:
    """name is one word, unlike all others; what and beside are for people. values are those of the runs, and
    beside_values those of the same runs, or one that was published."""
    name: str
    what: str
    unit: str
    values: list
    beside: str = ""
    beside_values: list = field(default_factory=list)
    goal: Optional[Goal] = None
    row: str = ""

    def __post_init__(self):
        if not self.values or not all(math.isfinite(v) for v in self.values + self.beside_values):
            raise Failure(f"{self.name}: {self.values} beside {self.beside_values} are no figures")

    @property
    def value(self):
        return statistics.median(self.values)

    @property
    def beside_value(self):
        return statistics.median(self.beside_values) if self.beside_values else None

    def pairs(self):
        """Each run's value and what was beside it then: a load that comes and goes is on both."""
        if len(self.beside_values) == len(self.values):
            return list(zip(self.values, self.beside_values))
        return [(v, self.beside_value) for v in self.values]

    @property
    def ratio(self):
        if not self.beside_value:
            return None
        return statistics.median(v / b for v, b in self.pairs() if b)

    @property
    def limit(self):
        """What the goal comes to; None: there is none."""
        if self.goal is None or (self.goal.times and not self.beside_value):
            return None
        return statistics.median(self.goal.limit(b or 0.0) for _, b in self.pairs())

    @property
    def of_goal(self):
        """How many times what the goal comes to, run by run; None: it comes to nothing, or there is none."""
        if not self.limit or min(self.goal.limit(b or 0.0) for _, b in self.pairs()) <= 0:
            return None
        return statistics.median(v / self.goal.limit(b or 0.0) for v, b in self.pairs())

    @property
    def met(self):
        if self.limit is None:
            return None
        value, limit = (self.value, self.limit) if self.of_goal is None else (self.of_goal, 1)
        return value <= limit if self.goal.at_most else value >= limit

    def as_dict(self):
        out = {"row": self.row, "name": self.name, "what": self.what, "unit": self.unit, "value": self.value,
               "least": min(self.values), "most": max(self.values), "runs": self.values}
        if self.beside_values:
            out["beside"] = {"what": self.beside, "value": self.beside_value, "runs": self.beside_values}
            out["ratio"] = self.ratio
        if self.limit is not None:
            out["goal"] = {"what": str(self.goal), "limit": self.limit, "met": self.met, **self.goal._asdict()}
        return out

    @classmethod
    def from_dict(cls, told):
        """What as_dict() told."""
        beside, goal = told.get("beside", {}), told.get("goal")
        return cls(told["name"], told["what"], told["unit"], told["runs"], beside.get("what", ""), beside.get("runs", []),
                   Goal(goal["at_most"], goal["times"], goal["plus"]) if goal else None, told["row"])


class Result(NamedTuple):
    """What a row brought. detail: its own tables, for JSON; they were printed to bench.out."""
    figures: list
    detail: Optional[list] = None


class Row(NamedTuple):
    """A row of tools/bench: run(bench) gives a Result. targets are those of the build."""
    name: str
    help: str
    run: Callable
    targets: tuple = ()
    root: bool = False
    options: Optional[Callable] = None  # adds the row's own to an argparse parser


# ---- forms

def amount(v):
    """Three digits or whole thousands, as people read them."""
    if v == 0:
        return "0"
    if round(abs(v)) >= 1000:
        return f"{v:,.0f}"
    return f"{v:.{max(0, 2 - math.floor(math.log10(abs(v))))}f}"


def verdict(figure):
    return {None: "", True: "met", False: "missed"}[figure.met]


def markdown(figures, out):
    """One table of all; values are medians, in brackets the least and the most of the runs."""
    print("| row | figure | value | bound or peer, same run | ratio | goal | |", file=out)
    print("| --- | --- | --- | --- | --- | --- | --- |", file=out)
    for f in figures:
        spread = f" ({amount(min(f.values))} to {amount(max(f.values))})" if len(f.values) > 1 else ""
        beside = f"{f.beside}: {amount(f.beside_value)}" if f.beside_values else ""
        ratio = f"{f.ratio:.2f}" if f.ratio is not None else ""
        cells = [f.row, f.what, f"{amount(f.value)} {f.unit}{spread}", beside, ratio,
                 str(f.goal) if f.limit is not None else "", verdict(f)]
        print("| " + " | ".join(cells) + " |", file=out)


def as_json(figures, about, details):
    """about: of the machine and the run. details: by row, its own tables."""
    return json.dumps({"version": 2, **about, "figures": [f.as_dict() for f in figures], "details": details},
                      indent=1, allow_nan=False) + "\n"
