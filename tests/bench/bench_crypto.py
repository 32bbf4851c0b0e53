# SPDX-License-Identifier: BSD-3-Clause
"""Packets sealed by roced's kernels beside libgcrypt, OpenSSL, ipsec-mb and DPDK's drivers, in one run.

Each packet has 16 bytes of AAD and lies in the cache. Figures are medians; those of dpdk-test-crypto-perf are its own, of
a DPDK crypto device that is run by the same CPU. And what protecting frames costs beside the cipher.
"""
import os
import re
import shutil
import subprocess

import running
from figures import Figure, Result, Row, at_least, at_most
from running import say

SUITES = ["aes-128-gcm", "aes-256-gcm", "sm4-gcm"]
SIZES, BURSTS = [64, 256, 1024, 4096], [1, 8, 32]
PERF = "dpdk-test-crypto-perf"
# suite, size, who, beside whom, how many times as fast at bursts of 32. Like beside like: each kernel beside the code for the same width of
# vectors, which is what both of them run on a CPU that has no wider ones.
GOALS = [
    ("sm4-gcm", 4096, "roced-avx2", "libgcrypt", 2.2),
    ("sm4-gcm", 4096, "roced-avx512", "libgcrypt", 2.2),
    ("aes-256-gcm", 4096, "roced-avx2", "ipsec-mb-avx2", 1.6),
    ("aes-256-gcm", 4096, "roced-avx512", "ipsec-mb-avx512", 1.6),
    ("aes-256-gcm", 64, "roced-avx2", "ipsec-mb-avx2", 1.0),
    ("aes-256-gcm", 64, "roced-avx512", "ipsec-mb-avx512", 1.0),
]

# suite, size: most of what protection at bursts of 32 may cost, in the cipher's own cycles
PROTECT_GOALS = [("sm4-gcm", 4096, 1.1)]


def own(program, suite, rounds):
    for line in running.run([program, "-r", str(rounds), "-s", suite]).splitlines():
        _, who, size, burst, rate, _, per_byte, _, per_packet, _ = line.split()
        yield {"suite": suite, "who": who, "bytes": int(size), "burst": int(burst), "gb_per_s": float(rate),
               "cycles_per_byte": float(per_byte), "cycles_per_packet": float(per_packet)}


def device(suite, driver):
    """Figures of a DPDK crypto device, of buffers of one size at a time; none where the program or the device is not there."""
    if not shutil.which(PERF) or suite == "sm4-gcm":
        return
    for burst in BURSTS:
        args = [PERF, "--no-huge", "-m", "512", "--no-telemetry", f"--file-prefix=bench{os.getpid()}", "-l", "0,1", "--vdev", driver, "--", "--ptest",
                "throughput", "--devtype", driver, "--optype", "aead", "--aead-algo", "aes-gcm", "--aead-op", "encrypt",
                "--aead-key-sz", "16" if suite == "aes-128-gcm" else "32", "--aead-iv-sz", "12", "--aead-aad-sz", "16",
                "--digest-sz", "16", "--total-ops", "200000", "--burst-sz", str(burst), "--buffer-sz",
                ",".join(map(str, SIZES)), "--pool-sz", "4096", "--silent"]
        try:
            out = subprocess.run(args, capture_output=True, text=True, timeout=120, check=False).stdout
        except subprocess.TimeoutExpired:
            return
        for line in out.splitlines():
            f = line.split()
            if len(f) == 10 and re.fullmatch(r"[\d.]+", f[9]):
                yield {"suite": suite, "who": "dpdk-" + driver.removeprefix("crypto_"), "bytes": int(f[1]), "burst": int(f[2]),
                       "gb_per_s": float(f[8]) / 8, "cycles_per_byte": float(f[9]) / int(f[1]), "cycles_per_packet": float(f[9])}


def protection(program, suite, rounds):
    for line in running.run([program, "-r", str(rounds), "-s", suite]).splitlines():
        _, kernel, way, size, burst, keys, cipher, all_of_it, headers, _ = line.split()
        yield {"suite": suite, "kernel": kernel, "way": way, "bytes": int(size), "burst": int(burst), "keys": int(keys),
               "cipher_cycles": int(cipher), "protection_cycles": int(all_of_it), "headers_cycles": int(headers)}


def protection_table(rows, suite, out):
    """Cycles a packet: the cipher alone, protection with it (and by how much more), and protection without one."""
    mine = [r for r in rows if r["suite"] == suite]
    for way in dict.fromkeys(r["way"] for r in mine):
        print(f"\n{suite}, protection, {way}: cycles of a packet, by cipher, all (more), and all without a cipher\n", file=out)
        print("| burst, keys | " + " | ".join(f"{size} B" for size in SIZES) + " |", file=out)
        print("| --- " * (len(SIZES) + 1) + "|", file=out)
        for shape in dict.fromkeys((r["burst"], r["keys"]) for r in mine):
            cells = [f"{r['cipher_cycles']}, {r['protection_cycles']} ({r['protection_cycles'] / r['cipher_cycles'] - 1:+.0%}), "
                     f"{r['headers_cycles']}" for r in mine if r["way"] == way and (r["burst"], r["keys"]) == shape]
            print(f"| {shape[0]}, {shape[1]} | " + " | ".join(cells) + " |", file=out)


def protection_figures(rows):
    for suite, size, goal in PROTECT_GOALS:
        for r in rows:
            if (r["suite"], r["bytes"], r["burst"], r["keys"]) == (suite, size, 32, 1):
                yield Figure(f"protect_{suite}_{size}_{r['way']}".replace("-", "_"),
                             f"{suite}, {size} B, bursts of 32, {r['way']}: protection", "cycles",
                             [r["protection_cycles"]], "its cipher", [r["cipher_cycles"]], at_most(times=goal))


def table(rows, suite, out):
    print(f"\n{suite}: GB/s (cycles a byte; of a packet at 64 B)\n", file=out)
    columns = [(size, burst) for size in SIZES for burst in BURSTS]
    print("| | " + " | ".join(f"{size} B x {burst}" for size, burst in columns) + " |", file=out)
    print("| --- " * (len(columns) + 1) + "|", file=out)
    at = {(r["who"], r["bytes"], r["burst"]): r for r in rows if r["suite"] == suite}
    for who in dict.fromkeys(r["who"] for r in rows if r["suite"] == suite):
        cells = []
        for size, burst in columns:
            r = at.get((who, size, burst))
            cells.append("-" if r is None else f"{r['gb_per_s']:.2f} ({r['cycles_per_packet']:.0f})" if size == 64 else
                         f"{r['gb_per_s']:.2f} ({r['cycles_per_byte']:.2f})")
        print(f"| {who} | " + " | ".join(cells) + " |", file=out)


def figures(rows):
    at = {(r["suite"], r["who"], r["bytes"]): r["gb_per_s"] for r in rows if r["burst"] == 32}
    for suite, size, who, other, goal in GOALS:
        mine, theirs = at.get((suite, who, size)), at.get((suite, other, size))
        if mine is not None and theirs is not None:
            yield Figure(f"seal_{suite}_{size}_{who}_{other}".replace("-", "_"), f"{suite}, {size} B, bursts of 32: {who}", "GB/s",
                         [mine], other, [theirs], at_least(times=goal))


def options(parser):
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--suite", action="append", choices=SUITES)


def run(bench):
    rows, protected, rounds = [], [], bench.option("rounds", 31 if bench.quick else 101)
    suites = bench.option("suite", SUITES)
    for suite in suites:
        protected += protection(bench.path("tests/bench/bench_protect"), suite, rounds)
        rows += own(bench.path("tests/bench/bench_crypto"), suite, rounds)
        for driver in ("crypto_aesni_gcm", "crypto_openssl"):
            rows += device(suite, driver)
    for suite in suites:
        table(rows, suite, bench.out)
        protection_table(protected, suite, bench.out)
    if not shutil.which(PERF):
        say(f"{PERF} is not installed, DPDK's devices are left out")
    return Result([*figures(rows), *protection_figures(protected)], [{"figures": rows, "protection": protected}])


ROW = Row("crypto", "packets sealed by roced's kernels, libgcrypt, OpenSSL, ipsec-mb and DPDK's devices; protection beside "
          "its cipher (4 min)", run, ("tests/bench/bench_crypto", "tests/bench/bench_protect"), options=options)
