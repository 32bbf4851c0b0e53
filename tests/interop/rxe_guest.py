#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Linux Soft-RoCE in a virtual machine: the RoCE v2 peer of the interop suite.

QEMU (software emulation, no KVM) boots Debian's own kernel with an initramfs made from the
host's packages: rdma_rxe, perftest, rping, ibv_* tools, tc with netem, tcpdump. Commands go
through a second serial port, so the guest needs no network of its own for control.

Each --nic is a virtio NIC on a tap of the host (or of a network namespace) and becomes ethN
in the guest, with the RDMA device rxeN on top.
"""
import argparse
import hashlib
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = """
ib_write_bw ib_write_lat ib_read_bw ib_read_lat ib_send_bw ib_send_lat ib_atomic_bw
ib_atomic_lat rping ucmatose udaddy mckey rdma_server rdma_client rdma_xserver rdma_xclient
cmtime ibv_rc_pingpong ibv_uc_pingpong ibv_ud_pingpong ibv_srq_pingpong ibv_devinfo ibv_devices
rstream riostream rcopy rdma ip tc tcpdump ethtool ping
""".split()
BOOT_MODULES = """
crc32_generic crc32_pclmul virtio_pci virtio_net sch_netem rdma_rxe ib_uverbs rdma_ucm ib_umad
""".split()
SPARE_MODULES = "veth sch_prio cls_u32 act_mirred sch_ingress".split()
SEARCH_PATH = "/usr/bin:/bin:/usr/sbin:/sbin"

INIT = r"""#!/bin/sh
export PATH=/opt/bin:/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mkdir -p /dev/pts /dev/shm /run /tmp
mount -t devpts none /dev/pts
mount -t tmpfs none /dev/shm
mount -t tmpfs none /tmp
ulimit -l unlimited
for module in @MODULES@; do modprobe $module; done
/opt/bin/ip link set lo up
nic=0
for word in $(cat /proc/cmdline); do
	case $word in roced.nic=*) ;; *) continue ;; esac
	spec=${word#roced.nic=}
	/opt/bin/ip link set eth$nic mtu ${spec%%,*} up
	for addr in $(echo ${spec#*,} | tr + ' '); do
		case $addr in
		*:*) /opt/bin/ip -6 addr add $addr dev eth$nic nodad ;;
		?*) /opt/bin/ip addr add $addr dev eth$nic ;;
		esac
	done
	/opt/bin/rdma link add rxe$nic type rxe netdev eth$nic
	nic=$((nic + 1))
done
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo '@@boot 0' >&3
while read -r tag limit line <&3; do
	timeout -s KILL $limit /bin/sh -c "$line" </dev/null >/tmp/.out 2>&1
	rc=$?
	cat /tmp/.out >&3
	printf '\n@@%s %d\n' "$tag" $rc >&3
done
"""


def run(*cmd, **kw):
    return subprocess.run(cmd, check=True, capture_output=True, text=True, **kw).stdout


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or "/var/cache"
    return Path(os.environ.get("ROCED_RXE_CACHE") or Path(base) / "roced-rxe-guest")


def which(name):
    path = shutil.which(name, path=SEARCH_PATH)
    if path is None:
        sys.exit(f"rxe_guest: {name} is not installed here (see tools/deps)")
    return os.path.realpath(path)


# ---------------------------------------------------------------- build

class Image:
    """The root file system of the guest, filled file by file."""

    def __init__(self, root):
        self.root = Path(root)
        for d in "bin opt/bin proc sys dev etc lib lib64 usr/lib tmp run root".split():
            (self.root / d).mkdir(parents=True, exist_ok=True)

    def put(self, src, dst=None):
        """Copy a host file to dst (same path if not given), following symbolic links."""
        target = self.root / (dst or src).lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(os.path.realpath(src), target)

    def put_with_libs(self, src, dst=None):
        self.put(src, dst)
        out = subprocess.run(["ldd", src], capture_output=True, text=True).stdout
        for lib in re.findall(r"(/\S+\.so[\w.]*)", out):
            self.put(lib)

    def write(self, path, text, mode=0o644):
        target = self.root / path
        target.write_text(text)
        target.chmod(mode)

    def pack(self, out):
        cmd = "find . -print0 | cpio -0 -o -H newc --quiet | gzip -1"
        with open(out, "wb") as f:
            subprocess.run(cmd, shell=True, cwd=self.root, stdout=f, check=True)


def kernel_package():
    """Name of the package that holds Debian's current kernel, None when apt has no lists."""
    out = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True)
    found = re.search(r"Depends: (linux-image-\d\S+)", out.stdout)
    return found and found.group(1)


def fetch_kernel(cache):
    """Download and unpack Debian's current kernel package; returns the directory."""
    package = kernel_package()
    if package is None:
        run("apt-get", "update", "-qq")
        package = kernel_package()
    if package is None:
        sys.exit("rxe_guest: apt knows no package linux-image-amd64")
    tree = cache / package
    if (tree / "done").exists():
        return tree
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    download = ["apt-get", "-o", "APT::Sandbox::User=root", "download", package]
    if subprocess.run(download, cwd=tree, capture_output=True).returncode != 0:
        # the lists may be older than the archive
        run("apt-get", "update", "-qq")
        run(*download, cwd=tree)
    deb = next(tree.glob("*.deb"))
    run("dpkg", "-x", str(deb), str(tree))
    deb.unlink()
    (tree / "done").touch()
    return tree


def add_modules(image, kernel):
    modules = next((kernel / "lib/modules").iterdir())
    version = modules.name
    run("depmod", "-b", str(kernel), version)
    needs = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, deps = line.split(":", 1)
        needs[Path(path).name.split(".")[0].replace("-", "_")] = [path, *deps.split()]
    for name in BOOT_MODULES + SPARE_MODULES:
        for path in needs.get(name, []):
            image.put(str(modules / path), f"lib/modules/{version}/{path}")
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        image.put(str(modules / name), f"lib/modules/{version}/{name}")
    run("depmod", "-b", str(image.root), version)


def fill(image, kernel):
    busybox = which("busybox")
    image.put(busybox, "bin/busybox")
    # busybox's own shell prefers its applets (ip, tc, ping) to what PATH finds first
    image.put_with_libs(which("dash"), "bin/sh")
    for applet in run(busybox, "--list").split():
        if applet not in ("busybox", "sh"):
            (image.root / "bin" / applet).symlink_to("busybox")
    for name in PROGRAMS:
        image.put_with_libs(which(name), f"opt/bin/{name}")
    libdir = Path("/usr/lib") / run("gcc", "-print-multiarch").strip()
    for provider in libdir.glob("libibverbs/librxe-*"):
        image.put_with_libs(str(provider))
    # pthread_exit() loads this one by name, so ldd does not show it
    image.put(str(libdir / "libgcc_s.so.1") if (libdir / "libgcc_s.so.1").exists()
              else f"/lib/{libdir.name}/libgcc_s.so.1")
    image.put("/etc/libibverbs.d/rxe.driver")
    # tcpdump opens no file unless its user is there
    image.write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\ntcpdump:x:100:100::/tmp:/bin/false\n")
    image.write("etc/group", "root:x:0:\ntcpdump:x:100:\n")
    image.write("etc/hosts", "127.0.0.1 localhost\n")
    image.write("etc/nsswitch.conf", "hosts: files\n")
    add_modules(image, kernel)
    image.write("init", INIT.replace("@MODULES@", " ".join(BOOT_MODULES)), 0o755)


def cmd_build(_args):
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    kernel = fetch_kernel(cache)
    stamp = cache / "stamp"
    want = hashlib.sha256(Path(__file__).read_bytes() + kernel.name.encode()).hexdigest()
    if not (stamp.exists() and stamp.read_text() == want and (cache / "initramfs.gz").exists()):
        root = cache / "root"
        shutil.rmtree(root, ignore_errors=True)
        image = Image(root)
        fill(image, kernel)
        image.pack(cache / "initramfs.gz")
        shutil.copy(next((kernel / "boot").glob("vmlinuz*")), cache / "vmlinuz")
        shutil.rmtree(root)
        stamp.write_text(want)
    print(f"rxe_guest: image of {kernel.name} in {cache}")


# ---------------------------------------------------------------- run

class Guest:
    """Files of a running guest: NAME.pid, NAME.sock, NAME.console in the state directory."""

    def __init__(self, args):
        state = Path(args.state)
        state.mkdir(parents=True, exist_ok=True)
        self.name = args.name
        self.pid = state / f"{args.name}.pid"
        self.sock = state / f"{args.name}.sock"
        self.console = state / f"{args.name}.console"
        self.log = state / f"{args.name}.qemu.log"
        self.initrd = state / f"{args.name}.initrd"

    def connect(self, deadline):
        while True:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(str(self.sock))
                return s
            except OSError:
                s.close()
            if time.monotonic() > deadline:
                sys.exit(f"rxe_guest: no connection to guest {self.name}")
            time.sleep(0.1)

    def read_until(self, s, tag, deadline):
        """Everything up to the line `@@TAG RC`; returns (output, RC)."""
        mark = re.compile(rb"(?:^|\n)@@" + tag.encode() + rb" (\d+)\n")
        buf = b""
        while True:
            found = mark.search(buf)
            if found:
                return buf[:found.start()], int(found.group(1))
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([s], [], [], left)[0]:
                sys.exit(f"rxe_guest: guest {self.name} gives no answer; see {self.console}")
            data = s.recv(65536)
            if not data:
                sys.exit(f"rxe_guest: guest {self.name} died; see {self.console}")
            buf += data.replace(b"\r", b"")

    def execute(self, line, limit_s):
        deadline = time.monotonic() + limit_s + 15
        s = self.connect(deadline)
        tag = f"{os.getpid()}-{time.monotonic_ns()}"
        s.sendall(f"{tag} {limit_s} {line}\n".encode())
        return self.read_until(s, tag, deadline)


def parse_nic(spec):
    """tap=NAME,mtu=N,addr=A/LEN[+A/LEN...],mac=M -> dict; mtu and addresses have defaults."""
    nic = {"mtu": "1500", "addr": "", "mac": ""}
    nic.update(item.split("=", 1) for item in spec.split(","))
    return nic


def extra_files(guest, files):
    """A second cpio archive behind the image's: the kernel unpacks both."""
    root = Path(f"{guest.initrd}.d")
    shutil.rmtree(root, ignore_errors=True)
    image = Image(root)
    for src in files:
        image.put(src, f"opt/bin/{Path(src).name}")
    image.pack(f"{guest.initrd}.extra")
    with open(guest.initrd, "wb") as out:
        out.write((cache_dir() / "initramfs.gz").read_bytes())
        out.write(Path(f"{guest.initrd}.extra").read_bytes())
    shutil.rmtree(root)
    os.unlink(f"{guest.initrd}.extra")
    return guest.initrd


def qemu_command(guest, args, nics):
    cache = cache_dir()
    initrd = extra_files(guest, args.file) if args.file else cache / "initramfs.gz"
    append = "console=ttyS0 panic=-1 quiet loglevel=4 net.ifnames=0 mitigations=off"
    cmd = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "1",
           "-no-reboot", "-nodefaults", "-display", "none", "-kernel", f"{cache}/vmlinuz",
           "-initrd", str(initrd), "-serial", f"file:{guest.console}",
           "-serial", f"unix:{guest.sock},server=on,wait=off"]
    for i, nic in enumerate(nics):
        digest = hashlib.sha256(f"{guest.name}/{nic['tap']}".encode()).digest()
        mac = nic["mac"] or "52:54:00:%02x:%02x:%02x" % tuple(digest[:3])
        cmd += ["-netdev", f"tap,id=n{i},ifname={nic['tap']},script=no,downscript=no",
                "-device", f"virtio-net-pci,netdev=n{i},mac={mac},host_mtu={nic['mtu']},romfile=,"
                "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off"]
        append += f" roced.nic={nic['mtu']},{nic['addr']}"
    prefix = ["ip", "netns", "exec", args.netns] if args.netns else []
    return prefix + cmd + ["-append", append]


def quiet_tap(args, nic):
    """Bring the tap up without letting the host's kernel talk on it."""
    prefix = ["ip", "netns", "exec", args.netns] if args.netns else []
    tap = nic["tap"]
    run(*prefix, "sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{tap}/disable_ipv6")
    run(*prefix, "ip", "link", "set", tap, "mtu", nic["mtu"], "arp", "off", "up")


def cmd_start(args):
    guest = Guest(args)
    nics = [parse_nic(spec) for spec in args.nic]
    for old in (guest.sock, guest.console):
        old.unlink(missing_ok=True)
    with open(guest.log, "w") as log:
        proc = subprocess.Popen(qemu_command(guest, args, nics), stdin=subprocess.DEVNULL,
                                stdout=log, stderr=log, start_new_session=True)
    guest.pid.write_text(str(proc.pid))
    deadline = time.monotonic() + args.timeout
    while not guest.sock.exists():
        if proc.poll() is not None or time.monotonic() > deadline:
            sys.exit("rxe_guest: qemu did not start: " + guest.log.read_text())
        time.sleep(0.05)
    s = guest.connect(deadline)
    for nic in nics:
        quiet_tap(args, nic)
    guest.read_until(s, "boot", deadline)
    print(f"rxe_guest: {guest.name} is up (pid {proc.pid})")


def cmd_exec(args):
    out, rc = Guest(args).execute(" ".join(args.command), args.timeout)
    sys.stdout.buffer.write(out.rstrip(b"\n") + b"\n" if out.strip() else b"")
    sys.stdout.flush()
    sys.exit(rc)


def cmd_spawn(args):
    """Run in the background; output and status are kept in the guest under the tag."""
    line = " ".join(args.command)
    job = f"/tmp/job.{args.tag}"
    script = (f"rm -f {job}.*; (timeout -s KILL {args.timeout} sh -c {shlex.quote(line)} "
              f"</dev/null >{job}.out 2>&1; echo $? >{job}.rc) & echo")
    _, rc = Guest(args).execute(script, 10)
    sys.exit(rc)


def cmd_wait(args):
    """Wait for a spawned command, print its output, exit with its status."""
    job = f"/tmp/job.{args.tag}"
    script = (f"n={args.timeout * 10}; while [ ! -e {job}.rc ] && [ $n -gt 0 ]; do usleep 100000; "
              f"n=$((n-1)); done; cat {job}.out; [ -e {job}.rc ] || exit 124; exit $(cat {job}.rc)")
    out, rc = Guest(args).execute(script, args.timeout + 10)
    sys.stdout.buffer.write(out.strip(b"\n") + b"\n")
    sys.stdout.flush()
    sys.exit(rc)


def cmd_stop(args):
    guest = Guest(args)
    try:
        pid = int(guest.pid.read_text())
        cmdline = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    if str(guest.sock).encode() in cmdline:
        os.kill(pid, signal.SIGKILL)
    for f in (guest.pid, guest.sock, guest.initrd):
        f.unlink(missing_ok=True)


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--state", default="/run/roced-rxe-guest", help="directory of run-time files")
    sub = p.add_subparsers(required=True, metavar="build|start|exec|spawn|wait|stop")
    sub.add_parser("build", help="make the image if missing").set_defaults(func=cmd_build)

    def verb(name, func, text, timeout):
        v = sub.add_parser(name, help=text)
        v.add_argument("--timeout", type=int, default=timeout, help="seconds")
        v.add_argument("name")
        v.set_defaults(func=func)
        return v

    v = verb("start", cmd_start, "boot a guest and wait until it is ready", 120)
    v.add_argument("--netns", help="network namespace that holds the taps")
    v.add_argument("--nic", action="append", default=[],
                   help="tap=NAME[,mtu=N][,addr=A/LEN+A/LEN...][,mac=M]")
    v.add_argument("--file", action="append", default=[], help="program to put into /opt/bin")
    v = verb("exec", cmd_exec, "run a shell command, exit with its status", 60)
    v.add_argument("command", nargs=argparse.REMAINDER)
    v = verb("spawn", cmd_spawn, "run a shell command in the background under TAG", 60)
    v.add_argument("tag")
    v.add_argument("command", nargs=argparse.REMAINDER)
    v = verb("wait", cmd_wait, "wait for TAG, print its output, exit with its status", 60)
    v.add_argument("tag")
    verb("stop", cmd_stop, "power off", 10)
    args = p.parse_args()
    args.func(args)


if __name__ == "__main__":
    main()
