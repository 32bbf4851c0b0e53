/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of devices, and what is known of one without opening it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vcl_ibv.h"
#include "vcl_private.h"

#define MAX_KNOWN 64

/*
 * Programs keep ibv_device pointers beyond ibv_free_device_list() (an open context refers to one), and
 * compare them, so a device once seen stays for the life of the process: state the API puts there.
 */
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vcl_device *known[MAX_KNOWN];

static void lock_known(void)
{
	pthread_mutex_lock(&known_lock);
}

static void unlock_known(void)
{
	pthread_mutex_unlock(&known_lock);
}

/* A child must not inherit the lock from a thread that is not there to release it. */
static void register_fork(void)
{
	(void)pthread_atfork(lock_known, unlock_known, unlock_known);
}

static struct vcl_device *new_device(const struct vc_device_attr *attr, int index)
{
	struct vcl_device *dev = calloc(1, sizeof(*dev));

	if (dev == NULL)
		return NULL;
	dev->index = index;
	dev->ibv.node_type = IBV_NODE_CA;
	dev->ibv.transport_type = IBV_TRANSPORT_IB;
	snprintf(dev->ibv.name, sizeof(dev->ibv.name), "%s", attr->name);
	snprintf(dev->ibv.dev_name, sizeof(dev->ibv.dev_name), "%s", attr->name);
	snprintf(dev->ibv.dev_path, sizeof(dev->ibv.dev_path), "/sys/class/infiniband_verbs/%s", attr->name);
	snprintf(dev->ibv.ibdev_path, sizeof(dev->ibv.ibdev_path), "/sys/class/infiniband/%s", attr->name);
	return dev;
}

/* The known device of that name, made on first sight. The caller holds known_lock. */
static struct vcl_device *know(const struct vc_device_attr *attr)
{
	int i;

	for (i = 0; i < MAX_KNOWN && known[i] != NULL; i++)
		if (strcmp(known[i]->ibv.name, attr->name) == 0)
			break;
	if (i == MAX_KNOWN)
		return NULL;
	if (known[i] == NULL)
		known[i] = new_device(attr, i);
	if (known[i] != NULL)
		known[i]->attr = *attr;
	return known[i];
}

static struct ibv_device **make_list(struct vc_reply *reply, int *num)
{
	uint32_t i, n = reply->devices.n, max = sizeof(reply->devices.attr) / sizeof(reply->devices.attr[0]);
	struct ibv_device **list;
	struct vcl_device *dev;

	n = n < max ? n : max;
	list = calloc(n + 1, sizeof(*list)); /* NULL terminated */
	*num = 0;
	if (list == NULL)
		return NULL;
	pthread_mutex_lock(&known_lock);
	for (i = 0; i < n; i++) {
		reply->devices.attr[i].name[VC_NAME_BYTES - 1] = '\0';
		reply->devices.attr[i].netdev[VC_NAME_BYTES - 1] = '\0';
		dev = know(&reply->devices.attr[i]);
		if (dev != NULL)
			list[(*num)++] = &dev->ibv;
	}
	pthread_mutex_unlock(&known_lock);
	return list;
}

/* A program that finds no device tells its user nothing else. */
static void tell_unreachable(int err)
{
	static bool told;

	if (__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
		return;
	if (err == -EACCES)
		fprintf(stderr, "libibverbs: Warning: no right to use %s: %s (the socket's group has it)\n",
			vcl_socket_path(), strerror(-err));
	else
		fprintf(stderr, "libibverbs: Warning: no roced daemon answers on %s: %s\n", vcl_socket_path(),
			strerror(-err));
}

/* Without a daemon there are no devices, which is a list of none; other failures are errors. */
static int ask_devices(struct vc_reply *reply)
{
	struct vc_request req = {.op = VC_LIST_DEVICES};
	struct vcl_conn conn;
	int err = vcl_conn_open(&conn);
	bool none = err == -ENOENT || err == -ECONNREFUSED;

	if (err == 0) {
		err = vcl_call(&conn, &req, reply);
		vcl_conn_close(&conn);
	}
	if (err != 0)
		tell_unreachable(err);
	return none ? 0 : err;
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vc_reply reply = {0};
	struct ibv_device **list;
	int num = 0, err;

	if (num_devices != NULL)
		*num_devices = 0;
	pthread_once(&once, register_fork);
	err = ask_devices(&reply);
	if (err != 0) {
		errno = -err;
		return NULL;
	}
	list = make_list(&reply, &num);
	if (list == NULL)
		errno = ENOMEM;
	else if (num_devices != NULL)
		*num_devices = num;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return container_of(device, struct vcl_device, ibv)->attr.node_guid;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return container_of(device, struct vcl_device, ibv)->index;
}

/* ---- sysfs, as far as tools read it ---- */

const char *ibv_get_sysfs_path(void)
{
	const char *path = secure_getenv("SYSFS_PATH");

	return path != NULL ? path : "/sys";
}

static int guid_text(char *buf, size_t size, __be64 guid)
{
	uint16_t part[4];

	memcpy(part, &guid, sizeof(part));
	return snprintf(buf, size, "%04x:%04x:%04x:%04x", ntohs(part[0]), ntohs(part[1]), ntohs(part[2]),
		ntohs(part[3]));
}

/* The text of a device's attribute file; negative when it has no such file. */
static int attribute_text(const struct vcl_device *dev, const char *file, char *buf, size_t size)
{
	static const char types[] = "ports/1/gid_attrs/types/", ndevs[] = "ports/1/gid_attrs/ndevs/";
	static const char *const fixed[][2] = {
		{"board_id", "roced"}, {"hca_type", "roced"}, {"fw_ver", "0.1.0"}, {"node_type", "1: CA"},
		{"ports/1/link_layer", "Ethernet"}, {"ports/1/pkeys/0", "0xffff"},
	};
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		if (strcmp(file, fixed[i][0]) == 0)
			return snprintf(buf, size, "%s", fixed[i][1]);
	if (strcmp(file, "node_guid") == 0 || strcmp(file, "sys_image_guid") == 0)
		return guid_text(buf, size, dev->attr.node_guid);
	if (strcmp(file, "node_desc") == 0)
		return snprintf(buf, size, "%s", dev->attr.name);
	if (strncmp(file, types, sizeof(types) - 1) == 0)
		return snprintf(buf, size, "RoCE v2");
	if (strncmp(file, ndevs, sizeof(ndevs) - 1) == 0 && dev->attr.netdev[0] != '\0')
		return snprintf(buf, size, "%s", dev->attr.netdev);
	return -1;
}

/* Finds the device whose directory is dir/file, and the rest of the path in it. */
static const struct vcl_device *device_of_path(const char *path, const char **rest)
{
	const struct vcl_device *found = NULL;
	size_t n;
	int i;

	pthread_mutex_lock(&known_lock);
	for (i = 0; i < MAX_KNOWN && known[i] != NULL && found == NULL; i++) {
		n = strlen(known[i]->ibv.ibdev_path);
		if (strncmp(path, known[i]->ibv.ibdev_path, n) == 0 && path[n] == '/') {
			found = known[i];
			*rest = path + n + 1;
		}
	}
	pthread_mutex_unlock(&known_lock);
	return found;
}

/* Returns the length of the text without its newline, -1 without such a file. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	const struct vcl_device *dev;
	const char *rest = NULL;
	char path[512], text[128];
	FILE *f;
	size_t n;
	int len;

	if (size == 0 || snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
		return -1;
	dev = device_of_path(path, &rest);
	if (dev != NULL) {
		len = attribute_text(dev, rest, text, sizeof(text));
		if (len < 0 || (size_t)len >= size)
			return -1;
		memcpy(buf, text, (size_t)len + 1);
		return len;
	}
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	n = fread(buf, 1, size, f);
	len = ferror(f) != 0 ? -1 : (int)n;
	fclose(f);
	if (len > 0 && buf[len - 1] == '\n')
		buf[--len] = '\0';
	else if (len >= 0 && (size_t)len < size)
		buf[len] = '\0';
	return len;
}
