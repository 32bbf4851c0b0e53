/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables: X(struct, kind, field, unit, help) for each column, in order. The field's name is the column's. Only names and types:
 * watch.h says what they are good for.
 */
#ifndef WATCH_TABLES_H
#define WATCH_TABLES_H

#include <stdint.h>

#define WATCH_TEXT_BYTES 128

#define WATCH_DAEMON(X, S)                                                                                  \
	X(S, TEXT, version, NONE, "version of the program")                                                 \
	X(S, FACT, process, NONE, "its process id")                                                         \
	X(S, GAUGE, uptime_s, SECONDS, "since it was started")                                                    \
	X(S, COUNTER, punted, NONE, "packets that workers handed to the main thread")                       \
	X(S, COUNTER, arp_replies, NONE, "answers to ARP requests")                                         \
	X(S, COUNTER, nd_replies, NONE, "answers to neighbour solicitations")                               \
	X(S, COUNTER, echo_replies, NONE, "answers to pings")                                               \
	X(S, COUNTER, mads_received, NONE, "management datagrams received")                                 \
	X(S, COUNTER, mads_sent, NONE, "management datagrams sent")                                         \
	X(S, COUNTER, mads_lost, NONE, "management datagrams for which there was no buffer or no way")      \
	X(S, COUNTER, frames_lost, NONE, "other frames of the main thread for which there was none")

#define WATCH_PORTS(X, S)                                                                                   \
	X(S, LABEL, port, NONE, "its name in the configuration")                                            \
	X(S, TEXT, pfc, NONE, "who sees to its pauses")                                                     \
	X(S, TEXT, mac, NONE, "its link address")                                                           \
	X(S, FACT, mtu, NONE, "its largest IP packet in bytes")                                             \
	X(S, GAUGE, up, NONE, "1: its link is up")                                                          \
	X(S, GAUGE, speed_mbps, MBPS, "speed of its link; 0: unknown")                                      \
	X(S, COUNTER, rx_packets, NONE, "frames received")                                                  \
	X(S, COUNTER, rx_bytes, BYTES, "bytes of frames received")                                          \
	X(S, COUNTER, tx_packets, NONE, "frames sent")                                                      \
	X(S, COUNTER, tx_bytes, BYTES, "bytes of frames sent")                                              \
	X(S, COUNTER, rx_missed, NONE, "frames lost as receive queues were full")                           \
	X(S, COUNTER, rx_errors, NONE, "frames received with errors")                                       \
	X(S, COUNTER, rx_nombuf, NONE, "frames lost as there was no buffer")                                \
	X(S, COUNTER, tx_errors, NONE, "frames that the device failed to send")                             \
	X(S, GAUGE, neighbours, NONE, "hosts whose link address is kept")                                   \
	X(S, COUNTER, neighbours_asked, NONE, "ARP requests and neighbour solicitations sent")              \
	X(S, COUNTER, neighbours_learned, NONE, "messages that confirmed or changed a link address")        \
	X(S, COUNTER, neighbours_failed, NONE, "rounds of requests without an answer")

#define WATCH_PFC(X, S)                                                                                     \
	X(S, LABEL, port, NONE, "name of the port")                                                         \
	X(S, NUMBER, priority, NONE, "IEEE 802.1p priority")                                                \
	X(S, COUNTER, pauses, NONE, "frames received that named the priority, pauses and ends of pauses")   \
	X(S, COUNTER, paused_ns, NS, "time that sending was paused, without the present pause")             \
	X(S, GAUGE, paused, NONE, "workers at which sending is paused now")                                 \
	X(S, COUNTER, storms, NONE, "times that the watchdog found a pause without end")                    \
	X(S, COUNTER, xoff_sent, NONE, "times that the neighbour was asked to pause")                       \
	X(S, COUNTER, xon_sent, NONE, "times that the neighbour was asked to go on")                        \
	X(S, GAUGE, waiting_bytes, BYTES, "received and waiting here")                                      \
	X(S, GAUGE, headroom_bytes, BYTES, "room for what still comes when a pause was asked for")

#define WATCH_CHANNELS(X, S)                                                                                \
	X(S, LABEL, port, NONE, "name of the port")                                                         \
	X(S, LABEL, channel, NONE, "name of the channel")                                                   \
	X(S, FACT, priority, NONE, "its IEEE 802.1p priority")                                              \
	X(S, COUNTER, sent_packets, NONE, "packets sent")                                                   \
	X(S, COUNTER, sent_bytes, BYTES, "bytes of packets sent")                                           \
	X(S, COUNTER, marked, NONE, "packets marked here as having met congestion")                         \
	X(S, COUNTER, dropped, NONE, "packets dropped as the queue was full")                               \
	X(S, COUNTER, delayed, NONE, "times that its ceiling held it up with packets queued")               \
	X(S, GAUGE, queued_packets, NONE, "packets queued now")                                             \
	X(S, GAUGE, queued_bytes, BYTES, "bytes queued now")

#define WATCH_WORKERS(X, S)                                                                                 \
	X(S, NUMBER, worker, NONE, "its place in the configuration, from 0 on")                             \
	X(S, FACT, lcore, NONE, "its DPDK lcore")                                                           \
	X(S, COUNTER, busy_ns, NS, "time in walks that found something to do")                              \
	X(S, COUNTER, idle_ns, NS, "time in walks that found nothing, and asleep")                          \
	X(S, COUNTER, walks, NONE, "walks of its graph")                                                    \
	X(S, COUNTER, sleeps, NONE, "times that it slept")                                                  \
	X(S, COUNTER, calls, NONE, "things the main thread had it do")                                      \
	X(S, COUNTER, ring_in, NONE, "packets taken from rings of other threads")                           \
	X(S, COUNTER, ring_out, NONE, "packets put into rings of other threads")                            \
	X(S, COUNTER, backlogged, NONE, "frames that had to wait for room in a transmit queue")

#define WATCH_NODES(X, S)                                                                                   \
	X(S, NUMBER, worker, NONE, "number of the worker")                                                  \
	X(S, LABEL, node, NONE, "name of the node of its graph")                                            \
	X(S, COUNTER, calls, NONE, "times that it ran")                                                     \
	X(S, COUNTER, packets, NONE, "packets it was handed")                                               \
	X(S, COUNTER, cycles, NONE, "cycles of the time stamp counter it took")

#define WATCH_TRANSPORT(X, S)                                                                               \
	X(S, NUMBER, worker, NONE, "number of the worker")                                                  \
	X(S, COUNTER, rx_pkts, NONE, "RoCE packets received")                                               \
	X(S, COUNTER, tx_pkts, NONE, "RoCE packets sent")                                                   \
	X(S, COUNTER, rx_bytes, BYTES, "bytes of RoCE frames received")                                     \
	X(S, COUNTER, tx_bytes, BYTES, "bytes of RoCE frames sent")                                         \
	X(S, COUNTER, retransmits, NONE, "packets sent again")                                              \
	X(S, COUNTER, ack_timeouts, NONE, "times that no acknowledgement came in time")                     \
	X(S, COUNTER, duplicates, NONE, "packets that had come before")                                     \
	X(S, COUNTER, rnr_naks_sent, NONE, "peers told that there is no receive request")                   \
	X(S, COUNTER, rnr_naks_received, NONE, "peers that had no receive request")                         \
	X(S, COUNTER, seq_naks_sent, NONE, "peers told that a packet is missing")                           \
	X(S, COUNTER, seq_naks_received, NONE, "peers that missed a packet")                                \
	X(S, COUNTER, other_naks_sent, NONE, "peers told that a request fails")                             \
	X(S, COUNTER, cut_messages, NONE, "unacknowledged messages begun to arrive and given up")           \
	X(S, COUNTER, reordered, NONE, "packets that came before their turn and were kept")                 \
	X(S, COUNTER, merged_sent, NONE, "packets of several messages sent")                                \
	X(S, COUNTER, merged_received, NONE, "packets of several messages received")                        \
	X(S, COUNTER, merged_messages, NONE, "messages in those that were sent")                            \
	X(S, COUNTER, sacks_sent, NONE, "selective acknowledgements sent")                                  \
	X(S, COUNTER, sacks_received, NONE, "selective acknowledgements received")                          \
	X(S, COUNTER, probes, NONE, "copies sent to learn whether a path works again")                      \
	X(S, COUNTER, moves, NONE, "times that a queue pair took another path, where order is kept")        \
	X(S, COUNTER, unagreed, NONE, "packets of several paths where one end does not use them")           \
	X(S, COUNTER, marked, NONE, "packets that came marked as having met congestion")                    \
	X(S, COUNTER, cnps_sent, NONE, "congestion notifications sent")                                     \
	X(S, COUNTER, cnps_received, NONE, "congestion notifications received")

#define WATCH_DEVICES(X, S)                                                                                 \
	X(S, LABEL, device, NONE, "its name")                                                               \
	X(S, TEXT, port, NONE, "name of its port")                                                          \
	X(S, TEXT, address, NONE, "its first address after the link-local one")                             \
	X(S, TEXT, mac, NONE, "its link address")                                                           \
	X(S, FACT, vlan, NONE, "its VLAN; 0: untagged")                                                     \
	X(S, FACT, gids, NONE, "entries of its table of addresses")                                         \
	X(S, FACT, planes, NONE, "ports it has, its own included")                                          \
	X(S, GAUGE, up, NONE, "1: one of its ports is up")                                                  \
	X(S, GAUGE, mtu_bytes, BYTES, "largest path MTU")                                                   \
	X(S, GAUGE, qps, NONE, "queue pairs")                                                               \
	X(S, GAUGE, clients, NONE, "contexts that have it open")

#define WATCH_QPS(X, S)                                                                                     \
	X(S, NUMBER, qpn, NONE, "its number")                                                               \
	X(S, LABEL, device, NONE, "name of its device")                                                     \
	X(S, FACT, pid, NONE, "process that has it")                                                        \
	X(S, TEXT, type, NONE, "RC, UC, UD, XRC_INI or XRC_TGT")                                            \
	X(S, NOTE, state, NONE, "its state, as ibv_query_qp() has it")                                      \
	X(S, TEXT, peer, NONE, "address of its peer; empty: it has none")                                   \
	X(S, FACT, peer_qpn, NONE, "number of the peer's queue pair")                                       \
	X(S, FACT, worker, NONE, "number of its worker")                                                    \
	X(S, TEXT, scheduler, NONE, "how a packet's path is chosen; empty: there is one")                   \
	X(S, TEXT, controller, NONE, "of congestion; empty: none")                                          \
	X(S, FACT, in_order, NONE, "1: it uses one path at a time")                                         \
	X(S, COUNTER, rx_packets, NONE, "packets received")                                                 \
	X(S, COUNTER, tx_packets, NONE, "packets sent")                                                     \
	X(S, COUNTER, rx_bytes, BYTES, "bytes of frames received")                                          \
	X(S, COUNTER, tx_bytes, BYTES, "bytes of frames sent")                                              \
	X(S, COUNTER, retransmits, NONE, "packets sent again")                                              \
	X(S, COUNTER, ack_timeouts, NONE, "times that no acknowledgement came in time")                     \
	X(S, COUNTER, duplicates, NONE, "packets that had come before")                                     \
	X(S, COUNTER, rnr_naks_sent, NONE, "times the peer was told that there is no receive request")      \
	X(S, COUNTER, rnr_naks_received, NONE, "times the peer had no receive request")                     \
	X(S, COUNTER, seq_naks_sent, NONE, "times the peer was told that a packet is missing")              \
	X(S, COUNTER, seq_naks_received, NONE, "times the peer missed a packet")                            \
	X(S, COUNTER, other_naks_sent, NONE, "times the peer was told that a request fails")                \
	X(S, COUNTER, cnps_sent, NONE, "congestion notifications sent")                                     \
	X(S, COUNTER, cnps_received, NONE, "congestion notifications received")                             \
	X(S, COUNTER, marked, NONE, "packets that came marked as having met congestion")                    \
	X(S, GAUGE, ce_percent, PERCENT, "share of these among the packets received")                       \
	X(S, COUNTER, reordered, NONE, "packets that came before their turn and were kept")                 \
	X(S, GAUGE, held_packets, NONE, "packets that wait for their turn now")                             \
	X(S, GAUGE, reorder_depth, NONE, "furthest that a packet came before its turn, in packets")         \
	X(S, COUNTER, moves, NONE, "times it took another path, where order is kept")                       \
	X(S, GAUGE, evs, NONE, "UDP source ports it may use")                                               \
	X(S, GAUGE, evs_used, NONE, "of these, ports that a packet was sent from")                          \
	X(S, GAUGE, evs_alive, NONE, "of these, ports that are not taken as dead")                          \
	X(S, GAUGE, rtt_ns, NS, "smoothed round trip; 0: unknown")                                          \
	X(S, GAUGE, window_packets, NONE, "packets that may be unacknowledged")                             \
	X(S, GAUGE, window_bytes, BYTES, "what congestion control lets be on its way")                      \
	X(S, GAUGE, outstanding_packets, NONE, "packets that are unacknowledged")                           \
	X(S, GAUGE, rate_bps, BPS, "pace of congestion control; 0: none")                                   \
	X(S, COUNTER, sent_packets, NONE, "packets of requests sent by its paths")

#define WATCH_PATHS(X, S)                                                                                   \
	X(S, NUMBER, qpn, NONE, "number of the queue pair")                                                 \
	X(S, NUMBER, ev, NONE, "entropy value, from 0 on")                                                  \
	X(S, FACT, udp_port, NONE, "UDP source port")                                                       \
	X(S, GAUGE, rtt_ns, NS, "smoothed round trip; 0: unknown")                                          \
	X(S, GAUGE, min_rtt_ns, NS, "least round trip lately; 0: unknown")                                  \
	X(S, GAUGE, ecn_percent, PERCENT, "share of packets that were marked, smoothed")                    \
	X(S, GAUGE, loss_percent, PERCENT, "share of packets that were lost, smoothed")                     \
	X(S, GAUGE, penalty, NONE, "what the scheduler holds against it")                                   \
	X(S, GAUGE, alive, NONE, "1: it is used; 0: taken as dead")                                         \
	X(S, COUNTER, sent, NONE, "packets of requests sent")

#define WATCH_CLIENTS(X, S)                                                                                 \
	X(S, NUMBER, client, NONE, "its number, which may be another one's later")                          \
	X(S, FACT, pid, NONE, "its process")                                                                \
	X(S, FACT, uid, NONE, "its user")                                                                   \
	X(S, TEXT, kind, NONE, "verbs: a context; cm: librdmacm's connection")                              \
	X(S, TEXT, device, NONE, "name of its device; empty: of none")                                      \
	X(S, FACT, worker, NONE, "number of its worker")                                                    \
	X(S, GAUGE, qps, NONE, "queue pairs")                                                               \
	X(S, GAUGE, cqs, NONE, "completion queues")                                                         \
	X(S, GAUGE, srqs, NONE, "shared receive queues")                                                    \
	X(S, GAUGE, mrs, NONE, "memory regions")                                                            \
	X(S, GAUGE, mws, NONE, "memory windows")                                                            \
	X(S, GAUGE, pds, NONE, "protection domains")                                                        \
	X(S, GAUGE, ahs, NONE, "address handles")                                                           \
	X(S, GAUGE, cm_ids, NONE, "connection ids")                                                         \
	X(S, GAUGE, registered_bytes, BYTES, "memory registered")                                           \
	X(S, GAUGE, mapped_bytes, BYTES, "shared memory of it that is mapped here")                         \
	X(S, GAUGE, ring_bytes, BYTES, "queues in shared memory")

#define WATCH_VERBS(X, S)                                                                                   \
	X(S, GAUGE, sessions, NONE, "connections of programs")                                              \
	X(S, GAUGE, contexts, NONE, "of these, contexts of devices")                                        \
	X(S, GAUGE, pds, NONE, "protection domains")                                                        \
	X(S, GAUGE, mrs, NONE, "memory regions")                                                            \
	X(S, GAUGE, mrs_mapped, NONE, "of these, regions whose memory is mapped here")                      \
	X(S, GAUGE, mws, NONE, "memory windows")                                                            \
	X(S, GAUGE, cqs, NONE, "completion queues")                                                         \
	X(S, GAUGE, srqs, NONE, "shared receive queues")                                                    \
	X(S, GAUGE, qps, NONE, "queue pairs")                                                               \
	X(S, GAUGE, ahs, NONE, "address handles")                                                           \
	X(S, GAUGE, groups, NONE, "multicast groups of ports")                                              \
	X(S, GAUGE, xrcds, NONE, "XRC domains")                                                             \
	X(S, GAUGE, cm_ids, NONE, "connection ids")                                                         \
	X(S, GAUGE, cm_listeners, NONE, "of these, ids that listen")                                        \
	X(S, GAUGE, shm_bytes_used, NONE, "bytes of queues in shared memory")                               \
	X(S, COUNTER, requests, NONE, "requests of programs")                                               \
	X(S, COUNTER, bad_requests, NONE, "requests that were malformed")                                   \
	X(S, COUNTER, at_limit, NONE, "requests refused at a limit of a client or a user")                  \
	X(S, COUNTER, refused_sessions, NONE, "connections refused")                                        \
	X(S, COUNTER, bad_wqes, NONE, "malformed work requests")                                            \
	X(S, COUNTER, bad_indices, NONE, "queues whose indices a program has spoiled")                      \
	X(S, COUNTER, cq_overflows, NONE, "completions for which a queue had no room")                      \
	X(S, COUNTER, copy_faults, NONE, "accesses to memory of programs that failed")                      \
	X(S, COUNTER, events_lost, NONE, "events for which a program had no room")                          \
	X(S, COUNTER, regs_mapped, NONE, "regions registered that are reached by mapping")                  \
	X(S, COUNTER, regs_copied, NONE, "regions registered that are reached by system call")              \
	X(S, COUNTER, map_refusals, NONE, "of these, regions of shared memory that could not be mapped")    \
	X(S, COUNTER, map_faults, NONE, "mappings whose memory was taken away")                             \
	X(S, COUNTER, multipath_offered, NONE, "connections that were offered several paths")               \
	X(S, COUNTER, multipath_agreed, NONE, "queue pairs with several paths by connection management")    \
	X(S, COUNTER, multipath_listed, NONE, "queue pairs with several paths by configuration")            \
	X(S, COUNTER, multipath_left, NONE, "queue pairs that had to give several paths up")                \
	X(S, COUNTER, multipath_mismatches, NONE, "connections that agreed to several paths and have one")

#define WATCH_DROPS(X, S)                                                                                   \
	X(S, LABEL, reason, NONE, "why")                                                                    \
	X(S, NOTE, what, NONE, "what that means")                                                           \
	X(S, COUNTER, packets, NONE, "packets dropped for that reason, by all threads")

#define WATCH_POOLS(X, S)                                                                                   \
	X(S, LABEL, pool, NONE, "name of the pool of packet buffers")                                       \
	X(S, GAUGE, buffers, NONE, "buffers it has")                                                        \
	X(S, GAUGE, used, NONE, "buffers in use, those in receive queues too")

#define WATCH_PROTECTION(X, S)                                                                              \
	X(S, LABEL, peer, NONE, "address of the peer")                                                      \
	X(S, LABEL, local, NONE, "our address")                                                             \
	X(S, LABEL, device, NONE, "name of the device")                                                     \
	X(S, NOTE, state, NONE, "none, handshake, established or rekeying")                                 \
	X(S, NOTE, suite, NONE, "cipher; empty: there are no keys")                                         \
	X(S, NOTE, method, NONE, "psk or certificate; empty: there are no keys")                            \
	X(S, NOTE, why, NONE, "last reason for which there are no keys")                                    \
	X(S, GAUGE, established, NONE, "1: there are keys")                                                 \
	X(S, GAUGE, tx_epoch, NONE, "times that keys of sending were changed since the handshake")          \
	X(S, GAUGE, rx_epoch, NONE, "times that keys of receiving were changed since the handshake")        \
	X(S, AGE, tx_spi, NONE, "SPI of sending of the first worker")                                       \
	X(S, AGE, rx_spi, NONE, "SPI of receiving of the first worker")                                     \
	X(S, GAUGE, lanes, NONE, "workers here")                                                            \
	X(S, GAUGE, peer_lanes, NONE, "workers there")                                                      \
	X(S, GAUGE, age_s, SECONDS, "age of the handshake")                                                       \
	X(S, COUNTER, tx_packets, NONE, "protected packets sent")                                           \
	X(S, COUNTER, tx_bytes, BYTES, "bytes of protected packets sent")                                   \
	X(S, COUNTER, rx_packets, NONE, "protected packets received that were right")                       \
	X(S, COUNTER, rx_bytes, BYTES, "bytes of protected packets received that were right")               \
	X(S, COUNTER, wrong_tags, NONE, "packets that were not what the peer sent")                         \
	X(S, COUNTER, replayed, NONE, "packets that had come before")                                       \
	X(S, COUNTER, too_old, NONE, "packets later than the window allows")                                \
	X(S, COUNTER, handshakes, NONE, "handshakes done")                                                  \
	X(S, COUNTER, rekeys, NONE, "changes of keys done")                                                 \
	X(S, COUNTER, refused, NONE, "handshakes refused")                                                  \
	X(S, COUNTER, ignored, NONE, "datagrams that were no part of a handshake")

#define WATCH_ALARMS(X, S)                                                                                  \
	X(S, LABEL, alarm, NONE, "its kind")                                                                \
	X(S, LABEL, subject, NONE, "with whom")                                                             \
	X(S, NOTE, text, NONE, "what has happened")                                                         \
	X(S, GAUGE, active, NONE, "1: it is not over")                                                      \
	X(S, GAUGE, count, NONE, "times it has happened since it last began")                               \
	X(S, AGE, first_s_ago, NONE, "seconds since it began")                                              \
	X(S, AGE, last_s_ago, NONE, "seconds since it happened last")

#define WATCH_XDP(X, S)                                                                                     \
	X(S, LABEL, port, NONE, "name of the port")                                                         \
	X(S, LABEL, kind, NONE, "what its XDP program took the frame for")                                  \
	X(S, TEXT, mode, NONE, "which frames come here: roce or all")                                       \
	X(S, COUNTER, frames, NONE, "frames of that kind")

#define WATCH_GATEWAY(X, S)                                                                                 \
	X(S, COUNTER, tunnelled, NONE, "packets of hosts put into tunnels")                                 \
	X(S, COUNTER, delivered, NONE, "packets out of tunnels to hosts")                                   \
	X(S, COUNTER, bridged, NONE, "frames over the bridge")                                              \
	X(S, COUNTER, flooded, NONE, "copies of frames whose port is not known")                            \
	X(S, COUNTER, unordered, NONE, "packets without a flow")                                            \
	X(S, COUNTER, reports_sent, NONE, "reports of paths sent")                                          \
	X(S, COUNTER, reports_received, NONE, "reports of paths received")                                  \
	X(S, COUNTER, probes, NONE, "probes of paths sent")                                                 \
	X(S, COUNTER, hosts_asked, NONE, "questions for hosts")                                             \
	X(S, GAUGE, flows, NONE, "flows now")                                                               \
	X(S, COUNTER, flows_made, NONE, "flows ever")                                                       \
	X(S, COUNTER, flows_aged, NONE, "flows that were silent and forgotten")                             \
	X(S, COUNTER, flows_refused, NONE, "packets of flows beyond the limits")                            \
	X(S, GAUGE, held, NONE, "packets that wait for their turn now")                                     \
	X(S, GAUGE, most_held, NONE, "packets that ever waited at once")                                    \
	X(S, COUNTER, in_order, NONE, "packets that came in their turn")                                    \
	X(S, COUNTER, ahead, NONE, "packets that came before their turn")                                   \
	X(S, COUNTER, late, NONE, "packets that came after they were given up")                             \
	X(S, COUNTER, missing, NONE, "packets given up")                                                    \
	X(S, COUNTER, waits_over, NONE, "times that the wait for a packet was over")                        \
	X(S, COUNTER, not_held, NONE, "times that there was no room for a packet to wait")                  \
	X(S, COUNTER, direct, NONE, "packets to hosts in direct networks")                                  \
	X(S, GAUGE, direct_pairs, NONE, "pairs of hosts of direct networks now")                            \
	X(S, GAUGE, direct_flows, NONE, "flows of these now")                                               \
	X(S, COUNTER, direct_refused, NONE, "packets to direct networks for which there was no room")       \
	X(S, COUNTER, direct_own, NONE, "packets of hosts that spread them over source ports themselves")   \
	X(S, COUNTER, direct_moves, NONE, "flows that took another path")                                   \
	X(S, COUNTER, direct_trials, NONE, "flows that took a dead path to try it")                         \
	X(S, COUNTER, direct_learned, NONE, "flows whose answers were found")                               \
	X(S, COUNTER, direct_unlearned, NONE, "flows whose answers were found to be another one's")         \
	X(S, COUNTER, direct_matched, NONE, "answers of a known flow")                                      \
	X(S, COUNTER, direct_unmatched, NONE, "answers of no known flow")                                   \
	X(S, COUNTER, direct_marks, NONE, "congestion notifications of a known flow")                       \
	X(S, COUNTER, direct_losses, NONE, "losses by NAK or repetition")                                   \
	X(S, COUNTER, direct_silences, NONE, "paths that nothing came back from")                           \
	X(S, COUNTER, cnps_sent, NONE, "notifications sent in place of hosts")                              \
	X(S, COUNTER, cnps_held_back, NONE, "marked packets within the interval of notifications")          \
	X(S, COUNTER, cnps_unknown, NONE, "marked packets whose sender is not known")

#define WATCH_FAR_GATEWAYS(X, S)                                                                            \
	X(S, LABEL, far_gateway, NONE, "its address")                                                       \
	X(S, GAUGE, reachable, NONE, "1: the link address of the way there is known")                       \
	X(S, GAUGE, room_bytes, BYTES, "longest IP packet of a host")                                       \
	X(S, GAUGE, paths, NONE, "paths to it")                                                             \
	X(S, GAUGE, dead_paths, NONE, "of these, paths that are dead at a worker")                          \
	X(S, COUNTER, sent_packets, NONE, "packets sent")                                                   \
	X(S, COUNTER, lost_packets, NONE, "packets lost")                                                   \
	X(S, COUNTER, bad_reports, NONE, "reports that cannot be")

#define WATCH_GATEWAY_PATHS(X, S)                                                                           \
	X(S, LABEL, far_gateway, NONE, "address of the far gateway")                                        \
	X(S, NUMBER, path, NONE, "its number, from 0 on")                                                   \
	X(S, FACT, udp_port, NONE, "UDP source port")                                                       \
	X(S, COUNTER, sent, NONE, "packets sent")                                                           \
	X(S, COUNTER, lost, NONE, "packets lost")                                                           \
	X(S, GAUGE, rtt_ns, NS, "smoothed round trip, of the worst worker; 0: unknown")                     \
	X(S, GAUGE, ecn_percent, PERCENT, "share of packets that were marked, of the worst worker")         \
	X(S, GAUGE, dead_at_workers, NONE, "workers at which it is dead")

#define WATCH_METRICS(X, S)                                                                                 \
	X(S, COUNTER, scrapes, NONE, "requests answered with metrics")                                      \
	X(S, COUNTER, bad_requests, NONE, "requests answered with an error")                                \
	X(S, COUNTER, timeouts, NONE, "connections closed as they took too long")                           \
	X(S, COUNTER, evicted, NONE, "connections closed to make room for newer ones")                      \
	X(S, COUNTER, failures, NONE, "times that there was no memory for an answer")                       \
	X(S, GAUGE, connections, NONE, "connections now")

#define WATCH_LEFT_OUT(X, S)                                                                                \
	X(S, LABEL, of, NONE, "table of which rows are left out")                                           \
	X(S, GAUGE, rows, NONE, "rows that are in no metric, beyond metrics.max_rows")

/* T(id, name, thing, question to telemetry, help); the fields of struct watch_NAME are those of WATCH_ID. */
#define WATCH_TABLE_LIST(T)                                                                                 \
	T(DAEMON, daemon, "daemon", "/roced/daemon", "the daemon and its main thread")                      \
	T(PORTS, ports, "port", "/roced/ports", "ports")                                                    \
	T(PFC, pfc, "pfc", "/roced/pfc", "pauses, by port and priority")                                    \
	T(CHANNELS, channels, "channel", "/roced/channels", "channels of ports")                            \
	T(WORKERS, workers, "worker", "/roced/workers", "worker threads")                                   \
	T(NODES, nodes, "node", "/roced/nodes", "nodes of the workers' graphs")                             \
	T(TRANSPORT, transport, "transport", "/roced/transport", "the transport of each worker")            \
	T(DEVICES, devices, "device", "/roced/devices", "RDMA devices")                                    \
	T(QPS, qps, "qp", "/roced/qps", "queue pairs")                                                      \
	T(PATHS, paths, "path", NULL, "paths of queue pairs that were used")                                \
	T(CLIENTS, clients, "client", "/roced/clients", "connections of programs")                          \
	T(VERBS, verbs, "verbs", "/roced/verbs", "objects and requests of all programs")                    \
	T(DROPS, drops, "drop", "/roced/drops", "packets dropped, by reason")                               \
	T(POOLS, pools, "pool", "/roced/pools", "packet buffers")                                           \
	T(PROTECTION, associations, "association", "/roced/protection", "associations with protected peers")\
	T(ALARMS, alarms, "alarm", "/roced/alarms", "what somebody should look at")                         \
	T(XDP, xdp, "xdp", NULL, "frames that XDP programs saw, by kind")                                   \
	T(GATEWAY, gateway, "gateway", NULL, "the gateway, all workers together")                           \
	T(FAR_GATEWAYS, far_gateways, "far_gateway", NULL, "far gateways")                                  \
	T(GATEWAY_PATHS, gateway_paths, "gateway_path", NULL, "paths to far gateways")                      \
	T(METRICS, metrics, "metrics", "/roced/metrics", "the server of these metrics")                     \
	T(LEFT_OUT, left_out, "left_out", NULL, "what is in no metric")

enum watch_id {
#define WATCH_ID(id, name, thing, question, help) WATCH_ID_##id,
	WATCH_TABLE_LIST(WATCH_ID)
#undef WATCH_ID
	WATCH_TABLES
};

#define WATCH_FIELD_LABEL(name)   char name[WATCH_TEXT_BYTES];
#define WATCH_FIELD_TEXT(name)    char name[WATCH_TEXT_BYTES];
#define WATCH_FIELD_NOTE(name)    char name[WATCH_TEXT_BYTES];
#define WATCH_FIELD_NUMBER(name)  uint64_t name;
#define WATCH_FIELD_FACT(name)    uint64_t name;
#define WATCH_FIELD_AGE(name)     uint64_t name;
#define WATCH_FIELD_COUNTER(name) uint64_t name;
#define WATCH_FIELD_GAUGE(name)   uint64_t name;
#define WATCH_FIELD(S, kind, name, unit, help) WATCH_FIELD_##kind(name)

#define WATCH_STRUCT(id, name, thing, question, help) \
	struct watch_##name {               \
		WATCH_##id(WATCH_FIELD, )   \
	};
WATCH_TABLE_LIST(WATCH_STRUCT)
#undef WATCH_STRUCT

#endif
