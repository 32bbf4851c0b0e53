/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include <rte_telemetry.h>

#include "log.h"

#define WAIT_S 1

/* One question at a time; `asking` is held by who asks, the rest is under `lock`. */
static struct {
	pthread_mutex_t asking, lock;
	pthread_cond_t answered;
	int fd;
	bool open;                 /* the main thread answers */
	bool waiting, done;
	void (*fill)(struct roced *roced, void *answer);
	void *answer;
} box = {.asking = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* ---- main thread ---- */

int telemetry_fd(void)
{
	return box.fd;
}

void telemetry_serve(struct roced *roced)
{
	eventfd_t count;

	eventfd_read(box.fd, &count);
	pthread_mutex_lock(&box.lock);
	if (box.waiting && !box.done) {
		box.fill(roced, box.answer);
		box.done = true;
		pthread_cond_signal(&box.answered);
	}
	pthread_mutex_unlock(&box.lock);
}

/* ---- DPDK's threads ---- */

int telemetry_ask(void (*fill)(struct roced *roced, void *answer), void *answer)
{
	struct timespec until;
	int rc = 0;

	pthread_mutex_lock(&box.asking);
	pthread_mutex_lock(&box.lock);
	if (box.open) {
		box.fill = fill;
		box.answer = answer;
		box.done = false;
		box.waiting = true;
		eventfd_write(box.fd, 1);
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += WAIT_S;
		while (!box.done && box.open && rc == 0)
			rc = pthread_cond_timedwait(&box.answered, &box.lock, &until);
		box.waiting = false;
		rc = box.done ? 0 : -ETIMEDOUT;
	} else {
		rc = -ESHUTDOWN;
	}
	pthread_mutex_unlock(&box.lock);
	pthread_mutex_unlock(&box.asking);
	return rc;
}

int telemetry_read_number(const char *params, uint32_t most, uint32_t *number)
{
	unsigned long value;
	char *end;

	*number = 0;
	if (params == NULL || params[0] == '\0')
		return 0;
	errno = 0;
	value = strtoul(params, &end, 0);
	if (params[0] < '0' || params[0] > '9' || *end != '\0' || errno != 0 || value > most)
		return -EINVAL;
	*number = (uint32_t)value;
	return 0;
}

int telemetry_put_numbers(struct rte_tel_data *d, const char *name, const uint64_t *numbers, uint32_t n)
{
	struct rte_tel_data *array = rte_tel_data_alloc();

	if (array == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(array, RTE_TEL_U64_VAL);
	for (uint32_t i = 0; i < n; i++)
		rte_tel_data_add_array_u64(array, numbers[i]);
	return rte_tel_data_add_dict_container(d, name, array, 0);
}

int telemetry_put_texts(struct rte_tel_data *d, const char *name, const char *const *texts, uint32_t n)
{
	struct rte_tel_data *array = rte_tel_data_alloc();

	if (array == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(array, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; i < n; i++)
		rte_tel_data_add_array_string(array, texts[i]);
	return rte_tel_data_add_dict_container(d, name, array, 0);
}

/* ---- start and stop ---- */

int telemetry_start(struct roced *roced)
{
	static int (*const starts[])(void) = {
		telemetry_paths_start, telemetry_counters_start, telemetry_ports_start, telemetry_protect_start, telemetry_xdp_start,
		telemetry_gateway_start, telemetry_reach_start, telemetry_tables_start, telemetry_reload_start,
		telemetry_capture_start};
	int rc = 0;

	if (!roced->config.control.telemetry)
		return 0;
	pthread_cond_init(&box.answered, NULL);
	box.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (box.fd < 0)
		return -errno;
	box.open = true;
	for (size_t i = 0; i < RTE_DIM(starts) && rc == 0; i++)
		rc = starts[i]();
	if (rc != 0)
		log_line(LOG_ERR, "telemetry: %s", strerror(-rc));
	return rc;
}

void telemetry_stop(void)
{
	pthread_mutex_lock(&box.lock);
	box.open = false;
	if (box.fd >= 0)
		pthread_cond_broadcast(&box.answered);
	pthread_mutex_unlock(&box.lock);
}
