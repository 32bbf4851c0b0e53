# SPDX-License-Identifier: BSD-3-Clause
"""What a gateway spends on a packet, beside dpdk-testpmd between the same ports and beside the cipher, in one run.

Two programs are in series: the first takes RoCE packets from net_pcap, which reads them over and over, and sends them by net_memif to
the second, which passes them to a net_pcap that drops them. They are two dpdk-testpmd (--forward-mode=mac), or two gateways: into the
tunnel, and out of it. bench_meter.so in both measures them, see there. Figures are medians of runs, of a run the median batch's.
"""
import mmap
import os
import statistics
import struct
import subprocess
import time
import zlib

import running
from figures import Failure, Figure, Result, Row, at_least, at_most
from running import read, say, wait_for

SIZES = [64, 256, 1024, 4096]
SUITES = ["sm4-gcm", "aes-256-gcm"]
KINDS = ["testpmd", "plain"] + SUITES
ENDS = ["entry", "exit"]
GOAL = 0.9             # of testpmd's packets a second, by plain tunnels
CIPHER_GOAL = 1.1      # of the cipher's own cycles, added by protection to plain tunnels
TAKEN = 24             # bytes of the wire beside a frame: preamble, FCS, gap
FLOWS, EACH = 16, 16   # frames in the capture
LEAST_SAMPLES, SAMPLES_S = 20, 60
# As bench_meter.c has them.
IDLE, BATCHES, SINGLE, FREE = range(4)
SAMPLES = 8192
WORDS = 6
PHASE, TURN, SENT, RECEIVED, LEFT, IN_VAIN = range(WORDS)
END_BYTES = 8 * (3 + 2 * SAMPLES)
HOSTS = ("10.1.0.1", "10.2.0.1")
MACS = ("020000000001", "020000000002")


# ---- packets

def ip(text):
    return bytes(map(int, text.split(".")))


def checksum(data):
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    s = (s & 0xffff) + (s >> 16)
    return ~((s & 0xffff) + (s >> 16)) & 0xffff


def roce_frame(flow, psn, size):
    """An RC SEND ONLY of that payload, with its ICRC (IBTA, annex A17)."""
    bth = struct.pack("!BBHII", 4, 0, 0xffff, 17 + flow, psn)
    udp = struct.pack("!HHHH", 50000 + flow, 4791, 8 + 12 + size + 4, 0)
    head = struct.pack("!BBHHHBBH", 0x45, 2, 20 + 8 + 12 + size + 4, 0, 0x4000, 64, 17, 0) + ip(HOSTS[0]) + ip(HOSTS[1])
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    payload = bytes(i & 255 for i in range(size))
    masked = b"\xff" * 8 + head[:1] + b"\xff" + head[2:8] + b"\xff" + head[9:10] + b"\xff\xff" + head[12:] + udp[:6] + b"\xff\xff"
    icrc = zlib.crc32(masked + bth[:4] + b"\xff" + bth[5:] + payload)
    return bytes.fromhex(MACS[1] + MACS[0] + "0800") + head + udp + bth + payload + struct.pack("<I", icrc)


def arp_frame():
    """The second host says where it is."""
    mac, host = bytes.fromhex(MACS[1]), ip(HOSTS[1])
    return b"\xff" * 6 + mac + struct.pack("!HHHBBH", 0x806, 1, 0x800, 6, 4, 1) + mac + host + bytes(6) + host


def write_capture(path, frames):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


# ---- the meter

class Meter:
    def __init__(self, path):
        with open(path, "wb") as f:
            f.truncate(8 * WORDS + 2 * END_BYTES)
        with open(path, "r+b") as f:
            self.map = mmap.mmap(f.fileno(), 0)

    def word(self, i):
        return struct.unpack_from("=Q", self.map, 8 * i)[0]

    def phase(self, phase):
        struct.pack_into("=Q", self.map, 8 * PHASE, phase)

    def samples(self, end):
        """Clock's rate, cycles of a packet by batches, cycles between receiving and sending one packet."""
        at = 8 * WORDS + END_BYTES * end
        hz, batches, single = struct.unpack_from("=QQQ", self.map, at)
        return (hz, struct.unpack_from(f"={batches}d", self.map, at + 24),
                struct.unpack_from(f"={single}d", self.map, at + 24 + 8 * SAMPLES))


# ---- programs

class Chain:
    """Two programs in series, of one kind, over packets of one size."""

    def __init__(self, build, tmp, kind, size):
        self.build, self.tmp, self.kind = build, tmp, kind
        self.programs = []
        for name in ("memif.sock", "entry.sock", "exit.sock"):
            if os.path.exists(f"{tmp}/{name}"):
                os.unlink(f"{tmp}/{name}")
        self.meter = Meter(f"{tmp}/meter")
        write_capture(f"{tmp}/hosts.pcap", [roce_frame(q, p, size) for p in range(EACH) for q in range(FLOWS)])
        write_capture(f"{tmp}/host.pcap", [arp_frame()])

    def devices(self, end):
        memif = f"role={'client' if end == 'entry' else 'server'},id=0,bsize=8192,rsize=11,socket={self.tmp}/memif.sock,socket-abstract=no"
        return (f"net_pcap0,rx_pcap={self.tmp}/" + ("hosts.pcap,infinite_rx=1" if end == "entry" else "host.pcap"), "net_memif0," + memif)

    def start(self, end, args, ready):
        env = dict(os.environ, METER_FILE=f"{self.tmp}/meter", METER_END=end, LD_PRELOAD=f"{self.build}/tests/bench/bench_meter.so")
        log = f"{self.tmp}/{self.kind}-{end}.log"
        with open(log, "wb") as out:
            self.programs.append(subprocess.Popen(args, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, env=env))
        self.wait(lambda: ready in read(log), f"{end} does not start, see {log}")

    def wait(self, condition, why):
        ended = lambda: any(p.poll() is not None for p in self.programs)
        wait_for(lambda: condition() or ended(), 15, f"{self.kind}: {why}")
        if ended():
            raise Failure(f"{self.kind}: {why}")

    def cpu(self, end):
        return running.cpu(end == "entry")

    def start_testpmd(self, end):
        hosts, fabric = self.devices(end)
        main = self.cpu("exit" if end == "entry" else "entry")
        self.start(end, ["dpdk-testpmd", "--lcores", f"0@{main},1@{self.cpu(end)}", "--main-lcore", "0", "--no-huge", "--no-shconf", "--no-pci",
                         "--no-telemetry", "-m", "400", "--vdev", hosts, "--vdev", fabric,
                         "--", "-i", "--forward-mode=mac", "--burst=64", "--mbuf-size=4736", "--total-num-mbufs=16384", "--no-mlockall"],
                   "testpmd>")

    def start_gateway(self, end):
        hosts, fabric = self.devices(end)
        own, far, net = ("10.99.0.1", "10.99.0.2", "10.2.0.0/16") if end == "entry" else ("10.99.0.2", "10.99.0.1", "10.1.0.0/16")
        conf = f"{self.tmp}/{end}.conf"
        protection = ""
        if self.kind != "plain":
            protection = f"""protection = {{ psk_file = "{self.tmp}/psk"; suites = [ "{self.kind}" ];
                peers = ( {{ network = "10.99.0.0/24"; policy = "required"; }} ); }};"""
        with open(conf, "w", encoding="ascii") as f:
            f.write(f"""
                eal = {{ args = [ "--no-huge", "-m", "600" ]; }};
                control = {{ socket = "{self.tmp}/{end}.sock"; }};
                workers = ( {{ lcore = 1; cpus = "{self.cpu(end)}"; idle_sleep_us = 0; }} );
                ports = ( {{ name = "hosts"; device = "{hosts}"; mtu = 4200; }}, {{ name = "fabric"; device = "{fabric}"; mtu = 4400; }} );
                devices = ( {{ name = "roced0"; port = "fabric"; addresses = [ "{own}/24" ]; }} );
                gateway = {{ device = "roced0"; host_ports = [ "hosts" ]; remotes = ( {{ address = "{far}"; networks = [ "{net}" ]; }} ); }};
                {protection}""")
        self.start(end, [f"{self.build}/app/roced", "-c", conf, "-f"], "roced: ready")

    def sample(self, phase, ms):
        """For that time, and on until there are some samples of either end: others may have the CPUs."""
        self.meter.phase(phase)
        time.sleep(ms / 1000)
        enough = lambda: all(len(self.meter.samples(end)[phase]) >= LEAST_SAMPLES for end in range(len(ENDS)))
        wait_for(enough, SAMPLES_S, f"{self.kind}: too few samples in {SAMPLES_S} s")

    def run(self, ms):
        """Of each end: packets a second, cycles, median and 99th percentile from receiving to sending; and what both carried."""
        for end in reversed(ENDS):
            (self.start_testpmd if self.kind == "testpmd" else self.start_gateway)(end)
        if self.kind == "testpmd":
            time.sleep(0.5)  # memif connects; a port that is polled before that ends testpmd
            for program in self.programs:
                program.stdin.write(b"start\n")
                program.stdin.flush()
        meter = self.meter
        self.wait(lambda: meter.word(LEFT) > 2000, "no packets arrive")
        self.sample(BATCHES, ms)
        self.sample(SINGLE, ms / 2)
        meter.phase(FREE)
        time.sleep(0.1)
        left, at = meter.word(LEFT), time.monotonic()
        time.sleep(ms / 1000)
        carried = (meter.word(LEFT) - left) / (time.monotonic() - at)
        meter.phase(IDLE)
        turns = sum(len(some) for some in meter.samples(0)[1:])
        if meter.word(IN_VAIN) > turns / 4:
            raise Failure(f"{self.kind}: of {turns} turns {meter.word(IN_VAIN)} waited in vain, packets are lost")
        result = {"carried_pps": carried}
        for i, end in enumerate(ENDS):
            hz, batches, single = meter.samples(i)
            cut = sorted(single)
            result[end] = {"hz": hz, "cycles": statistics.median(batches), "p50_ns": cut[len(cut) // 2] / hz * 1e9,
                           "p99_ns": cut[len(cut) * 99 // 100] / hz * 1e9}
        return result

    def end(self):
        for program in self.programs:
            program.kill()
            program.wait()


# ---- the cipher by itself

def cipher_cycles(build, suite, sizes):
    """Of tunnels' packets with payloads of these sizes, by the nearest lengths that bench_protect measures: sealing, opening."""
    cycles = {}
    for line in running.run([f"{build}/tests/bench/bench_protect", "-r", "31", "-s", suite]).splitlines():
        _, _, way, length, burst, keys, cipher, *_ = line.split()
        if (burst, keys) == ("32", "1"):
            cycles.setdefault(way, []).append((int(length), int(cipher)))
    return {size: {end: between(sorted(cycles[way]), size + TUNNELLED) for end, way in zip(ENDS, ("seal", "open"))} for size in sizes}


TUNNELLED = 20 + 8 + 12 + 4 + 16  # of a host's IP packet beside its payload, and the tunnel's header


def between(points, x):
    lower = max((i for i in range(len(points) - 1) if points[i][0] <= x), default=0)
    (x0, y0), (x1, y1) = points[lower], points[lower + 1]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


# ---- results

def pps(cell):
    return cell["hz"] / cell["cycles"]


def rows(results, ciphers):
    for (kind, size), runs in results.items():
        row = {"kind": kind, "bytes": size, "frame_bytes": 14 + 20 + 8 + 12 + size + 4, "runs": len(runs),
               "carried_pps": statistics.median(r["carried_pps"] for r in runs)}
        for end in ENDS:
            cell = {what: statistics.median(r[end][what] for r in runs) for what in ("hz", "cycles", "p50_ns", "p99_ns")}
            cell["least_cycles"] = min(r[end]["cycles"] for r in runs)
            cell["most_cycles"] = max(r[end]["cycles"] for r in runs)
            cell["pps"] = pps(cell)
            cell["gbps"] = cell["pps"] * (row["frame_bytes"] + TAKEN) * 8 / 1e9
            if (kind, size) in ciphers:
                cell["cipher_cycles"] = statistics.median(c[end] for c in ciphers[kind, size])
            row[end] = cell
        yield row


def print_tables(table, out):
    at = {(r["kind"], r["bytes"]): r for r in table}
    sizes = sorted({r["bytes"] for r in table})
    kinds = [k for k in KINDS if any(r["kind"] == k for r in table)]
    for end, what in zip(ENDS, ("into the tunnel (first program)", "out of the tunnel (second program)")):
        print(f"\n{what}: cycles of a packet (of the runs the least and the most), Mpps and Gb/s of one core; share of testpmd's packets\n", file=out)
        print("| | " + " | ".join(f"{size} B" for size in sizes) + " |\n" + "| --- " * (len(sizes) + 1) + "|", file=out)
        for kind in kinds:
            cells = []
            for size in sizes:
                cell, base = at[kind, size][end], at.get(("testpmd", size))
                share = f"; {cell['pps'] / base[end]['pps']:.2f}" if base and kind != "testpmd" else ""
                cells.append(f"{cell['cycles']:.0f} ({cell['least_cycles']:.0f} to {cell['most_cycles']:.0f}), {cell['pps'] / 1e6:.2f}, "
                             f"{cell['gbps']:.1f}{share}")
            print(f"| {kind} | " + " | ".join(cells) + " |", file=out)
    print_ciphers(at, sizes, [k for k in kinds if k in SUITES], out)
    print("\nA packet alone: ns from receiving to sending, median and 99th percentile, of both programs together\n", file=out)
    print("| | " + " | ".join(f"{size} B" for size in sizes) + " |\n" + "| --- " * (len(sizes) + 1) + "|", file=out)
    for kind in kinds:
        print(f"| {kind} | " + " | ".join(
            "{:.0f}, {:.0f}".format(*(sum(at[kind, size][end][p] for end in ENDS) for p in ("p50_ns", "p99_ns"))) for size in sizes) + " |", file=out)
    print("\nBoth at once, each on its core: Mpps that came through\n", file=out)
    print("| | " + " | ".join(f"{size} B" for size in sizes) + " |\n" + "| --- " * (len(sizes) + 1) + "|", file=out)
    for kind in kinds:
        print(f"| {kind} | " + " | ".join(f"{at[kind, size]['carried_pps'] / 1e6:.2f}" for size in sizes) + " |", file=out)


def print_ciphers(at, sizes, suites, out):
    if not suites or ("plain", sizes[0]) not in at:
        return
    print("\nProtection: cycles that it adds to plain tunnels, and the cipher's own\n", file=out)
    print("| | " + " | ".join(f"{size} B" for size in sizes) + " |\n" + "| --- " * (len(sizes) + 1) + "|", file=out)
    for suite in suites:
        for end, way in zip(ENDS, ("seal", "open")):
            cells = []
            for size in sizes:
                cell, plain = at[suite, size][end], at["plain", size][end]
                cells.append(f"{cell['cycles'] - plain['cycles']:.0f}, {cell['cipher_cycles']:.0f}")
            print(f"| {suite}, {way} | " + " | ".join(cells) + " |", file=out)


def figures(results, ciphers):
    for (kind, size), runs in results.items():
        base, plain = results.get(("testpmd", size)), results.get(("plain", size))
        for end in ENDS:
            of = lambda some, end=end: [r[end]["cycles"] for r in some]
            name, what = f"gateway_{kind}_{size}_{end}".replace("-", "_"), f"gateway, {size} B, {end}: "
            if kind == "plain" and base:
                mpps = lambda some, end=end: [pps(r[end]) / 1e6 for r in some]
                yield Figure(name, what + "plain tunnel", "Mpps", mpps(runs), "testpmd mac", mpps(base), at_least(times=GOAL))
            elif kind in SUITES and plain:
                yield Figure(name, what + f"{kind} beyond a plain tunnel", "cycles",
                             [a - b for a, b in zip(of(runs), of(plain))], "the cipher alone",
                             [c[end] for c in ciphers[kind, size]], at_most(times=CIPHER_GOAL))


def options(parser):
    parser.add_argument("--size", type=int, action="append", choices=SIZES, help="bytes of payload")
    parser.add_argument("--only", action="append", choices=KINDS)


def measure(bench):
    """Runs by kind and size, and the cipher's own cycles of those runs."""
    results, ciphers = {}, {}
    with open(os.open(f"{bench.tmp}/psk", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write("ab" * 32 + "\n")
    sizes, kinds = bench.option("size", SIZES), bench.option("only", KINDS)
    runs, ms = bench.args.runs or (1 if bench.quick else 3), 300 if bench.quick else 1000
    for run in range(runs):
        for suite in [k for k in kinds if k in SUITES]:
            for size, cycles in cipher_cycles(bench.build, suite, sizes).items():
                ciphers.setdefault((suite, size), []).append(cycles)
        for size in sizes:
            for kind in kinds:
                say(f"Run {run + 1} of {runs}: {kind}, {size} B")
                results.setdefault((kind, size), []).append(run_chain(bench, kind, size, ms))
    return results, ciphers


def run_chain(bench, kind, size, ms, tries=3):
    """Again when others had the CPUs for too long."""
    chain = Chain(bench.build, bench.tmp, kind, size)
    try:
        return chain.run(ms)
    except Failure as failure:
        if tries == 1:
            raise
        say(f"Again: {failure}")
    finally:
        chain.end()
    return run_chain(bench, kind, size, ms, tries - 1)


def run(bench):
    if len(os.sched_getaffinity(0)) < 2:
        raise Failure("needs two CPUs, one for each of two programs")
    results, ciphers = measure(bench)
    table = list(rows(results, ciphers))
    print_tables(table, bench.out)
    return Result(list(figures(results, ciphers)), table)


ROW = Row("gateway", "cycles, packets and Gb/s of a core into a tunnel and out of it, beside testpmd and the cipher (4 min)", run,
          ("app/roced", "tests/bench/bench_meter.so", "tests/bench/bench_protect"), root=True, options=options)
