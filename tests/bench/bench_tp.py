# SPDX-License-Identifier: BSD-3-Clause
"""Rows of the transport by itself: two endpoints in one thread over an in-memory link (bench_tp.c). Cycles are those of
the core at the median burst, so another load on the machine costs little but its share of the caches."""
from figures import Figure, Result, Row, at_least, at_most

SUITES = ["sm4-gcm", "aes-256-gcm", "aes-128-gcm"]
PUBLISHED_PER_SECOND = 10e6  # eRPC (NSDI 2019): small messages of one core that does both ends' work
TARGETS = ("tests/bench/bench_tp",)
ROUNDS = 5                   # of bench_tp in a run, so that what stands beside a figure is measured soon after it


def part(bench, name, messages=20000):
    """Values by name of a part of bench_tp, one of each round."""
    return bench.figures_of("bench_tp", "-n", messages // 4 if bench.quick else messages, "-r", ROUNDS * bench.runs, name)


def added(*columns):
    return [sum(values) for values in zip(*columns)]


def both_ends(of, name):
    return added(of[name + "_requester"], of[name + "_responder"])


def rc(bench):
    of, figures = part(bench, "rc"), []
    for size, times in ((4096, 1.15), (1024, 1.3), (256, 1.3)):
        for opcode in ("write", "send"):
            name = f"{opcode}_{size}"
            what = f"RC {opcode.upper()} of {size} B, both ends"
            figures.append(Figure(name, what, "cycles a packet", both_ends(of, name), "memcpy + CRC-32, twice",
                                  of[name + "_bound"], at_most(times=times, plus=300)))
    for end in ("requester", "responder"):
        name = f"write_4096_{end}"
        figures.append(Figure(name, f"RC WRITE of 4096 B, {end}", "cycles a packet", of[name], "memcpy + CRC-32",
                              [v / 2 for v in of["write_4096_bound"]]))
    name = "write_4096_syscall"
    figures.append(Figure(name, "RC WRITE of 4096 B, clients' memory by system call, both ends", "cycles a packet",
                          both_ends(of, name), "memcpy + CRC-32, twice", of[name + "_bound"]))
    return Result(figures)


def messages(bench):
    of = part(bench, "messages", 40000)
    peer = ("eRPC, published", [PUBLISHED_PER_SECOND / 1e6])
    rate = lambda name: [v / 1e6 for v in of[name + "_per_second"]]
    figures = [Figure(name, f"WRITEs of 8 B{what}, one core that does both ends' work", "M/s", rate(name), *peer, goal)
               for name, what, goal in (("write_8", "", at_least(plus=8)), ("write_8_sack", ", selective repeat", None),
                                        ("write_8_merged", ", merged", None))]
    figures.append(Figure("write_256_merged", "WRITEs of 256 B, merged, one core that does both ends' work", "M/s",
                          rate("write_256_merged"), "not merged", rate("write_256_sack")))
    for end in ("requester", "responder"):
        figures.append(Figure(f"write_8_{end}", f"WRITE of 8 B, {end}", "cycles a message", of[f"write_8_{end}"]))
    return Result(figures)


def protected(bench):
    of, figures = part(bench, "protected", 8000), []
    for suite in SUITES:
        for size in (256, 1024, 4096):
            goal = None if suite == "aes-128-gcm" else at_most(times=1.1)
            name, what = f"{suite}_{size}", f"NIC, {suite}, WRITE of {size} B: what protection adds, both ends"
            figures.append(Figure("nic_" + name.replace("-", "_"), what, "cycles a packet", of[name + "_added"],
                                  "the cipher in the same packets", of[name + "_cipher"], goal))
    return Result(figures)


def qps(bench):
    of = part(bench, "qps", 30000)
    beside = ("10 queue pairs", of["qps_10"])
    return Result([Figure(f"qps_{n}", f"WRITE of 256 B, {n:,} queue pairs in turn, both ends", "cycles a packet",
                          of[f"qps_{n}"], *(beside if n != 10 else ()), goal=goal)
                   for n, goal in ((10, None), (1000, None), (10000, at_most(times=1.3)))])


def memory(bench):
    of = part(bench, "memory")
    return Result([
        Figure("idle_qp_16", "an idle queue pair, 16 work requests", "B", of["idle_qp_16"], goal=at_most(plus=4096)),
        Figure("idle_qp_128", "an idle queue pair, 128 work requests", "B", of["idle_qp_128"], goal=at_most(plus=4096)),
        Figure("region", "a memory region", "B", of["region"], goal=at_most(plus=128)),
    ])


def workers(bench):
    of = part(bench, "workers")
    mega = lambda n: [v / 1e6 for v in of[f"workers_{n}"]]
    what = "WRITEs of 4096 B, two threads, each with both ends"
    return Result([Figure("workers_2", what, "M/s", mega(2), "one thread", mega(1), at_least(times=1.9))])


def pace(bench):
    of = bench.figures_of("bench_tp", "rates")
    names = ("10m", "1g", "10g", "10g_burst_1ms", "10g_burst_4ms")
    away = lambda n: f"{of[f'rate_{n}_away'][0]:.1%}"
    return Result([Figure(f"pace_{n}", f"a queue pair with the limit {n.replace('_', ', ')}; core away {away(n)}",
                          "of the limit", of[f"rate_{n}"]) for n in names])


ROWS = [
    Row("rc", "RC WRITE and SEND, requester and responder in one thread over an in-memory link", rc, TARGETS),
    Row("messages", "WRITEs of 8 B a second of one core", messages, TARGETS),
    Row("qps", "cost of a packet with 10, 1,000 and 10,000 queue pairs", qps, TARGETS),
    Row("protected", "what protection adds to a NIC's packets, beside the cipher in them", protected, TARGETS),
    Row("pace", "what a queue pair with a limit sends over an in-memory link", pace, TARGETS),
]
