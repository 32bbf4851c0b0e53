# SPDX-License-Identifier: BSD-3-Clause
"""Path schedulers on the fabric model of bench_sched.c, and goodput under loss (bench_sr.c)."""
from figures import Figure, Result, Row

LOSSES = [0, 1, 5, 10, 20, 50, 100]  # per mille, as bench_sr.c has them
TRAFFIC = (("permutation", "permutation of 2 MB messages"), ("degraded", "the same with 4 of 16 spines at 25 %"))


def run(bench):
    of = bench.figures_of("bench_sched", "-s", 1 if bench.quick else 5)
    of.update(bench.figures_of("bench_sr"))
    kinds = [name.removeprefix("sched_").removesuffix("_pick") for name in of if name.endswith("_pick")]
    bound = ("bound of whole links", of["sched_permutation_bound_max"])
    figures = [Figure(f"{traffic}_{kind}", f"{what}, {kind}: worst of the seeds", "us", of[f"sched_{traffic}_{kind}_max"],
                      *bound)
               for traffic, what in TRAFFIC for kind in kinds]
    figures += [Figure(f"{kind}_{call}", f"{kind}: {what}", "ns", of[f"sched_{kind}_{call}"])
                for kind in kinds for call, what in (("pick", "a choice"), ("ack", "an acknowledgement"))]
    for loss in LOSSES:
        figures += [Figure(f"loss_{loss}_{name}", f"loss of {loss / 10:g} %, {what}", "Gb/s", of[f"loss_{loss}_{name}"],
                           "go-back-N", of[f"loss_{loss}_go_back_n"])
                    for name, what in (("selective_repeat", "selective repeat"), ("four_paths", "on four paths"))]
    return Result(figures)


ROW = Row("paths", "path schedulers on a fabric model, and selective repeat beside go-back-N under loss", run,
          ("tests/bench/bench_sched", "tests/bench/bench_sr"))
