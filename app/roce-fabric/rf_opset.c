/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_opset.h"

#include <string.h>
#include <strings.h>

#define NAME_BYTES 64

/* Kinds of acknowledgement (IBTA vol. 1, 9.7.5.2, tables 44 and 45): the AETH's upper three bits, and a NAK's code. */
enum {
	ACK = 1 << 0,
	RNR = 1 << 1,
	NAK_SEQUENCE = 1 << 2,
	NAK_INVALID = 1 << 3,
	NAK_ACCESS = 1 << 4,
	NAK_OPERATION = 1 << 5,
	NAK_OTHER = 1 << 6,
	NAKS = NAK_SEQUENCE | NAK_INVALID | NAK_ACCESS | NAK_OPERATION | NAK_OTHER,
	ALL_ACKS = ACK | RNR | NAKS,
};

struct class {
	const char *name;
	uint16_t flags;          /* opcodes with any of these */
	uint8_t acks;
};

static const struct class classes[] = {
	{"send", WIRE_OP_SEND, 0},
	{"write", WIRE_OP_WRITE, 0},
	{"read", WIRE_OP_READ, 0},
	{"atomic", WIRE_OP_ATOMIC, 0},
	{"read_response", WIRE_OP_READ_RESP, 0},
	{"response", WIRE_OP_RESPONSE, ALL_ACKS},
	{"ack", 0, ACK},
	{"rnr", 0, RNR},
	{"nak", 0, NAKS},
	{"nak_sequence", 0, NAK_SEQUENCE},
	{"nak_invalid", 0, NAK_INVALID},
	{"nak_access", 0, NAK_ACCESS},
	{"nak_operation", 0, NAK_OPERATION},
};

#define N_CLASSES (sizeof(classes) / sizeof(classes[0]))

static void set_op(struct rf_opset *set, unsigned op)
{
	set->ops[op / 64] |= 1ull << op % 64;
}

static bool is_datagram(const struct wire_opinfo *info)
{
	return info->service == WIRE_SERVICE_UD || info->service == WIRE_SERVICE_CNP;
}

/* ACKNOWLEDGE of any service, and ours. */
static bool is_acknowledgement(const struct wire_opinfo *info)
{
	return wire_op_is(info, WIRE_OP_RESPONSE) && !wire_op_is(info, WIRE_OP_READ_RESP) &&
		(info->hdrs & WIRE_HDR_ATOMICACKETH) == 0;
}

static uint8_t ack_kind(uint8_t syndrome)
{
	static const uint8_t naks[] = {NAK_SEQUENCE, NAK_INVALID, NAK_ACCESS, NAK_OPERATION};
	uint8_t code = syndrome & 0x1f;

	switch (syndrome >> 5) {
	case 0:
		return ACK;
	case 1:
		return RNR;
	case 3:
		return code < sizeof(naks) ? naks[code] : NAK_OTHER;
	default:
		return 0;
	}
}

/* Those of a class that goes by flags. Datagrams are of none: what a connection's messages are is not said of them. */
static void add_flags(struct rf_opset *set, uint16_t flags)
{
	for (unsigned op = 0; op < 256; op++) {
		const struct wire_opinfo *info = wire_opinfo((uint8_t)op);

		if (info->name != NULL && wire_op_is(info, flags) && !is_datagram(info) && !is_acknowledgement(info))
			set_op(set, op);
	}
}

static bool add_class(struct rf_opset *set, const char *name)
{
	for (size_t i = 0; i < N_CLASSES; i++) {
		if (strcasecmp(name, classes[i].name) != 0)
			continue;
		add_flags(set, classes[i].flags);
		set->acks |= classes[i].acks;
		return true;
	}
	return false;
}

/* The classes that no flag names. */
static bool is_of(const struct wire_opinfo *info, const char *name)
{
	if (strcasecmp(name, "any") == 0)
		return true;
	if (strcasecmp(name, "request") == 0)
		return !wire_op_is(info, WIRE_OP_RESPONSE) && !is_datagram(info);
	if (strcasecmp(name, "atomic_response") == 0)
		return (info->hdrs & WIRE_HDR_ATOMICACKETH) != 0;
	return strcasecmp(name, "ud") == 0 && info->service == WIRE_SERVICE_UD;
}

static bool is_name(const struct wire_opinfo *info, const char *name)
{
	const char *rest = strchr(info->name, '_');

	if (strcasecmp(info->name, name) == 0)
		return true;
	/* "SEND_ONLY" is no word for what the connection manager sends. */
	if (rest == NULL || is_datagram(info))
		return false;
	rest++;
	return strcasecmp(rest, name) == 0 || (strncmp(rest, "RDMA_", 5) == 0 && strcasecmp(rest + 5, name) == 0);
}

static bool add_name(struct rf_opset *set, const char *name)
{
	bool found = add_class(set, name);

	for (unsigned op = 0; op < 256; op++) {
		const struct wire_opinfo *info = wire_opinfo((uint8_t)op);

		if (info->name == NULL || !(is_of(info, name) || is_name(info, name)))
			continue;
		set_op(set, op);
		found = true;
	}
	return found;
}

bool rf_opset_parse(const char *text, struct rf_opset *out)
{
	*out = (struct rf_opset){.acks = 0};
	for (;;) {
		size_t n = strcspn(text, ",");
		char name[NAME_BYTES];

		if (n == 0 || n >= sizeof(name))
			return false;
		memcpy(name, text, n);
		name[n] = '\0';
		if (!add_name(out, name))
			return false;
		if (text[n] == '\0')
			return true;
		text += n + 1;
	}
}

bool rf_opset_has(const struct rf_opset *set, const struct wire_pkt *pkt)
{
	if ((set->ops[pkt->opcode / 64] >> pkt->opcode % 64 & 1) != 0)
		return true;
	return is_acknowledgement(wire_opinfo(pkt->opcode)) && (set->acks & ack_kind(pkt->syndrome)) != 0;
}
