#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads OpenMetrics 1.0 text as the specification's ABNF has it, and says what is wrong.

usage: openmetrics.py [--list] FILE     (exit status 1 if something is wrong; --list prints the samples' names)
"""
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[Ii]nf(?:inity)?|NaN"
DESCRIPTOR = re.compile(rf"# (TYPE|HELP|UNIT) ({NAME}) (.*)")
SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{LABEL})(?:,{LABEL})*)?\}})? ({NUMBER})(?: {NUMBER})?")
TYPES = {"counter": ("_total", "_created"), "gauge": ("",), "info": ("_info",), "stateset": ("",), "unknown": ("",)}


class Bad(Exception):
    """What is wrong."""


class Family:
    """A metric family that is being read."""

    def __init__(self, name):
        self.name, self.type, self.unit, self.help = name, None, None, None
        self.points = set()


def sample_of(family, line):
    match = SAMPLE.fullmatch(line)
    if not match:
        raise Bad("no sample")
    name, labels, value = match.groups()
    if family is None or not name.startswith(family.name) or name[len(family.name):] not in TYPES[family.type or "unknown"]:
        raise Bad(f"{name} does not belong to the family before it")
    pairs = tuple(sorted(re.findall(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"', labels or "")))
    if len({key for key, _ in pairs}) != len(pairs):
        raise Bad("a label twice")
    if (name, pairs) in family.points:
        raise Bad("the same sample twice")
    family.points.add((name, pairs))
    number = float(value)
    if family.type == "counter" and not number >= 0:
        raise Bad("a counter below 0")
    if family.type == "info" and number != 1:
        raise Bad("an info that is not 1")
    return name, dict(pairs), number


def describe(family, kind, text):
    if getattr(family, kind.lower()) is not None or family.points:
        raise Bad(f"{kind} twice, or after samples")
    if kind == "TYPE" and text not in TYPES:
        raise Bad(f"unknown type {text}")
    if kind == "UNIT" and text and not family.name.endswith("_" + text):
        raise Bad("the name does not end in its unit")
    if kind == "HELP" and re.search(r'(?<!\\)(\\\\)*("|\\[^"\\n])', text):
        raise Bad("help that is not escaped")
    setattr(family, kind.lower(), text)


def check_new(name, families):
    """No sample of one family may be taken for one of another."""
    for other in families.values():
        mine = {name + suffix for suffix in ("", "_total", "_created", "_info")}
        if other.name == name or any(other.name + suffix in mine for suffix in TYPES[other.type or "unknown"]):
            raise Bad(f"{name} clashes with {other.name}")


def parse(text):
    """Families by name and a list of (name, labels, value); raises Bad."""
    families, samples, family = {}, [], None
    if not text.endswith("\n# EOF\n"):
        raise Bad("the text does not end in # EOF")
    lines = text[:-1].split("\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            match = DESCRIPTOR.fullmatch(line)
            if match and (family is None or match.group(2) != family.name):
                check_new(match.group(2), families)
                family = families[match.group(2)] = Family(match.group(2))
            if match:
                describe(family, match.group(1), match.group(3))
            else:
                samples.append(sample_of(family, line))
        except Bad as bad:
            raise Bad(f"line {number}: {bad}: {line}") from None
    return families, samples


def main():
    args = [arg for arg in sys.argv[1:] if arg != "--list"]
    with open(args[0], encoding="utf-8", newline="") as file:
        try:
            families, samples = parse(file.read())
        except Bad as bad:
            sys.exit(str(bad))
    if "--list" in sys.argv:
        print("\n".join(sorted({name for name, _, _ in samples})))
    else:
        print(f"{len(families)} families, {len(samples)} samples")


if __name__ == "__main__":
    main()
