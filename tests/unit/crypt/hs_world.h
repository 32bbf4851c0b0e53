/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two hosts that agree on keys over a link that loses, doubles, delays and changes datagrams, in virtual time. Packets
 * of data go over it as well, and each has to find its key on the other side.
 */
#ifndef HS_WORLD_H
#define HS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "crypt_assoc.h"

#define MS_NS     1000000ull
#define SECOND_NS 1000000000ull
#define HOUR_NS   (3600 * SECOND_NS)

#define WORLD_FLIGHTS 512
#define WORLD_RX      2048
#define WORLD_TEXT    640

struct world;

struct world_host {
	struct world *world;
	unsigned int number;
	struct crypt_cred *cred;
	struct crypt_gate *gate;
	struct crypt_assoc_config config;
	struct crypt_assoc *assoc;
	uint64_t next_ns;
	uint8_t id[16];
	struct crypt_sa_params rx[WORLD_RX]; /* spi 0: free */
	bool rx_was_seen[WORLD_RX];
	unsigned int n_rx;
	struct crypt_sa_params tx[CRYPT_MSG_LANES]; /* spi 0: the lane is silent */
	uint64_t tx_number[CRYPT_MSG_LANES];
	unsigned int n_events[CRYPT_EVENTS];
	char text[CRYPT_EVENTS][WORLD_TEXT];
	unsigned int emitted;
	unsigned int fail_rx_add; /* so many calls of rx_add() fail */
	unsigned int fail_tx_use;
	unsigned int tx_stops;
	bool mute;          /* what it sends is lost */
	bool was_restarted; /* it may have told of keys that it does not know any more */
};

struct world_flight {
	uint64_t at_ns; /* 0: free */
	unsigned int to;
	bool is_data;
	uint32_t spi;
	uint16_t lane;
	uint8_t key[CRYPT_KEY_BYTES_MAX];
	size_t bytes;
	uint8_t datagram[CRYPT_MSG_DATAGRAM_BYTES];
};

struct world {
	struct world_host hosts[2];
	struct world_flight flights[WORLD_FLIGHTS];
	uint64_t now_ns;
	uint64_t random;
	unsigned int loss_percent, copy_percent;
	uint64_t delay_ns, jitter_ns;
	uint64_t send_every_ns; /* data, on all lanes of both; 0: none */
	uint64_t send_next_ns;
	uint64_t data_lost; /* packets whose key was not there: has to stay 0 */
	uint64_t data_good;
	int64_t wall_s;
	/* May change a datagram; false: it is lost. NULL: none. */
	bool (*tamper)(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes);
	void *tamper_arg;
};

/* Makes hosts with these credentials (they belong to the world then), 10.0.0.1 and 10.0.0.2, 2 and 3 lanes. */
void world_init(struct world *world, uint64_t seed, struct crypt_cred *cred0, struct crypt_cred *cred1);
/* Makes the associations, with the hosts' config as it is then. */
void world_up(struct world *world);
/* A host loses all it knows, and begins anew. */
void world_restart(struct world *world, unsigned int host);
void world_free(struct world *world);
uint64_t world_random(struct world *world);
void world_run(struct world *world, uint64_t ns);
/* Till both have the same association and nothing of a handshake is under way. False: not within @ns. */
bool world_settle(struct world *world, uint64_t ns);
/* All keys that one sends with are there on the other side, for the same lane. */
bool world_agrees(const struct world *world);
/* Puts a datagram to @host, as if it came from the peer. */
void world_inject(struct world *world, unsigned int host, const uint8_t *datagram, size_t bytes);

/* Credentials with pre-shared keys, from a file that is gone again. */
struct crypt_cred *world_psk(const char *text);
#define WORLD_PSK "00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef\n"

#endif
