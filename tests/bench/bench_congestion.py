# SPDX-License-Identifier: BSD-3-Clause
"""Congestion controllers compared in the simulator, each beside the bound.

Traffic is that of config/sim/NAME.conf, with one controller after the other; NAME-pfc and NAME-lossy are the same over
other queues, websearch-LOAD is websearch-incast at another load, with one seed and fewer controllers. Slowdowns are of all
flows of all seeds, against being alone on the fabric; other figures are the worst of the seeds. And what a call of each
controller costs.
"""
import argparse
import csv
import json
import math
import os
import re
import subprocess
import tempfile

from figures import Failure, Figure, Result, Row, at_most

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# name, controller, more of the scenario
KINDS = [(kind, kind, "") for kind in
         ["none", "dcqcn", "timely", "swift", "theta-powertcp", "nscc", "predictive"]]
MODEL = os.path.abspath(os.path.join(TOP, "config", "cc", "learned.model"))
KINDS.append(("learned", "learned", f'learned = {{ model = "{MODEL}"; }};'))
PARTS = ["median", "prediction", "incast_cap", "first_packets"]
FEW = 4  # the default

def parts(name, on, first=FEW, second=0):
    words = [f"{p} = {'true' if p in on else 'false'};" for p in PARTS[:3]]
    words.append(f"first_packets = {first if 'first_packets' in on else 0}; second_packets = {second};")
    return (name, "predictive", "predictive = { " + " ".join(words) + " };")


ABLATIONS = [
    parts("first_packets = 8", PARTS, 8),
    parts("first_packets = 2", PARTS, 2),
    parts("1, then 4 packets", PARTS, 1, 4),
    parts("without median", PARTS[1:]),
    parts("without prediction", ["median", "incast_cap", "first_packets"]),
    parts("without incast_cap", ["median", "prediction", "first_packets"]),
    parts("without first_packets", PARTS[:3]),
    parts("only first_packets", PARTS[3:]),
    parts("only median", ["median"]),
    parts("only prediction", ["prediction"]),
    parts("only incast_cap", ["incast_cap"]),
    parts("median, prediction", ["median", "prediction"]),
]
PFC = "pfc_priorities = 1; pfc_xoff_bytes = 200000; pfc_xon_bytes = 150000;"
LOSSY = "queue_bytes = 400000;"
TRAFFIC = [
    {"name": "websearch-incast", "what": "web search at 60 % load with incasts of 16 x 64 KB, lossless", "short": True},
] + [
    {"name": f"websearch-{load}", "base": "websearch-incast", "swap": [("load_percent = 60", f"load_percent = {load}")],
     "what": f"the same with web search at {load} % load", "short": True, "seeds": 1,
     "kinds": ["dcqcn", "nscc", "theta-powertcp", "predictive", "learned"]}
    for load in (20, 40, 80, 95)
] + [
    {"name": "incast-1m", "what": "incast of 32 x 1 MB with victims, deep buffers"},
    {"name": "incast-1m-pfc", "what": "incast of 32 x 1 MB with victims, lossless", "fabric": PFC},
    {"name": "incast-1m-lossy", "what": "incast of 32 x 1 MB with victims, queues of 400 KB", "fabric": LOSSY},
    {"name": "incast-64k", "what": "incast of 64 x 64 KB with victims, deep buffers"},
    {"name": "incast-64k-pfc", "what": "incast of 64 x 64 KB with victims, lossless", "fabric": PFC},
    {"name": "incast-64k-lossy", "what": "incast of 64 x 64 KB with victims, queues of 400 KB", "fabric": LOSSY},
    {"name": "fairness", "what": "8 long flows of 16 MB to one host, deep buffers", "jain": True},
    {"name": "head-of-line", "what": "incast of 12 x 1 MB and flows past it, lossless with small thresholds"},
    {"name": "pfc-storm", "what": "a host that pauses for 2 ms, lossless with small thresholds", "victims": 0},
]


def base_of(traffic):
    """The name of the scenario that is shipped."""
    base = traffic.get("base", traffic["name"])
    for end in ("-pfc", "-lossy"):
        base = base.removesuffix(end)
    return base


def scenario(traffic, kind, more):
    base = base_of(traffic)
    with open(os.path.join(TOP, "config", "sim", base + ".conf"), encoding="ascii") as f:
        text = f.read()
    for old, new in traffic.get("swap", []):
        if old not in text:
            raise ValueError(f"config/sim/{base}.conf has no \"{old}\"")
        text = text.replace(old, new)
    text = re.sub(r"(?m)^fabric(\s*)= \{", r"fabric\1= { " + traffic.get("fabric", ""), text)
    return re.sub(r"(?m)^transport(\s*)= \{", rf'transport\1= {{ congestion = "{kind}";', text) + more + "\n"


def simulate(args, text):
    """The runs as roce-sim tells of them, and all flows."""
    with tempfile.TemporaryDirectory() as tmp:
        conf, out, rows = (os.path.join(tmp, n) for n in ("run.conf", "run.json", "run.csv"))
        with open(conf, "w", encoding="ascii") as f:
            f.write(text)
        subprocess.run([args.sim, conf, "--quiet", "--json", out, "--csv", rows, "--seed", str(args.first),
                        "--seeds", str(args.seeds)], check=True)
        with open(out, encoding="ascii") as f:
            runs = json.load(f)["runs"]
        with open(rows, encoding="ascii") as f:
            flows = [{k: v if k in ("outcome", "recovery", "scheduler") else int(v) for k, v in row.items()}
                     for row in csv.DictReader(f)]
    return runs, [f for f in flows if f["outcome"] == "ok"]


def spread(values):
    values = sorted(values)
    if not values:
        return None
    at = lambda percent: values[max(0, math.ceil(len(values) * percent / 100) - 1)]
    return {"mean": sum(values) / len(values), "p50": at(50), "p95": at(95), "p99": at(99)}


def packets(flows):
    return sum(math.ceil(f["bytes"] / 4096) for f in flows)


def resent(run, flows, traffic):
    """Percent of the packets with data; of an incast's own, for it is they that are lost."""
    if traffic["name"].startswith("incast"):
        flows = [f for f in flows if f["workload"] == 0]
    return 100 * run["retransmits"] / packets(flows)


def jain(flows):
    rates = [f["bytes"] / (f["end_ns"] - f["start_ns"]) for f in flows]
    return sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates))


def measure(args, traffic, name, kind, more):
    runs, flows = simulate(args, scenario(traffic, kind, more))
    slow = lambda some: spread([(f["end_ns"] - f["start_ns"]) / f["ideal_ns"] for f in some])
    row = {"traffic": traffic["name"], "controller": name, "seeds": args.seeds, "first_seed": args.first,
           "undone": sum(r["flows"] - r["ok"] for r in runs),
           "queue_p99_bytes": max(r["queue_p99_bytes"] for r in runs),
           "max_queue_bytes": max(r["max_queue_bytes"] for r in runs),
           "pause_us": max(r["pause_us"] for r in runs),
           "lost": max(sum(r["dropped"].values()) for r in runs),
           "resent_percent": max(resent(r, [f for f in flows if f["seed"] == r["seed"]], traffic) for r in runs),
           "slowdown": slow(flows)}
    if traffic.get("short"):
        web = [f for f in flows if f["workload"] == 0]
        row["short"] = slow([f for f in web if f["bytes"] <= args.bdp])
        row["long"] = slow([f for f in web if f["bytes"] > args.bdp])
        row["incast"] = slow([f for f in flows if f["workload"] != 0])
    elif traffic.get("jain"):
        row["jain"] = min(jain([f for f in flows if f["seed"] == r["seed"]]) for r in runs)
        row["end_us"], row["bound_us"] = max(r["end_us"] for r in runs), max(r["bound_us"] for r in runs)
    else:
        victims = traffic.get("victims", 1)
        row.update(incast(runs, flows, victims))
    return row


def incast(runs, flows, victims):
    """When the incast ends beside what it takes alone at the receiver's link; flows of other pairs are its victims."""
    out = {"end_us": 0, "bound_us": 0}
    others = []
    for run in runs:
        mine = [f for f in flows if f["seed"] == run["seed"]]
        cast = [f for f in mine if f["workload"] != victims]
        if not cast:
            continue
        to = cast[0]["dst"]
        # that to the incast's receiver shares its link, so it is no victim
        others += [f for f in mine if f["workload"] == victims and f["dst"] != to]
        wire = sum(f["bytes"] for f in cast) + packets(cast) * 82
        out["end_us"] = max(out["end_us"], max(f["end_ns"] for f in cast) / 1000)
        out["bound_us"] = max(out["bound_us"], wire * 8 / 100000)
    out["victims"] = spread([(f["end_ns"] - f["start_ns"]) / f["ideal_ns"] for f in others])
    return out


# ---- tables ----

def four(s):
    return [f"{s[k]:.2f}" for k in ("mean", "p50", "p95", "p99")] if s else ["-"] * 4


def common(row):
    return [f"{row['queue_p99_bytes'] / 1000:.0f}", f"{row['max_queue_bytes'] / 1000:.0f}", f"{row['pause_us'] / 1000:.2f}",
            f"{row['resent_percent']:.2f}"]


COMMON = ["queue p99 KB", "peak KB", "pauses ms", "resent %"]


def head_of(traffic):
    if traffic.get("short"):
        return ["short mean", "p50", "p95", "p99", "long mean", "p99", "incast mean", "p99"] + COMMON
    if traffic.get("jain"):
        return ["Jain", "end us", "of bound"] + COMMON
    return ["end us", "of bound", "victims mean", "p50", "p95", "p99"] + COMMON


def cells_of(traffic, row):
    if traffic.get("short"):
        rest = [four(row[k])[at] for k in ("long", "incast") for at in (0, 3)]
        return four(row["short"]) + rest + common(row)
    first = [f"{row['end_us']:.0f}", f"{row['end_us'] / row['bound_us']:.2f}"]
    if traffic.get("jain"):
        return [f"{row['jain']:.3f}"] + first + common(row)
    return first + four(row["victims"]) + common(row)


def goals(traffic, rows):
    """Figures of predictive that have a goal."""
    by = {r["controller"]: r for r in rows}
    ours, name = by.get("predictive"), traffic["name"].replace("-", "_")
    if ours is None or "kinds" in traffic:
        return []
    if traffic.get("short"):
        slow = lambda kind: [by[kind]["short"]["p99"]]
        return [Figure(f"{name}_p99_of_{kind.replace('-', '_')}", f"{traffic['what']}: p99 of short flows", "x alone",
                       slow("predictive"), kind, slow(kind), at_most(times=times))
                for kind, times in (("dcqcn", 0.2), ("nscc", 1), ("theta-powertcp", 1))]
    if traffic.get("jain"):
        return [Figure(f"{name}_unfair", f"{traffic['what']}: 1 - Jain's index", "", [1 - ours["jain"]], goal=at_most(plus=0.05))]
    if not traffic["name"].startswith("incast"):
        return []
    return [Figure(f"{name}_end", f"{traffic['what']}: its end", "us", [ours["end_us"]], "receiver's link", [ours["bound_us"]],
                   at_most(times=1.05)),
            Figure(f"{name}_resent", f"{traffic['what']}: sent again", "%", [ours["resent_percent"]], goal=at_most(plus=1)),
            Figure(f"{name}_victims", f"{traffic['what']}: victims' p99", "x alone", [ours["victims"]["p99"]],
                   goal=at_most(plus=1.5))]


def print_table(traffic, rows, seeds, out):
    head = ["controller"] + head_of(traffic)
    print(f"\n{traffic['what']} (`config/sim/{base_of(traffic)}.conf`), {seeds} seed{'s'[:seeds != 1]}\n", file=out)
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), file=out)
    for row in rows:
        undone = f" ({row['undone']} not done)" if row["undone"] else ""
        print("| " + " | ".join([row["controller"] + undone] + cells_of(traffic, row)) + " |", file=out)
    out.flush()


# ---- what a call costs ----

COST_GOALS = {"cc_predictive_acked": ("predictive, cc_acked()", 20), "cc_learned_decision": ("learned, with a decision", 100)}


def costs(bench):
    """ns of a call by name, of three runs."""
    ns = {}
    for _ in range(3):
        for name, values in bench.figures_of("bench_cc").items():
            ns.setdefault(name, []).extend(values)
    return ns


def print_costs(ns, out):
    names = [name for name, _, _ in KINDS]
    print("\nns of a call, with the loop around it (2 to 3 ns)\n", file=out)
    print("| call | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1), file=out)
    for call in ("acked", "sent"):
        print(f"| `cc_{call}()` | " + " | ".join(f"{ns[f'cc_{n}_{call}']:.1f}" for n in names) + " |", file=out)
    print(f"\nlearned, an acknowledgement with a decision by the largest model: {ns['cc_learned_decision']:.1f} ns", file=out)


def options(parser):
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--only", action="append", default=[], metavar="TRAFFIC", choices=[t["name"] for t in TRAFFIC])


def run(bench):
    args = argparse.Namespace(sim=bench.path("app/roce-sim/roce-sim"), seeds=bench.option("seeds", 3), bdp=100000,
                              first=bench.option("first", 1), only=bench.option("only", []))
    everything, figures = [], []
    for traffic in TRAFFIC:
        if args.only and traffic["name"] not in args.only:
            continue
        few = argparse.Namespace(**{**vars(args), "seeds": min(args.seeds, traffic.get("seeds", args.seeds))})
        try:
            rows = [measure(few, traffic, *kind) for kind in KINDS + ABLATIONS
                    if "kinds" not in traffic or kind[0] in traffic["kinds"]]
        except subprocess.CalledProcessError as error:
            raise Failure(f"{traffic['name']}: {error}") from error
        print_table(traffic, rows, few.seeds, bench.out)
        figures += goals(traffic, rows)
        everything += rows
    ns = costs(bench)
    print_costs({name: min(values) for name, values in ns.items()}, bench.out)
    figures += [Figure(name, what, "ns", ns[name], goal=at_most(plus=most)) for name, (what, most) in COST_GOALS.items()]
    return Result(figures, everything)


ROW = Row("congestion", "congestion controllers in the simulator, and what a call of each costs (7 min)", run,
          ("app/roce-sim/roce-sim", "tests/bench/bench_cc"), options=options)
