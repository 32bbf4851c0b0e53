/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as management datagrams. Alone: decoding and encoding are inverse, and rocectl can print them.
 * In a row, from a peer who knows our communication IDs: the connection manager keeps its state and its
 * bounds. The input is a row of steps, each a control byte and 256 bytes of datagram, the last one
 * maybe shorter.
 */
#include <errno.h>
#include <string.h>

#include "cm.h"
#include "describe.h"
#include "fuzz.h"
#include "wire_cm_ext.h"

#define MAX_STEPS   24
#define MAX_IDS     8
#define STEP_NS     3000000ull
#define TIMEOUT_MS  2
#define RETRIES     3
#define END_NS      50000000ull
#define ATTR_ID     17 /* low byte */
#define LOCAL_ID    24 /* communication IDs in a datagram; SIDR's request ID */
#define REMOTE_ID   28
#define SERVICE_ID  32 /* of REQ and SIDR_REQ */
#define DREQ_QPN    32
#define REQ_GIDS    80
#define OUR_QPN     0x17
#define SERVICE     cm_service_id(CM_PS_TCP, 7174)

/* Control byte: what happens beside the datagram. */
#define CONTROL_AIM      0x01 /* what names us in it is made right */
#define CONTROL_WAIT     0x02 /* time passes first */
#define CONTROL_STRANGER 0x04 /* it comes from another address */
#define CONTROL_TID      0x08 /* it gets the transaction ID of our last datagram */
#define CONTROL_REACT(c) ((c) >> 4 & 3)
#define CONTROL_ACT      0x40 /* the consumer does something first */
#define CONTROL_CONNECT  0x80 /* an active connection is tried first */

enum react { REACT_ACCEPT, REACT_REJECT, REACT_HOLD, REACT_DESTROY };

struct host {
	struct cm *cm;
	struct cm_id *ids[MAX_IDS];
	unsigned int n_ids;
	enum react react;
	uint64_t now_ns;
	uint8_t last_sent[CM_MAD_BYTES];
};

static int on_send(void *env, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct host *host = env;
	struct wire_cm_msg msg;

	(void)path;
	FUZZ_CHECK(!wire_cm_decode(mad, CM_MAD_BYTES, &msg));
	memcpy(host->last_sent, mad, CM_MAD_BYTES);
	return host->now_ns % 5 ? 0 : -EAGAIN;
}

static void forget(struct host *host, const struct cm_id *id)
{
	unsigned int i;

	for (i = 0; i < host->n_ids; i++) {
		if (host->ids[i] == id) {
			host->ids[i] = host->ids[--host->n_ids];
			return;
		}
	}
}

static void destroy(struct host *host, struct cm_id *id)
{
	forget(host, id);
	cm_id_destroy(host->cm, id, host->now_ns);
}

static void accept_id(struct host *host, struct cm_id *id)
{
	struct cm_accept_params params = {.qpn = OUR_QPN, .starting_psn = 5, .responder_resources = 4,
		.initiator_depth = 4, .rnr_retry_count = 7, .ext = {CM_EXT_SACK, 256}};
	struct cm_qp_params qp;

	if (!cm_accept(host->cm, id, &params, host->now_ns))
		FUZZ_CHECK(!cm_id_qp_params(id, &qp) && qp.path_mtu >= 1 && qp.path_mtu <= 5);
}

static void react_request(struct host *host, const struct cm_event *ev)
{
	struct cm_sidr_rep_params sidr = {.qpn = OUR_QPN, .qkey = 1};

	if (host->n_ids == MAX_IDS || host->react == REACT_DESTROY) {
		cm_id_destroy(host->cm, ev->id, host->now_ns);
		return;
	}
	host->ids[host->n_ids++] = ev->id;
	if (host->react == REACT_HOLD)
		return;
	if (ev->type == CM_EVENT_SIDR_REQUEST)
		(void)cm_sidr_rep(host->cm, ev->id, &sidr, host->now_ns);
	else if (host->react == REACT_ACCEPT)
		accept_id(host, ev->id);
	else
		(void)cm_reject(host->cm, ev->id, CM_REJ_CONSUMER, NULL, 0, host->now_ns);
}

static void on_event(void *env, const struct cm_event *ev)
{
	struct host *host = env;
	uint8_t sum = 0;
	unsigned int i;

	/* All of what an event points to may be read. */
	for (i = 0; i < ev->private_bytes; i++)
		sum = (uint8_t)(sum + ev->private_data[i]);
	for (i = 0; i < ev->ari_bytes; i++)
		sum = (uint8_t)(sum + ev->ari[i]);
	(void)*(volatile uint8_t *)&sum;
	switch (ev->type) {
	case CM_EVENT_CONNECT_REQUEST:
	case CM_EVENT_SIDR_REQUEST:
		react_request(host, ev);
		break;
	case CM_EVENT_CONNECT_RESPONSE:
		if (host->react == REACT_ACCEPT)
			(void)cm_establish(host->cm, ev->id, NULL, 0, host->now_ns);
		else if (host->react == REACT_REJECT)
			(void)cm_reject(host->cm, ev->id, CM_REJ_CONSUMER, NULL, 0, host->now_ns);
		else if (host->react == REACT_DESTROY)
			destroy(host, ev->id);
		break;
	default:
		if (host->react == REACT_DESTROY)
			destroy(host, ev->id);
	}
}

static struct cm_path path_from(bool stranger)
{
	struct cm_path path = {
		.local = {{0xfd, [15] = 1}}, .remote = {{0xfd, [15] = 2}}, .hop_limit = 64};

	if (stranger)
		path.remote.b[15] = 3;
	return path;
}

static void connect_out(struct host *host, uint8_t control)
{
	const struct cm_hello hello = {.present = true, .ipv6 = true, .src_port = 9};
	struct cm_connect_params params = {.path = path_from(false), .hello = hello,
		.service_id = SERVICE, .qpn = OUR_QPN, .starting_psn = 9, .responder_resources = 1,
		.initiator_depth = 1, .path_mtu = 3, .retry_count = 7, .rnr_retry_count = 7,
		.ext = {CM_EXT_SACK, 256}};
	struct cm_sidr_req_params sidr = {
		.path = path_from(false), .hello = hello, .service_id = SERVICE};
	struct cm_id *id;

	if (host->n_ids == MAX_IDS)
		return;
	id = cm_id_create(host->cm, NULL);
	if (!id)
		return;
	host->ids[host->n_ids++] = id;
	if ((control & CONTROL_ACT) != 0)
		(void)cm_sidr_req(host->cm, id, &sidr, host->now_ns);
	else
		(void)cm_connect(host->cm, id, &params, host->now_ns);
}

static void act(struct host *host, uint8_t choice)
{
	struct cm_id *id;

	if (!host->n_ids)
		return;
	id = host->ids[choice % host->n_ids];
	switch (choice >> 4 & 7) {
	case 0:
		accept_id(host, id);
		break;
	case 1:
		(void)cm_reject(host->cm, id, CM_REJ_CONSUMER, NULL, 0, host->now_ns);
		break;
	case 2:
		(void)cm_disconnect(host->cm, id, NULL, 0, host->now_ns);
		break;
	case 3:
		(void)cm_establish(host->cm, id, NULL, 0, host->now_ns);
		break;
	case 4:
		(void)cm_mra(host->cm, id, 20, host->now_ns);
		break;
	case 5:
		(void)cm_comm_established(host->cm, id, host->now_ns);
		break;
	default:
		destroy(host, id);
	}
}

static void check_codec(const uint8_t *mad, size_t n)
{
	uint8_t again[WIRE_MAD_BYTES];
	struct wire_cm_hello hello;
	struct wire_cm_ext ext;
	struct wire_cm_msg msg;
	struct emit e = {.json = true, .first = true};
	char *text = NULL;
	size_t bytes;

	if (!wire_cm_decode(mad, n, &msg)) {
		FUZZ_CHECK(msg.private_bytes == wire_cm_private_bytes(msg.type));
		wire_cm_encode(&msg, again);
		FUZZ_CHECK(!memcmp(again, mad, n));
		(void)wire_cm_hello_decode(msg.private_data, msg.private_bytes, &hello);
		(void)wire_cm_ext_get(&msg, &ext);
	}
	e.out = open_memstream(&text, &bytes);
	FUZZ_CHECK(e.out);
	(void)describe_mad(&e, mad, n);
	fclose(e.out);
	free(text);
}

/* A datagram that finds its way: our communication ID, and a REQ's service and addresses. */
static void aim(const struct host *host, const struct cm_path *path, uint8_t *mad)
{
	unsigned int i;

	switch (mad[ATTR_ID]) {
	case WIRE_CM_REQ:
		memcpy(mad + REQ_GIDS, &path->remote, sizeof(path->remote));
		memcpy(mad + REQ_GIDS + sizeof(path->remote), &path->local, sizeof(path->local));
		/* fall through */
	case WIRE_CM_SIDR_REQ:
		for (i = 0; i < 8; i++)
			mad[SERVICE_ID + i] = (uint8_t)(SERVICE >> (56 - 8 * i));
		return;
	case WIRE_CM_SIDR_REP:
		memcpy(mad + LOCAL_ID, host->last_sent + LOCAL_ID, 4);
		return;
	case WIRE_CM_DREQ:
		memcpy(mad + DREQ_QPN, "\0\0", 2);
		mad[DREQ_QPN + 2] = OUR_QPN;
		/* fall through */
	default:
		memcpy(mad + REMOTE_ID, host->last_sent + LOCAL_ID, 4);
	}
}

/* What offers to agree to more does so rightly. */
static void sign(uint8_t *mad)
{
	const uint8_t *at = mad + WIRE_MAD_BYTES - WIRE_CM_EXT_BYTES;
	const struct wire_cm_ext ext = {.flags = at[5], .psn_ring = (uint16_t)(at[6] << 8 | at[7])};
	struct wire_cm_msg msg;

	if (memcmp(at, "rced", 4) || wire_cm_decode(mad, WIRE_MAD_BYTES, &msg) ||
		!wire_cm_ext_fits(msg.type, (size_t)(msg.private_bytes - WIRE_CM_EXT_BYTES)))
		return;
	msg.private_bytes = (uint16_t)(msg.private_bytes - WIRE_CM_EXT_BYTES);
	wire_cm_ext_put(&msg, &ext);
	wire_cm_encode(&msg, mad);
}

static void step(struct host *host, uint8_t control, const uint8_t *data, size_t n)
{
	struct cm_path path = path_from((control & CONTROL_STRANGER) != 0);
	uint8_t *mad = malloc(n ? n : 1);
	uint8_t react = CONTROL_REACT(control);

	FUZZ_CHECK(mad);
	memcpy(mad, data, n);
	host->react = (enum react)react;
	if ((control & CONTROL_WAIT) != 0) {
		host->now_ns += STEP_NS;
		cm_advance(host->cm, host->now_ns);
	}
	if ((control & CONTROL_CONNECT) != 0)
		connect_out(host, control);
	else if ((control & CONTROL_ACT) != 0 && n > WIRE_MAD_BYTES - 1)
		act(host, mad[WIRE_MAD_BYTES - 1]);
	if ((control & CONTROL_AIM) != 0 && n == WIRE_MAD_BYTES)
		aim(host, &path, mad);
	if ((control & CONTROL_AIM) != 0 && n == WIRE_MAD_BYTES)
		sign(mad);
	if ((control & CONTROL_TID) != 0 && n >= 16)
		memcpy(mad + 8, host->last_sent + 8, 8);
	check_codec(mad, n);
	cm_rx(host->cm, &path, mad, n, host->now_ns);
	free(mad);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cm_ops ops = {.send_mad = on_send, .event = on_event};
	struct host host = {.now_ns = 1};
	struct cm_config config;
	struct cm_stats stats;
	struct cm_id *listener;
	unsigned int steps;
	size_t n;

	cm_config_default(&config);
	config.max_ids = 6;
	config.max_half_open = 3;
	config.response_timeout_ms = TIMEOUT_MS;
	config.sidr_timeout_ms = TIMEOUT_MS;
	config.listener_wait_ms = TIMEOUT_MS / 2;
	config.max_retries = RETRIES;
	config.packet_lifetime = 4;
	config.target_ack_delay = 4;
	FUZZ_CHECK(!cm_create(&config, &ops, &host, host.now_ns, &host.cm));
	listener = cm_id_create(host.cm, NULL);
	FUZZ_CHECK(listener && !cm_listen(host.cm, listener, SERVICE, NULL, NULL, 2));
	for (steps = 0; size > 0 && steps < MAX_STEPS; steps++) {
		n = size - 1 < WIRE_MAD_BYTES ? size - 1 : WIRE_MAD_BYTES;
		step(&host, data[0], data + 1, n);
		data += n + 1;
		size -= n + 1;
		cm_get_stats(host.cm, &stats);
		FUZZ_CHECK(stats.ids <= config.max_ids && stats.half_open <= config.max_half_open);
		FUZZ_CHECK(cm_next_ns(host.cm) > 0);
	}
	host.react = REACT_DESTROY;
	host.now_ns += END_NS;
	cm_advance(host.cm, host.now_ns);
	while (host.n_ids)
		destroy(&host, host.ids[0]);
	cm_destroy(host.cm);
	return 0;
}
