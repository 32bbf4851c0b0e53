#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The traffic that path schedulers are compared with, in the simulator: our figures beside published ones and the bound.

usage: bench_sim.py ROCE-SIM JSON [--full] [--seeds N] [--first SEED] [--only NAME]...

Prints a table; JSON has the same. A figure is the end of the last flow in us: the worst of the seeds, and their mean.
Without --full, traffic that takes long runs under fewer schedulers, and on 1,024 hosts with one seed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

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
            sys.exit(f"bench: seed {run['seed']}: {run['flows'] - run['ok']} flows did not end, of\n{text}")
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


def by_how_much(value, goal, better_low):
    missed = value > goal if better_low else value < goal
    return f"missed by {abs(value - goal) / goal * 100:.1f} %" if missed else "met"


def tell_goal(traffic, row):
    """What became of the goals of adaptive."""
    if "goal" in traffic:
        goal = traffic["goal"]
        return [f"  goal, at most {goal} us: worst of the seeds {by_how_much(row['worst_us'], goal, True)}, "
                f"mean {by_how_much(row['mean_us'], goal, True)}"]
    if "goal_share" in traffic:
        goal = traffic["goal_share"]
        return [f"  goal, {goal:.0%} of the bound: worst of the seeds {row['of_bound']:.1%}, "
                f"{by_how_much(row['of_bound'], goal, False)}; mean {row['of_bound_mean']:.1%}, "
                f"{by_how_much(row['of_bound_mean'], goal, False)}"]
    return []


def bench_traffic(args, traffic):
    rows = []
    for kind in KINDS if args.full else traffic["quick"]:
        row = measure(args, traffic, kind)
        if not rows:
            print(f"\n{traffic['what']}; bound {row['bound_us']:.1f} us, published bound "
                  f"{row['published_bound'] or '-'}; seeds {args.first} to {args.first + row['seeds'] - 1}")
            print(f"  {'scheduler':<12} {'worst':>8} {'mean':>8} {'mean flow':>9} {'of bound':>8} {'resent':>8} "
                  f"{'queue':>7}  published")
        print(f"  {kind:<12} {row['worst_us']:8.1f} {row['mean_us']:8.1f} {row['mean_flow_us']:9.1f} "
              f"{row['of_bound_mean']:8.1%} {row['resent_percent']:6.2f} % {row['max_queue_bytes'] // 1000:4} KB  "
              f"{row['published'] or '-'}", flush=True)
        rows.append(row)
    for line in tell_goal(traffic, rows[0]):
        print(line)
    return rows


def bench_loss(args):
    print("\nloss, permutation of 16 hosts, 8 MB: goodput of a host in Gb/s, mean over the seeds")
    print(f"  {'loss':<8} {'go-back-n':>10} " + " ".join(f"{k:>10}" for k in FEW) + f" {'times':>7}")
    rows = []
    for ppm in LOSSES:
        faults = f"{{ spine = 0; count = 4; lose_ppm = {ppm // 2}; }}"
        rates = {}
        for name, how in [("go-back-n", 'recovery = "go-back-n";')] + [(k, f'scheduler = "{k}";') for k in FEW]:
            text = scenario(H16, LOSS_WORKLOAD, how + " timeout = 6;", faults)
            runs = simulate(args.sim, text, args.first, args.seeds)
            rates[name] = sum(run["goodput_gbps"] for run in runs) / args.seeds / 16
        times = rates["adaptive"] / rates["go-back-n"]
        print(f"  {ppm / 10000:<6.1f} % {rates['go-back-n']:10.3f} " + " ".join(f"{rates[k]:10.2f}" for k in FEW) +
              f" {times:7.1f}  goal, {LOSS_GOAL} times: {by_how_much(times, LOSS_GOAL, False)}", flush=True)
        rows.append({"traffic": "loss", "loss_percent": ppm / 10000, "gbps": rates, "times": times})
    return rows


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("sim")
    parser.add_argument("json")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--only", action="append", default=[])
    args = parser.parse_args()
    names = [t["name"] for t in TRAFFIC] + ["loss"]
    unknown = sorted(set(args.only) - set(names))
    if unknown:
        sys.exit(f"bench: no such traffic: {', '.join(unknown)}; there is {', '.join(names)}")
    started = time.monotonic()
    rows = []
    for traffic in TRAFFIC:
        if not args.only or traffic["name"] in args.only:
            rows += bench_traffic(args, traffic)
    if not args.only or "loss" in args.only:
        rows += bench_loss(args)
    print(f"\ntook {time.monotonic() - started:.0f} s")
    with open(args.json, "w", encoding="ascii") as f:
        json.dump({"version": 1, "full": args.full, "figures": rows}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
