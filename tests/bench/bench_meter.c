/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures what any DPDK program spends on packets that it forwards, from outside: by LD_PRELOAD it gets callbacks at the program's
 * ports. Two programs are in series, the first (entry) takes packets from net_pcap and sends them by net_memif to the
 * second (exit), which sends them by a net_pcap that drops them.
 *
 * They take turns: the first forwards a batch while the second waits, then the second takes it while the first waits. So bursts are
 * full, nothing is lost, whichever is faster, and nothing else is in a time but the program's own receiving, work and sending. A batch is a
 * sample, so that those in which the system gave the CPU to somebody else can be told from the others.
 *
 * Environment: METER_FILE, the struct meter that both programs and bench_gateway.py share; METER_END, entry or exit.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BATCH      256u
#define MAX_SAMPLES 8192u
#define WAIT_MS    100u    /* the other one may not be there yet, or others have its CPU */
#define LOOK_US    20000u  /* for ports that have been started */

/* What is measured now. bench_gateway.py writes it, and has the same numbers. */
enum phase {
	IDLE,              /* a burst a millisecond, so that neighbours and keys are found */
	BATCHES,           /* cycles of a packet */
	SINGLE,            /* from receiving to sending, a packet at a time */
	FREE,              /* both run as they can; what is on the way is bounded */
};

enum { ENTRY, EXIT };

struct end {
	uint64_t hz, n_batches, n_single;
	double batches[MAX_SAMPLES];   /* cycles of a packet */
	double single[MAX_SAMPLES];    /* cycles */
};

struct meter {
	_Atomic uint64_t phase, turn, sent, received, left, waited_in_vain;
	struct end ends[2];
};

static struct meter *meter;
/* Of the one thread that forwards. */
static uint64_t phase, began, arrived, packets, burst_at;

static void begin(uint64_t now_phase)
{
	phase = now_phase;
	packets = 0;
	arrived = 0;
	began = rte_rdtsc();
}

/* Until it is somebody's turn, or the phase has ended. False: not within the time. Each end has a CPU of its own, so it spins. */
static bool wait_turn(uint64_t whose)
{
	uint64_t until = rte_rdtsc() + rte_get_tsc_hz() / 1000 * WAIT_MS;

	while (atomic_load(&meter->turn) != whose && atomic_load(&meter->phase) == phase) {
		if (rte_rdtsc() > until)
			return false;
		rte_pause();
	}
	return true;
}

static void end_batch(struct end *end)
{
	if (phase == BATCHES && packets != 0 && end->n_batches < MAX_SAMPLES)
		end->batches[end->n_batches++] = (double)(rte_rdtsc() - began) / (double)packets;
}

static void keep_first(struct rte_mbuf **pkts, uint16_t *n, uint16_t most)
{
	while (*n > most)
		rte_pktmbuf_free(pkts[--*n]);
}

/* ---- at the first program ---- */

/* What is on the way between the two: the rings of memif have 2,048 places. */
static void wait_for_room(void)
{
	uint64_t until = rte_rdtsc() + rte_get_tsc_hz() / 1000 * WAIT_MS;

	while ((int64_t)(atomic_load(&meter->sent) - atomic_load(&meter->received)) > (int64_t)BATCH && rte_rdtsc() < until)
		rte_pause();
}

static void give_turn(void)
{
	end_batch(&meter->ends[ENTRY]);
	atomic_store(&meter->turn, EXIT);
	if (!wait_turn(ENTRY)) {
		/* Lost, or the second does not run: what has come counts from here. */
		atomic_fetch_add(&meter->waited_in_vain, 1);
		atomic_store(&meter->sent, atomic_load(&meter->received));
		atomic_store(&meter->turn, ENTRY);
	}
	begin(phase);
}

static uint16_t take(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t most, void *arg)
{
	uint64_t now_phase = atomic_load(&meter->phase);

	(void)port;
	(void)queue;
	(void)most;
	(void)arg;
	if (now_phase != phase)
		begin(now_phase);
	if (phase == IDLE && rte_rdtsc() - burst_at < rte_get_tsc_hz() / 1000)
		keep_first(pkts, &n, 0);
	else if (phase == IDLE)
		burst_at = rte_rdtsc();
	if (phase == SINGLE)
		keep_first(pkts, &n, 1);
	if ((phase == BATCHES && packets >= BATCH) || (phase == SINGLE && packets >= 1))
		give_turn();
	if (phase == FREE)
		wait_for_room();
	packets += n;
	arrived = rte_rdtsc();
	return n;
}

/* From receiving to sending. */
static void end_single(struct end *end)
{
	if (phase == SINGLE && arrived != 0 && end->n_single < MAX_SAMPLES)
		end->single[end->n_single++] = (double)(rte_rdtsc() - arrived);
	arrived = 0;
}

static uint16_t sending(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, void *arg)
{
	(void)port;
	(void)queue;
	(void)pkts;
	(void)arg;
	atomic_fetch_add(&meter->sent, n);
	end_single(&meter->ends[ENTRY]);
	return n;
}

/* ---- at the second one ---- */

static uint16_t came(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, uint16_t most, void *arg)
{
	uint64_t now_phase = atomic_load(&meter->phase);

	(void)port;
	(void)queue;
	(void)pkts;
	(void)most;
	(void)arg;
	if (now_phase != phase)
		begin(now_phase);
	atomic_fetch_add(&meter->received, n);
	if (n == 0 && (phase == BATCHES || phase == SINGLE) && atomic_load(&meter->turn) == EXIT &&
		atomic_load(&meter->received) >= atomic_load(&meter->sent)) {
		end_batch(&meter->ends[EXIT]);
		atomic_store(&meter->turn, ENTRY);
		(void)wait_turn(EXIT);
		begin(phase);
	}
	packets += n;
	if (n != 0)
		arrived = rte_rdtsc();
	return n;
}

static uint16_t leaving(uint16_t port, uint16_t queue, struct rte_mbuf **pkts, uint16_t n, void *arg)
{
	(void)port;
	(void)queue;
	(void)pkts;
	(void)arg;
	atomic_fetch_add(&meter->left, n);
	end_single(&meter->ends[EXIT]);
	return n;
}

/* ---- setting up ---- */

/* The port of a driver, started; false: not yet. */
static bool find(const char *driver, uint16_t *port)
{
	struct rte_eth_link link;
	char name[RTE_ETH_NAME_MAX_LEN];

	for (uint16_t p = 0; p < RTE_MAX_ETHPORTS; p++) {
		if (rte_eth_dev_get_name_by_port(p, name) != 0 || strncmp(name, driver, strlen(driver)) != 0)
			continue;
		*port = p;
		return rte_eth_link_get_nowait(p, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
	}
	return false;
}

static void *set_up(void *arg)
{
	bool entry = arg != NULL;
	uint16_t hosts, fabric;

	while (!find("net_pcap", &hosts) || !find("net_memif", &fabric))
		usleep(LOOK_US);
	meter->ends[entry ? ENTRY : EXIT].hz = rte_get_tsc_hz();
	if (entry) {
		rte_eth_add_rx_callback(hosts, 0, take, NULL);
		rte_eth_add_tx_callback(fabric, 0, sending, NULL);
	} else {
		rte_eth_add_rx_callback(fabric, 0, came, NULL);
		rte_eth_add_tx_callback(hosts, 0, leaving, NULL);
	}
	return NULL;
}

__attribute__((constructor)) static void load(void)
{
	const char *file = getenv("METER_FILE"), *end = getenv("METER_END");
	int fd = file != NULL && end != NULL ? open(file, O_RDWR | O_CLOEXEC) : -1;
	pthread_t thread;

	if (fd < 0)
		return;
	meter = mmap(NULL, sizeof(*meter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (meter == MAP_FAILED || pthread_create(&thread, NULL, set_up, strcmp(end, "entry") == 0 ? &meter : NULL) != 0)
		abort();
	pthread_detach(thread);
}
