/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of a test that meet through the connection manager, as librdmacm makes them do it. */
#ifndef CM_HOST_H
#define CM_HOST_H

#include "world.h"

/* One process: its connection manager and its verbs context. */
struct host {
	struct wx_world *w;
	struct wx_client cm, verbs;
	uint32_t channel, pd, key;
	int fd;
	struct wx_cq cq;
	struct wx_qp qp;
	uint8_t buf[4096];
};

void new_channel(struct host *h, uint32_t *channel, int *fd);
void host_start(struct wx_world *w, struct host *h);
void host_stop(struct host *h);
uint32_t new_id_of(struct host *h, uint64_t cookie, uint32_t ps, enum ibv_qp_type type);
uint32_t new_id(struct host *h, uint64_t cookie, uint32_t ps);
/* 192.0.2.(host) or with host 0 any address. */
struct vc_sockaddr in4(uint8_t host, uint16_t port);
int bind_to(struct host *h, uint32_t id, struct vc_sockaddr addr, struct vc_reply *reply);
int listen_on(struct host *h, uint32_t id, uint32_t backlog);
int resolve_addr(struct host *h, uint32_t id, struct vc_sockaddr dst);
int resolve_route(struct host *h, uint32_t id);
int conn_call(struct host *h, enum vc_op op, uint32_t id, uint64_t cookie, const char *text);
bool take_event(int fd, struct vc_cm_event *event);
struct vc_cm_event expect_event(struct host *h, uint64_t cookie, uint32_t type, int status);
void expect_no_event(struct host *h);
uint32_t listener(struct host *h, uint64_t cookie, uint8_t addr, uint16_t port);
uint32_t resolved(struct host *h, uint64_t cookie, uint16_t port);
struct vc_qp_attr qp_attr(struct host *h, uint32_t id, enum ibv_qp_state state);
/* As librdmacm does it: all attributes from the connection manager. */
void bring_up(struct host *h, uint32_t id);
void send_text(struct host *from, struct host *to, const char *text);

#endif
