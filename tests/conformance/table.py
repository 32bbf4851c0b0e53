#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes a table of what conformance scenarios came to.

usage: table.py RESULTS [--into FILE]     RESULTS as tests/conformance/cases.sh writes it; the table goes to the standard output, or
                                          between the lines <!-- results --> and <!-- end of results --> of FILE
"""
import argparse
import csv
import re
from pathlib import Path

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
PAIRS = [("roced", "roced"), ("roced", "rxe"), ("rxe", "roced")]
WORDS = {"pass": "yes", "fail": "**no**", "differs": "differs"}


def title(name, key="title"):
    text = (SCENARIOS / f"{name}.conf").read_text(encoding="utf-8")
    return re.search(rf'^{key} = "(.*)";$', text, re.M).group(1)


def table(rows):
    """The last result of a scenario and a pair counts."""
    last = {(row[0], row[1], row[2]): row for row in rows}
    yield "| scenario | what happens | " + " | ".join(f"{a} to {b}" for a, b in PAIRS) + " |"
    yield "| --- | --- |" + " --- |" * len(PAIRS)
    names = sorted({row[0] for row in rows})
    for name in names:
        cells = [WORDS[last[name, *pair][3]] if (name, *pair) in last else "not run" for pair in PAIRS]
        yield f"| `{name}` | {title(name)} | " + " | ".join(cells) + " |"
    yield ""
    for pair in PAIRS:
        of_pair = [row for row in last.values() if (row[1], row[2]) == pair]
        count = {verdict: sum(row[3] == verdict for row in of_pair) for verdict in WORDS}
        yield f"{pair[0]} to {pair[1]}: {count['pass']} as expected, {count['differs']} known to differ, {count['fail']} not as expected.  "
    odd = [row for row in last.values() if row[3] != "pass"]
    if odd:
        yield ""
        yield "| scenario | requester | responder | what is otherwise |"
        yield "| --- | --- | --- | --- |"
    for row in sorted(odd):
        yield f"| `{row[0]}` | {row[1]} | {row[2]} | {row[4]} |"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("results")
    args.add_argument("--into", type=Path)
    args = args.parse_args()
    with open(args.results, encoding="utf-8") as file:
        made = "\n".join(table(list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))) + "\n"
    if args.into is None:
        print(made, end="")
        return
    text = args.into.read_text(encoding="utf-8")
    head, rest = text.split("<!-- results -->\n")
    tail = rest.split("<!-- end of results -->\n")[1]
    args.into.write_text(f"{head}<!-- results -->\n{made}<!-- end of results -->\n{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
