#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets sealed by roced's kernels beside libgcrypt, OpenSSL, ipsec-mb and DPDK's drivers, in one run.

usage: bench_crypto.py BENCH_CRYPTO JSON [--protect BENCH_PROTECT] [--markdown FILE] [--rounds N] [--suite NAME]...

Each packet has 16 bytes of AAD and lies in the cache. Figures are medians; those of dpdk-test-crypto-perf are its own, of
a DPDK crypto device that is run by the same CPU. With --protect also what protecting frames costs beside the cipher.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys

SUITES = ["aes-128-gcm", "aes-256-gcm", "sm4-gcm"]
SIZES, BURSTS = [64, 256, 1024, 4096], [1, 8, 32]
PERF = "dpdk-test-crypto-perf"
# suite, size: most cycles a byte (a packet at 64 B) at bursts of 32, on the CPU that they were set for (Zen 3)
GOALS = [
    ("sm4-gcm", 4096, "libgcrypt", 2.2),
    ("aes-256-gcm", 4096, "ipsec-mb-avx2", 1.6),
    ("aes-256-gcm", 64, "ipsec-mb-avx2", 1.0),
]

# suite, size: most of what protection at bursts of 32 may cost, in the cipher's own cycles
PROTECT_GOALS = [("sm4-gcm", 4096, 1.1)]


def own(program, suite, rounds):
    out = subprocess.run([program, "-r", str(rounds), "-s", suite], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
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
    out = subprocess.run([program, "-r", str(rounds), "-s", suite], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
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


def protection_goals(rows, out):
    for suite, size, goal in PROTECT_GOALS:
        for r in rows:
            if (r["suite"], r["bytes"], r["burst"], r["keys"]) != (suite, size, 32, 1):
                continue
            ratio = r["protection_cycles"] / r["cipher_cycles"]
            print(f"- {suite}, {size} B, bursts of 32, {r['way']}: protection costs {ratio:.2f} of its cipher, goal {goal}: "
                  f"{'met' if ratio <= goal else 'missed'}", file=out)


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


def goals(rows, out):
    at = {(r["suite"], r["who"], r["bytes"]): r["gb_per_s"] for r in rows if r["burst"] == 32}
    ours = next((r["who"] for r in rows if r["who"].startswith("roced-")), None)
    print(file=out)
    for suite, size, other, goal in GOALS:
        mine, theirs = at.get((suite, ours, size)), at.get((suite, other, size))
        if mine is None or theirs is None:
            continue
        print(f"- {suite}, {size} B, bursts of 32: {ours} is {mine / theirs:.2f} of {other}, goal {goal}: "
              f"{'met' if mine / theirs >= goal else 'missed'}", file=out)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("program")
    parser.add_argument("json")
    parser.add_argument("--protect")
    parser.add_argument("--markdown")
    parser.add_argument("--rounds", type=int, default=101)
    parser.add_argument("--suite", action="append", choices=SUITES)
    args = parser.parse_args()
    rows, protected = [], []
    for suite in args.suite or SUITES:
        if args.protect:
            protected += protection(args.protect, suite, args.rounds)
        rows += own(args.program, suite, args.rounds)
        for driver in ("crypto_aesni_gcm", "crypto_openssl"):
            rows += device(suite, driver)
    outs = [sys.stdout] + ([open(args.markdown, "w", encoding="ascii")] if args.markdown else [])
    for out in outs:
        for suite in args.suite or SUITES:
            table(rows, suite, out)
            protection_table(protected, suite, out)
        goals(rows, out)
        protection_goals(protected, out)
    if not shutil.which(PERF):
        print(f"\n{PERF} is not installed, DPDK's devices are left out")
    with open(args.json, "w", encoding="ascii") as f:
        json.dump({"version": 1, "figures": rows, "protection": protected}, f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
