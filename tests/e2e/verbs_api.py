#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls that no program of Debian's makes, through its pyverbs bindings and one daemon.

usage: verbs_api.py --list
       verbs_api.py CASE [DEVICE [GID_INDEX]]

Two queue pairs of one process talk to each other by the port's own address. Exit status: 0 when the case holds.
"""
import ctypes
import errno
import os
import sys
import time

import pyverbs.enums as e
from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ, CQEX, CqInitAttrEx, PollCqAttr
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPEx, QPInitAttr, QPInitAttrEx
from pyverbs.srq import SRQ, SrqAttr, SrqInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

ALL = (e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ |
       e.IBV_ACCESS_REMOTE_ATOMIC | e.IBV_ACCESS_MW_BIND)
SIGNALED = e.IBV_SEND_SIGNALED
BYTES = 4096
QKEY = 0x1111
GRH = 40
BIND_STEP = 1  # pyverbs binds windows of type 2 to their next key


def expect(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: {got}, expected {wanted}")


class Ends:
    """A device with two queue pairs on one completion queue; b's memory is the target."""

    def __init__(self, device, gid_index, qp_type=e.IBV_QPT_RC, send_ops=0, with_srq=False, cq=None,
                 mtu=e.IBV_MTU_1024):
        self.ctx = Context(name=device)
        self.gid_index, self.mtu = gid_index, mtu
        self.gid = self.ctx.query_gid(1, gid_index)
        self.pd = PD(self.ctx)
        self.cq = cq(self.ctx) if cq else CQ(self.ctx, 64)
        self.srq = SRQ(self.pd, SrqInitAttr(SrqAttr(max_wr=16, max_sge=1))) if with_srq else None
        self.mr = [MR(self.pd, BYTES, ALL) for _ in range(2)]
        self.a = self.qp(qp_type, send_ops, None)
        self.b = self.qp(qp_type, send_ops, self.srq)
        for qp, peer in ((self.a, self.b), (self.b, self.a)):
            qp.to_rts(self.attr(qp_type, peer.qp_num))

    def qp(self, qp_type, send_ops, srq):
        cap = QPCap(max_send_wr=16, max_recv_wr=0 if srq else 16, max_send_sge=2, max_recv_sge=0 if srq else 2,
                    max_inline_data=64)
        if not send_ops:
            return QP(self.pd, QPInitAttr(qp_type=qp_type, scq=self.cq, rcq=self.cq, srq=srq, cap=cap))
        mask = e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS
        return QPEx(self.ctx, QPInitAttrEx(qp_type=qp_type, scq=self.cq, rcq=self.cq, srq=srq, cap=cap, pd=self.pd,
                                           comp_mask=mask, send_ops_flags=send_ops))

    def ah_attr(self):
        return AHAttr(port_num=1, is_global=1, gr=GlobalRoute(dgid=self.gid, sgid_index=self.gid_index, hop_limit=64))

    def attr(self, qp_type, peer):
        attr = QPAttr(port_num=1)
        if qp_type == e.IBV_QPT_UD:
            attr.qkey = QKEY
            return attr
        attr.dest_qp_num = peer
        attr.path_mtu = self.mtu
        attr.qp_access_flags = ALL & ~e.IBV_ACCESS_MW_BIND
        attr.max_rd_atomic = attr.max_dest_rd_atomic = 4
        attr.timeout = 14
        attr.retry_cnt = attr.rnr_retry = 7
        attr.min_rnr_timer = 1
        attr.ah_attr = self.ah_attr()
        return attr

    def recv(self, qp, wr_id, length=BYTES):
        mr = self.mr[1 if qp is not self.a else 0]
        qp.post_recv(RecvWR(wr_id=wr_id, num_sge=1, sg=[SGE(mr.buf, length, mr.lkey)]))

    def send(self, wr_id):
        """One byte from a to b."""
        self.a.post_send(SendWR(wr_id=wr_id, num_sge=1, send_flags=SIGNALED,
                                sg=[SGE(self.mr[0].buf, 1, self.mr[0].lkey)]))

    def write(self, rkey, addr, length=8, wr_id=1):
        """Has a write and gives its status."""
        wr = SendWR(wr_id=wr_id, opcode=e.IBV_WR_RDMA_WRITE, num_sge=1, send_flags=SIGNALED,
                    sg=[SGE(self.mr[0].buf, length, self.mr[0].lkey)])
        wr.set_wr_rdma(rkey, addr)
        self.a.post_send(wr)
        return self.poll(1)[0].status

    def poll(self, n, seconds=10):
        wcs, end = [], time.monotonic() + seconds
        while len(wcs) < n and time.monotonic() < end:
            wcs += self.cq.poll(n - len(wcs))[1]
        expect("completions", len(wcs), n)
        return wcs

    def revive(self):
        """Back to work after an error, which has flushed what was posted."""
        time.sleep(0.1)
        self.cq.poll(64)
        for qp, peer in ((self.a, self.b), (self.b, self.a)):
            qp.modify(QPAttr(qp_state=e.IBV_QPS_RESET), e.IBV_QP_STATE)
            qp.to_rts(self.attr(e.IBV_QPT_RC, peer.qp_num))


# ---- memory windows (IB 10.6.7) ----

def window_type_1(device, gid_index):
    """A window opens its part of the region to its key only, and a new bind takes the old key away."""
    ends = Ends(device, gid_index)
    window, mr = MW(ends.pd, e.IBV_MW_TYPE_1), ends.mr[1]
    bind = MWBind(MWBindInfo(mr, mr.buf + 64, 128, e.IBV_ACCESS_REMOTE_WRITE), SIGNALED, 5)
    ends.b.bind_mw(window, bind)
    done = ends.poll(1)[0]
    expect("bind", (done.status, done.opcode, done.wr_id), (e.IBV_WC_SUCCESS, e.IBV_WC_BIND_MW, 5))
    first = window.rkey
    ends.mr[0].write("windowed", 8)
    expect("write inside", ends.write(first, mr.buf + 64), e.IBV_WC_SUCCESS)
    expect("data", mr.read(8, 64), b"windowed")
    expect("write over the end", ends.write(first, mr.buf + 188), e.IBV_WC_REM_ACCESS_ERR)
    ends.revive()
    ends.b.bind_mw(window, bind)
    expect("second bind", ends.poll(1)[0].status, e.IBV_WC_SUCCESS)
    expect("write with the new key", ends.write(window.rkey, mr.buf + 64), e.IBV_WC_SUCCESS)
    expect("write with the old key", ends.write(first, mr.buf + 64), e.IBV_WC_REM_ACCESS_ERR)


def bound_type_2(ends):
    window, mr = MW(ends.pd, e.IBV_MW_TYPE_2), ends.mr[1]
    wr = SendWR(wr_id=6, opcode=e.IBV_WR_BIND_MW, send_flags=SIGNALED, num_sge=0)
    wr.set_bind_wr(window, MWBindInfo(mr, mr.buf, 64, e.IBV_ACCESS_REMOTE_WRITE))
    ends.b.post_send(wr)
    done = ends.poll(1)[0]
    expect("bind", (done.status, done.opcode), (e.IBV_WC_SUCCESS, e.IBV_WC_BIND_MW))
    key = window.rkey + BIND_STEP
    expect("write", ends.write(key, mr.buf), e.IBV_WC_SUCCESS)
    return window, key


def local_invalidate(device, gid_index):
    """Its owner closes a window of type 2 by a request."""
    ends = Ends(device, gid_index)
    window, key = bound_type_2(ends)
    wr = SendWR(wr_id=7, opcode=e.IBV_WR_LOCAL_INV, send_flags=SIGNALED, num_sge=0)
    wr.imm_data = key  # the same word as the key to invalidate
    ends.b.post_send(wr)
    done = ends.poll(1)[0]
    expect("invalidation", (done.status, done.opcode), (e.IBV_WC_SUCCESS, e.IBV_WC_LOCAL_INV))
    expect("write", ends.write(key, ends.mr[1].buf), e.IBV_WC_REM_ACCESS_ERR)
    window.close()


def send_with_invalidate(device, gid_index):
    """The peer closes a window of type 2 by a message, and the receiver is told which."""
    ends = Ends(device, gid_index)
    window, key = bound_type_2(ends)
    ends.recv(ends.b, 8)
    wr = SendWR(wr_id=9, opcode=e.IBV_WR_SEND_WITH_INV, send_flags=SIGNALED, num_sge=0)
    wr.imm_data = key
    ends.a.post_send(wr)
    got = {wc.wr_id: wc for wc in ends.poll(2)}
    expect("receive", (got[8].status, got[8].wc_flags & e.IBV_WC_WITH_INV), (e.IBV_WC_SUCCESS, e.IBV_WC_WITH_INV))
    expect("invalidated key", got[8].imm_data, key)
    expect("write", ends.write(key, ends.mr[1].buf), e.IBV_WC_REM_ACCESS_ERR)
    window.close()


# ---- requests built call by call ----

RC_OPS = (e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_SEND_WITH_IMM | e.IBV_QP_EX_WITH_RDMA_WRITE |
          e.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | e.IBV_QP_EX_WITH_RDMA_READ |
          e.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | e.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)


def built_requests(device, gid_index):
    """One batch of every operation of a reliable connection, in order and with the right data."""
    ends = Ends(device, gid_index, send_ops=RC_OPS)
    local, remote, qp = ends.mr[0], ends.mr[1], ends.a
    local.write("built by calls..", 16)
    remote.write("\0" * 1024, 1024)
    for i in range(3):
        ends.recv(ends.b, 100 + i, 64)
    steps = [
        lambda: qp.wr_rdma_write(remote.rkey, remote.buf + 256),
        lambda: qp.wr_rdma_write_imm(remote.rkey, remote.buf + 512, 0x55),
        lambda: qp.wr_send(),
        lambda: qp.wr_send_imm(0x66),
        lambda: qp.wr_rdma_read(remote.rkey, remote.buf + 256),
        lambda: qp.wr_atomic_fetch_add(remote.rkey, remote.buf + 768, 7),
        lambda: qp.wr_atomic_cmp_swp(remote.rkey, remote.buf + 768, 7, 9),
    ]
    qp.wr_start()
    for i, step in enumerate(steps):
        qp.wr_id, qp.wr_flags = i, SIGNALED
        step()
        at, length = (0, 16) if i < 4 else (1024 * (i - 3), 16 if i == 4 else 8)
        qp.wr_set_sge(SGE(local.buf + at, length, local.lkey))
    qp.wr_complete()
    wcs = ends.poll(len(steps) + 3)
    expect("statuses", {wc.status for wc in wcs}, {e.IBV_WC_SUCCESS})
    expect("order of sends", [wc.wr_id for wc in wcs if wc.wr_id < 100], list(range(len(steps))))
    expect("order of receives", [wc.wr_id for wc in wcs if wc.wr_id >= 100], [100, 101, 102])
    expect("written", (remote.read(16, 256), remote.read(16, 512)), (b"built by calls..",) * 2)
    expect("read", local.read(16, 1024), b"built by calls..")
    expect("fetched", [int.from_bytes(local.read(8, at), "little") for at in (2048, 3072)], [0, 7])
    expect("swapped", int.from_bytes(remote.read(8, 768), "little"), 9)


def built_datagram(device, gid_index):
    """A datagram with inline data, addressed by the building calls."""
    ends = Ends(device, gid_index, qp_type=e.IBV_QPT_UD, send_ops=e.IBV_QP_EX_WITH_SEND)
    ah = AH(ends.pd, attr=ends.ah_attr())
    ends.recv(ends.b, 3)
    ends.a.wr_start()
    ends.a.wr_id, ends.a.wr_flags = 4, SIGNALED
    ends.a.wr_send()
    ends.a.wr_set_ud_addr(ah, ends.b.qp_num, QKEY)
    ends.a.wr_set_inline_data(ends.mr[0].buf, 32)
    ends.a.wr_complete()
    got = {wc.wr_id: wc for wc in ends.poll(2)}
    expect("bytes", got[3].byte_len, GRH + 32)
    expect("sender", got[3].src_qp, ends.a.qp_num)


# ---- datagrams ----

def datagram_rules(device, gid_index):
    """A wrong Q_Key and a buffer too small lose a datagram; one over the MTU is the sender's error."""
    ends = Ends(device, gid_index, qp_type=e.IBV_QPT_UD)
    ah = AH(ends.pd, attr=ends.ah_attr())

    def send(length, qkey):
        wr = SendWR(wr_id=4, num_sge=1, send_flags=SIGNALED, sg=[SGE(ends.mr[0].buf, length, ends.mr[0].lkey)])
        wr.set_wr_ud(ah, ends.b.qp_num, qkey)
        ends.a.post_send(wr)

    ends.recv(ends.b, 3)
    send(16, QKEY + 1)
    expect("wrong key, sender", [(wc.wr_id, wc.status) for wc in ends.poll(1)], [(4, e.IBV_WC_SUCCESS)])
    time.sleep(0.2)
    expect("wrong key, receiver", ends.cq.poll(1)[0], 0)
    send(16, QKEY)
    expect("right key", sorted(wc.wr_id for wc in ends.poll(2)), [3, 4])
    mtu = 128 << ends.ctx.query_port(1).active_mtu
    if mtu < BYTES:
        send(mtu + 1, QKEY)
        expect("over the MTU", ends.poll(1)[0].status, e.IBV_WC_LOC_LEN_ERR)


# ---- shared receive queues ----

def srq_limit(device, gid_index):
    """The armed limit raises one event, and is disarmed by it."""
    ends = Ends(device, gid_index, with_srq=True)
    mr = ends.mr[1]
    for i in range(4):
        ends.srq.post_recv(RecvWR(wr_id=100 + i, num_sge=1, sg=[SGE(mr.buf, 64, mr.lkey)]))
    ends.srq.modify(SrqAttr(srq_limit=3), e.IBV_SRQ_LIMIT)
    expect("limit", ends.srq.query().srq_limit, 3)
    for i in range(2):
        ends.send(i)
    wcs = ends.poll(4)
    expect("receives", [wc.wr_id for wc in wcs if wc.wr_id >= 100], [100, 101])
    expect("at", {wc.qp_num for wc in wcs if wc.wr_id >= 100}, {ends.b.qp_num})
    event = ends.ctx.get_async_event()
    expect("event", event.event_type, e.IBV_EVENT_SRQ_LIMIT_REACHED)
    event.ack()
    expect("limit afterwards", ends.srq.query().srq_limit, 0)


# ---- extended completion queues ----

def lazy_polling(device, gid_index):
    """Completions field by field, with the time they came."""
    fields = (e.IBV_WC_STANDARD_FLAGS | e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
              e.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
    ends = Ends(device, gid_index, cq=lambda ctx: CQEX(ctx, CqInitAttrEx(cqe=64, wc_flags=fields)))
    start, wall, seen, last = time.monotonic_ns(), time.time_ns(), 0, 0
    for i in range(8):
        ends.recv(ends.b, 100 + i, 64)
        ends.send(i)
    end = time.monotonic() + 10
    while seen < 16 and time.monotonic() < end:
        status = ends.cq.start_poll(PollCqAttr())
        while status == 0:
            expect("status", ends.cq.status, e.IBV_WC_SUCCESS)
            is_recv = ends.cq.wr_id >= 100
            expect("opcode", ends.cq.read_opcode(), e.IBV_WC_RECV if is_recv else e.IBV_WC_SEND)
            expect("queue pair", ends.cq.read_qp_num(), (ends.b if is_recv else ends.a).qp_num)
            stamp, wall_stamp = ends.cq.read_timestamp(), ends.cq.read_completion_wallclock_ns()
            expect("time since the start", start <= stamp <= time.monotonic_ns() and stamp >= last, True)
            expect("wall clock", abs(wall_stamp - wall) < 60 * 10**9, True)
            seen, last = seen + 1, stamp
            status = ends.cq.poll_next()
        if seen:
            ends.cq.end_poll()
    expect("completions", seen, 16)


# ---- lengths at both ends of their range (IB 9.7.7.2.1) ----

LARGEST = 1 << 31
LIBC = ctypes.CDLL(None)
LIBC.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]


def fill(addr, length):
    """Bytes that repeat with no period of the wire's."""
    pattern = os.urandom((1 << 20) + 13)
    for at in range(0, length, len(pattern)):
        ctypes.memmove(addr + at, pattern, min(len(pattern), length - at))


def one_way(ends, opcode, sges, remote, receive=None):
    """Has a message of any size and gives its completions, the sender's first."""
    if receive is not None:
        ends.b.post_recv(RecvWR(wr_id=2, num_sge=len(receive), sg=receive))
    wr = SendWR(wr_id=1, opcode=opcode, num_sge=len(sges), sg=sges, send_flags=SIGNALED)
    if opcode != e.IBV_WR_SEND:
        wr.set_wr_rdma(remote.rkey, remote.buf)
    ends.a.post_send(wr)
    done = sorted(ends.poll(1 if receive is None else 2, 25), key=lambda wc: wc.wr_id)
    for wc in done:
        expect("status", wc.status, e.IBV_WC_SUCCESS)
    return done


def largest(device, gid_index, opcode):
    """One message of 2 GiB, every byte compared."""
    ends = Ends(device, gid_index, mtu=e.IBV_MTU_4096)
    near, far = (MR(ends.pd, LARGEST, ALL | e.IBV_ACCESS_ON_DEMAND) for _ in range(2))
    read, send = opcode == e.IBV_WR_RDMA_READ, opcode == e.IBV_WR_SEND
    fill(far.buf if read else near.buf, LARGEST)
    started = time.monotonic()
    done = one_way(ends, opcode, [SGE(near.buf, LARGEST, near.lkey)], far,
                   [SGE(far.buf, LARGEST, far.lkey)] if send else None)
    print(f"2 GiB in {time.monotonic() - started:.1f} s")
    if read or send:
        expect("length", done[-1].byte_len, LARGEST)
    expect("differences", LIBC.memcmp(near.buf, far.buf, LARGEST), 0)


def largest_write(device, gid_index):
    """WRITE of 2 GiB."""
    largest(device, gid_index, e.IBV_WR_RDMA_WRITE)


def largest_read(device, gid_index):
    """READ of 2 GiB."""
    largest(device, gid_index, e.IBV_WR_RDMA_READ)


def largest_send(device, gid_index):
    """SEND of 2 GiB."""
    largest(device, gid_index, e.IBV_WR_SEND)


def too_long(device, gid_index):
    """A byte more than 2 GiB is refused when it is posted, and the port says where the limit is."""
    ends = Ends(device, gid_index)
    expect("max_msg_sz", ends.ctx.query_port(1).max_msg_sz, LARGEST)
    mr = ends.mr[0]
    for opcode in (e.IBV_WR_SEND, e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
        wr = SendWR(opcode=opcode, num_sge=2, send_flags=SIGNALED,
                    sg=[SGE(mr.buf, LARGEST, mr.lkey), SGE(mr.buf, 1, mr.lkey)])
        try:
            ends.a.post_send(wr)
        except PyverbsRDMAError as ex:
            expect("error", ex.error_code, errno.EINVAL)
            continue
        raise AssertionError(f"{opcode} was not refused")
    expect("a write after it", ends.write(ends.mr[1].rkey, ends.mr[1].buf), e.IBV_WC_SUCCESS)


def empty(device, gid_index):
    """Messages without data, with an empty entry and with none; keys and addresses are not looked at."""
    ops = e.IBV_QP_EX_WITH_SEND | e.IBV_QP_EX_WITH_RDMA_WRITE | e.IBV_QP_EX_WITH_RDMA_READ
    ends = Ends(device, gid_index, send_ops=ops)
    ends.mr[1].write("untouched", 9)
    receive = [SGE(ends.mr[1].buf, 9, ends.mr[1].lkey)]

    class Nowhere:
        rkey, buf = 0xdead, 0x10

    for opcode, done in ((e.IBV_WR_RDMA_WRITE, e.IBV_WC_RDMA_WRITE), (e.IBV_WR_RDMA_READ, e.IBV_WC_RDMA_READ)):
        expect("opcode", one_way(ends, opcode, [SGE(0, 0, 0)], Nowhere)[0].opcode, done)
    for sges in (receive, [SGE(0, 0, 0)]):
        expect("length", one_way(ends, e.IBV_WR_SEND, [SGE(0, 0, 0)], None, sges)[1].byte_len, 0)
    ends.recv(ends.b, 2, 9)
    for build in (lambda: ends.a.wr_rdma_write(0xdead, 0x10), lambda: ends.a.wr_rdma_read(0xdead, 0x10),
                  ends.a.wr_send):
        ends.a.wr_start()
        ends.a.wr_id, ends.a.wr_flags = 1, SIGNALED
        build()
        ends.a.wr_complete()
    for wc in ends.poll(4):
        expect("without entries", wc.status, e.IBV_WC_SUCCESS)
    expect("memory", ends.mr[1].read(9, 0), b"untouched")


# ---- what is not there says so ----

def refused(device, gid_index):
    """Things the device does not have, or cannot make, are refused with the reason, and leave everything usable."""
    ctx = Context(name=device)
    pd, cq = PD(ctx), CQ(ctx, 8)
    cases = {
        "XRC target without a domain": lambda: QP(pd, QPInitAttr(qp_type=e.IBV_QPT_XRC_RECV, scq=cq, rcq=cq, cap=QPCap())),
        "raw packets": lambda: QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RAW_PACKET, scq=cq, rcq=cq, cap=QPCap())),
        "TSO": lambda: QPEx(ctx, QPInitAttrEx(
            qp_type=e.IBV_QPT_UD, scq=cq, rcq=cq, cap=QPCap(), pd=pd, send_ops_flags=e.IBV_QP_EX_WITH_TSO,
            comp_mask=e.IBV_QP_INIT_ATTR_PD | e.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)),
        "VLAN of completions": lambda: CQEX(ctx, CqInitAttrEx(cqe=8, wc_flags=e.IBV_WC_EX_WITH_CVLAN)),
    }
    for name, call in cases.items():
        try:
            call()
        except PyverbsRDMAError:
            continue
        raise AssertionError(f"{name} was not refused")
    Ends(device, gid_index)


CASES = [window_type_1, local_invalidate, send_with_invalidate, built_requests, built_datagram, datagram_rules,
         srq_limit, lazy_polling, largest_write, largest_read, largest_send, too_long, empty, refused]


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(case.__name__ for case in CASES))
        return
    case = next(case for case in CASES if case.__name__ == sys.argv[1])
    device = sys.argv[2] if len(sys.argv) > 2 else "roced0"
    gid_index = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    case(device, gid_index)


if __name__ == "__main__":
    main()
