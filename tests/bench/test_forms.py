#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The forms of tools/bench: figures with their ratios and goals as JSON, Markdown and SVG, and its command line.

usage: test_forms.py BUILD
"""
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import bench
from accepted import BEGIN, END, accept
from figures import Failure, Figure, amount, as_json, at_least, at_most, markdown
from picture import svg

BUILD = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.path.join(HERE, "..", "..", "build")
SVG = "{http://www.w3.org/2000/svg}"


def some_figures():
    return [
        Figure("fast", "copies < 4 KB & more", "cycles", [130.0, 110.0, 120.0], "memcpy", [100.0, 100.0, 100.0],
               at_most(times=1.15, plus=20), "rc"),
        Figure("slow", "messages", "M/s", [3.0], "published", [10.0], at_least(plus=8), "messages"),
        Figure("small", "a region", "B", [96.0], goal=at_most(plus=128), row="memory"),
        Figure("alone", "a choice", "ns", [0.0], row="paths"),
        Figure("far", "with a peer only", "Gb/s", [5.0, 7.0], "shm", [500.0, 700.0], row="bandwidth"),
    ]


class Figures(unittest.TestCase):
    def test_a_ratio_is_of_values_of_the_same_run(self):
        figure = Figure("f", "f", "s", [1.0, 20.0, 300.0], "b", [2.0, 10.0, 100.0])
        self.assertEqual(figure.ratio, 2.0)
        self.assertEqual(figure.value, 20.0)

    def test_a_published_value_is_beside_every_run(self):
        self.assertEqual(Figure("f", "f", "s", [1.0, 2.0, 3.0], "b", [4.0]).ratio, 0.5)

    def test_goals(self):
        fast, slow, small, alone, _ = some_figures()
        self.assertAlmostEqual(fast.limit, 135.0)
        self.assertEqual([f.met for f in (fast, slow, small, alone)], [True, False, True, None])

    def test_a_goal_is_judged_run_by_run(self):
        """The machine was half as fast in the second of three runs."""
        goal = at_most(times=1.5)
        self.assertTrue(Figure("f", "f", "s", [14.0, 28.0, 14.0], "b", [10.0, 20.0, 10.0], goal).met)
        self.assertFalse(Figure("f", "f", "s", [16.0, 32.0, 14.0], "b", [10.0, 20.0, 10.0], goal).met)

    def test_a_picture_has_what_the_verdict_has(self):
        """Medians of values and bounds that are from different runs are on the other side of the goal."""
        figure = Figure("f", "f", "Gb/s", [3.0, 1.0, 9.0], "b", [4.0, 0.9, 10.0], at_least(times=1))
        self.assertFalse(figure.met)
        self.assertEqual(figure.of_goal, 0.9)
        self.assertIn("missed", svg([figure], "t"))

    def test_goals_read_as_they_are(self):
        self.assertEqual(str(at_most(times=1.15, plus=300)), "<= 1.15 x + 300")
        self.assertEqual(str(at_least(plus=8)), ">= 8.00")
        self.assertEqual(str(at_most(plus=0)), "<= 0")

    def test_amounts(self):
        self.assertEqual([amount(v) for v in (0, 0.0123456, 1.5, 99.44, 999.6, 1234567.8)],
                         ["0", "0.0123", "1.50", "99.4", "1,000", "1,234,568"])

    def test_what_is_no_number_is_no_figure(self):
        for values in ([], [float("nan")], [float("inf")]):
            self.assertRaises(Failure, Figure, "f", "f", "s", values)


class Forms(unittest.TestCase):
    def test_json(self):
        told = json.loads(as_json(some_figures(), {"commit": "abc"}, {"rc": [1]}))
        self.assertEqual((told["version"], told["commit"], told["details"]), (2, "abc", {"rc": [1]}))
        fast, _, small, alone, _ = told["figures"]
        self.assertEqual((fast["row"], fast["value"], fast["least"], fast["most"]), ("rc", 120.0, 110.0, 130.0))
        self.assertEqual(fast["beside"]["value"], 100.0)
        self.assertEqual(fast["goal"]["met"], True)
        self.assertNotIn("beside", small)
        self.assertNotIn("goal", alone)

    def test_markdown(self):
        out = io.StringIO()
        markdown(some_figures(), out)
        lines = out.getvalue().splitlines()
        self.assertEqual(len(lines), 2 + len(some_figures()))
        self.assertEqual({line.count("|") for line in lines}, {8})
        self.assertIn("120 cycles (110 to 130) | memcpy: 100 | 1.20 | <= 1.15 x + 20.0 | met |", lines[2])

    def test_svg(self):
        tree = ElementTree.fromstring(svg(some_figures(), "a < b & c"))
        self.assertEqual(tree.tag, SVG + "svg")
        texts = [t.text for t in tree.iter(SVG + "text")]
        self.assertIn("a < b & c", texts)
        for figure in some_figures():
            self.assertIn(figure.what, texts)
        width, height = float(tree.get("width")), float(tree.get("height"))
        for rect in tree.iter(SVG + "rect"):
            self.assertLessEqual(float(rect.get("x", 0)) + float(rect.get("width")), width)
            self.assertLessEqual(float(rect.get("y", 0)) + float(rect.get("height")), height)

    def test_rows_have_names_of_their_own(self):
        names = [row.name for row in bench.ROWS]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(set(bench.USUAL), set(names))


class Accepted(unittest.TestCase):
    ABOUT = {"commit": "0123456789abcdef", "runs": 3, "quick": False, "load_before": 0.2, "load_after": 1.6,
             "machine": {"cpu": "some CPU"}}

    def accept(self, folder, figures, about=None):
        accept(figures, about or self.ABOUT, [f.row for f in some_figures()], folder)
        with open(f"{folder}/performance.md", encoding="utf-8") as f:
            return f.read()

    def test_rows_are_taken_again_by_themselves(self):
        with tempfile.TemporaryDirectory() as tmp:
            with open(f"{tmp}/performance.md", "w", encoding="utf-8") as f:
                f.write("before\n" + BEGIN + "old\n" + END + "after\n")
            first = self.accept(tmp, some_figures())
            self.assertTrue(first.startswith("before\n" + BEGIN + "| row |") and first.endswith(END + "after\n"))
            self.assertEqual(first.count("| met |"), 2)
            again = Figure("small", "a region", "B", [200.0], goal=at_most(plus=128), row="memory")
            second = self.accept(tmp, [again], {**self.ABOUT, "commit": "fedcba9876543210"})
            ElementTree.parse(f"{tmp}/performance.svg")
        self.assertNotIn("old", first)
        self.assertEqual(second.replace("| memory | a region | 200 B |  |  | <= 128 | missed |",
                                        "| memory | a region | 96.0 B |  |  | <= 128 | met |")
                         .replace("fedcba987654", "0123456789ab"), first)

    def test_without_a_place_nothing_is_changed(self):
        with tempfile.TemporaryDirectory() as tmp:
            with open(f"{tmp}/performance.md", "w", encoding="utf-8") as f:
                f.write("text\n")
            self.assertRaises(Failure, self.accept, tmp, some_figures())
            self.assertEqual(os.listdir(tmp), ["performance.md"])


class CommandLine(unittest.TestCase):
    def run_bench(self, *args):
        return subprocess.run([sys.executable, os.path.join(HERE, "bench.py"), *args], capture_output=True, text=True,
                              timeout=100, check=False)

    def test_a_run(self):
        with tempfile.TemporaryDirectory() as tmp:
            files = [f"{tmp}/bench.{kind}" for kind in ("json", "md", "svg")]
            done = self.run_bench("messages", "--quick", "--runs", "1", "--build", BUILD, "--json", files[0],
                                  "--markdown", files[1], "--svg", files[2])
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(files[0], encoding="utf-8") as f:
                told = json.load(f)
            with open(files[1], encoding="utf-8") as f:
                self.assertIn("| messages | WRITEs of 8 B,", f.read())
            ElementTree.parse(files[2])
        self.assertEqual({f["row"] for f in told["figures"]}, {"messages"})
        self.assertGreater(told["machine"]["cpus"], 0)
        self.assertIn("| messages | WRITEs of 8 B,", done.stdout)

    def test_mistakes_are_told_before_anything_runs(self):
        for args, word in ((["nonesuch"], "nonesuch"), (["rc", "--json", "/nonesuch/x.json"], "/nonesuch/x.json"),
                           (["rc", "--runs", "0"], "'0'"), (["rc", "--seeds", "3"], "--seeds")):
            done = self.run_bench(*args)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(word, done.stderr)

    def test_a_row_that_cannot_be_had_is_told(self):
        with tempfile.TemporaryDirectory() as tmp:
            done = self.run_bench("rc", "--build", tmp)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bench_tp", done.stderr)


if __name__ == "__main__":
    unittest.main()
