#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gives a roce-fabric the rules of conformance scenarios, and compares what came of them with what they expect.

usage: conductor.py SOCKET STATE     the fabric's control socket, and where files of guests are (interop/rxe_guest.py)

Reads commands from its standard input and answers each with a number: `impose DIR`, `judge DIR`, `guest DIR FILE SECONDS LINE`,
which runs a line of shell in the guest, puts its output into DIR/FILE and answers with its status. In DIR lies `scenario`, as
tests/tools/scenario prints it; for judge also requester.out and, of ends that are roced, NAME.before and NAME.after with NAME
requester and responder. What is otherwise than expected goes to DIR/wrong, one thing a line. 0: nothing is, 1: something,
2: the fabric or the traffic did not do their part.

One process for all scenarios: to start one takes longer than a scenario does.
"""
import json
import os
import re
import socket
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "interop"))
import rxe_guest  # noqa: E402

ANY = 0xffffffff


class Fabric:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.answers = self.socket.makefile()

    def ask(self, line):
        self.socket.sendall(line.encode() + b"\n")
        return json.loads(self.answers.readline())


def text(folder, name):
    path = os.path.join(folder, name)
    return open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else None


def lines(folder, key):
    """What the scenario says of a key: a list of its fields for each line."""
    for line in text(folder, "scenario").splitlines():
        fields = line.split("\t")
        if fields[0] == key:
            yield fields[1:]


def impose(fabric, folder):
    fabric.ask("clear")
    for words in [f[2] for f in lines(folder, "seen")] + [f[0] for f in lines(folder, "rule")]:
        answer = fabric.ask("impair " + words)
        if not answer["ok"]:
            yield f"{words}: {answer['error']}"


def counters(dump):
    """Those of the transport, summed over workers."""
    sums = {}
    for line in dump.splitlines():
        if "transport " not in line:
            continue
        for name, value in re.findall(r"\b([a-z_]+) (\d+)", line.split("transport ", 1)[1]):
            sums[name] = sums.get(name, 0) + int(value)
    return sums


def check_counters(folder, who):
    before, after = text(folder, who + ".before"), text(folder, who + ".after")
    if before is None or after is None:
        return
    old, new = counters(before), counters(after)
    for (want,) in lines(folder, who):
        name, op, value = want.split()
        if name not in new:
            yield f"{who}: roced has no counter {name}"
            continue
        got = new[name] - old.get(name, 0)
        if not {">=": got >= int(value), "<=": got <= int(value), "==": got == int(value)}[op]:
            yield f"{who}: {name} is {got}, not {op} {value}"


def check_rules(folder, rules):
    seen = list(lines(folder, "seen"))
    for (least, most, words), rule in zip(seen, rules):
        if not int(least) <= rule["hits"] <= int(most):
            wanted = f"{least} or more" if int(most) == ANY else f"{least} to {most}"
            yield f"{rule['hits']} seen of \"{words}\", not {wanted}"
    for rule in rules[len(seen):]:
        if rule["hits"] == 0:
            yield f"\"{rule['is']}\" met {rule['matches']} packets and never hit"


def check_result(folder, out):
    for key in ("status", "data", "received"):
        for (want,) in lines(folder, key):
            if out[key] != want:
                yield f"{key} {out[key]}, not {want}"
    for least, most in lines(folder, "ms"):
        if not int(least) <= int(out["ms"]) <= int(most):
            yield f"took {out['ms']} ms"


def judge(fabric, folder):
    rules = fabric.ask("impairments")["impairments"]
    out = dict(re.findall(r"^(\w+) (\S+)$", text(folder, "requester.out") or "", re.M))
    if not {"status", "data", "received", "ms"} <= out.keys():
        return ["the traffic did not end"], 2
    wrong = [*check_result(folder, out), *check_rules(folder, rules), *check_counters(folder, "requester"),
             *check_counters(folder, "responder")]
    return wrong, 1 if wrong else 0


def run_in_guest(state, folder, words):
    name, limit, line = words.split(" ", 2)
    try:
        out, status = rxe_guest.Guest(types.SimpleNamespace(state=state, name="peer")).execute(line, int(limit))
    except SystemExit as gone:
        out, status = str(gone).encode(), 2
    with open(os.path.join(folder, name), "wb") as file:
        file.write(out)
    return status


def main():
    fabric = Fabric(sys.argv[1])
    for line in sys.stdin:
        verb, folder, *rest = line.rstrip("\n").split(" ", 2)
        if verb == "guest":
            print(run_in_guest(sys.argv[2], folder, rest[0]), flush=True)
            continue
        if verb == "impose":
            wrong = list(impose(fabric, folder))
            status = 2 if wrong else 0
        else:
            wrong, status = judge(fabric, folder)
        with open(os.path.join(folder, "wrong"), "w", encoding="utf-8") as out:
            out.writelines(w + "\n" for w in wrong)
        print(status, flush=True)


if __name__ == "__main__":
    main()
