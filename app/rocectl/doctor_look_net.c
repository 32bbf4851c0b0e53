/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's interfaces below ports, in the daemon's network namespace: by ioctls, for /sys shows those of its own
 * namespace. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor.h"
#include "net_driver.h"

#define RDMA_DIR "/sys/class/infiniband"

static int ethtool_get(int fd, const char *iface, uint32_t cmd)
{
	struct ethtool_value value = {.cmd = cmd};
	struct ifreq req = {.ifr_data = (void *)&value};

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%.*s", IFNAMSIZ - 1, iface);
	return ioctl(fd, SIOCETHTOOL, &req) == 0 ? (int)value.data : -1;
}

static void read_number(const char *path, int *out)
{
	FILE *f = fopen(path, "re");

	if (f != NULL && fscanf(f, "%d", out) != 1)
		*out = -1;
	if (f != NULL)
		fclose(f);
}

static void look_driver(int fd, struct doctor_iface *iface)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq req = {.ifr_data = (void *)&info};
	char path[64 + sizeof(info.bus_info)];

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%.*s", IFNAMSIZ - 1, iface->name);
	if (ioctl(fd, SIOCETHTOOL, &req) != 0)
		return;
	snprintf(iface->driver, sizeof(iface->driver), "%.*s", (int)sizeof(iface->driver) - 1, info.driver);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.*s/numa_node", (int)sizeof(info.bus_info) - 1,
		info.bus_info);
	if (info.bus_info[0] != '\0')
		read_number(path, &iface->numa_node);
}

static void look(int fd, struct doctor_iface *iface)
{
	struct ifreq req = {0};
	int flags;

	iface->mtu = iface->up = iface->numa_node = -1;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%.*s", IFNAMSIZ - 1, iface->name);
	iface->there = ioctl(fd, SIOCGIFFLAGS, &req) == 0;
	if (!iface->there)
		return;
	iface->up = (req.ifr_flags & IFF_UP) != 0;
	if (ioctl(fd, SIOCGIFMTU, &req) == 0)
		iface->mtu = req.ifr_mtu;
	iface->carrier = ethtool_get(fd, iface->name, ETHTOOL_GLINK);
	iface->tx_checksum = ethtool_get(fd, iface->name, ETHTOOL_GTXCSUM);
	iface->gso = ethtool_get(fd, iface->name, ETHTOOL_GGSO);
	iface->tso = ethtool_get(fd, iface->name, ETHTOOL_GTSO);
	iface->gro = ethtool_get(fd, iface->name, ETHTOOL_GGRO);
	flags = ethtool_get(fd, iface->name, ETHTOOL_GFLAGS);
	iface->lro = flags < 0 ? -1 : (flags & ETH_FLAG_LRO) != 0;
	look_driver(fd, iface);
}

void doctor_look_iface(struct doctor_iface *iface)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	look(fd, iface);
	close(fd);
}

/* RDMA devices that the kernel has on interfaces; of this process's network namespace. */
static void look_rdma(struct doctor_facts *facts)
{
	DIR *dir = opendir(RDMA_DIR);
	struct dirent *entry;
	char path[sizeof(RDMA_DIR) + NAME_MAX + 40], netdev[64];

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		FILE *f;

		snprintf(path, sizeof(path), RDMA_DIR "/%s/ports/1/gid_attrs/ndevs/0", entry->d_name);
		f = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		if (f == NULL)
			continue;
		for (uint32_t p = 0; fscanf(f, "%63s", netdev) == 1 && p < facts->config->n_ports; p++) {
			struct doctor_iface *iface = &facts->ifaces[p];

			if (iface->there && !strcmp(iface->name, netdev))
				snprintf(iface->rdma, sizeof(iface->rdma), "%.*s", (int)sizeof(iface->rdma) - 1,
					entry->d_name);
			rewind(f);
		}
		fclose(f);
	}
	if (dir != NULL)
		closedir(dir);
}

/* Goes to the namespace of the daemon; what to go back to, -1: it is this one, or cannot be reached. */
static int enter(long pid)
{
	char path[64];
	struct stat own, other;
	int back, fd;

	snprintf(path, sizeof(path), "/proc/%ld/ns/net", pid);
	if (pid == 0 || stat("/proc/self/ns/net", &own) != 0 || stat(path, &other) != 0 || own.st_ino == other.st_ino)
		return -1;
	back = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (back >= 0 && (fd < 0 || setns(fd, CLONE_NEWNET) != 0)) {
		fprintf(stderr, "rocectl: the daemon's network namespace cannot be entered, so these interfaces are "
				"not its own\n");
		close(back);
		back = -1;
	}
	if (fd >= 0)
		close(fd);
	return back;
}

void doctor_look_ifaces(struct doctor_facts *facts)
{
	int back = enter(facts->pid);

	for (uint32_t p = 0; p < facts->config->n_ports; p++) {
		const char *device = facts->config->ports[p].device;
		const struct net_driver *driver = net_driver_find(device);
		struct doctor_iface *iface = &facts->ifaces[p];

		if (driver == NULL || driver->iface_arg == NULL ||
			!net_driver_arg(device, driver->iface_arg, iface->name, sizeof(iface->name)))
			continue;
		iface->wanted = driver->iface_exists || facts->daemon;
		doctor_look_iface(iface);
		doctor_look_veth(iface);
	}
	if (back >= 0) {
		if (setns(back, CLONE_NEWNET) != 0)
			perror("rocectl: setns");
		close(back);
	} else {
		look_rdma(facts);
	}
}
