#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Completes a manual page (mdoc) by what the program itself says, so that the two cannot differ.

usage: man/generate.py TEMPLATE PROGRAM [OPTION...]

In the template a line '.\\" KEYS' stands for the configuration keys, as "PROGRAM OPTION... --markdown" prints them, and a
line '.\\" COMMANDS' for what "PROGRAM --help" lists under "Commands:", each with its own --help; '.\\" WORDS' is for that list alone. The page goes to standard output.
"""
import os
import re
import subprocess
import sys


def said(*command):
    # a program built with a sanitizer is asked for its text, not for its leaks
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout


def plain(text):
    """Text that nothing of roff is in."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def word(text):
    """A word among others on a macro's line."""
    return '"' + plain(text).replace('"', '\\(dq') + '"'


def running(text):
    """Running text, a sentence a line: `this` is literal, and nothing else is markup."""
    for line in re.sub(r"([.:]) (?=[A-Z])", r"\1\n", " ".join(text.split())).splitlines():
        pieces = re.split(r"`([^`]*)`", line)
        yield "".join(f"\\fB{plain(p)}\\fP" if i % 2 else plain(p) for i, p in enumerate(pieces))


def table(text):
    """The rows of a table in markdown, by the names of its columns."""
    names, _, *rows = (re.split(r"\s*\|\s*", line)[1:-1] for line in text.splitlines())
    return (dict(zip(names, row, strict=True)) for row in rows)


def facts(row):
    """What is known of a key besides what it is for; columns of some programs only go last."""
    yield row.pop("type")
    yield f"{row.pop('range')} {row.pop('unit')}".strip()
    default = row.pop("default")
    yield default if default in ("", "required") else f"default {default}"
    yield from (f"{name}: {value}" for name, value in row.items() if value)


def keys(program, options):
    yield ".Bl -tag -width 4n"
    for row in table(said(program, *options, "--markdown")):
        yield f".It Ic {word(row.pop('key').strip('`'))}"
        what = row.pop("what")
        yield plain("; ".join(filter(None, facts(row)))) + "."
        if what:
            yield ".br"
            yield from running(what[0].upper() + what[1:] + ".")
    yield ".El"


def listed(program):
    return said(program, "--help").split("Commands:\n", 1)[1].split("\n\n", 1)[0].rstrip("\n").splitlines()


def words(program):
    yield ".Bl -tag -width 4n"
    for line in listed(program):
        command, what = line.strip().split(": ", 1)
        yield f".It Ic {word(command)}"
        yield from running(what[0].upper() + what[1:] + ".")
    yield ".El"


def block(text):
    """A paragraph, or lines that stay as they are when one of them begins with a space."""
    lines = text.splitlines()
    if not any(line.startswith(" ") for line in lines):
        return [".Pp", *running(text)]
    return [".Bd -literal"] + [plain(line) for line in lines] + [".Ed"]


def commands(program):
    for line in listed(program):
        # a noun, and a verb if it has some
        name = re.match(r"[a-z][a-z-]*( [a-z][a-z-]*(?= |$))?", line.strip()).group(0)
        usage, *blocks = said(program, *name.split(), "--help").rstrip("\n").split("\n\n")
        yield f".Ss {name}"
        yield ".Bd -literal"
        yield from (plain(part) for part in usage.removeprefix("usage: ").splitlines())
        yield ".Ed"
        for text in blocks:
            yield from block(text)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    template, program, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(template, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line == '.\\" KEYS':
                print("\n".join(keys(program, options)))
            elif line == '.\\" COMMANDS':
                print("\n".join(commands(program)))
            elif line == '.\\" WORDS':
                print("\n".join(words(program)))
            else:
                print(line)


main()
