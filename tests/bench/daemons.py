# SPDX-License-Identifier: BSD-3-Clause
"""What rows of tools/bench that need a network stand on: two namespaces A and B joined by a veth pair, daemons in them,
and programs that run there in pairs. All of it ends with the context that it was made in."""
import contextlib
import os
import re
import signal
import statistics
import subprocess
import time

import running
from figures import Failure
from running import last_lines, read, wait_for

SIDE = {"A": "192.168.77.1", "B": "192.168.77.2"}  # of the kernel, for the programs' own connections
ADDRESS = {"A": "10.77.0.1", "B": "10.77.0.2"}     # roced's
KERNEL = {"A": "10.78.0.1", "B": "10.78.0.2"}      # of the kernel on the interface that roced works on too
ENDS = ("A", "B")
PERFTEST_PORT = 18515


def ip(*args):
    running.run(["ip", *args])


class Wire:
    """Namespaces A and B with the interfaces port, for roced, and side."""

    def __init__(self, mtu=4200, kernel_too=False):
        self.mtu, self.kernel_too = mtu, kernel_too
        self.names = {end: f"rb{os.getpid()}{end.lower()}" for end in ENDS}

    def __enter__(self):
        for end in ENDS:
            ip("netns", "add", self.names[end])
        for link, mtu in (("port", self.mtu), ("side", 1500)):
            a, b = ([link, "netns", self.names[end], "mtu", str(mtu)] for end in ENDS)
            ip("link", "add", "name", *a, "type", "veth", "peer", "name", *b)
        for end in ENDS:
            self.set_up(end)
        return self

    def set_up(self, end):
        name = self.names[end]
        ip("-n", name, "link", "set", "dev", "lo", "up")
        self.run(end, ["sh", "-c", "echo 1 >/proc/sys/net/ipv6/conf/port/disable_ipv6"])
        self.offloads(end, False)
        ip("-n", name, "link", "set", "dev", "port", "arp", "on" if self.kernel_too else "off", "up")
        ip("-n", name, "link", "set", "dev", "side", "up")
        ip("-n", name, "addr", "add", SIDE[end] + "/24", "dev", "side")
        if self.kernel_too:
            ip("-n", name, "addr", "add", KERNEL[end] + "/24", "dev", "port")

    def offloads(self, end, on):
        """Of the kernel at port: roced needs whole frames with their checksums, TCP is faster with them."""
        words = [w for what in ("tx", "gso", "tso", "gro") for w in (what, "on" if on else "off")]
        subprocess.run(self.inside(end, ["ethtool", "-K", "port", *words]), capture_output=True, check=False)

    @contextlib.contextmanager
    def offloaded(self):
        """With the kernel's offloads, as TCP has them on a veth."""
        for end in ENDS:
            self.offloads(end, True)
        yield
        for end in ENDS:
            self.offloads(end, False)

    def __exit__(self, *_):
        for end in ENDS:
            subprocess.run(["ip", "netns", "del", self.names[end]], capture_output=True, check=False)

    def inside(self, end, args):
        return ["ip", "netns", "exec", self.names[end], *args]

    def run(self, end, args, **more):
        return running.run(self.inside(end, args), **more)

    def listens(self, end, port):
        return bool(self.run(end, ["ss", "-Hltn", f"sport = :{port}"]).strip())


def end_process(process, sign=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(sign)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def af_packet():
    return "net_af_packet0,iface=port,framesz=8192,blocksz=65536,framecnt=2048"


def af_xdp():
    return "net_af_xdp0,iface=port,force_copy=1"


def memif(tmp, end):
    role = "server" if end == "A" else "client"
    return f"net_memif0,role={role},id=0,bsize=8192,rsize=11,socket={tmp}/memif.sock,socket-abstract=no"


class Daemon:
    """roced at one end; wire None: in the namespace of this process."""

    def __init__(self, bench, wire, end, device, port_mtu=4200, mtu=4096, more="", workers=None):
        self.bench, self.wire, self.end = bench, wire, end
        self.socket, self.log = f"{bench.tmp}/{end}.sock", f"{bench.tmp}/{end}.log"
        workers = workers or f'{{ lcore = 1; cpus = "{running.cpu(end == "A")}"; }}'
        self.conf = f"{bench.tmp}/{end}.conf"
        with open(self.conf, "w", encoding="ascii") as f:
            f.write(f"""eal = {{ args = [ "--no-huge", "-m", "512" ]; }};
control = {{ socket = "{self.socket}"; }};
workers = ( {workers} );
ports = ( {{ name = "p0"; mtu = {port_mtu}; device = "{device}"; }} );
devices = ( {{ name = "roced0"; port = "p0"; addresses = [ "{ADDRESS[end]}/24" ]; mtu = {mtu}; }} );
{more}
""")

    def __enter__(self):
        args = [self.bench.path("app/roced"), "-c", self.conf, "-f"]
        self.began = time.monotonic()
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(self.wire.inside(self.end, args) if self.wire else args, stdout=out,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        try:
            wait_for(lambda: "roced: ready" in read(self.log) or self.process.poll() is not None, 20,
                     lambda: f"the daemon does not start: {last_lines(self.log)}")
            if self.process.poll() is not None:
                raise Failure(f"the daemon ended: {last_lines(self.log)}")
        except Failure:
            end_process(self.process)
            raise
        return self

    def __exit__(self, *_):
        end_process(self.process)

    @property
    def pid(self):
        return self.process.pid

    def counter(self, name):
        """What it has counted so far, by its log."""
        before = len(read(self.log))
        self.process.send_signal(signal.SIGUSR1)
        at = lambda: re.search(rf"\b{name} (\d+)", read(self.log)[before:])
        wait_for(at, 5, f"the daemon does not tell of {name}")
        return int(at().group(1))

    def on(self, args, shared=False):
        """The arguments with which a program runs on it."""
        args = [self.bench.path("app/roced-run"), "--socket", self.socket, *(["--shared"] if shared else []), *args]
        return self.wire.inside(self.end, args) if self.wire else args


def pair(server, client, ready, timeout=90):
    """Runs two programs: the client when the server is ready. The client's output."""
    with subprocess.Popen(server, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True) as process:
        try:
            wait_for(lambda: ready() or process.poll() is not None, 15, f"{server[-1]} does not listen")
            out = running.run(client, timeout=timeout)
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"the server does not end: {error}") from error
        finally:
            end_process(process, signal.SIGKILL)
    return out


def perftest(tool, a, b, size, n, shared=False, mtu=4096, more=()):
    """Figures of a perftest program, server at daemon b and client at a."""
    args = [tool, "-d", "roced0", "-x", "1", "-F", "-m", str(mtu), "-s", str(size), "-n", str(n), *more]
    out = pair(b.on(args, shared), a.on([*args, SIDE["B"]], shared), lambda: b.wire.listens("B", PERFTEST_PORT))
    return perftest_figures(tool, out)


def perftest_figures(tool, out):
    """The last line of them, as numbers: bytes, messages, peak, average, messages a second in millions."""
    lines = [line.split() for line in out.splitlines() if re.match(r" *\d+ +\d+ +[\d.]", line)]
    if not lines:
        raise Failure(f"{tool} told no figures:\n{out}")
    return [float(v) for v in lines[-1]]


def write_gbps(a, b, size, n, **more):
    return perftest("ib_write_bw", a, b, size, n, more=("--report_gbits",), **more)[3]


def write_rate(a, b, size, n, **more):
    """Messages a second."""
    return perftest("ib_write_bw", a, b, size, n, **more)[4] * 1e6


def testpmd_args(device, main=0):
    """Its own options follow."""
    return ["dpdk-testpmd", "--lcores", "0,1", "--main-lcore", str(main), "--no-huge", "-m", "512", "--no-shconf",
            "--no-pci", "--no-telemetry", "--vdev", device, "--", "--mbuf-size=8448", "--total-num-mbufs=8192",
            "--no-mlockall"]


def testpmd(wire, end, main, device, seconds, log, *options):
    """Starts it for that time; its rates of each second are in the log."""
    args = wire.inside(end, ["timeout", "-s", "INT", "-k", "5", str(seconds), *testpmd_args(device, main),
                             "--stats-period", "1", *options])
    with open(log, "wb") as out:
        return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)


def testpmd_frames(bench, wire, device, frame_bytes, seconds):
    """Frames a second that one sends and the other receives, by two cores."""
    log = {end: f"{bench.tmp}/testpmd-{end}.log" for end in ENDS}
    receiver = testpmd(wire, "B", 0, device, seconds + 6, log["B"], "--forward-mode=rxonly")
    time.sleep(3)
    sender = testpmd(wire, "A", 1, device, seconds + 1, log["A"], "--forward-mode=txonly", f"--txpkts={frame_bytes}")
    for process in (sender, receiver):
        process.wait()
    rates = [int(v) for v in re.findall(r"Rx-pps: +(\d+)", read(log["B"])) if int(v) > 0]
    if not rates:
        raise Failure(f"dpdk-testpmd moved no frames: {last_lines(log['B'])}")
    return statistics.median(rates)
