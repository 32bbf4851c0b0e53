/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hs_world.h"

uint64_t world_random(struct world *world)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return world->random;
}

static struct world_flight *launch(struct world *world, unsigned int to)
{
	for (unsigned int i = 0; i < WORLD_FLIGHTS; i++) {
		struct world_flight *flight = &world->flights[i];

		if (flight->at_ns != 0)
			continue;
		memset(flight, 0, offsetof(struct world_flight, datagram));
		flight->to = to;
		flight->at_ns = world->now_ns + world->delay_ns +
				(world->jitter_ns ? world_random(world) % world->jitter_ns : 0) + 1;
		return flight;
	}
	fail_msg("too many datagrams in flight");
	return NULL;
}

static void emit(void *ctx, const uint8_t *datagram, size_t bytes)
{
	struct world_host *host = ctx;
	struct world *world = host->world;
	unsigned int copies = 1 + (world_random(world) % 100 < world->copy_percent);

	assert_true(bytes <= CRYPT_MSG_DATAGRAM_BYTES);
	host->emitted++;
	while (copies-- > 0) {
		uint8_t copy[CRYPT_MSG_DATAGRAM_BYTES];
		struct world_flight *flight;
		size_t n = bytes;

		memcpy(copy, datagram, bytes);
		if (host->mute || world_random(world) % 100 < world->loss_percent)
			continue;
		if (world->tamper && !world->tamper(world, host->number, copy, &n))
			continue;
		flight = launch(world, 1 - host->number);
		flight->bytes = n;
		memcpy(flight->datagram, copy, n);
	}
}

static int rx_at(const struct world_host *host, uint32_t spi)
{
	for (unsigned int i = 0; i < WORLD_RX; i++)
		if (host->rx[i].spi == spi)
			return (int)i;
	return -1;
}

static int rx_add(void *ctx, const struct crypt_sa_params *params)
{
	struct world_host *host = ctx;
	int at = rx_at(host, 0);

	assert_int_not_equal(params->spi, 0);
	if (host->fail_rx_add > 0 && host->fail_rx_add--)
		return -ENOMEM;
	if (rx_at(host, params->spi) >= 0)
		return -EEXIST;
	assert_true(at >= 0);
	host->rx[at] = *params;
	host->rx_was_seen[at] = false;
	host->n_rx++;
	return 0;
}

static void rx_drop(void *ctx, uint32_t spi)
{
	struct world_host *host = ctx;
	int at = rx_at(host, spi);

	assert_true(spi != 0 && at >= 0);
	memset(&host->rx[at], 0, sizeof(host->rx[at]));
	host->n_rx--;
}

/* The rule of rules: nobody sends with a key that the other side does not have yet. */
static int tx_use(void *ctx, const struct crypt_sa_params *params)
{
	struct world_host *host = ctx;
	struct world_host *peer = &host->world->hosts[1 - host->number];
	int at = rx_at(peer, params->spi);

	if (host->fail_tx_use > 0 && host->fail_tx_use--)
		return -ENOMEM;
	assert_true(at >= 0 || peer->was_restarted);
	if (at >= 0) {
		assert_memory_equal(peer->rx[at].key, params->key, sizeof(params->key));
		assert_int_equal(peer->rx[at].lane, params->lane);
		assert_int_equal(peer->rx[at].suite, params->suite);
	}
	assert_true(params->lane < host->config.hs.lanes);
	host->tx[params->lane] = *params;
	host->tx_number[params->lane] = 0;
	return 0;
}

static void tx_stop(void *ctx, uint16_t lane)
{
	struct world_host *host = ctx;

	memset(&host->tx[lane], 0, sizeof(host->tx[lane]));
	host->tx_stops++;
}

static bool spi_used(void *ctx, uint32_t base, uint16_t n)
{
	while (n-- > 0)
		if (rx_at(ctx, base + n) >= 0)
			return true;
	return false;
}

static int64_t wall_s(void *ctx)
{
	const struct world_host *host = ctx;

	return host->world->wall_s;
}

static void say(void *ctx, enum crypt_event event, const char *text)
{
	struct world_host *host = ctx;

	host->n_events[event]++;
	snprintf(host->text[event], WORLD_TEXT, "%s", text);
	if (getenv("HS_TRACE"))
		fprintf(stderr, "%10.4f %u: %s\n", (double)host->world->now_ns / 1e9, host->number, text);
}

static const struct crypt_assoc_ops ops = {
	.emit = emit,
	.rx_add = rx_add,
	.tx_use = tx_use,
	.tx_stop = tx_stop,
	.rx_drop = rx_drop,
	.spi_used = spi_used,
	.wall_s = wall_s,
	.say = say,
};

void world_init(struct world *world, uint64_t seed, struct crypt_cred *cred0, struct crypt_cred *cred1)
{
	struct crypt_cred *creds[2] = {cred0, cred1};
	static const char *const names[2] = {"10.0.0.1", "10.0.0.2"};
	struct crypt_gate_config gate;

	memset(world, 0, sizeof(*world));
	world->random = seed * 0x9e3779b97f4a7c15ull + 1;
	world->now_ns = SECOND_NS;
	world->delay_ns = MS_NS / 10;
	world->wall_s = 1800000000;
	crypt_gate_config_default(&gate);
	for (unsigned int i = 0; i < 2; i++) {
		struct world_host *host = &world->hosts[i];
		struct crypt_assoc_config *config = &host->config;

		host->world = world;
		host->number = i;
		host->cred = creds[i];
		host->gate = crypt_gate_new(&gate);
		host->id[15] = (uint8_t)(i + 1);
		crypt_assoc_config_default(config);
		config->peer = names[1 - i];
		config->addr = (struct crypt_msg_bytes){world->hosts[1 - i].id, 16};
		config->hs = (struct crypt_hs_config){
			.cred = creds[i],
			.n_suites = 3,
			.suites = {CRYPT_AES_256_GCM, CRYPT_AES_128_GCM, CRYPT_SM4_GCM},
			.methods = CRYPT_METHOD_PSK | CRYPT_METHOD_CERT,
			.lanes = (uint16_t)(2 + i),
			.local_id = {host->id, 16},
			.peer_id = {world->hosts[1 - i].id, 16},
		};
	}
}

static void host_up(struct world_host *host)
{
	struct crypt_error error;

	host->assoc = crypt_assoc_new(&host->config, host->gate, &ops, host, &error);
	if (!host->assoc)
		fail_msg("%s", error.text);
	host->next_ns = 0;
}

void world_up(struct world *world)
{
	host_up(&world->hosts[0]);
	host_up(&world->hosts[1]);
}

void world_restart(struct world *world, unsigned int number)
{
	struct world_host *host = &world->hosts[number];

	crypt_assoc_free(host->assoc);
	assert_int_equal(host->n_rx, 0);
	host->was_restarted = true;
	host_up(host);
}

void world_free(struct world *world)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct world_host *host = &world->hosts[i];

		crypt_assoc_free(host->assoc);
		assert_int_equal(host->n_rx, 0);
		assert_int_equal(crypt_gate_half_open(host->gate), 0);
		crypt_gate_free(host->gate);
	}
	if (world->hosts[0].cred != world->hosts[1].cred)
		crypt_cred_free(world->hosts[1].cred);
	crypt_cred_free(world->hosts[0].cred);
}

static void send_data(struct world *world)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct world_host *host = &world->hosts[i];

		for (uint16_t lane = 0; lane < host->config.hs.lanes; lane++) {
			const struct crypt_sa_params *tx = &host->tx[lane];
			struct world_flight *flight;

			if (tx->spi == 0 || host->mute)
				continue;
			host->tx_number[lane]++;
			crypt_assoc_used(host->assoc, lane, tx->spi, host->tx_number[lane] * 1000,
				host->tx_number[lane], world->now_ns);
			flight = launch(world, 1 - i);
			flight->is_data = true;
			flight->spi = tx->spi;
			flight->lane = lane;
			memcpy(flight->key, tx->key, sizeof(flight->key));
		}
	}
}

static void land_data(struct world *world, const struct world_flight *flight)
{
	struct world_host *host = &world->hosts[flight->to];
	int at = rx_at(host, flight->spi);

	if (at < 0 || memcmp(host->rx[at].key, flight->key, sizeof(flight->key)) != 0) {
		world->data_lost++;
		crypt_assoc_unknown_spi(host->assoc, flight->spi, world->now_ns);
		return;
	}
	world->data_good++;
	if (!host->rx_was_seen[at]) {
		host->rx_was_seen[at] = true;
		crypt_assoc_rx_seen(host->assoc, flight->spi, world->now_ns);
	}
	crypt_assoc_heard(host->assoc, world->now_ns);
}

void world_inject(struct world *world, unsigned int host, const uint8_t *datagram, size_t bytes)
{
	crypt_assoc_receive(world->hosts[host].assoc, datagram, bytes, world->now_ns);
	world->hosts[host].next_ns = 0;
}

static void land(struct world *world)
{
	for (unsigned int i = 0; i < WORLD_FLIGHTS; i++) {
		struct world_flight *flight = &world->flights[i], copy;

		if (flight->at_ns == 0 || flight->at_ns > world->now_ns)
			continue;
		copy = *flight;
		flight->at_ns = 0;
		if (copy.is_data)
			land_data(world, &copy);
		else
			world_inject(world, copy.to, copy.datagram, copy.bytes);
		world->hosts[copy.to].next_ns = 0;
	}
}

static uint64_t next_moment(const struct world *world, uint64_t end_ns)
{
	uint64_t next = end_ns;

	for (unsigned int i = 0; i < WORLD_FLIGHTS; i++)
		if (world->flights[i].at_ns != 0 && world->flights[i].at_ns < next)
			next = world->flights[i].at_ns;
	for (unsigned int i = 0; i < 2; i++)
		if (world->hosts[i].next_ns < next)
			next = world->hosts[i].next_ns;
	if (world->send_every_ns != 0 && world->send_next_ns < next)
		next = world->send_next_ns;
	return next > world->now_ns ? next : world->now_ns + 1;
}

void world_run(struct world *world, uint64_t ns)
{
	uint64_t end_ns = world->now_ns + ns;

	while (world->now_ns < end_ns) {
		land(world);
		if (world->send_every_ns != 0 && world->now_ns >= world->send_next_ns) {
			world->send_next_ns = world->now_ns + world->send_every_ns;
			send_data(world);
		}
		for (unsigned int i = 0; i < 2; i++)
			world->hosts[i].next_ns = crypt_assoc_tick(world->hosts[i].assoc, world->now_ns);
		world->now_ns = next_moment(world, end_ns);
	}
}

bool world_agrees(const struct world *world)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct world_host *host = &world->hosts[i], *peer = &world->hosts[1 - i];

		for (uint16_t lane = 0; lane < host->config.hs.lanes; lane++) {
			const struct crypt_sa_params *tx = &host->tx[lane];
			int at = tx->spi ? rx_at(peer, tx->spi) : -1;

			if (at < 0 || memcmp(peer->rx[at].key, tx->key, sizeof(tx->key)) != 0)
				return false;
		}
	}
	return true;
}

static bool is_settled(const struct world *world)
{
	struct crypt_assoc_status a, b;

	crypt_assoc_status(world->hosts[0].assoc, &a);
	crypt_assoc_status(world->hosts[1].assoc, &b);
	return a.established && b.established && a.generation == b.generation && a.initiator != b.initiator &&
	       a.tx_spi_base == b.rx_spi_base && b.tx_spi_base == a.rx_spi_base && a.tx_epoch == b.rx_epoch &&
	       a.rx_epoch == b.tx_epoch && !a.rekeying && !b.rekeying && world_agrees(world);
}

bool world_settle(struct world *world, uint64_t ns)
{
	uint64_t end_ns = world->now_ns + ns;

	while (world->now_ns < end_ns) {
		world_run(world, 10 * MS_NS);
		if (is_settled(world))
			return true;
	}
	return false;
}

struct crypt_cred *world_psk(const char *text)
{
	char path[] = "/tmp/roced-psk-XXXXXX";
	struct crypt_cred_config config = {.psk_file = path};
	struct crypt_cred *cred;
	struct crypt_error error;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	cred = crypt_cred_load(&config, &error);
	unlink(path);
	if (!cred)
		fail_msg("%s", error.text);
	return cred;
}
