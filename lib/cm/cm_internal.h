/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of lib/cm share. An id lies in one slot of a fixed table. Its communication ID is
 * the slot number and a generation, encrypted, so it finds the slot without a search and nobody can
 * guess it. Two hash tables know the peers' halves: by the peer's communication ID (repeated
 * requests) and by the peer's QP (stale connections). Each id has one timer, whose meaning follows
 * from its state.
 */
#ifndef CM_INTERNAL_H
#define CM_INTERNAL_H

#include <sys/queue.h>

#include "base_wheel.h"
#include "cm.h"
#include "wire_cm_ext.h"

#define CM_INDEX_BITS 20
#define CM_MS_NS      1000000ull
#define CM_WAITS      16

LIST_HEAD(cm_id_list, cm_id);
TAILQ_HEAD(cm_id_queue, cm_id);

struct cm_id {
	struct cm *cm;
	struct base_timer timer;
	void *cookie;
	TAILQ_ENTRY(cm_id) queue;      /* free slots or orphans */
	LIST_ENTRY(cm_id) remote_link; /* cm->by_remote, when in_remote */
	LIST_ENTRY(cm_id) qpn_link;    /* cm->by_qpn, when in_qpn */
	LIST_ENTRY(cm_id) listen_link; /* cm->listeners, in state LISTEN */
	LIST_ENTRY(cm_id) child_link;  /* listener->children, when listener is set */
	uint32_t index;
	uint32_t generation;
	uint32_t local_id;
	uint32_t remote_id; /* SIDR: the peer's request id */
	uint8_t state;      /* enum cm_state */
	bool orphan;        /* destroyed by its owner, but not done with the peer */
	bool passive;
	bool sidr;
	bool in_remote;
	bool in_qpn;
	bool half_open;
	bool mra_sent;
	bool was_connected;
	bool params_known;
	uint8_t mra_timeout;
	uint8_t max_retries;
	uint8_t retries_left;
	uint32_t timeout_ms;

	/* listener */
	struct cm_id_list children;
	struct wire_addr listen_local;
	bool listen_any;
	void *listen_dev;
	uint32_t backlog;
	uint32_t pending;

	/* connection */
	struct cm_id *listener;
	uint64_t service_id;
	uint64_t tid; /* of the exchange that REQ or SIDR_REQ began */
	uint8_t peer_responder_resources;
	uint8_t peer_initiator_depth;
	uint8_t peer_flow_control;
	struct cm_qp_params qp;
	struct cm_ext ext; /* active: offered; passive: of the peer's offer */
	uint8_t mad[CM_MAD_BYTES]; /* last message, to repeat */
};

/* A request that waits for a listener (cm_wait.c). */
struct cm_wait {
	struct cm *cm;
	struct base_timer timer;
	bool used;
	uint64_t until_ns;
	struct cm_path path;
	struct wire_cm_msg msg;
};

struct cm {
	struct cm_config config;
	const struct cm_ops *ops;
	void *env;
	uint64_t key;
	struct cm_stats stats;
	struct cm_id *ids;
	struct cm_id_queue free_ids;
	struct cm_id_queue orphans; /* oldest first */
	uint32_t bucket_mask;
	struct cm_id_list *by_remote;
	struct cm_id_list *by_qpn;
	struct cm_id_list *listeners; /* by service ID */
	struct base_wheel wheel;
	struct cm_wait waits[CM_WAITS];
};

static inline uint8_t cm_min8(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* cm_table.c: slots and look-up */

uint64_t cm_mix(uint64_t x);
/* A slot for a new id, NULL when there is none; the oldest orphan gives way. */
struct cm_id *cm_slot_take(struct cm *cm);
void cm_slot_free(struct cm_id *id);
/* Gives the id another communication ID, so that late messages for the old one do not find it. */
void cm_renew_local_id(struct cm_id *id);
/* The id with our communication ID local_id whose peer is at the other end of path. */
struct cm_id *cm_find_local(struct cm *cm, const struct cm_path *path, uint32_t local_id);
struct cm_id *cm_find_remote(
	struct cm *cm, const struct cm_path *path, uint32_t remote_id, bool sidr);
struct cm_id *cm_find_qpn(struct cm *cm, const struct cm_path *path, uint32_t qpn);
/* Enter id under its remote_id, and its remote QPN unless it is of SIDR. */
void cm_table_add(struct cm_id *id);
void cm_table_remove(struct cm_id *id);
void cm_table_remove_qpn(struct cm_id *id);
bool cm_same_ends(const struct cm_path *a, const struct cm_path *b);

/* cm_state.c: what happens to an id */

void cm_set_state(struct cm_id *id, enum cm_state state);
/* Idle again, with nothing of the last connection that a peer could reach. */
void cm_reset(struct cm_id *id);
/* As cm_reset(); then calls the handler, or frees the id when nobody owns it. Last thing done to
 * id. */
void cm_end(struct cm_id *id, struct cm_event *ev);
/* Fills in what is the same for all events and calls the handler. Last thing done to id. */
void cm_raise(struct cm_id *id, struct cm_event *ev);
/* Repeats id->mad every timeout_ms until the id's state changes. */
void cm_start_retries(struct cm_id *id, uint32_t timeout_ms, uint64_t now_ns);
/* The QP's last packets may still be on their way: waits them out. ev: DISCONNECTED. */
void cm_enter_timewait(struct cm_id *id, struct cm_event *ev, uint64_t now_ns);
void cm_timer_expired(struct base_timer *timer, void *arg, uint64_t now_ns);
uint64_t cm_code_ns(uint8_t code);
/* Code of the ACK timeout over a path of this packet lifetime to a peer of this ACK delay (all
 * codes). */
uint8_t cm_ack_timeout(uint8_t lifetime, uint8_t ack_delay);

/* cm_mad.c: sending */

void cm_msg_init(struct wire_cm_msg *msg, enum wire_cm_type type, uint64_t tid);
void cm_msg_private(struct wire_cm_msg *msg, size_t offset, const uint8_t *data, uint16_t n);
int cm_send_raw(struct cm *cm, const struct cm_path *path, const uint8_t *mad);
void cm_send(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg);
/* Sends and keeps the message for repeating. */
void cm_send_keep(struct cm_id *id, const struct wire_cm_msg *msg);
void cm_send_mra(struct cm_id *id, uint8_t about);
/* Refuses a request for which there is no id. */
void cm_refuse_req(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint16_t reason);
/* Rejects id's connection as its state asks for, keeping the message. */
void cm_send_rej(
	struct cm_id *id, uint16_t reason, const uint8_t *private_data, uint16_t private_bytes);
void cm_send_dreq(struct cm_id *id, const uint8_t *private_data, uint16_t private_bytes);
uint64_t cm_tid(const struct cm_id *id);

/* cm_hello.c: the hello in front of private data */

/* Whether service IDs like this have a hello (annex A11.3.1). */
bool cm_service_has_hello(uint64_t service_id);
/* Bytes the hello takes, 0 when there is none. */
uint16_t cm_hello_put(struct wire_cm_msg *msg, const struct cm_hello *hello);
/* Takes a hello off; sets the private part of *ev. -EPROTO when it should be there and is not
 * right. */
int cm_hello_get(const struct wire_cm_msg *msg, uint64_t service_id, struct cm_event *ev);

/* cm_ext.c: beyond the specification, behind the consumer's private data */

/* Puts *ext into a REQ or REP whose private data is set; it becomes zero when there is no room. */
void cm_ext_put(struct wire_cm_msg *msg, struct cm_ext *ext);
/* Takes the peer's out: when there is one, *ev has a copy of its private data without it in private_data, which has
 * WIRE_CM_PRIVATE_MAX bytes. */
void cm_ext_get(const struct wire_cm_msg *msg, uint8_t *private_data, struct cm_event *ev, struct cm_ext *ext);
struct cm_ext cm_ext_common(const struct cm_ext *own, const struct cm_ext *peer);

/* cm_listen.c */

struct cm_id *cm_find_listener(struct cm *cm, const struct cm_path *path, uint64_t service_id);
/* A passive id for a request to listener; NULL when that or the whole table is at its limit. */
struct cm_id *cm_child_new(struct cm_id *listener);
void cm_child_detach(struct cm_id *id);
void cm_unlisten(struct cm_id *id);

/* cm_wait.c */

void cm_wait_init(struct cm *cm);
/* Whether a request without a listener, new or seen before, is kept to be looked at again; false: refuse it. */
bool cm_wait_for_listener(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);

/* Receivers, each for one message type; path is as in cm_rx(). */

void cm_rx_req(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);
void cm_rx_rep(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);
void cm_rx_rtu(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg);
void cm_rx_mra(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);
void cm_rx_rej(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);
void cm_rx_dreq(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);
void cm_rx_drep(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);
void cm_rx_sidr_req(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns);
void cm_rx_sidr_rep(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg);

/* cm_close.c: sends DREQ when id is established, else does nothing. Raises no event. */
void cm_start_disconnect(
	struct cm_id *id, const uint8_t *private_data, uint16_t private_bytes, uint64_t now_ns);

#endif
