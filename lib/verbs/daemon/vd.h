/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's half of the client contract (see verbs_contract.h): the control socket, sessions and
 * their objects, the memory shared with clients, the queue and memory operations the transport asks
 * for, and the clients' connection management on top of lib/cm.
 *
 * Threads. One main thread runs everything named vd_*() except vd_worker_*(), which belong to the
 * thread of that worker. A session's QPs, CQs and MRs live at one worker (chosen round robin); the main
 * thread reaches that worker's transport only inside env->worker_call().
 *
 * Everything a client sends or stores is hostile: it is read once, checked, then used.
 */
#ifndef VD_H
#define VD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "path_sched.h"
#include "tp.h"
#include "verbs_contract.h"
#include "wire_frame.h"

#define VD_MAX_DEVICES 8
#define VD_MAX_WORKERS 64
#define VD_MAX_PEERS   64
#define VD_PLANE_ADDRS 4
#define VD_MAD_BYTES   256

struct vd;
struct vd_worker;

struct vd_gid {
	struct wire_addr addr;    /* IPv4 as ::ffff:a.b.c.d; all zero: an empty entry */
	uint32_t prefix_len;      /* 0..32 for IPv4, 0..128 for IPv6: what is on link */
};

/* Another port of a device, in a network of its own. Its addresses have the host part and the prefix length of one of the
 * device's, and so do its peers'. */
struct vd_plane {
	uint8_t mac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	uint32_t n_addrs;
	struct vd_gid addrs[VD_PLANE_ADDRS];
};

/* One RDMA device = one address set on one port. */
#define VD_MIN_MTU 256u
#define VD_MTUS    5u

struct vd_device {
	char name[VC_NAME_BYTES];          /* "roced0" */
	char netdev[VC_NAME_BYTES];        /* network interface shown to clients, may be "" */
	uint8_t mac[6];
	bool has_vlan;
	uint16_t vlan_tci;
	uint32_t port_mtu_bytes;           /* largest IP packet of the port: bounds active_mtu */
	uint32_t max_mtu_bytes;            /* configured RDMA MTU 256..4096; 0: what the port allows */
	uint32_t speed_mbps;
	uint32_t reorder_pkts;             /* as in struct tp_qp_init */
	uint64_t reorder_ns;
	bool multipath;                    /* reliable connections may do what struct vd_multipath says */
	/* How much these may have on their way: VD_MTUS of them, for each path MTU from VD_MIN_MTU on; checked, and there as
	 * long as the daemon. NULL: the transport's own window. */
	const struct cc_config *cc;
	uint32_t n_planes;                 /* beyond the port itself */
	struct vd_plane planes[TP_MAX_PLANES - 1];
	uint32_t n_gids;
	struct vd_gid gids[VC_MAX_GIDS];   /* index 0: the fe80 link-local address */
	bool has_gw4, has_gw6;             /* an off-link destination is reachable */
};

/* Its largest path MTU, what its port allows and it may have, as an enum ibv_mtu: 1: 256 bytes, 2: 512, and so on. */
uint32_t vd_device_mtu(const struct vd_device *device);

/* Hosts of a network. Of several that hold a host, the one with the longest prefix counts. */
struct vd_peers {
	struct vd_gid network;
	bool without_cm;                   /* all do it on connections made without CM */
	uint32_t max_planes;               /* of a device, used towards them beyond its own port */
	struct path_sched_config sched;    /* as in struct vd_multipath, for them */
	struct tp_merge_config merge;      /* the same */
};

/* Selective repeat and spraying over several paths, with peers that do so too: docs/multipath.md. */
struct vd_multipath {
	bool negotiate;                    /* connection management offers it, and takes such offers */
	uint32_t n_peers;
	struct vd_peers peers[VD_MAX_PEERS];
	struct path_sched_config sched;    /* checked, without keep_order; n_evs 0: the default */
	struct tp_merge_config merge;      /* max_bytes 0: nothing is merged, and the peer is not to do it */
};

struct vd_limits {                         /* 0: the default */
	uint32_t max_sessions;             /* 1024: connections, in all */
	uint32_t max_qps;                  /* 1024 per context, VC_MAX_QPS at most */
	uint32_t max_cqs;                  /* 1024 per context */
	uint32_t max_srqs;                 /* 256 per context */
	uint32_t max_mrs;                  /* 4096 per context */
	uint32_t max_mws;                  /* 4096 per context */
	uint32_t max_pds;                  /* 256 per context, and as many XRC domains */
	uint32_t max_ahs;                  /* 4096 per context */
	uint32_t max_groups;               /* 64 per context: multicast memberships of its queue pairs */
	uint32_t max_channels;             /* 256 per session */
	uint32_t max_cm_ids;               /* 1024 per session */
	uint32_t max_listeners;            /* 256 per session */
	uint32_t max_send_wr;              /* 4096 */
	uint32_t max_recv_wr;              /* 8192 */
	uint32_t max_srq_wr;               /* 32768 */
	uint32_t max_cqe;                  /* 262144 */
	uint32_t max_sge;                  /* TP_MAX_SGE */
	uint32_t max_inline_bytes;         /* 256 */
	uint32_t max_rd_atomic;            /* 128 */
	uint32_t cm_timeout_ms;            /* 5000: CM response timeout offered and used */
	uint32_t qp_mbps, client_mbps;     /* what a queue pair, and those of a context together, send; 0: no limit */
	uint64_t shm_bytes;                /* 1 GiB, sparse: address space of a context's shared memory */
	uint64_t mapped_bytes;             /* 16 GiB per context: clients' memory that is mapped here */
	uint64_t registered_bytes;         /* 1 TiB: memory regions of a context, together */
};

/* What all sessions of one user (its numeric id) may hold together. A worker's tables of the transport hold
 * some times as much as the defaults. 0: the default. */
struct vd_user_limits {
	uint32_t max_sessions;             /* 256 */
	uint32_t max_qps;                  /* 16384 */
	uint32_t max_cqs;                  /* 16384 */
	uint32_t max_srqs;                 /* 4096 */
	uint32_t max_mrs;                  /* 32768 */
	uint32_t max_mws;                  /* 32768 */
	uint32_t max_pds;                  /* 8192 */
	uint32_t max_ahs;                  /* 32768 */
	uint32_t max_groups;               /* 1024: multicast memberships */
	uint32_t max_channels;             /* 4096 */
	uint32_t max_cm_ids;               /* 4096 */
	uint32_t max_listeners;            /* 1024 */
	uint64_t registered_bytes;         /* 4 TiB */
	uint64_t ring_bytes;               /* 8 GiB: of queues in shared memory */
};

struct vd_config {                         /* copied by vd_create() */
	const char *socket_path;           /* its directory is made when it is missing */
	mode_t socket_mode;                /* 0: 0660 */
	gid_t socket_gid;                  /* (gid_t)-1: left alone */
	struct vd_limits limits;
	struct vd_user_limits user_limits;
	uint32_t n_workers;
	uint32_t n_devices;
	const struct vd_device *devices;
	struct vd_multipath multipath;
	uint64_t seed;                     /* for communication ids and starting PSNs */
};

/* Outcome of a resolution: 0 and a link (the receiver gives it back with release_link()), or a
 * negative errno and NULL. */
typedef void (*vd_resolved_fn)(void *cb_arg, int status, void *link);

/* What this library needs from the daemon. All but worker_call's fn run in the main thread. */
struct vd_env {
	/* Runs fn(fn_arg) in the worker's thread and returns when it is done. */
	void (*worker_call)(void *arg, uint32_t worker, void (*fn)(void *fn_arg), void *fn_arg);
	/* The worker's transport; it is only used inside worker_call(). */
	struct tp *(*tp)(void *arg, uint32_t worker);
	/* Finds the next hop from src (an address of the device) to dst. Calls cb exactly once, at once
	 * or later from the main thread (also during shutdown, with -ECANCELED, before vd_destroy()).
	 * dst may be one of the device's own addresses: the link then loops frames back to the port.
	 * Failures: -EHOSTUNREACH (no answer), -ENETUNREACH (no route). */
	void (*resolve)(void *arg, uint32_t device, const struct wire_addr *src,
		const struct wire_addr *dst, vd_resolved_fn cb, void *cb_arg);
	/* The same from an address of one of the device's planes, without waiting for the neighbour: until it is known, what is
	 * sent is dropped. NULL: no memory, or such a network is not there. */
	void *(*hold_link)(void *arg, uint32_t device, uint32_t plane, const struct wire_addr *src,
		const struct wire_addr *dst);
	/* Gives back a link; no transport object refers to it any more. */
	void (*release_link)(void *arg, void *link);
	/* Sends a MAD from QP 1 of src to QP 1 of dst (resolves dst itself; losing it is fine). */
	void (*send_mad)(void *arg, uint32_t device, const struct wire_addr *src,
		const struct wire_addr *dst, const uint8_t mad[VD_MAD_BYTES]);
	/* Multicast; NULL: not served. join_group() makes the device's port a member of the group, so that
	 * its frames come to the workers, and tells routers; leave_group() ends that. Once each for a group
	 * of a device, however many queue pairs attach to it. */
	int (*join_group)(void *arg, uint32_t device, const struct wire_addr *group);
	void (*leave_group)(void *arg, uint32_t device, const struct wire_addr *group);
	/* From now on a fault of an access to the mapping at base (whole pages of page_bytes) does not end the
	 * process: the access goes on in a page of zeros, and *fault is 1. -ENOSPC. NULL: not served, and
	 * no client's memory is mapped. */
	int (*map_watch)(void *arg, void *base, uint64_t bytes, uint64_t page_bytes, uint32_t *fault);
	/* The mapping at base is about to go. */
	void (*map_forget)(void *arg, void *base);
	/* What queue pairs of the worker share that send by link with that traffic class octet; NULL: nothing. It stays.
	 * May be NULL. */
	struct tp_shaper *(*channel)(void *arg, uint32_t worker, const void *link, const struct tp_av *av);
	/* Monotonic time. */
	uint64_t (*now_ns)(void *arg);
	/* One line for the log; level is that of syslog(3). May be NULL. Already rate limited. */
	void (*log)(void *arg, int level, const char *line);
};

/* Counts of live objects (0 when no client is there) and counters since the start. */
struct vd_stats {
	uint32_t sessions, contexts, pds, mrs, mws, cqs, srqs, qps, ahs, comp_channels;
	uint32_t cm_channels, cm_ids, cm_listeners, resolving;
	uint32_t xrcds;           /* XRC domains, however many contexts have them open */
	uint32_t groups, members; /* multicast: of ports, of queue pairs */
	uint64_t shm_bytes_used;
	uint32_t mrs_mapped;      /* of mrs: those whose memory is mapped here */
	uint64_t regs_mapped, regs_copied; /* regions registered: reached by mapping, by system call */
	uint64_t map_refusals;    /* of regs_copied: a memfd was named and could not be used */
	uint64_t map_faults;      /* mappings that failed: their memory was taken away */
	uint64_t requests, bad_requests, refused_sessions;
	uint64_t at_limit;        /* requests refused at a limit of a client or a user */
	uint64_t bad_wqes, bad_indices, cq_overflows, copy_faults, events_lost;
	uint64_t multipath_offered;            /* requests for a connection that offered it */
	uint64_t multipath_agreed, multipath_listed; /* queue pairs that do it: by the CM, by configuration */
	uint64_t multipath_left;               /* of these: had to give it up, there was no room for the answer */
	uint64_t multipath_mismatches;         /* connections that agreed to it whose queue pair does not do it */
};

/* Makes the socket and all tables. On success *vd is set. Negative errno otherwise: -EADDRINUSE (another
 * daemon answers on the socket), -EINVAL (config), -ENOMEM, or what a system call said. */
int vd_create(const struct vd_config *config, const struct vd_env *env, void *env_arg, struct vd **vd);
/* Ends all sessions as if their processes had died: connections are closed, peers are told. Workers must still serve
 * worker_call(). */
void vd_end_sessions(struct vd *vd);
/* Ends all sessions, removes the socket. Workers must still serve worker_call(). Pending resolutions must have been
 * called back. NULL is fine. */
void vd_destroy(struct vd *vd);

/* An epoll descriptor, readable when vd_dispatch() has work. */
int vd_fd(const struct vd *vd);
/* Serves what is ready, without blocking. */
void vd_dispatch(struct vd *vd);
/* Fires what is due (CM timers). */
void vd_advance(struct vd *vd);
/* How long until vd_advance() has work: ns from now, 0: already, UINT64_MAX: never. */
uint64_t vd_timeout_ns(const struct vd *vd);
/* A management datagram came for QP 1 of a device; n bytes of MAD (from the MAD header on). */
void vd_rx_mad(struct vd *vd, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	const uint8_t *mad, size_t n);
/* Tells clients of a device that its port came up or went down (async events, port state). */
void vd_set_port_state(struct vd *vd, uint32_t device, bool up);
void vd_stats(const struct vd *vd, struct vd_stats *stats);

/* ---- vd_reload.c: what changes while there are clients; the workers stand still, or do not look at it ---- */

/* For what clients ask from now on; max_sessions stays. */
void vd_set_limits(struct vd *vd, const struct vd_limits *limits, const struct vd_user_limits *user_limits);
/* As in struct vd_config. 0 or a negative errno. */
int vd_set_socket_rights(struct vd *vd, mode_t mode, gid_t gid);
/* For queue pairs that are connected from now on; it stays as long as tp_refers(). */
void vd_set_multipath(struct vd *vd, const struct vd_multipath *multipath);
/* The largest path MTU that a device's port allows, whatever is configured, in bytes. */
uint32_t vd_device_room(const struct vd_device *device);
/* How many sessions use a device, by an open context or a connection id; *pid becomes one of them. */
uint32_t vd_device_users(const struct vd *vd, uint32_t device, pid_t *pid);
/* A new device, one that is changed, or with an empty name a place that no device has any more. Of one that is used, GIDs keep
 * their numbers. */
void vd_set_device(struct vd *vd, uint32_t device, const struct vd_device *to);

/* A queue pair that sprays packets over several paths, and what it knows of them. */
struct vd_qp_paths {
	uint32_t qpn, peer_qpn;
	struct wire_addr peer;
	const char *device;
	pid_t pid;
	uid_t uid;
	struct tp_paths paths;
};

/* The first of them whose number is `from` or more. -ENOENT: there is none. */
int vd_next_paths(struct vd *vd, uint32_t from, struct vd_qp_paths *out);

/* Any queue pair, as people are told of it. */
struct vd_qp_told {
	uint32_t qpn, peer_qpn;
	struct wire_addr peer;             /* all zero: it has none */
	const char *device;                /* lives as long as the daemon */
	pid_t pid;
	uid_t uid;
	uint32_t worker;
	enum tp_qp_type type;
	struct tp_qp_stats stats;
	bool has_paths;                    /* paths tells of them */
	struct tp_paths paths;
};

/* Queue pairs in order of their numbers, without the first `from` of them, most at most. Their workers are asked, for some
 * at once. Returns how many; *all becomes how many there are. -ENOMEM is told as none. An XRC target that several
 * processes have open is each one's. Main thread. */
uint32_t vd_tell_qps(struct vd *vd, uint32_t from, struct vd_qp_told *told, uint32_t most, uint32_t *all);

/* A connection of a program: a context, or librdmacm's. */
struct vd_client_told {
	uint32_t number;                   /* no two have the same at one time */
	pid_t pid;
	uid_t uid;
	bool cm;                           /* it is librdmacm's */
	const char *device;                /* "": of no one */
	uint32_t worker;
	uint32_t pds, mrs, mws, cqs, srqs, qps, ahs, cm_ids;
	uint64_t registered_bytes, mapped_bytes, ring_bytes;
};

/* The same of those. Main thread. */
uint32_t vd_tell_clients(const struct vd *vd, uint32_t from, struct vd_client_told *told, uint32_t most, uint32_t *all);

/* Whom a connected queue pair talks to: the peer's number, and its addresses by each of the device's ports. */
struct vd_qp_peer {
	uint32_t qpn, n_addrs;
	struct wire_addr addrs[TP_MAX_PLANES];
};

/* Of the queue pair of that number; n_addrs 0: it is not connected. -ENOENT: there is no such queue pair. */
int vd_find_peer(struct vd *vd, uint32_t qpn, struct vd_qp_peer *peer);

/* An access to a client's memory that a thread is in. Such an access may wait for as long as the file system wants
 * that the memory is mapped from, so somebody has to watch. */
struct vd_access {
	uint64_t number;          /* of this access; never 0 */
	pid_t pid;
	uid_t uid;
};

/* What worker `who` is in now; the number of workers stands for the main thread. False: nothing. For any thread. */
bool vd_access_now(const struct vd *vd, uint32_t who, struct vd_access *access);
/* Ends all sessions of a user and refuses it new ones for a minute. Returns how many there were. */
uint32_t vd_shut_out(struct vd *vd, uid_t uid);

/* ---- worker side ---- */

/* The worker's handle, valid from vd_create() to vd_destroy(). May be called from the main thread. */
struct vd_worker *vd_worker(struct vd *vd, uint32_t worker);

/* Fills in the members of ops that this library implements: mem_read, mem_write, send_fetch, recv_fetch,
 * send_retire, complete, event, srq_fetch, srq_posted, srq_event. (pkt_alloc and pkt_emit are the
 * caller's.) The env pointer given to tp_create() must then point to a struct whose FIRST member is
 * `struct vd_worker *`, set before the first QP exists:
 *   struct my_worker { struct vd_worker *vd; ... };   */
void vd_worker_ops(struct tp_ops *ops);

typedef void (*vd_member_fn)(void *arg, uint32_t qpn);

/* Calls fn for each of the worker's queue pairs that is attached to a group of the device: a datagram that
 * came for the group and QPN 0xffffff is theirs, as if it had been sent to each. Returns how many. */
uint32_t vd_worker_members(struct vd_worker *worker, uint32_t device, const struct wire_addr *group,
	vd_member_fn fn, void *fn_arg);

/* Looks at the doorbells of all clients of the worker and kicks their QPs in tp; sends notifications
 * that could not be sent before. Returns the number of QPs kicked. */
uint32_t vd_worker_poll(struct vd_worker *worker, struct tp *tp);
/* A descriptor to wait on while asleep: readable when a client rang. (epoll of the clients' eventfds.) */
int vd_worker_fd(const struct vd_worker *worker);
/* sleep true: asks clients to ring the descriptor; the caller must then call vd_worker_poll() once more
 * and may sleep only if it and the transport have nothing to do. sleep false: takes the request back
 * and empties the descriptor. Cheap when nothing changes. */
void vd_worker_sleep(struct vd_worker *worker, bool sleep);

#endif
