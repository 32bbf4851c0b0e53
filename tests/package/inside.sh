#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs as root inside a system of its own that deb.sh has made: installs the packages, uses them, removes them. With systemd as that
# system's first process the service is started by it, watched and ended.
#
# usage: inside.sh PACKAGES UPPER      folder of the packages; folder where the system's changes of its files lie
# shellcheck disable=SC2317
set -u
export LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
packages=$1 upper=$2
tmp=$(mktemp -d)

# check NAME COMMAND...: a line with the verdict, and for a failure what the command printed
check() {
	local name=$1
	shift
	if "$@" >"$tmp/check.log" 2>&1; then
		echo "PASS deb: $name"
	else
		echo "FAIL deb: $name"
		tail -n 12 "$tmp/check.log" | cut -c1-200 | sed 's/^/    /'
	fi
}
has_systemd() { [ -d /run/systemd/system ]; }
wait_for() { # SECONDS COMMAND...
	local n=$(($1 * 10))
	shift
	while ! "$@" >/dev/null 2>&1; do
		n=$((n - 1))
		[ $n -gt 0 ] || return 1
		sleep 0.1
	done
}

# What was changed in the system's files, but for what dpkg, systemd and the linker keep for themselves.
changes() {
	(cd "$upper" && find . ! -type d ! -type c ! -path './tmp/*' ! -path './var/lib/dpkg/*' ! -path './var/lib/systemd/*' \
		! -path './var/lib/private/*' ! -path './var/log/*' ! -path './var/cache/*' ! -path './var/tmp/*' ! -path './etc/.pwd.lock' \
		! -path './etc/ld.so.cache' ! -path './etc/machine-id' ! -path './run/*' ! -path './root/*' ! -path './etc/*-' \
		! -path './etc/passwd' ! -path './etc/group' ! -path './etc/shadow' ! -path './etc/gshadow' ! -path './etc/sub?id' | sort)
}
# Users and groups, whatever the order of lines.
accounts() { sort /etc/passwd /etc/group /etc/shadow /etc/gshadow /etc/sub?id; }

changes >"$tmp/before"
accounts >"$tmp/accounts"

# ------------------------------------------------------------------ there

installs() { dpkg --no-triggers -i "$packages"/*.deb; }
runs() { roced --version | grep -x 'roced [0-9.]*' && rocectl --help && roce-sim --help && roced-run --help && roce-gen --help &&
	roce-fabric --help; }
config_is_right() { cd / && roced -c /etc/roced/roced.cfg --check; }
has_user() { id roced && [ "$(stat -c %U:%G /run/roced)" = roced:roced ]; }
# the changed configuration of an administrator is not overwritten, and dpkg knows the file
is_conffile() { dpkg-query -W -f '${Conffiles}' roced | grep /etc/roced/roced.cfg; }
pages() { local p; for p in roced rocectl roced.cfg roced-run roce-sim roce-gen roce-fabric; do man -w "$p" || return 1; done; }
unit_is_right() { systemd-analyze verify roced.service 2>&1 | tee /dev/stderr | grep -q roced && return 1; return 0; }

check "the packages are installed" installs
check "programs run" runs
check "the configuration that comes with it is right" config_is_right
check "dpkg keeps changes to it" is_conffile
check "the daemon's user and directory are there" has_user
check "manual pages are found" pages
check "systemd finds nothing wrong in the unit" unit_is_right

# ------------------------------------------------------------------ served

property() { systemctl show -P "$1" roced; }
not_started() { ! systemctl is-enabled roced && ! systemctl is-active roced; }
starts() { systemctl start roced || { systemctl status roced; journalctl -u roced; return 1; }; }
status_text() { property StatusText | tee /dev/stderr | grep -q '^1 of 1 port up, 1 device, 0 connections of programs$'; }
is_nobody() { # an ordinary user with five capabilities, in a file system that it cannot write to
	local pid
	pid=$(property MainPID)
	cat "/proc/$pid/status"
	[ "$(ps -o user= -p "$pid")" = roced ] && grep -qE '^CapEff:[[:space:]]*0000000000087002$' "/proc/$pid/status" &&
		grep -qE '^NoNewPrivs:[[:space:]]*1$' "/proc/$pid/status" && grep -qE '^Seccomp:[[:space:]]*2$' "/proc/$pid/status" &&
		grep -E ' / / .*\bro\b' "/proc/$pid/mountinfo"
}
as() { setpriv --reuid=54321 --regid="$1" --clear-groups "${@:2}"; }
group_sees_device() { as "$(id -g roced)" roced-run ibv_devinfo -d roced0 | tee /dev/stderr | grep -q PORT_ACTIVE; }
root_sees_device() { roced-run ibv_devices | grep roced0; }
stranger_does_not() { ! as 54321 roced-run ibv_devices | grep roced0; }
rocectl_finds_it() { rocectl alarms && rocectl paths; }
journal_levels() { # info is told from what is worse; nothing comes twice
	journalctl -u roced -o cat --no-pager | sort >"$tmp/all"
	[ "$(journalctl -u roced -p 4..4 -o cat --no-pager | wc -l)" -lt "$(wc -l <"$tmp/all")" ] && ! grep '<[0-7]>' "$tmp/all"
}
reloads() {
	local pid
	pid=$(property MainPID)
	systemctl reload roced && wait_for 10 sh -c '[ "$(systemctl is-active roced)" = active ]' && [ "$(property MainPID)" = "$pid" ] && root_sees_device
}
# by shared memory or by system calls
pingpong() { # [OPTION]
	local gid
	gid=$(getent group "${in_group:-roced}" | cut -d: -f3)
	as "$gid" timeout 20 roced-run "$@" ibv_rc_pingpong -d roced0 -g 1 -n 200 -c >"$tmp/server" 2>&1 &
	local server=$!
	wait_for 10 sh -c 'ss -Hltn "sport = :18515" | grep -q .'
	as "$gid" timeout 20 roced-run "$@" ibv_rc_pingpong -d roced0 -g 1 -n 200 -c localhost && wait "$server"
}
# port_is DEVICE MTU [MORE]: the service starts with that port, and a program sees it
port_is() {
	cat >/etc/roced/roced.cfg <<-END
		eal = { args = [ "--no-huge", "-m", "512" ]; };
		workers = ( { lcore = 1; cpus = "0"; } );
		ports = ( { name = "p0"; device = "$1"; mtu = $2; } );
		devices = ( { name = "roced0"; port = "p0"; addresses = [ "10.77.0.1/24" ]; } );
		${3:-}
	END
	systemctl restart roced && root_sees_device && pingpong
	local rc=$?
	[ $rc -eq 0 ] || journalctl -u roced -n 12 -o cat --no-pager
	cp "$tmp/right.cfg" /etc/roced/roced.cfg
	return $rc
}
# keys are root's alone, and the daemon's user reads them all the same
protected() {
	head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >/etc/roced/psk
	chmod 600 /etc/roced/psk
	port_is net_ring0 1500 'protection = { psk_file = "/etc/roced/psk"; peers = ( { network = "10.77.0.0/24"; policy = "optional"; } ); };'
	local rc=$?
	rm /etc/roced/psk
	return $rc
}
# The socket can be of a group that the daemon is in; for another one it says what to do.
another_group() {
	local more='control = { group = "daemon"; };' rc
	! port_is net_ring0 1500 "$more" && journalctl -u roced -p 3..3 -o cat --no-pager | grep "SupplementaryGroups=" || return 1
	mkdir -p /run/systemd/system/roced.service.d
	printf '[Service]\nSupplementaryGroups=daemon\n' >/run/systemd/system/roced.service.d/group.conf
	systemctl stop roced
	systemctl daemon-reload
	in_group=daemon port_is net_ring0 1500 "$more" && [ "$(stat -c %G /run/roced/roced.sock)" = daemon ]
	rc=$?
	rm -r /run/systemd/system/roced.service.d
	systemctl daemon-reload
	return $rc
}
af_xdp() { # with the rights that the example adds
	mkdir -p /etc/systemd/system/roced.service.d
	cp /usr/share/doc/roced/examples/af_xdp-service.conf /etc/systemd/system/roced.service.d/
	systemctl daemon-reload
	port_is net_af_xdp0,iface=port,force_copy=1 3200
	local rc=$?
	rm -r /etc/systemd/system/roced.service.d
	systemctl daemon-reload
	return $rc
}
fuse_is_ended() { # a file system of a user that keeps workers waiting
	roced-run "$packages/stall" fuse register roced0 1 54321
	journalctl -u roced -o cat --no-pager | grep 'user 54321 is shut out.*FUSE connections ended: [1-9]'
}

restarted() { [ "$(property NRestarts)" -ge 1 ] && [ "$(systemctl is-active roced)" = active ]; }
is_watched() { # one that does not move is ended and started again
	mkdir -p /run/systemd/system/roced.service.d
	printf '[Service]\nWatchdogSec=3\nRestartSec=0\n' >/run/systemd/system/roced.service.d/quick.conf
	systemctl daemon-reload && systemctl restart roced && kill -STOP "$(property MainPID)" && wait_for 30 restarted && root_sees_device
	local rc=$?
	rm -r /run/systemd/system/roced.service.d
	systemctl daemon-reload
	return $rc
}
stops() { systemctl stop roced && [ "$(property Result)" = success ] && [ -d /run/roced ] && [ ! -e /run/roced/roced.sock ]; }
says_what_is_wrong() {
	echo 'wrong = 1;' >>/etc/roced/roced.cfg
	! systemctl start roced
	cp "$tmp/right.cfg" /etc/roced/roced.cfg
	systemctl stop roced
	systemctl reset-failed roced
	journalctl -u roced -p 3..3 -o cat --no-pager | grep '/etc/roced/roced.cfg:.*wrong'
}

if has_systemd; then
	check "the service waits for its configuration" not_started
	check "it starts, and says that it serves" starts
	check "systemd knows what it does" status_text
	check "it has the rights that the unit gives, and no others" is_nobody
	check "root sees the device" root_sees_device
	check "members of its group see the device" group_sees_device
	check "others do not" stranger_does_not
	check "rocectl finds it" rocectl_finds_it
	check "the journal has levels" journal_levels
	check "programs talk to each other" pingpong
	check "programs talk to each other by shared memory" pingpong --shared=4096
	if roced --help | grep -q SIGHUP; then check "it reloads" reloads; else echo "SKIP deb: it reloads (the daemon knows no SIGHUP)"; fi
	check "it is started again when it does not move" is_watched
	cp /etc/roced/roced.cfg "$tmp/right.cfg"
	if [ -c /dev/fuse ] && [ -d /sys/fs/fuse/connections ]; then
		sed -i 's/telemetry = true;/& mode = "0666";/' /etc/roced/roced.cfg
		systemctl restart roced
		check "it ends a file system that keeps it waiting" fuse_is_ended
		cp "$tmp/right.cfg" /etc/roced/roced.cfg
	else
		echo "SKIP deb: it ends a file system that keeps it waiting (there is no FUSE)"
	fi
	ip link add port mtu 3200 type veth peer name end mtu 3200 && ip link set port up && ip link set end up
	check "with a port on AF_PACKET" port_is net_af_packet0,iface=port,blocksz=65536,framesz=4096,framecnt=2048,qpairs=1 3200
	check "with a port on memif" port_is net_memif0,role=server,socket=/run/roced/memif.sock,socket-abstract=no,bsize=2176 1500
	check "with keys" protected
	check "with a socket of another group" another_group
	check "with a port on AF_XDP" af_xdp
	check "it stops" stops
	check "it says what is wrong in its configuration" says_what_is_wrong
	systemctl start roced
else
	echo "SKIP deb: the service (systemd is not this system's first process)"
fi

# ------------------------------------------------------------------ and gone

removes() {
	dpkg --no-triggers -r roced roced-tools roced-verbs && [ -e /etc/roced/roced.cfg ] && [ ! -e /usr/bin/roced ] && ! pgrep -x roced
}
purges() { dpkg --no-triggers --purge roced roced-tools roced-verbs && ! dpkg-query -W 'roced*' 2>/dev/null | grep .; }
nothing_is_left() {
	local path rc=0
	changes | diff "$tmp/before" - || rc=1
	accounts | diff "$tmp/accounts" - || rc=1
	for path in /etc/roced /run/roced /usr/share/doc/roced* /usr/lib/*/roced /var/lib/systemd/deb-systemd-helper*/*roced*; do
		[ ! -e "$path" ] || { echo "left: $path"; rc=1; }
	done
	return $rc
}
check "removed, with its configuration kept" removes
check "purged" purges
check "nothing is left" nothing_is_left
rm -rf "$tmp"
echo "inside: done"
