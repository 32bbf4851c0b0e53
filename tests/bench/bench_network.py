# SPDX-License-Identifier: BSD-3-Clause
"""Rows of whole daemons: WRITEs between two of them beside what else moves bytes between the same two ends."""
import contextlib
import json
import re

from daemons import ENDS, KERNEL, Daemon, Wire, af_packet, af_xdp, memif, pair, testpmd_frames, write_gbps, write_rate
from figures import Failure, Figure, Result, Row, at_least

TARGETS = ("app/roced", "lib/verbs/client/libibverbs.so.1", "lib/verbs/client/librdmacm.so.1",
           "lib/alloc/libroced_preload.so")
HEADERS = 74  # of a WRITE in one packet: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4
IPERF_PORT, UCX_PORT = 5201, 13337


@contextlib.contextmanager
def two_daemons(bench, wire, devices, **more):
    """At A and B; a list of devices for these."""
    with Daemon(bench, wire, "A", devices[0], **more) as a, Daemon(bench, wire, "B", devices[1], **more) as b:
        yield a, b


def memifs(bench):
    return [memif(bench.tmp, end) for end in ENDS]


# ---- 64 KB beside TCP and UCX

def tcp_gbps(wire, seconds):
    client = ["iperf3", "-c", KERNEL["B"], "-t", str(seconds), "-J"]
    server = wire.inside("B", ["iperf3", "-s", "-1"])
    out = pair(server, wire.inside("A", client), lambda: wire.listens("B", IPERF_PORT))
    return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 1e9


def ucx_gbps(wire, transport, n):
    """UCX between two processes: tcp over the wire, others in one namespace."""
    args = ["env", f"UCX_TLS={transport},self", "UCX_LOG_LEVEL=error"]
    args += ["UCX_NET_DEVICES=port"] if transport == "tcp" else []
    args += ["ucx_perftest", "-t", "ucp_put_bw", "-s", "65536", "-n", str(n), "-w", "10", "-f"]
    end, host = ("B", KERNEL["B"]) if transport == "tcp" else ("A", "127.0.0.1")
    out = pair(wire.inside(end, args), wire.inside("A", [*args[:-1], "-f", host]), lambda: wire.listens(end, UCX_PORT))
    lines = re.findall(r"^Final:.*$|^ *\d+ +[\d.].*$", out, re.M)
    if not lines:
        raise Failure(f"ucx_perftest told no figures:\n{out}")
    # iterations; overhead: median, average, overall; MB/s: average, overall; messages/s: average, overall
    return float(lines[-1].split()[-3]) * 2**20 * 8 / 1e9


def bandwidth(bench):
    runs, n, seconds = bench.runs, (500 if bench.quick else 4000), (1 if bench.quick else 3)
    of = {name: [] for name in ("tcp", "tcp_offloads", "ucx_tcp", "ucx_posix", "xdp", "xdp_shared", "memif",
                                "memif_shared")}
    with Wire(3200, kernel_too=True) as wire:
        for _ in range(runs):
            of["tcp"].append(tcp_gbps(wire, seconds))
            of["ucx_tcp"].append(ucx_gbps(wire, "tcp", n))
            of["ucx_posix"].append(ucx_gbps(wire, "posix", n))
            with wire.offloaded():
                of["tcp_offloads"].append(tcp_gbps(wire, seconds))
            for name, devices, mtu in (("xdp", [af_xdp()] * 2, 2048), ("memif", memifs(bench), 4096)):
                with two_daemons(bench, wire, devices, port_mtu=3200 if name == "xdp" else 4200, mtu=mtu) as (a, b):
                    of[name].append(write_gbps(a, b, 65536, n, mtu=mtu))
                    of[name + "_shared"].append(write_gbps(a, b, 65536, n, mtu=mtu, shared=True))
    return Result(list(bandwidth_figures(of)))


def bandwidth_figures(of):
    peers = (("tcp", "TCP (iperf3) on the same veth"), ("tcp_offloads", "TCP with the kernel's offloads"),
             ("ucx_tcp", "UCX over TCP"), ("ucx_posix", "UCX over shared memory"))
    for name, link in (("xdp", "AF_XDP on veth"), ("memif", "memif")):
        what = f"ib_write_bw 64 KB, {link}, memory "
        for peer, told in peers:
            goal = None if peer == "ucx_posix" else at_least(times=1)
            yield Figure(f"write_64k_{name}_by_{peer}", what + "shared", "Gb/s", of[name + "_shared"], told, of[peer],
                         goal)
        yield Figure(f"write_64k_{name}_syscall", what + "by system call", "Gb/s", of[name], peers[0][1], of["tcp"])


# ---- frames beside testpmd, and memory shared or not

def network(bench):
    runs, n, seconds = bench.runs, (2000 if bench.quick else 20000), (3 if bench.quick else 6)
    of = {name: [] for name in ("4k", "64k", "8b", "8b_shared", "4k_shared", "1m", "1m_shared")}
    with Wire() as wire:
        pmd = {size: testpmd_frames(bench, wire, af_packet(), size + HEADERS, seconds) for size in (8, 4096)}
        with two_daemons(bench, wire, [af_packet()] * 2) as (a, b):
            before = a.counter("regs_mapped")
            for _ in range(runs):
                for name, size, messages in (("8b", 8, n), ("4k", 4096, n), ("1m", 1 << 20, n // 100)):
                    of[name].append(write_rate(a, b, size, messages))
                    of[name + "_shared"].append(write_rate(a, b, size, messages, shared=True))
                of["64k"].append(write_rate(a, b, 65536, n // 10))
            if a.counter("regs_mapped") < before + 3 * runs:
                raise Failure("the programs' memory was not shared")
    kilo = lambda values: [v / 1e3 for v in values]
    over = " between two daemons over af_packet on veth"
    beside_testpmd = (("4k", "WRITEs of 4 KB", 4096, of["4k"]), ("8b", "WRITEs of 8 B", 8, of["8b"]),
                      ("64k", "packets of WRITEs of 64 KB", 4096, [16 * v for v in of["64k"]]))
    figures = [Figure("af_packet_" + name, what + over, "k/s", kilo(values), "testpmd's frames", kilo([pmd[size]]))
               for name, what, size, values in beside_testpmd]
    for name, what in (("8b", "8 B"), ("4k", "4 KB"), ("1m", "1 MB")):
        figures.append(Figure("shared_" + name, f"WRITEs of {what} with memory shared{over}", "k/s",
                              kilo(of[name + "_shared"]), "by system call", kilo(of[name])))
    return Result(figures)


# ---- limits

def of_limit(gbps, size, mbps):
    """Of what may be sent, frames from Ethernet header to ICRC. A message has a RETH in its first packet."""
    packets = (size + 4095) // 4096
    return gbps * 1e3 * (size + packets * 58 + 16) / size / mbps


def rates(bench):
    figures = []
    with Wire() as wire:
        for name, mbps, n, size in (("10m", 10, 1000, 4096), ("1g", 1000, 6000, 65536), ("10g", 10000, 4000, 1 << 20)):
            n = n // 4 if bench.quick else n
            with two_daemons(bench, wire, memifs(bench), more=f"limits = {{ qp_mbps = {mbps}; }};") as (a, b):
                shares = [of_limit(write_gbps(a, b, size, n, shared=True), size, mbps) for _ in range(bench.runs)]
            figures.append(Figure(f"rate_{name}", f"ib_write_bw over memif with a limit of {mbps} Mb/s", "of the limit",
                                  shares))
    return Result(figures)


ROWS = [
    Row("bandwidth", "ib_write_bw of 64 KB over AF_XDP and memif, beside TCP and UCX", bandwidth, TARGETS, root=True),
    Row("network", "WRITEs over af_packet on veth beside testpmd's frames, and with memory shared", network, TARGETS,
        root=True),
    Row("rates", "what a queue pair with a limit sends over memif, of the limit", rates, TARGETS, root=True),
]
