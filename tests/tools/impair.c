/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire with faults: relays every frame between two interfaces and drops, duplicates, reorders
 * or corrupts RoCE v2 frames (UDP destination port 4791) with given percentages. The choices come
 * from a seeded generator, so that a run can be repeated. All other frames pass untouched.
 *
 * Sources: packet(7); IBTA Annex A17 (UDP port 4791, BTH behind the UDP header).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

#define ROCE_PORT	4791
#define FRAME_MAX	16384
#define HOLD_MAX_FRAMES 8	  /* a held frame waits for at most so many followers ... */
#define HOLD_MAX_NS	5000000LL /* ... and no longer than this */
#define BATCH		64	  /* frames taken from one side before the other gets its turn */
#define MAD_QPN		1

struct counters {
	uint64_t forwarded, roce, dropped, duplicated, reordered, corrupted, send_errors;
};

struct held {
	size_t len; /* 0: slot empty */
	unsigned int after_frames;
	int64_t deadline_ns;
	uint8_t frame[FRAME_MAX];
};

struct side {
	const char *name;
	int fd;
	struct held held; /* frame that came in here and waits to go out on the other side */
	struct counters count;
};

struct relay {
	struct side side[2];
	double drop, dup, reorder, corrupt; /* percent */
	bool skip_mad;
	uint64_t random_state;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* splitmix64: small, seedable, good enough to choose victims */
static uint64_t next_random(struct relay *r)
{
	uint64_t z = r->random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool chance(struct relay *r, double percent)
{
	/* drawn for every frame, also at 0 %, so that one option does not shift the others */
	return (double)(next_random(r) >> 11) * 0x1p-53 * 100.0 < percent;
}

static uint16_t get_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* Offset of the UDP payload if the frame is RoCE v2 with a whole BTH, else 0. */
static size_t roce_payload(const uint8_t *f, size_t len)
{
	size_t at = 2 * ETH_ALEN;
	uint16_t type;

	if (len < ETH_HLEN)
		return 0;
	type = get_be16(f + at);
	if ((type == ETH_P_8021Q || type == ETH_P_8021AD) && len >= at + 6) {
		at += 4;
		type = get_be16(f + at);
	}
	at += 2;
	if (type == ETH_P_IP && len >= at + 20 && f[at + 9] == IPPROTO_UDP)
		at += (size_t)(f[at] & 0xf) * 4;
	else if (type == ETH_P_IPV6 && len >= at + 40 && f[at + 6] == IPPROTO_UDP)
		at += 40;
	else
		return 0;
	if (len < at + 8 + 12 || get_be16(f + at + 2) != ROCE_PORT)
		return 0;
	return at + 8;
}

static bool is_mad(const uint8_t *bth)
{
	return ((uint32_t)bth[5] << 16 | (uint32_t)bth[6] << 8 | bth[7]) == MAD_QPN;
}

static void send_frame(struct side *from, struct side *to, const uint8_t *frame, size_t len)
{
	/* a full or downed interface loses the frame, as a wire would */
	if (send(to->fd, frame, len, 0) < 0)
		from->count.send_errors++;
	else
		from->count.forwarded++;
}

static void release_held(struct side *from, struct side *to)
{
	if (from->held.len == 0)
		return;
	send_frame(from, to, from->held.frame, from->held.len);
	from->held.len = 0;
}

static void step_held(struct side *from, struct side *to)
{
	if (from->held.len != 0 && --from->held.after_frames == 0)
		release_held(from, to);
}

static void hold(struct relay *r, struct side *from, const uint8_t *frame, size_t len)
{
	memcpy(from->held.frame, frame, len);
	from->held.len = len;
	from->held.after_frames = 1 + (unsigned int)(next_random(r) % HOLD_MAX_FRAMES);
	from->held.deadline_ns = now_ns() + HOLD_MAX_NS;
	from->count.reordered++;
}

static void flip_bit(struct relay *r, uint8_t *p, size_t len)
{
	uint64_t bit = next_random(r) % (len * 8);

	p[bit / 8] = (uint8_t)(p[bit / 8] ^ (1u << (bit % 8)));
}

/* One frame that came in on `from`: decide its fate. */
static void relay_frame(struct relay *r, struct side *from, struct side *to, uint8_t *f, size_t len)
{
	size_t payload = roce_payload(f, len);
	bool drop, dup, reorder, corrupt;

	if (payload == 0 || (r->skip_mad && is_mad(f + payload))) {
		send_frame(from, to, f, len);
		step_held(from, to);
		return;
	}
	from->count.roce++;
	drop = chance(r, r->drop);
	dup = chance(r, r->dup);
	reorder = chance(r, r->reorder);
	corrupt = chance(r, r->corrupt);
	if (drop) {
		from->count.dropped++;
		return;
	}
	if (corrupt) {
		flip_bit(r, f + payload, len - payload);
		from->count.corrupted++;
	}
	if (reorder && from->held.len == 0) {
		hold(r, from, f, len);
		return;
	}
	send_frame(from, to, f, len);
	if (dup) {
		send_frame(from, to, f, len);
		from->count.duplicated++;
	}
	step_held(from, to);
}

/* The kernel strips VLAN tags into ancillary data; put the tag back. */
static size_t restore_vlan(struct msghdr *msg, uint8_t *f, size_t len)
{
	struct tpacket_auxdata aux;
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID) || len < 12 || len + 4 > FRAME_MAX)
			return len;
		memmove(f + 16, f + 12, len - 12);
		f[12] = (uint8_t)(aux.tp_vlan_tpid >> 8);
		f[13] = (uint8_t)aux.tp_vlan_tpid;
		f[14] = (uint8_t)(aux.tp_vlan_tci >> 8);
		f[15] = (uint8_t)aux.tp_vlan_tci;
		return len + 4;
	}
	return len;
}

static void drain(struct relay *r, struct side *from, struct side *to)
{
	uint8_t frame[FRAME_MAX];
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	} control;
	struct iovec iov = {.iov_base = frame, .iov_len = sizeof(frame)};
	int i;

	for (i = 0; i < BATCH; i++) {
		struct msghdr msg = {.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(from->fd, &msg, MSG_DONTWAIT);

		if (n < 0)
			return;
		if (msg.msg_flags & MSG_TRUNC)
			continue;
		relay_frame(r, from, to, frame, restore_vlan(&msg, frame, (size_t)n));
	}
}

static int open_side(struct side *s)
{
	struct sockaddr_ll addr = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	struct packet_mreq promisc = {.mr_type = PACKET_MR_PROMISC};
	int one = 1, room_bytes = 16 << 20;

	addr.sll_ifindex = (int)if_nametoindex(s->name);
	if (addr.sll_ifindex == 0)
		return -ENODEV;
	promisc.mr_ifindex = addr.sll_ifindex;
	s->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (s->fd < 0)
		return -errno;
	if (setsockopt(s->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) < 0 ||
		setsockopt(s->fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) < 0 ||
		setsockopt(s->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc)) < 0)
		return -errno;
	/* best effort: without the big buffers the wire only loses more */
	(void)setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof(room_bytes));
	(void)setsockopt(s->fd, SOL_SOCKET, SO_SNDBUFFORCE, &room_bytes, sizeof(room_bytes));
	if (bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		return -errno;
	return 0;
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static int run(struct relay *r, int signal_fd)
{
	struct pollfd fds[3] = {{.fd = r->side[0].fd, .events = POLLIN},
		{.fd = r->side[1].fd, .events = POLLIN}, {.fd = signal_fd, .events = POLLIN}};
	bool waiting;
	int i;

	for (;;) {
		waiting = r->side[0].held.len != 0 || r->side[1].held.len != 0;
		if (poll(fds, 3, waiting ? 1 : -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[2].revents != 0)
			return 0;
		for (i = 0; i < 2; i++) {
			struct side *from = &r->side[i], *to = &r->side[!i];

			/* POLLERR tells of an interface that went down; reading clears it */
			if (fds[i].revents != 0)
				drain(r, from, to);
			if (from->held.len != 0 && now_ns() > from->held.deadline_ns)
				release_held(from, to);
		}
	}
}

static void report(const struct side *s)
{
	const struct counters *c = &s->count;

	printf("impair: from %s forwarded %" PRIu64 " roce %" PRIu64 " dropped %" PRIu64
	       " duplicated %" PRIu64 " reordered %" PRIu64 " corrupted %" PRIu64
	       " send_errors %" PRIu64 "\n",
		s->name, c->forwarded, c->roce, c->dropped, c->duplicated, c->reordered,
		c->corrupted, c->send_errors);
}

static void usage(FILE *out)
{
	fputs("usage: impair [options] INTERFACE INTERFACE\n"
	      "Relay frames between two interfaces; spoil RoCE v2 frames on the way.\n"
	      "  --drop P --dup P --reorder P --corrupt P   percentages (default 0)\n"
	      "  --seed N     choices are a function of this number (default 1)\n"
	      "  --skip-mad   leave QP1 (connection management) alone\n"
	      "Prints `impair: ready`, runs until SIGTERM, then prints counters.\n",
		out);
}

static double percent(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	if (*end != '\0' || end == text || !(v >= 0 && v <= 100)) {
		fprintf(stderr, "impair: '%s' is not a percentage from 0 to 100\n", text);
		exit(2);
	}
	return v;
}

static void parse(struct relay *r, int argc, char **argv)
{
	static const struct option options[] = {{"drop", 1, NULL, 'd'}, {"dup", 1, NULL, 'u'},
		{"reorder", 1, NULL, 'r'}, {"corrupt", 1, NULL, 'c'}, {"seed", 1, NULL, 's'},
		{"skip-mad", 0, NULL, 'm'}, {"help", 0, NULL, 'h'}, {0}};
	int opt;

	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (opt) {
		case 'd':
			r->drop = percent(optarg);
			break;
		case 'u':
			r->dup = percent(optarg);
			break;
		case 'r':
			r->reorder = percent(optarg);
			break;
		case 'c':
			r->corrupt = percent(optarg);
			break;
		case 's':
			r->random_state = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			r->skip_mad = true;
			break;
		default:
			usage(opt == 'h' ? stdout : stderr);
			exit(opt == 'h' ? 0 : 2);
		}
	}
	if (argc - optind != 2) {
		usage(stderr);
		exit(2);
	}
	r->side[0].name = argv[optind];
	r->side[1].name = argv[optind + 1];
}

int main(int argc, char **argv)
{
	static struct relay r = {.random_state = 1};
	int i, rc, signal_fd;

	parse(&r, argc, argv);
	for (i = 0; i < 2; i++) {
		rc = open_side(&r.side[i]);
		if (rc < 0) {
			fprintf(stderr, "impair: %s: %s\n", r.side[i].name, strerror(-rc));
			return 1;
		}
	}
	signal_fd = open_signals();
	if (signal_fd < 0) {
		perror("impair: signalfd");
		return 1;
	}
	puts("impair: ready");
	fflush(stdout);
	rc = run(&r, signal_fd);
	for (i = 0; i < 2; i++)
		report(&r.side[i]);
	return rc < 0 ? 1 : 0;
}
