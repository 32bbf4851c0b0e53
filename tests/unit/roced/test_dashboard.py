#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Grafana dashboard asks only for metrics and labels that the daemon has, and docs/metrics.md lists just these.

usage: test_dashboard.py ROCED SOURCE_DIR
"""
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROCED, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2])
PROMETHEUS = {"instance", "job"}   # labels that whoever scrapes adds
FUNCTIONS = {"rate", "sum", "count", "topk", "by", "label_values"}


def printed(*options):
    return subprocess.run([ROCED, *options], check=True, capture_output=True, text=True).stdout


def known():
    """Labels by name of a metric."""
    lines = (re.fullmatch(r"(\S+) (?:counter|gauge|info) \{,?(.*)\} .*", line) for line in printed("--print-metrics").splitlines())
    return {match[1]: set(filter(None, match[2].split(","))) for match in lines}


class Dashboard(unittest.TestCase):
    def setUp(self):
        self.board = json.loads((SOURCE / "config/grafana/roced.json").read_text(encoding="utf-8"))
        self.known = known()

    def targets(self):
        for panel in self.board["panels"]:
            for target in panel.get("targets", []):
                yield panel["title"], target

    def test_metrics_exist(self):
        self.assertGreater(len(self.known), 150)
        asked = set()
        for title, target in self.targets():
            for name in re.findall(r"\broced_\w+", target["expr"]):
                self.assertIn(name, self.known, title)
                asked.add(name)
        self.assertGreater(len(asked), 40)
        variable = self.board["templating"]["list"][1]["query"]["query"]
        self.assertIn(re.search(r"roced_\w+", variable)[0], self.known)

    def test_labels_exist(self):
        for title, target in self.targets():
            expr = target["expr"]
            of_all = set.intersection(*(self.known[name] for name in re.findall(r"\broced_\w+", expr))) | PROMETHEUS
            for labels in re.findall(r"by \(([^)]*)\)", expr):
                self.assertLessEqual(set(re.split(r", *", labels)), of_all, title)
            for label in re.findall(r"\{(\w+)=", expr) + re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                self.assertIn(label, of_all, title)

    def test_expressions_are_whole(self):
        for title, target in self.targets():
            expr = target["expr"]
            self.assertEqual((expr.count("("), expr.count("{"), expr.count("[")), (expr.count(")"), expr.count("}"), expr.count("]")), title)
            bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", expr)
            words = set(re.findall(r"\b[a-z_]\w*", re.sub(r"by \([^)]*\)", "by", bare)))
            self.assertLessEqual({word for word in words if not word.startswith("roced_")}, FUNCTIONS, title)
            # a counter is looked at by its rate, everything else as it is
            for name in re.findall(r"\broced_\w+", expr):
                self.assertEqual(name.endswith("_total"), f"rate({name}{{" in expr, title)

    def test_panels_have_a_place(self):
        taken, ids = set(), set()
        for panel in self.board["panels"]:
            self.assertNotIn(panel["id"], ids)
            ids.add(panel["id"])
            grid = panel["gridPos"]
            self.assertLessEqual(grid["x"] + grid["w"], 24, panel["title"])
            place = {(x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])}
            self.assertFalse(taken & place, panel["title"])
            taken |= place


class Document(unittest.TestCase):
    def test_metrics_are_those_of_the_daemon(self):
        text = (SOURCE / "docs/metrics.md").read_text(encoding="utf-8")
        self.assertIn(printed("--print-metrics", "--markdown"), text, "paste the output of roced --print-metrics --markdown")
        listed = set(re.findall(r"^\| `(roced_\w+)`", text, re.M))
        self.assertEqual(listed, set(known()))

    def test_keys_are_those_of_the_daemon(self):
        text = (SOURCE / "docs/configuration.md").read_text(encoding="utf-8")
        for line in printed("--print-config-help", "--markdown").splitlines():
            if line.startswith("| `metrics"):
                self.assertIn(line + "\n", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
