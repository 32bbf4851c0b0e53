/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other end of a veth pair, in whatever network namespace it is. The kernel tells the end's index and a number that
 * this namespace has for the other one (rtnetlink(7), IFLA_LINK_NETNSID); which one that is, is found by asking for the
 * number of those that have a name or a process.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "doctor.h"

#define ANSWER_BYTES 8192
#define MAX_FILES    4096 /* that are tried */
#define NO_NUMBER    (-1)

/* Sends the question and receives one message. Its bytes, or -1. */
static ssize_t ask(const struct nlmsghdr *question, void *answer)
{
	const struct timeval wait = {.tv_sec = 1};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ssize_t n = -1;

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) == 0 &&
		send(fd, question, question->nlmsg_len, 0) == (ssize_t)question->nlmsg_len)
		n = recv(fd, answer, ANSWER_BYTES, 0);
	if (fd >= 0)
		close(fd);
	return n;
}

/* Number of an attribute behind `skip` bytes of the message; false: it is not there. */
static bool attribute(const void *answer, ssize_t n, uint16_t type, size_t skip, uint16_t which, int32_t *out)
{
	const struct nlmsghdr *head = answer;
	const char *at = (const char *)answer + NLMSG_HDRLEN + NLMSG_ALIGN(skip), *end = (const char *)answer + n;
	struct rtattr attr;

	if (n < (ssize_t)(NLMSG_HDRLEN + skip) || head->nlmsg_type != type)
		return false;
	while (end - at >= (ptrdiff_t)sizeof(attr)) {
		memcpy(&attr, at, sizeof(attr));
		if (attr.rta_len < sizeof(attr) || attr.rta_len > end - at)
			return false;
		if (attr.rta_type == which && attr.rta_len >= RTA_LENGTH(sizeof(*out))) {
			memcpy(out, at + RTA_LENGTH(0), sizeof(*out));
			return true;
		}
		at += RTA_ALIGN(attr.rta_len);
	}
	return false;
}

/* Index of the other end, and the number of its namespace here, NO_NUMBER: this one. */
static bool find_end(const char *iface, int32_t *index, int32_t *number)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg link;
	} question = {.head = {.nlmsg_len = sizeof(question), .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
		.link = {.ifi_index = (int)if_nametoindex(iface)}};
	char answer[ANSWER_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t n;

	n = ask(&question.head, answer);
	if (!attribute(answer, n, RTM_NEWLINK, sizeof(struct ifinfomsg), IFLA_LINK, index))
		return false;
	if (!attribute(answer, n, RTM_NEWLINK, sizeof(struct ifinfomsg), IFLA_LINK_NETNSID, number))
		*number = NO_NUMBER;
	return true;
}

/* The number that this namespace has for that of the file fd. */
static int32_t number_of(int fd)
{
	struct {
		struct nlmsghdr head;
		struct rtgenmsg any;
		char pad[NLMSG_ALIGN(sizeof(struct rtgenmsg)) - sizeof(struct rtgenmsg)];
		struct rtattr attr;
		int32_t value;
	} question = {.head = {.nlmsg_len = sizeof(question), .nlmsg_type = RTM_GETNSID, .nlmsg_flags = NLM_F_REQUEST},
		.any = {.rtgen_family = AF_UNSPEC},
		.attr = {.rta_len = RTA_LENGTH(sizeof(int32_t)), .rta_type = NETNSA_FD},
		.value = fd};
	char answer[ANSWER_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	int32_t number;
	ssize_t n = ask(&question.head, answer);

	return attribute(answer, n, RTM_NEWNSID, sizeof(struct rtgenmsg), NETNSA_NSID, &number) ? number : NO_NUMBER;
}

/* A file of the namespace of that number; -1: none is found. */
static int open_namespace(int32_t number)
{
	glob_t files = {0};
	int found = -1;

	glob("/run/netns/*", GLOB_NOSORT, NULL, &files);
	glob("/proc/[0-9]*/ns/net", GLOB_NOSORT | GLOB_APPEND, NULL, &files);
	for (size_t i = 0; found < 0 && i < files.gl_pathc && i < MAX_FILES; i++) {
		int fd = open(files.gl_pathv[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && number_of(fd) == number)
			found = fd;
		else if (fd >= 0)
			close(fd);
	}
	globfree(&files);
	return found;
}

static void look_at(int32_t index, struct doctor_iface *iface)
{
	struct doctor_iface end = {0};
	char name[IF_NAMESIZE];

	if (if_indextoname((unsigned)index, name) == NULL)
		return;
	memcpy(end.name, name, sizeof(name));
	doctor_look_iface(&end);
	if (!end.there || strcmp(end.driver, "veth") != 0)
		return;
	iface->peer_there = true;
	iface->peer_mtu = end.mtu;
	iface->peer_tx_checksum = end.tx_checksum;
}

void doctor_look_veth(struct doctor_iface *iface)
{
	int32_t index, number;
	int there, back;

	if (!iface->there || strcmp(iface->driver, "veth") != 0 || !find_end(iface->name, &index, &number))
		return;
	if (number == NO_NUMBER) {
		look_at(index, iface);
		return;
	}
	there = open_namespace(number);
	back = there >= 0 ? open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) : -1;
	if (back >= 0 && setns(there, CLONE_NEWNET) == 0) {
		look_at(index, iface);
		if (setns(back, CLONE_NEWNET) != 0)
			perror("rocectl: setns");
	}
	if (back >= 0)
		close(back);
	if (there >= 0)
		close(there);
}
