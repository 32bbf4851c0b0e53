#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measures roced against what bounds it and what does the same, in the same run. It reports, and never fails by time.

Each figure stands beside its bound or peer, as a ratio, with the median of several runs, and with its goal where it
has one (docs/performance.md). Missing Debian packages are installed first, and what is measured is built.
"""
import argparse
import contextlib
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True

import bench_congestion
import bench_crypto
import bench_daemon
import bench_gateway
import bench_network
import bench_paths
import bench_sim
import bench_tp
from accepted import accept
from figures import Failure, as_json, markdown
from picture import svg
from running import TOP, Bench, about_machine, load, say, tell

ROWS = [*bench_tp.ROWS, *bench_daemon.ROWS, *bench_network.ROWS, bench_gateway.ROW, bench_crypto.ROW, bench_paths.ROW,
        bench_sim.ROW, bench_congestion.ROW]
# Without names of rows: those of docs/performance.md.
USUAL = ["rc", "messages", "latency", "bandwidth", "gateway", "protected", "qps", "memory", "workers", "idle", "start"]
FORMS = ("json", "markdown", "svg")
ENDING = {"json": "json", "markdown": "md", "svg": "svg"}


def parse(words):
    """The rows that are named, and options; those of a row itself go with it alone."""
    by_name = {row.name: row for row in ROWS}
    named = []
    while words and not words[0].startswith("-"):
        if words[0] not in by_name:
            sys.exit(f"bench: there is no row '{words[0]}'; there are {', '.join(by_name)}")
        named.append(by_name[words.pop(0)])
    width = max(len(name) for name in by_name)
    parser = argparse.ArgumentParser(
        prog="tools/bench", usage="tools/bench [ROW]... [options]", description=__doc__,
        epilog="rows:\n" + "\n".join(f"  {r.name:<{width}}  {r.help}" + (" (root)" if r.root else "") for r in ROWS) +
        f"\n\nWithout rows: {' '.join(USUAL)}. tools/bench ROW --help tells of a row's own options.",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs, larger scatter")
    parser.add_argument("--runs", type=positive, metavar="N", help="runs whose median is taken (default 5)")
    for form in FORMS:
        parser.add_argument("--" + form, type=writable, metavar="FILE",
                            help=f"default build/bench.{ENDING[form]}, of one row build/bench-ROW.{ENDING[form]}")
    parser.add_argument("--accept", action="store_true", help="put the figures into docs/performance.md, in the place of "
                        "those of the same rows")
    parser.add_argument("--build", metavar="DIR", help="that build directory, as it is")
    if len(named) == 1 and named[0].options:
        named[0].options(parser.add_argument_group(f"of {named[0].name}"))
    args = parser.parse_args(words)
    args.named = bool(named)
    return named or [by_name[name] for name in USUAL], args


def positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number, 1 or more")
    return int(text)


def writable(path):
    """Said now, and not after the runs."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise argparse.ArgumentTypeError(f"'{path}' cannot be written")
    return path


def build(rows, args):
    """The build directory, with what the rows need."""
    if args.build:
        return os.path.abspath(args.build)
    where = os.path.join(TOP, "build")
    subprocess.run([os.path.join(TOP, "tools", "deps"), "build", "run", "bench"], check=True)
    say(f"Building in {where}")
    steps = [["ninja", "-C", where, *sorted({t for row in rows for t in row.targets})]]
    if not os.path.exists(os.path.join(where, "build.ninja")):
        steps.insert(0, ["meson", "setup", where, TOP])
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"bench: {step[0]} failed\n" + "\n".join(done.stdout.splitlines()[-20:]))
    return where


def measure(bench, rows, args):
    """Figures, tables by row, and whether all could be had."""
    figures, details, complete = [], {}, True
    for row in rows:
        if row.root and os.getuid() != 0:
            say(f"{row.name}: left out, it needs root")
            complete = complete and not args.named
            continue
        say(f"{row.name}: {row.help}")
        try:
            result = row.run(bench)
        except Failure as failure:
            say(f"bench: {row.name}: {failure}")
            bench.keep_logs = True
            complete = False
            continue
        for figure in result.figures:
            figure.row = row.name
        figures += result.figures
        if result.detail is not None:
            details[row.name] = result.detail
    return figures, details, complete


def write(args, default, figures, about, details, tables):
    names = {form: getattr(args, form) or f"{default}.{ENDING[form]}" for form in FORMS}
    with open(names["json"], "w", encoding="utf-8") as f:
        f.write(as_json(figures, about, details))
    with open(names["svg"], "w", encoding="utf-8") as f:
        f.write(svg(figures, f"roced {about['commit'][:12]} on {about['machine']['cpu']}"))
    with open(names["markdown"], "w", encoding="utf-8") as f:
        if figures:
            markdown(figures, f)
        f.write(tables)
    say("Figures are in " + ", ".join(names.values()))


def main():
    rows, args = parse(sys.argv[1:])
    where = build(rows, args)
    about = {"commit": tell(["git", "-C", TOP, "rev-parse", "HEAD"], "unknown"), "machine": about_machine(),
             "quick": args.quick, "load_before": load()}
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        bench = stack.enter_context(Bench(where, args))
        figures, details, complete = measure(bench, rows, args)
    about.update(load_after=load(), took_s=round(time.monotonic() - began, 1), runs=bench.runs)
    if figures:
        print()
        markdown(figures, sys.stdout)
    write(args, os.path.join(where, "bench" + (f"-{rows[0].name}" if len(rows) == 1 else "")), figures, about, details,
          bench.out.text)
    if args.accept:
        accept(figures, about, [row.name for row in ROWS], os.path.join(TOP, "docs"))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
