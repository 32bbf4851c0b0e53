# SPDX-License-Identifier: BSD-3-Clause
"""What rows of tools/bench run with: the build, how often and how long, temporary files, and where tables go."""
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from figures import Failure

TOP = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
STEP_S = 0.05


def say(what):
    print(what, file=sys.stderr, flush=True)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def last_lines(path, n=5):
    return "\n".join(read(path).splitlines()[-n:])


def wait_for(condition, seconds, why):
    """Until it holds; Failure says why when it does not within that time."""
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Failure(why() if callable(why) else why)
        time.sleep(STEP_S)


class Tee:
    """Prints what is written to it, and keeps it for the Markdown file."""

    def __init__(self):
        self.kept = []

    def write(self, text):
        sys.stdout.write(text)
        self.kept.append(text)

    def flush(self):
        sys.stdout.flush()

    @property
    def text(self):
        return "".join(self.kept)


class Bench:
    """One run of tools/bench. Used as a context, at whose end its files are gone."""

    def __init__(self, build, args):
        self.build, self.args, self.quick = build, args, args.quick
        self.runs = args.runs or (2 if args.quick else 5)
        self.out = Tee()
        self.keep_logs = False

    def __enter__(self):
        self.tmp = tempfile.mkdtemp(prefix="roced-bench.")
        return self

    def __exit__(self, *_):
        if self.keep_logs and os.listdir(self.tmp):
            say(f"Logs are in {self.tmp}")
        else:
            shutil.rmtree(self.tmp)

    def option(self, name, other):
        """One of the row's own, or the other where it was not given."""
        value = getattr(self.args, name, None)
        return value if value else other

    def path(self, name):
        return os.path.join(self.build, name)

    def figures_of(self, program, *args):
        """What tests/bench/PROGRAM prints: lines of "name value unit", one of each run. Values by name."""
        out = run([self.path("tests/bench/" + program), *map(str, args)]).splitlines()
        values = {}
        for line in out:
            name, value, _ = line.split()
            values.setdefault(name, []).append(float(value))
        return values


def run(args, timeout=900, **more):
    """Its standard output. Failure with the end of its standard error when it ends otherwise than with 0."""
    try:
        done = subprocess.run(args, capture_output=True, text=True, timeout=timeout, check=False, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(f"{os.path.basename(args[0])}: {error}") from error
    if done.returncode != 0:
        why = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise Failure(f"{' '.join(args[:8])}: status {done.returncode}\n" + "\n".join(why))
    return done.stdout


def cpu(first):
    """One at either end of those that this process may use, for two programs that are not to share one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0] if first else allowed[-1]


def median(values):
    return statistics.median(values)


def tell(args, other=""):
    """The first line that a program says of itself."""
    try:
        done = subprocess.run(args, capture_output=True, text=True, check=False, timeout=10)
        return done.stdout.splitlines()[0].strip() if done.stdout else other
    except (OSError, subprocess.TimeoutExpired):
        return other


def about_machine():
    lines = read("/proc/cpuinfo").splitlines()
    of = lambda key: next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "unknown")
    memory_kb = int(read("/proc/meminfo").split()[1])
    return {"cpu": of("model name"), "cpus": os.cpu_count(), "virtual": "hypervisor" in of("flags").split(),
            "cache": of("cache size"), "memory_gib": round(memory_kb / 2**20, 1), "kernel": platform.release(),
            "dpdk": tell(["pkg-config", "--modversion", "libdpdk"], "unknown"),
            "compiler": tell(["cc", "--version"], "unknown")}


def load():
    """Processes that ran or waited, mean of a minute. Others on the machine make figures poor, the network's most."""
    return os.getloadavg()[0]
