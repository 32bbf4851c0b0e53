/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of one association: everything between a pair of addresses is protected with its keys. Handshakes make it
 * and renew it, rekeys change the keys of one direction, and no packet is lost over either. Pure: time comes in as an
 * argument, datagrams leave through emit(), orders to the workers are callbacks. One thread (the main lcore).
 *
 * Nobody who only sends datagrams can take a working association down: what is not authenticated is at most a reason
 * to try a new handshake, at a limited rate, beside the keys that are in use. docs/protection-handshake.md.
 */
#ifndef CRYPT_ASSOC_H
#define CRYPT_ASSOC_H

#include "crypt_hs.h"
#include "crypt_hs_gate.h"
#include "crypt_sa.h"

enum crypt_event {
	CRYPT_EVENT_ESTABLISHED,    /* new keys from a handshake are in use */
	CRYPT_EVENT_REKEYED,        /* we send with a new epoch */
	CRYPT_EVENT_REFUSED,        /* we refuse the peer */
	CRYPT_EVENT_PEER_REFUSES,   /* the peer says that it refuses us */
	CRYPT_EVENT_NO_ANSWER,      /* a handshake or a rekey was given up for now */
	CRYPT_EVENT_PEER_RESTARTED, /* the peer seems to have lost the keys; a new handshake has begun */
	CRYPT_EVENT_HARD_LIMIT,     /* a key was used up before there was another: its lane has none */
	CRYPT_EVENT_EXPIRED,        /* the working key became too old: no lane has a key */
	CRYPT_EVENT_PROBLEM,        /* one of our own: memory, libcrypto, a callback that failed */
	CRYPT_EVENTS
};

/* None of these may call back into the association. */
struct crypt_assoc_ops {
	/* To the peer's control port. Loss is harmless. */
	void (*emit)(void *ctx, const uint8_t *datagram, size_t bytes);
	/* Receive with this from now on. One call a lane of the peer. -EEXIST: the SPI is in use. */
	int (*rx_add)(void *ctx, const struct crypt_sa_params *params);
	/* The lane sends with this from now on. On an error it goes on with what it has, and the call is repeated. */
	int (*tx_use)(void *ctx, const struct crypt_sa_params *params);
	/* The lane must not send any more: its key is used up. Optional if the data path sees to it. */
	void (*tx_stop)(void *ctx, uint16_t lane);
	/* Nothing comes with this SPI any more; wipe its key. */
	void (*rx_drop)(void *ctx, uint32_t spi);
	/* Optional: whether one of @n SPIs from @base on is in use, by any association of this host. */
	bool (*spi_used)(void *ctx, uint32_t base, uint16_t n);
	/* Seconds since 1970, for certificates; optional without them. */
	int64_t (*wall_s)(void *ctx);
	/* For people: never a key. Each event at most once a second, the first three of a kind at once;
	 * CRYPT_EVENT_ESTABLISHED always. */
	void (*say)(void *ctx, enum crypt_event event, const char *text);
};

struct crypt_assoc_config {
	struct crypt_hs_config hs;
	const char *peer; /* its address as text; also the ID of its pre-shared key, if there is one with it and
			     hs.psk_id is NULL */
	struct crypt_msg_bytes addr; /* its address as bytes, for cookies */
	uint32_t window_packets;     /* replay window of receiving SAs; 16,384 */
	uint64_t soft_bytes;         /* of a key, then rekey; 4 TiB */
	uint64_t hard_bytes;         /* then stop; 8 TiB */
	uint64_t soft_packets;       /* 2^47 */
	uint64_t hard_packets;       /* 2^48 */
	uint64_t soft_ns;            /* age of an epoch, then rekey; 1 h */
	uint64_t handshake_ns;       /* age of the working key, then a new handshake; 23 h */
	uint64_t hard_ns;            /* then stop; 24 h */
	uint64_t drain_ns;           /* how long old keys receive after the peer was seen with new ones; 1 s at least */
	uint64_t retry_ns;           /* first retransmission; doubled up to 4 s; 250 ms */
	uint32_t tries;              /* 8: 20 s in all */
	uint64_t pause_ns;           /* after all of these, before the next handshake; 30 s */
	uint64_t half_open_ns;       /* how long a responder waits for M3; 30 s */
	uint64_t ping_ns;            /* we send and hear nothing: ask; 1 s */
	uint64_t silence_ns;         /* and then: new handshake; 5 s */
	uint64_t suspect_ns;         /* between two handshakes for unauthenticated reasons; 5 s */
	bool plain;                  /* packets go plain where there are no keys, instead of not at all: texts say so */
};

/* The figures above; @config's hs, peer and addr are the caller's to fill in. */
void crypt_assoc_config_default(struct crypt_assoc_config *config);

struct crypt_assoc;

/* NULL with @error set. @gate, @ops and all that @config points to outlive it. */
struct crypt_assoc *crypt_assoc_new(const struct crypt_assoc_config *config, struct crypt_gate *gate,
	const struct crypt_assoc_ops *ops, void *ctx, struct crypt_error *error);
/* Whether crypt_assoc_new() and crypt_assoc_configure() would take it. 0 or -EINVAL with @error set. */
int crypt_assoc_check(const struct crypt_assoc_config *config, struct crypt_error *error);
/*
 * From now on another configuration, of the same two ends. Handshakes that are under way end; keys stay until
 * crypt_assoc_handshake_now() or time replaces them. 0; -EINVAL with @error set: it goes on with the old one.
 */
int crypt_assoc_configure(struct crypt_assoc *assoc, const struct crypt_assoc_config *config, struct crypt_error *error);
/* Drops all SPIs, stops the lanes, wipes all keys. NULL is allowed. */
void crypt_assoc_free(struct crypt_assoc *assoc);

/* Begins a handshake, and from now on one whenever there is a need. Without it the peer has to. 0 or -EALREADY. */
int crypt_assoc_start(struct crypt_assoc *assoc, uint64_t now_ns);
/* A datagram from the peer's address. Anything may be in it. */
void crypt_assoc_receive(struct crypt_assoc *assoc, const uint8_t *datagram, size_t bytes, uint64_t now_ns);
/* Does what is due. Returns when to call again, UINT64_MAX for never; call it after each other function as well. */
uint64_t crypt_assoc_tick(struct crypt_assoc *assoc, uint64_t now_ns);

/* New keys in both directions. -ENOTCONN without an association, -EALREADY when it is under way. */
int crypt_assoc_rekey_now(struct crypt_assoc *assoc, uint64_t now_ns);
/* A new handshake, for a new working key. -EALREADY when one is under way. */
int crypt_assoc_handshake_now(struct crypt_assoc *assoc, uint64_t now_ns);

/* What a lane's worker has counted for the SA with @spi: bytes, and the last packet number. A few times a second. */
void crypt_assoc_used(struct crypt_assoc *assoc, uint16_t lane, uint32_t spi, uint64_t bytes, uint64_t packet_number,
	uint64_t now_ns);
/* The first good packet of an SPI has arrived. */
void crypt_assoc_rx_seen(struct crypt_assoc *assoc, uint32_t spi, uint64_t now_ns);
/* Good packets have arrived since the last call: the peer lives. A few times a second. */
void crypt_assoc_heard(struct crypt_assoc *assoc, uint64_t now_ns);
/* A packet with an SPI that nobody knows has come from the peer's address: tells the peer, at a limited rate. */
void crypt_assoc_unknown_spi(struct crypt_assoc *assoc, uint32_t spi, uint64_t now_ns);

struct crypt_assoc_status {
	bool established;
	bool handshake; /* one is under way */
	bool rekeying;
	bool initiator;
	enum crypt_suite suite;
	enum crypt_msg_method method;
	uint64_t generation; /* of handshakes */
	uint32_t tx_epoch, rx_epoch;
	uint32_t tx_spi_base, rx_spi_base;
	uint16_t lanes, peer_lanes;
	unsigned int rx_generations; /* sets of receiving keys that are alive */
	uint64_t born_ns;            /* of the working key */
	uint64_t handshakes, rekeys;
	uint64_t ignored;  /* datagrams that were malformed, forged, repeated or out of place */
	uint64_t refused;  /* handshakes that we refused */
	uint64_t refusals; /* notices of the peer */
	char why[384];     /* the last reason for which there is no association; "" */
};

void crypt_assoc_status(const struct crypt_assoc *assoc, struct crypt_assoc_status *status);
/* Nothing is going on and nothing is held: an association made for a stranger's M1 may be freed. */
bool crypt_assoc_is_idle(const struct crypt_assoc *assoc);
/* There are keys, to send or to receive with: the peer has proved who it is. */
bool crypt_assoc_has_keys(const struct crypt_assoc *assoc);
/* Whether a datagram begins a handshake, in any version: all others are for an association that is there. */
bool crypt_assoc_begins(const uint8_t *datagram, size_t bytes);

#endif
