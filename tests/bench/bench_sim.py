# SPDX-License-Identifier: BSD-3-Clause
"""The traffic that path schedulers are compared with, in the simulator: our figures beside published ones and the bound.

A figure is the end of the last flow in us: the worst of the seeds, and their mean. Without --full, traffic that takes long
runs under fewer schedulers, and on 1,024 hosts with one seed.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time

from figures import Failure, Figure, Result, Row, at_least, at_most

KINDS = ["adaptive", "mixed", "reps", "bitmap", "round_robin", "flowlet", "plb", "ecmp"]
FEW = ["adaptive", "mixed", "ecmp"]

# Links of 1 us, queues of 400 KB that mark from 25 KB and always from 100 KB.
FABRIC = ("host_ns = 1000; leaf_ns = 1000; queue_bytes = 400000; "
          "ecn_min_bytes = 25000; ecn_max_bytes = 100000;")
H128 = "leaves = 8; spines = 16; hosts_per_leaf = 16; " + FABRIC
H1024 = "leaves = 32; spines = 32; hosts_per_leaf = 32; " + FABRIC
H16 = "leaves = 4; spines = 4; hosts_per_leaf = 4; " + FABRIC

PERMUTATION = 'pattern = "permutation"; bytes = 2000000;'
SLOW = "{ spine = 0; count = 4; rate_percent = 25; }"

# Published: runs of the public UET simulator, NSCC, 64 EVs, an acknowledgement a packet, packets trimmed; in the second
# place without trimming.
TRAFFIC = [
    {"name": "permutation", "what": "permutation, 2 MB, 128 hosts", "fabric": H128, "workload": PERMUTATION,
     "quick": KINDS, "goal": 175,
     "published": {"bound": "168", "ecmp": "687 (680)", "round_robin": "197 (241)", "bitmap": "197 (200)",
                   "reps": "185", "mixed": "187 (190)"}},
    {"name": "degraded", "what": "the same, 4 of 16 spines at 25 %", "fabric": H128, "workload": PERMUTATION,
     "faults": SLOW, "quick": KINDS, "goal": 240,
     "published": {"ecmp": "2688 (2642)", "round_robin": "479 (825)", "bitmap": "271 (601)", "reps": "255",
                   "mixed": "249 (256)"}},
    {"name": "allreduce", "what": "ring allreduce, 8 groups of 16, 31 x 1 MB", "fabric": H128,
     "workload": 'pattern = "ring"; group_size = 16; steps = 31; bytes = 1000000;', "quick": FEW, "goal_share": 0.98,
     "published": {"bound": "2673", "ecmp": "7260", "round_robin": "3094", "bitmap": "2999", "reps": "2985"}},
    {"name": "all_to_all", "what": "all-to-all, 4 groups of 32, 128 KB", "fabric": H128,
     "workload": 'pattern = "all-to-all"; group_size = 32; bytes = 128000;', "quick": FEW,
     "published": {"bound": "323", "ecmp": "489", "round_robin": "343", "bitmap": "343", "reps": "340"}},
    {"name": "moe", "what": "experts, Zipf 0.6, 4096 tokens of 7168 B to 8", "fabric": H128,
     "workload": 'pattern = "moe"; tokens = 32; token_bytes = 7168; top_k = 8; zipf_permille = 600;', "quick": FEW,
     "published": {"bound": "1269", "ecmp": "1312", "round_robin": "1330", "bitmap": "1318", "reps": "1315",
                   "mixed": "1308"}},
    {"name": "permutation_1024", "what": "permutation, 2 MB, 1024 hosts", "fabric": H1024, "workload": PERMUTATION,
     "quick": FEW, "quick_seeds": 1,
     "published": {"ecmp": "890", "round_robin": "213", "bitmap": "201", "reps": "198", "mixed": "193"}},
]

# Losses on each way: half of them on each of its two links between leaves and spines.
LOSSES = [1000, 10000, 100000]
LOSS_WORKLOAD = 'pattern = "permutation"; bytes = 8000000;'
LOSS_GOAL = 4


def scenario(fabric, workload, transport, faults=""):
    return (f"fabric = {{ {fabric} }};\ntransport = {{ {transport} }};\n"
            f"workloads = ( {{ {workload} }} );\nfaults = ( {faults} );\n")


def simulate(sim, text, first, seeds):
    """The runs of a scenario, as roce-sim tells of them."""
    with tempfile.TemporaryDirectory() as tmp:
        conf, out = os.path.join(tmp, "run.conf"), os.path.join(tmp, "run.json")
        with open(conf, "w", encoding="ascii") as f:
            f.write(text)
        subprocess.run([sim, conf, "--quiet", "--json", out, "--seed", str(first), "--seeds", str(seeds)], check=True)
        with open(out, encoding="ascii") as f:
            runs = json.load(f)["runs"]
    for run in runs:
        if run["ok"] != run["flows"]:
            raise Failure(f"seed {run['seed']}: {run['flows'] - run['ok']} flows did not end, of\n{text}")
    return runs


def measure(args, traffic, kind):
    seeds = args.seeds
    if not args.full:
        seeds = traffic.get("quick_seeds", seeds)
    text = scenario(traffic["fabric"], traffic["workload"], f'scheduler = "{kind}"; ack_priority = 7;', traffic.get("faults", ""))
    started = time.monotonic()
    runs = simulate(args.sim, text, args.first, seeds)
    ends = [run["end_us"] for run in runs]
    return {
        "traffic": traffic["name"], "scheduler": kind, "seeds": seeds, "first_seed": args.first,
        "worst_us": max(ends), "mean_us": sum(ends) / seeds,
        "mean_flow_us": sum(run["completion_us"]["mean"] for run in runs) / seeds,
        "bound_us": max(run["bound_us"] for run in runs),
        "of_bound": min(run["bound_us"] / run["end_us"] for run in runs),
        "of_bound_mean": sum(run["bound_us"] / run["end_us"] for run in runs) / seeds,
        "resent_percent": 100 * sum(run["retransmits"] for run in runs) / sum(run["delivered"] for run in runs),
        "max_queue_bytes": max(run["max_queue_bytes"] for run in runs),
        "published": traffic["published"].get(kind), "published_bound": traffic["published"].get("bound"),
        "spent_s": round(time.monotonic() - started, 2),
    }


def figures_of(traffic, row):
    """Of adaptive: the mean of the seeds and the worst, beside the bound."""
    goal = at_most(plus=traffic["goal"]) if "goal" in traffic else None
    if "goal_share" in traffic:
        goal = at_most(times=1 / traffic["goal_share"])
    return [Figure(f"{traffic['name']}_{kind}", f"{traffic['what']}: last flow, {what}", "us", [row[f"{kind}_us"]],
                   "bound", [row["bound_us"]], goal) for kind, what in (("worst", "worst of the seeds"), ("mean", "mean"))]


def bench_traffic(args, traffic, out):
    """Its rows and figures, the table to out."""
    rows = []
    for kind in KINDS if args.full else traffic["quick"]:
        row = measure(args, traffic, kind)
        if not rows:
            print(f"\n{traffic['what']}; bound {row['bound_us']:.1f} us, published bound "
                  f"{row['published_bound'] or '-'}; seeds {args.first} to {args.first + row['seeds'] - 1}\n", file=out)
            print("| scheduler | worst | mean | mean flow | of bound | resent | queue | published |", file=out)
            print("| --- " * 8 + "|", file=out)
        print(f"| {kind} | {row['worst_us']:.1f} | {row['mean_us']:.1f} | {row['mean_flow_us']:.1f} | "
              f"{row['of_bound_mean']:.1%} | {row['resent_percent']:.2f} % | {row['max_queue_bytes'] // 1000} KB | "
              f"{row['published'] or '-'} |", file=out, flush=True)
        rows.append(row)
    return rows, figures_of(traffic, rows[0])


def bench_loss(args, out):
    print("\nloss, permutation of 16 hosts, 8 MB: goodput of a host in Gb/s, mean over the seeds\n", file=out)
    print("| loss | go-back-n | " + " | ".join(FEW) + " | times |\n" + "| --- " * (len(FEW) + 3) + "|", file=out)
    rows, figures = [], []
    for ppm in LOSSES:
        faults = f"{{ spine = 0; count = 4; lose_ppm = {ppm // 2}; }}"
        rates = {}
        for name, how in [("go-back-n", 'recovery = "go-back-n";')] + [(k, f'scheduler = "{k}";') for k in FEW]:
            text = scenario(H16, LOSS_WORKLOAD, how + " timeout = 6;", faults)
            runs = simulate(args.sim, text, args.first, args.seeds)
            rates[name] = sum(run["goodput_gbps"] for run in runs) / args.seeds / 16
        times = rates["adaptive"] / rates["go-back-n"]
        print(f"| {ppm / 10000:.1f} % | {rates['go-back-n']:.3f} | " + " | ".join(f"{rates[k]:.2f}" for k in FEW) +
              f" | {times:.1f} |", file=out, flush=True)
        rows.append({"traffic": "loss", "loss_percent": ppm / 10000, "gbps": rates, "times": times})
        figures.append(Figure(f"loss_{ppm}_ppm", f"loss of {ppm / 10000:g} %: goodput of a host, adaptive", "Gb/s",
                              [rates["adaptive"]], "go-back-n", [rates["go-back-n"]], at_least(times=LOSS_GOAL)))
    return rows, figures


def options(parser):
    parser.add_argument("--full", action="store_true", help="all traffic under all schedulers")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1, metavar="SEED")
    parser.add_argument("--only", action="append", default=[], metavar="TRAFFIC", choices=[t["name"] for t in TRAFFIC] + ["loss"])


def run(bench):
    args = argparse.Namespace(sim=bench.path("app/roce-sim/roce-sim"), seeds=bench.option("seeds", 5),
                              first=bench.option("first", 1), only=bench.option("only", []), full=bench.option("full", False))
    rows, figures = [], []
    for traffic in TRAFFIC + [{"name": "loss"}]:
        if args.only and traffic["name"] not in args.only:
            continue
        more = bench_loss(args, bench.out) if traffic["name"] == "loss" else bench_traffic(args, traffic, bench.out)
        rows += more[0]
        figures += more[1]
    return Result(figures, rows)


ROW = Row("sim", "path schedulers in the simulator, beside published figures (6 min; --full: longer)", run,
          ("app/roce-sim/roce-sim",), options=options)
