# SPDX-License-Identifier: BSD-3-Clause
"""Rows of one daemon: latency, its start, what it costs when idle, how soon it wakes, what clients' objects take of its
memory, and what a second worker brings."""
import os
import subprocess
import time

import running
from bench_network import TARGETS
from bench_tp import memory as transport_memory, workers as transport_workers
from daemons import PERFTEST_PORT, Daemon, Wire, af_packet, end_process, perftest_figures, testpmd_args
from figures import Failure, Figure, Result, Row, at_least, at_most
from running import last_lines, read, wait_for

IDLE_S, IDLE_US = 5, 20000
START_LIMIT_S, LOOK_S = 30, 0.001


# ---- latency

def latency(bench):
    of = bench.figures_of("bench_latency", "-r", bench.runs, "-n", 5000 if bench.quick else 20000)
    word = "a word in shared memory there and back"
    what = "WRITE of 8 B, send ring to the other client's memory, one way"
    return Result([Figure("write_8_one_way", what, "ns", of["write_8"], word, of["word"], at_most(plus=1500)),
                   Figure("write_8_one_way_p99", what + ", 99th percentile", "ns", of["write_8_p99"], word,
                          of["word_p99"])])


# ---- idle

def cpu_seconds(pid):
    """User's and system's, of all its threads."""
    after_name = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def idle_share(daemon, seconds):
    time.sleep(0.5)
    began, used = time.monotonic(), cpu_seconds(daemon.pid)
    time.sleep(seconds)
    return 100 * (cpu_seconds(daemon.pid) - used) / (time.monotonic() - began)


def idle(bench):
    share, of = [], {"asleep": [], "awake": []}
    wake = [bench.path("tests/bench/bench_wake"), "roced0", "1", "20" if bench.quick else "100", str(IDLE_US)]
    with Wire() as wire, Daemon(bench, wire, "A", af_packet()) as daemon:
        for _ in range(bench.runs):
            share.append(idle_share(daemon, 1 if bench.quick else IDLE_S))
            for line in running.run(daemon.on(wake)).splitlines():
                name, value, _ = line.split()
                of[name].append(float(value) / 1e3)
    woken = [a - b for a, b in zip(of["asleep"], of["awake"])]
    return Result([
        Figure("idle_share", "an idle daemon with a port on veth", "% of a core", share, goal=at_most(plus=3)),
        Figure("wake_up", "what waking adds to a WRITE to oneself", "us", woken, goal=at_most(plus=100)),
        Figure("wake_whole", "WRITE of 8 B to oneself, worker asleep", "us", of["asleep"], "awake", of["awake"])])


# ---- start

def seconds_until(args, word, log):
    """From the start of a program until it has said that; then it is ended."""
    with open(log, "wb") as out:
        began = time.monotonic()
        process = subprocess.Popen(args, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
    try:
        while word not in read(log):
            if process.poll() is not None or time.monotonic() - began > START_LIMIT_S:
                raise Failure(f"{args[4]} does not start: {last_lines(log)}")
            time.sleep(LOOK_S)
        return time.monotonic() - began
    finally:
        end_process(process)


def start(bench):
    ours, theirs, runs = [], [], bench.args.runs or (3 if bench.quick else 11)
    with Wire() as wire:
        daemon = Daemon(bench, wire, "A", af_packet())
        roced = wire.inside("A", [bench.path("app/roced"), "-c", daemon.conf, "-f"])
        testpmd = wire.inside("A", [*testpmd_args(af_packet()), "-i"])
        for _ in range(runs):
            ours.append(1e3 * seconds_until(roced, "roced: ready", f"{bench.tmp}/start.log"))
            theirs.append(1e3 * seconds_until(testpmd, "testpmd>", f"{bench.tmp}/testpmd.log"))
    return Result([Figure("start", "from the start of the daemon until it is ready", "ms", ours, "testpmd's prompt",
                          theirs, at_most(times=1.2))])


# ---- memory

def resident_bytes(pid):
    line = next(line for line in read(f"/proc/{pid}/smaps_rollup").splitlines() if line.startswith("Rss:"))
    return int(line.split()[1]) * 1024


def taken_by(bench, daemon, kind):
    """Bytes of the daemon's resident memory for each object that a program has, as many of them as it gets."""
    before = resident_bytes(daemon.pid)
    greedy = daemon.on([bench.path("tests/tools/greedy"), "roced0", kind])
    with subprocess.Popen(greedy, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        n = int(program.stdout.readline().split()[0])
        after = resident_bytes(daemon.pid)
        program.stdin.close()
        program.wait()
    return (after - before) / n


def memory(bench):
    figures = transport_memory(bench).figures
    if os.getuid() != 0:
        return Result(figures)
    of = {}
    for _ in range(bench.runs):
        for kind in ("qps", "mrs"):
            with Wire() as wire, Daemon(bench, wire, "A", af_packet()) as daemon:
                of.setdefault(kind, []).append(taken_by(bench, daemon, kind))
    return Result(figures + [
        Figure("daemon_qp", "what the daemon grows by for an idle queue pair of a program, one work request", "B",
               of["qps"], goal=at_most(plus=4096)),
        Figure("daemon_mr", "what the daemon grows by for a memory region", "B", of["mrs"], goal=at_most(plus=128))])


# ---- workers

def loop_gbps(daemon, n, pairs=2):
    """Of pairs of ib_send_bw within one daemon, together. They wait for events, having no CPUs of their own."""
    programs = []
    try:
        for host in ((), ("127.0.0.1",)):
            for port in range(PERFTEST_PORT, PERFTEST_PORT + pairs):
                args = ["ib_send_bw", "-d", "roced0", "-x", "1", "-F", "-e", "-s", "65536", "-n", str(n),
                        "-p", str(port), "--report_gbits", *host]
                programs.append(subprocess.Popen(daemon.on(args, shared=True), stdout=subprocess.PIPE,
                                                 stderr=subprocess.STDOUT, text=True))
                if not host:
                    wait_for(lambda port=port: daemon.wire.listens("A", port), 10, "ib_send_bw does not listen")
        outs = [program.communicate(timeout=90)[0] for program in programs]
    except subprocess.TimeoutExpired as error:
        raise Failure(f"ib_send_bw does not end: {error}") from error
    finally:
        for program in programs:
            end_process(program)
    return sum(perftest_figures("ib_send_bw", out)[3] for out in outs[pairs:])


def workers(bench):
    figures = transport_workers(bench).figures
    if os.getuid() != 0:
        return Result(figures)
    gbps, cpus = {1: [], 2: []}, (running.cpu(True), running.cpu(False))
    with Wire() as wire:
        for _ in range(bench.runs):
            for count, values in gbps.items():
                lcores = ", ".join(f'{{ lcore = {1 + i}; cpus = "{cpus[i]}"; }}' for i in range(count))
                with Daemon(bench, wire, "A", af_packet() + f",qpairs={count}", workers=lcores) as daemon:
                    values.append(loop_gbps(daemon, 500 if bench.quick else 5000))
    what = "ib_send_bw 64 KB within a daemon, two pairs, two workers"
    figures.append(Figure("daemon_workers_2", what, "Gb/s", gbps[2], "one worker", gbps[1], at_least(times=1.9)))
    return Result(figures)


ROWS = [
    Row("latency", "one-way latency of a WRITE of 8 B, software only, one core for each end", latency,
        ("tests/bench/bench_latency",)),
    Row("memory", "memory of an idle queue pair and of a region; of a daemon too as root", memory,
        (*TARGETS, "tests/bench/bench_tp", "tests/tools/greedy")),
    Row("workers", "one and two workers; of a daemon too as root", workers, (*TARGETS, "tests/bench/bench_tp")),
    Row("idle", "what an idle daemon uses of a core, and how soon it wakes", idle, (*TARGETS, "tests/bench/bench_wake"),
        root=True),
    Row("start", "from the start of the daemon until it is ready, beside testpmd", start, TARGETS, root=True),
]
