/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/base is what all layers share and depends on none: serial numbers of 24 bits (base_psn.h), timers
 * (base_wheel.h) and, here, the one list of reasons why a packet is dropped: enum, counter name and
 * explanation together. The daemon's counters and `malformed` of rocectl have their names from it.
 */
#ifndef BASE_DROP_H
#define BASE_DROP_H

/* X(enum suffix, counter name, help) */
#define BASE_DROP_LIST(X)                                                                                  \
	X(NONE, "none", "not dropped")                                                                     \
	X(TRUNCATED, "truncated", "frame shorter than its headers say")                                    \
	X(NOT_ROCE, "not_roce", "no protocol the port speaks")                                             \
	X(IP_HEADER, "ip_header", "IP header malformed, with options, a fragment or of bad checksum")      \
	X(IP_LENGTH, "ip_length", "IP or UDP length disagrees with the frame")                             \
	X(NOT_OURS, "not_ours", "destination address is none of the port's")                               \
	X(OPCODE, "opcode", "unknown BTH opcode")                                                          \
	X(BTH_LENGTH, "bth_length", "payload shorter than opcode headers, pad and ICRC")                   \
	X(TVER, "tver", "BTH transport version is not 0")                                                  \
	X(ICRC, "icrc", "invariant CRC is wrong")                                                          \
	X(PKEY, "pkey", "P_Key does not match")                                                            \
	X(QKEY, "qkey", "Q_Key does not match")                                                            \
	X(QPN, "qpn", "no such queue pair")                                                                \
	X(QP_STATE, "qp_state", "queue pair not in a state to receive this")                               \
	X(QP_TYPE, "qp_type", "opcode of another transport service than the queue pair's")                 \
	X(QP_ADDRESS, "qp_address", "source or destination address is not the queue pair's peer")          \
	X(DUPLICATE, "duplicate", "duplicate request with no saved answer")                                \
	X(OUT_OF_ORDER, "out_of_order", "request ahead of the expected PSN")                               \
	X(ACK_WINDOW, "ack_window", "response outside of what is outstanding")                             \
	X(MALFORMED_MAD, "malformed_mad", "management datagram of bad size, class or version")             \
	X(UD_LENGTH, "ud_length", "datagram longer than the receive buffer or the MTU of the port")         \
	X(NO_RECV, "no_recv", "no receive work request posted")                                            \
	X(NO_NEIGHBOUR, "no_neighbour", "link address of the next hop is not known")                       \
	X(NO_MBUF, "no_mbuf", "packet pool empty")                                                         \
	X(TX_FULL, "tx_full", "port transmit queue full")                                                  \
	X(CHANNEL_FULL, "channel_full", "queue of the channel at the port full")                           \
	X(PFC_STORM, "pfc_storm", "priority that the neighbour has paused without end")                    \
	X(RING_FULL, "ring_full", "ring to another lcore full")                                            \
	X(UNSUPPORTED, "unsupported", "known, but not served yet")                                         \
	X(INVALID_REQUEST, "invalid_request", "unacknowledged request malformed, too long or not allowed") \
	X(REMOTE_ACCESS, "remote_access", "unacknowledged request for memory it may not reach") \
	X(PLAIN, "plain", "not protected, from a peer with which that is required")                        \
	X(NO_SA, "no_sa", "to a peer for which protection is required and no keys are there yet")         \
	X(UNKNOWN_SPI, "unknown_spi", "protected with keys that are not or no longer known here")          \
	X(PSP_HEADER, "psp_header", "protected packet with a header that is not served")                   \
	X(REPLAYED, "replayed", "protected packet that has come before")                                   \
	X(TOO_OLD, "too_old", "protected packet below the replay window")                                  \
	X(WRONG_TAG, "wrong_tag", "protected packet that is not what the peer sent")                       \
	X(SA_SPENT, "sa_spent", "key used up before there was another")                                    \
	X(WRONG_PEER, "wrong_peer", "protected with keys that are for other addresses")                    \
	X(NO_ROOM, "no_room", "no room in the buffer or the lengths for what protection adds")             \
	X(SHARED, "shared", "buffer has another holder, so it is not ciphered")                            \
	X(CRYPTO, "crypto", "cipher device failed")                                                        \
	X(FRAGMENT, "fragment", "fragment of a RoCE packet: hosts must send whole ones")                   \
	X(TUNNEL, "tunnel", "tunnel packet that is malformed, of nobody known, or not for this worker")    \
	X(TUNNEL_MTU, "tunnel_mtu", "host's packet that does not fit into the tunnel")                     \
	X(TUNNEL_ECN, "tunnel_ecn", "congestion was met by a packet whose host does not heed marks")       \
	X(NO_HOST, "no_host", "for a host that was not seen at any port")

enum base_drop {
#define BASE_DROP_ENUM(name, str, help) BASE_DROP_##name,
	BASE_DROP_LIST(BASE_DROP_ENUM)
#undef BASE_DROP_ENUM
		BASE_DROP_COUNT
};

/* Counter name of a reason, "?" for a number that is none. */
const char *base_drop_name(enum base_drop reason);

/* One-line explanation of a reason. */
const char *base_drop_help(enum base_drop reason);

#endif
