#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages: made by tools/package, looked at, and then installed, used and purged in a system of their own, which is this
# one with all changes in memory (overlayfs). Where systemd-nspawn can start systemd in it, the service runs as it would on a host.
#
# usage: tests/package/deb.sh      (root; ROCED_BUILD names the build directory, whose objects are packaged; KEEP_LOGS=1 keeps logs)
# shellcheck source-path=SCRIPTDIR disable=SC2317
. "$(dirname "$0")/../lib/common.sh"

need dpkg-buildpackage dh
build_dir=$(readlink -f "$build_dir")
packages=$tmp_dir/packages
# debug symbols take half of the time and are not looked at
DEB_BUILD_OPTIONS="noautodbgsym ${DEB_BUILD_OPTIONS:-}" "$repo_dir/tools/package" --out "$packages" --reuse "$build_dir" \
	>"$tmp_dir/package.log" 2>&1 || { fail "tools/package" "$tmp_dir/package.log"; finish; }
pass "tools/package"

# ------------------------------------------------------------------ what is in them

package() { ls "$packages/$1"_*.deb; }
three() { [ "$(cd "$packages" && ls ./*.deb | sed 's/_.*//' | paste -sd' ')" = "./roced-tools ./roced-verbs ./roced" ]; }
holds() { # NAME PATTERN...: files that are in that package
	local p
	dpkg-deb -c "$(package "$1")" >"$tmp_dir/list"
	for p in "${@:2}"; do grep -qE " \./$p\$" "$tmp_dir/list" || { echo "$1 does not hold $p"; return 1; }; done
}
apart() {
	holds roced usr/bin/roced usr/bin/rocectl etc/roced/roced.cfg lib/systemd/system/roced.service usr/lib/sysusers.d/roced.conf \
		usr/share/man/man8/roced.8.gz usr/share/man/man5/roced.cfg.5.gz usr/share/man/man1/rocectl.1.gz \
		usr/share/bash-completion/completions/rocectl usr/share/doc/roced/configuration.md usr/share/doc/roced/examples/default.conf &&
		holds roced-verbs usr/bin/roced-run 'usr/lib/[^/]*/roced/libibverbs.so.1' 'usr/lib/[^/]*/roced/librdmacm.so.1' &&
		holds roced-tools usr/bin/roce-sim usr/bin/roce-gen usr/bin/roce-fabric usr/share/doc/roced/examples/sim/incast.conf
}
# The libraries are nobody else's: no package is to be linked with them, and they do not need the system's in turn.
libraries_are_private() {
	dpkg-deb -f "$(package roced-verbs)" Depends
	! dpkg-deb --ctrl-tarfile "$(package roced-verbs)" | tar -t | grep -E 'shlibs|symbols|triggers' &&
		! dpkg-deb -f "$(package roced-verbs)" Depends | grep -E 'ibverbs|rdmacm'
}
# From nothing, apt finds all that they need: drivers too, which are loaded by name and which no linker knows of.
apt_finds_all() {
	apt-get -o Dir::State::status=/dev/null -s install --no-install-recommends "$packages"/*.deb >"$tmp_dir/apt.log" 2>&1 ||
		{ tail -n 5 "$tmp_dir/apt.log"; return 1; }
	local p
	for p in librte-net-tap librte-net-af-packet librte-net-af-xdp librte-net-memif librte-net-ring librte-net-virtio librte-net-pcap \
		librte-mempool-ring librte-bus-pci librte-bus-vdev libsystemd0 libconfig9; do
		grep -q "^Inst $p" "$tmp_dir/apt.log" || { echo "$p is not among them"; return 1; }
	done
}
check "three packages" three
check "each holds what belongs together" apart
check "its verbs libraries are private" libraries_are_private
if apt-cache show librte-meta-net >/dev/null 2>&1; then
	check "all that they depend on can be had" apt_finds_all
else
	skip "all that they depend on can be had" "apt has no lists of packages"
fi
if command -v lintian >/dev/null; then
	check "lintian has nothing to say" lintian --fail-on error,warning "$packages"/*.deb
else
	skip "lintian has nothing to say" "it is not installed"
fi

# ------------------------------------------------------------------ in a system of their own

# In a mount namespace of its own, which takes all mounts away with it.
cat >"$tmp_dir/system" <<'END'
set -eu
work=$1 packages=$2 script=$3 way=$4 stall=$5
mount --make-rprivate /
mount -t tmpfs -o size=1g tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root" "$work/files"
mount -t tmpfs tmpfs /run # of systemd-nspawn's own
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
cp "$packages"/*.deb "$script" "$stall" "$work/files/"
# what systemd would mount; nspawn's own /sys has none of it
mount -t fusectl fusectl /sys/fs/fuse/connections || true
root=$work/root
mkdir -p "$root/etc/systemd/system"
cat >"$root/etc/systemd/system/roced-test.target" <<-UNIT
	[Unit]
	Requires=basic.target roced-test.service
UNIT
cat >"$root/etc/systemd/system/roced-test.service" <<-UNIT
	[Unit]
	After=basic.target
	SuccessAction=exit
	FailureAction=exit
	[Service]
	Type=oneshot
	TimeoutStartSec=280
	ExecStart=/bin/bash /run/test/inside.sh /run/test /run/upper
	StandardOutput=truncate:/run/test/said
	StandardError=journal
UNIT
if [ "$way" = boot ]; then
	rm -f "$root/usr/sbin/policy-rc.d" # that of this system may keep services as they are
	timeout -k 5 320 systemd-nspawn --quiet --register=no --keep-unit --private-network --link-journal=no --directory="$root" \
		--capability=CAP_IPC_LOCK,CAP_NET_ADMIN,CAP_BPF --system-call-filter=bpf --bind=/dev/net/tun --bind-ro=/sys/module \
		$([ ! -c /dev/fuse ] || echo --bind=/dev/fuse --bind=/sys/fs/fuse/connections) --bind="$work/files:/run/test" \
		--bind-ro="$work/upper:/run/upper" --boot systemd.unit=roced-test.target </dev/null >&2 || true
else
	mkdir -p "$root/run/test" "$root/run/upper"
	mount --bind "$work/files" "$root/run/test"
	mount --bind "$work/upper" "$root/run/upper"
	mount -t proc proc "$root/proc"
	mount --rbind /dev "$root/dev"
	timeout -k 5 280 chroot "$root" /bin/bash /run/test/inside.sh /run/test /run/upper >"$work/files/said" || true
fi
cat "$work/files/said" 2>/dev/null || true
END

# in_system WAY: the verdicts of inside.sh, in $tmp_dir/said; there are some
in_system() {
	mkdir -p "$tmp_dir/system.d"
	unshare --mount --fork --kill-child bash "$tmp_dir/system" "$tmp_dir/system.d" "$packages" \
		"$repo_dir/tests/package/inside.sh" "$1" "$build_dir/tests/tools/stall" >"$tmp_dir/said" 2>"$tmp_dir/system.log"
	[ -s "$tmp_dir/said" ]
}
in_system boot || { echo "     systemd did not start there, so this is a chroot"; in_system chroot; }
grep -q '^inside: done' "$tmp_dir/said" || fail "a system of their own: it came to its end" "$tmp_dir/said" "$tmp_dir/system.log"
passed=$((passed + $(grep -c '^PASS ' "$tmp_dir/said")))
failed=$((failed + $(grep -c '^FAIL ' "$tmp_dir/said")))
skipped=$((skipped + $(grep -c '^SKIP ' "$tmp_dir/said")))
grep -v '^inside: ' "$tmp_dir/said"
finish
