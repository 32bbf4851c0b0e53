/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reliable connection has beyond the specification when both ends have agreed to it: selective repeat with
 * selective acknowledgements (RC_SACK, docs/wire.md) and packets sprayed over several paths. Without that qp->ext is
 * NULL, and nothing of this is reached.
 *
 * tp_ev.c: which entropy value (EV) a packet takes, and what is learnt of it. tp_sr.c: what is on its way, what is
 * lost, over the ring of tp_ring.c. tp_rto.c: the same by time, and answers that are missing. tp_sack.c: the
 * responder's side. tp_merge.c: several messages in a packet. tp_senders.c: how many senders are active.
 */
#ifndef TP_EXT_H
#define TP_EXT_H

#include "tp_internal.h"
#include "wire_sack.h"

#define TP_SR_RING      ((uint32_t)TP_EXT_PSN_RING)  /* PSNs that may be between the oldest and the newest */
#define TP_SR_SPAN      (TP_SR_RING - TP_READ_PKTS)  /* a READ request may begin up to here */
#define TP_SR_NONE      0xffffu
#define TP_SR_PASSED    5                            /* later packets that make one suspect, whatever their paths */
#define TP_EV_NEVER_NS  ((uint64_t)1 << 60)
#define TP_SR_FORGET_NS 2000000000u                  /* responder: keeps what waits for a missing packet so long */
#define TP_SACK_ECHOES  TP_BURST_PKTS
#define TP_SACK_FULL    (1 + WIRE_SACK_MORE)         /* packets that one RC_SACK tells of at most */
#define TP_SACK_REPLAYS 32

enum tp_sr_state { TP_SR_IDLE, TP_SR_SENT, TP_SR_LOST };

/* What a packet may be in. ALL: SENT, by time of sending, or LOST, to be sent again; ON_EV: SENT, the same on its EV. */
enum tp_sr_lists { TP_SR_ALL, TP_SR_ON_EV, TP_SR_LISTS };

/* The latest packet with a PSN; its place in the ring is the PSN's lower bits. What it says of an idle one, which has
 * arrived or never was, is still true. */
struct tp_sr_pkt {
	uint64_t sent_ns;
	uint64_t first_ns;       /* of its first sending */
	uint32_t psn;
	uint32_t seq;            /* number of the sending, of all of the queue pair */
	uint32_t wr;             /* work request, as tp_req.head counts */
	struct {
		uint16_t next, prev;
	} in[TP_SR_LISTS];
	uint16_t n_psn;          /* PSNs it takes or asks for */
	uint8_t ev, state;
	uint8_t first_ev;
	uint8_t times;           /* sent; 255: or more */
	uint8_t passed;          /* packets that were sent later on its EV and have arrived */
	bool answers;            /* asks for answers that are missing, not for the first time */
	bool merged;             /* several messages */
};

struct tp_sr_list {
	uint16_t head, tail;
};

/* A request packet that is to be acknowledged. */
struct tp_echo {
	uint64_t came_ns;
	uint32_t psn;
	uint16_t udp_sport;
	uint8_t n_psn;           /* messages in it */
	uint8_t plane;
	bool marked;
};

struct tp_ext {
	struct tp_qp *qp;

	/* paths */
	struct path_sched sched;
	uint16_t port0;          /* of EV 0 */
	uint8_t n_planes;        /* beyond the queue pair's own address vector */
	struct tp_av plane[TP_MAX_PLANES - 1];
	uint8_t answer_ev;       /* of the latest answer */
	uint8_t rx_plane;        /* of the latest request */
	uint8_t probe_ev;        /* PATH_SCHED_NO_EV, unless a copy is being sent there */
	uint64_t last_send_ns;
	uint64_t n_on_ev[PATH_SCHED_MAX_EVS]; /* packets of requests */
	uint32_t srtt_ns;
	uint32_t least_ns;       /* least round trip of all */
	uint32_t slow_ns;        /* largest round trip that was seen lately */
	uint32_t slow_new_ns;    /* the same of this period, which ends at slow_until_ns */
	uint64_t slow_until_ns;

	/* requester */
	struct tp_merge_config merge; /* of the agreement; nothing is merged without */
	uint32_t merge_n;        /* work requests that the next packet has; below two: it is none of tp_merge.c */
	uint64_t merge_due_ns;   /* they wait for more till then; 0: they do not */
	struct base_timer merge_timer;
	uint32_t merged_psns;    /* beyond one a packet, of those that arrived and the window does not know of yet */
	struct cc cc;            /* its config is NULL without one */
	uint8_t senders;         /* that are active at the responder, as it told lately; 0: not told */
	struct tp_sr_pkt pkt[TP_SR_RING];
	uint64_t open[TP_SR_RING / 64]; /* bit: SENT or LOST */
	struct tp_sr_list sent, lost, on_ev[PATH_SCHED_MAX_EVS];
	uint32_t n_sent, n_lost;
	uint32_t n_asked;        /* answers asked for that have not come */
	uint32_t seq, acked_seq; /* of the latest sending; of the latest one that has arrived */
	uint32_t cum;            /* the responder has all before this */
	uint64_t suspects;       /* EVs with a packet that was passed by enough others */
	uint64_t progress_ns;    /* latest time at which una moved */
	uint64_t cut_ns;         /* latest time at which the window was cut */
	uint8_t backoff;
	bool waiting;            /* the ACK timer runs since something was sent */
	struct base_timer timer;

	/* responder */
	struct tp_echo echo[TP_SACK_ECHOES];
	uint32_t n_echo;
	uint32_t sender_period;  /* the latest in which data came */
	uint32_t told_msn;       /* of the latest RC_SACK */
	bool echo_now;           /* they wait for no more */
	bool held;               /* they do: on tp.held */
	TAILQ_ENTRY(tp_ext) held_link;
	struct tp_saved replay[TP_SACK_REPLAYS]; /* pieces of READ answers, asked for again */
};

/* tp_ext.c */
/* Takes the memory for what a queue pair may agree to. 0 or -ENOMEM. */
int tp_ext_init(struct tp_qp *qp);
void tp_ext_free(struct tp_qp *qp);
/* Notes the planes of an agreement. */
void tp_ext_planes(struct tp_qp *qp, const struct tp_qp_attr *attr);
/* The peer has agreed: RTR. */
void tp_ext_start(struct tp_qp *qp);
/* Back to what the specification has: RESET. */
void tp_ext_stop(struct tp_qp *qp);

/* tp_ev.c */
uint16_t tp_ev_port(const struct tp_ext *x, uint8_t ev);
/* The packet goes by ev: its port and its plane. */
void tp_ev_route(const struct tp_ext *x, struct wire_pkt *pkt, uint8_t ev);
/* PATH_SCHED_NO_EV: the port stands for none. */
uint8_t tp_ev_of_port(const struct tp_ext *x, uint16_t port);
/* EV for a packet of wr; another one than `but`, if there is one. */
uint8_t tp_ev_pick(struct tp_ext *x, uint32_t wr, uint32_t psn, uint8_t but);
/* An answer goes by the next EV in turn. */
void tp_ev_route_answer(struct tp_ext *x, struct wire_pkt *pkt);
/* What an acknowledgement tells of a path: ev is that of its packet, e what is known of its PSN, wait_ns how long it was
 * kept back there; UINT64_MAX: not known. */
void tp_ev_echo(struct tp_ext *x, uint8_t ev, const struct tp_sr_pkt *e, uint32_t psn, bool marked, uint64_t wait_ns);
/* How old a packet on ev must be to be taken as lost because others have come: many, more than a window, or a few. */
uint64_t tp_ev_guard_ns(const struct tp_ext *x, uint8_t ev, bool many);
/* Whether ev shows a queue, marks or a round trip well above its least, or all of them together do. */
bool tp_ev_congested(const struct tp_ext *x, uint8_t ev);

/* tp_ring.c */
/* Fresh start with nothing outstanding. */
void tp_sr_reset(struct tp_qp *qp);
/* The packet at place i is on its way on e->ev; is to be sent again; has arrived or is none. */
void tp_ring_sent(struct tp_ext *x, uint16_t i);
void tp_ring_lost(struct tp_ext *x, uint16_t i);
void tp_ring_idle(struct tp_ext *x, uint16_t i);
/* SENT and LOST packets at psn and the 63 after it. */
uint64_t tp_ring_open(const struct tp_ext *x, uint32_t psn);

/* tp_sr.c */
/* PSNs that may be sent now beyond what was. */
uint32_t tp_sr_room(const struct tp_qp *qp);
/* A packet is about to be sent that takes the PSNs up to `end`: chooses its EV and notes it. */
void tp_sr_stamp(struct tp_qp *qp, struct wire_pkt *pkt, uint32_t end);
/* Sends what was lost again; how many packets. */
uint32_t tp_sr_tx(struct tp_qp *qp, uint32_t budget, bool *more);
/* After sending: a copy of what is outstanding for a path that may live again. */
void tp_sr_probe(struct tp_qp *qp);
/* An RC_SACK; payload has pkt->payload_bytes. */
void tp_sr_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *payload);
/* una moves to psn. */
void tp_sr_moved(struct tp_qp *qp, uint32_t psn);
/* One is lost; how path_sched is told is the caller's. */
void tp_sr_lost(struct tp_ext *x, uint16_t i);
/* Sends psn, which wr has, again though it was not seen to be lost: an answer is asked for, or nothing was heard. */
void tp_sr_again(struct tp_ext *x, uint32_t wr, uint32_t psn, uint32_t end, bool answers);
/* Finds what others have passed. */
void tp_sr_detect(struct tp_ext *x);

/* How many were sent after e and before the latest that has arrived; negative: it is that or later. */
static inline int32_t tp_sr_passed(const struct tp_ext *x, const struct tp_sr_pkt *e)
{
	return (int32_t)(x->acked_seq - e->seq);
}

static inline struct tp_sr_pkt *tp_sr_at(struct tp_ext *x, uint32_t psn)
{
	return &x->pkt[psn % TP_SR_RING];
}

static inline bool tp_sr_is(struct tp_ext *x, uint32_t psn, enum tp_sr_state state)
{
	const struct tp_sr_pkt *e = tp_sr_at(x, psn);

	return e->state == state && e->psn == psn;
}

/* tp_merge.c */
/* Before the work request at snd is begun: settles tp_ext.merge_n. true: what is posted waits for more. */
bool tp_merge_waits(struct tp_qp *qp);
void tp_merge_fired(struct base_timer *timer, void *arg, uint64_t now_ns);
/* Sends up to n messages from wr on in one packet. How many went; 1: none did, but the first can be sent alone; 0: no
 * buffer, or its tp_swr.err tells why it cannot. */
uint32_t tp_merge_send(struct tp_qp *qp, uint32_t wr, uint32_t n);
/* One past the PSNs that went in the same packet as psn did. */
uint32_t tp_merge_end(struct tp_ext *x, uint32_t psn);
/* How many PSNs a request packet has, those of a READ's answers aside. */
uint32_t tp_merge_psns(const struct wire_pkt *pkt);
void tp_merge_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame);

/* tp_rto.c */
void tp_rto_fired(struct base_timer *timer, void *arg, uint64_t now_ns);
/* Something is outstanding: when next to look for what is lost. */
void tp_rto_arm(struct tp_ext *x);
/* Asks again for answers that are missing: before those that came, or all. */
void tp_rto_ask(struct tp_qp *qp, bool all);
/* Sends all again from una on, whatever was acknowledged: nothing else has helped. */
void tp_rto_all_again(struct tp_qp *qp);
/* Only what una belongs to: it was refused. */
void tp_rto_first_again(struct tp_qp *qp);

/* tp_senders.c */
/* Data has come for qp. */
void tp_senders_note(struct tp_qp *qp);
/* How many queue pairs had some lately; 255: or more. */
uint8_t tp_senders(struct tp *tp);

/* tp_sack.c */
/* A request packet came and was dealt with: it is to be acknowledged. */
void tp_sack_note(struct tp_qp *qp, const struct wire_pkt *pkt);
/* Sends the acknowledgements that are due; what finds no buffer waits, and so does what tp_config.sack_wait_ns lets wait. */
void tp_sack_send(struct tp_qp *qp);
/* Whether some are due and not sent. */
bool tp_sack_is_due(const struct tp_qp *qp);
/* Sends those whose time of waiting is over. */
void tp_sack_flush(struct tp *tp);
void tp_sack_fired(struct base_timer *timer, void *arg, uint64_t now_ns);
/* Forgets those that are not sent. */
void tp_sack_clear(struct tp_ext *x);
/* A place for answering part of a READ again beside other parts of it; NULL: none now. */
struct tp_saved *tp_sack_replay(struct tp_qp *qp, const struct tp_saved *saved);

#endif
