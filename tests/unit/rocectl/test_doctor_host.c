/* SPDX-License-Identifier: BSD-3-Clause */
/* The doctor's checks of the machine, the configuration and the daemon: by facts that trip each, and facts that do not.
 */
#include "doctor_kit.h"

#define TWO_WORKERS "workers = ( { lcore = 1; }, { lcore = 2; } );\n"
#define PCI_PORT    "ports = ( { name = \"p0\"; device = \"0000:01:00.0\"; mtu = 4200; } );\n"

static void test_hugepages(void **state)
{
	(void)state;
	well(PLAIN);
	assert_quiet(doctor_check_hugepages);
	facts.huge_pages = facts.huge_free = 0;
	assert_finds(doctor_check_hugepages, DOCTOR_PROBLEM, "hugepages", "no hugepages");
	facts.huge_pages = 8;
	assert_quiet(doctor_check_hugepages); /* the daemon that runs has them */
	facts.daemon = false;
	assert_finds(doctor_check_hugepages, DOCTOR_PROBLEM, "hugepages", "none of the 8");
	well("eal = { args = [ \"--no-huge\" ]; };" PLAIN);
	facts.huge_pages = 0;
	assert_finds(doctor_check_hugepages, DOCTOR_NOTE, "eal.args", "--no-huge");
	well("eal = { args = [ \"--no-huge\" ]; };" ONE_WORKER PCI_PORT ONE_DEVICE);
	assert_finds(doctor_check_hugepages, DOCTOR_PROBLEM, "p0", "PCI");
}

static void test_busy_cpu(void **state)
{
	(void)state;
	well(PLAIN);
	facts.workers[0].wait_permille = 19;
	facts.workers[0].other_permille = 99;
	assert_quiet(doctor_check_cpu);
	facts.workers[0].other_permille = 100;
	assert_finds(doctor_check_cpu, DOCTOR_WARNING, "worker 0", "others used its CPUs 10.0 %");
	facts.workers[0].wait_permille = 20;
	assert_finds(doctor_check_cpu, DOCTOR_WARNING, "worker 0", "2.0 %");
	well(PLAIN);
	facts.workers[0].wait_permille = -1;
	facts.workers[0].isolated = false;
	assert_finds(doctor_check_cpu, DOCTOR_NOTE, "worker 0", "not isolated");
}

static void test_workers_that_share_a_cpu(void **state)
{
	(void)state;
	well(TWO_WORKERS "ports = ( { name = \"p0\"; device = \"net_tap0\"; } ); devices = ( { name = \"r0\"; port = "
			 "\"p0\"; } );");
	assert_quiet(doctor_check_cpu);
	facts.workers[1] = facts.workers[0];
	assert_finds(doctor_check_cpu, DOCTOR_WARNING, "worker 1", "have 1 CPU together");
	/* as many CPUs as workers, shared: the scheduler finds each a place */
	facts.workers[0].n_cpus = doctor_read_cpus("0-1", facts.workers[0].cpus);
	facts.workers[1].n_cpus = doctor_read_cpus("0-1", facts.workers[1].cpus);
	assert_quiet(doctor_check_cpu);
}

static void test_cpu_lists(void **state)
{
	uint8_t set[DOCTOR_MAX_CPUS / 8];

	(void)state;
	assert_int_equal(doctor_read_cpus("0-3,8\n", set), 5);
	assert_int_equal(set[0], 0x0f);
	assert_int_equal(set[1], 0x01);
	assert_int_equal(doctor_read_cpus("2,2", set), 1);
	assert_int_equal(doctor_read_cpus("", set), 0);
	assert_int_equal(doctor_read_cpus("3-1", set), 0);
	assert_int_equal(doctor_read_cpus("1x", set), 0);
	assert_int_equal(doctor_read_cpus("1024", set), 0);
	assert_int_equal(doctor_read_cpus("1023", set), 1);
}

static void test_numa(void **state)
{
	(void)state;
	well(PLAIN);
	facts.numa_nodes = 2;
	facts.ifaces[0].numa_node = 1;
	facts.workers[0].numa_node = 1;
	assert_quiet(doctor_check_numa);
	facts.workers[0].numa_node = 0;
	assert_finds(doctor_check_numa, DOCTOR_WARNING, "worker 0", "on node 1");
	facts.workers[0].numa_node = -2;
	assert_finds(doctor_check_numa, DOCTOR_WARNING, "worker 0", "several NUMA nodes");
	facts.numa_nodes = 1;
	assert_quiet(doctor_check_numa);
	/* of a virtual port nobody knows */
	facts.numa_nodes = 2;
	facts.workers[0].numa_node = 0;
	facts.ifaces[0].numa_node = -1;
	assert_quiet(doctor_check_numa);
	well(ONE_WORKER PCI_PORT ONE_DEVICE);
	facts.numa_nodes = 2;
	facts.ifaces[0].there = false;
	facts.pci_numa_node[0] = 1;
	facts.workers[0].numa_node = 0;
	assert_finds(doctor_check_numa, DOCTOR_WARNING, "worker 0", "\"p0\"");
}

static void test_memlock(void **state)
{
	(void)state;
	well(ONE_WORKER PCI_PORT ONE_DEVICE);
	assert_quiet(doctor_check_memlock);
	facts.memlock_bytes = 8 << 20;
	assert_finds(doctor_check_memlock, DOCTOR_WARNING, "p0", "8192 KiB");
	facts.may_lock = true;
	assert_quiet(doctor_check_memlock);
	well(PLAIN); /* locks nothing */
	facts.memlock_bytes = 0;
	assert_quiet(doctor_check_memlock);
	well(ONE_WORKER "ports = ( { name = \"p0\"; device = \"net_af_xdp0,iface=eth1\"; mtu = 1500; } );"
			" devices = ( { name = \"r0\"; port = \"p0\"; } );");
	facts.memlock_bytes = 64 << 10;
	assert_finds(doctor_check_memlock, DOCTOR_WARNING, "p0", "64 KiB");
}

static void test_clock(void **state)
{
	(void)state;
	well(PLAIN);
	assert_quiet(doctor_check_clock);
	snprintf(facts.clock_source, sizeof(facts.clock_source), "kvm-clock");
	assert_quiet(doctor_check_clock);
	snprintf(facts.clock_source, sizeof(facts.clock_source), "hpet");
	assert_finds(doctor_check_clock, DOCTOR_WARNING, "clock", "hpet");
	facts.clock_source[0] = '\0';
	assert_quiet(doctor_check_clock);
}

static void test_config_and_daemon(void **state)
{
	(void)state;
	well(PLAIN);
	facts.file_is_newer = 0;
	assert_quiet(doctor_check_config);
	assert_quiet(doctor_check_daemon);
	facts.file_is_newer = 1;
	assert_finds(doctor_check_config, DOCTOR_NOTE, "file", "was changed");
	facts.daemon = false;
	assert_quiet(doctor_check_config);
	assert_finds(doctor_check_daemon, DOCTOR_NOTE, "telemetry", "no telemetry");
	config.control.telemetry = true;
	assert_finds(doctor_check_daemon, DOCTOR_NOTE, "telemetry", "no daemon answers");
	facts.config = NULL;
	facts.config_errors = 2;
	snprintf(facts.config_error, sizeof(facts.config_error), "x.conf:3: ports");
	assert_finds(doctor_check_config, DOCTOR_PROBLEM, "file", "2 errors, the first: x.conf:3: ports");
	facts.config_errors = 0;
	facts.file[0] = '\0';
	assert_finds(doctor_check_config, DOCTOR_NOTE, "file", "no configuration");
}

static void test_alarms_and_drops(void **state)
{
	(void)state;
	well(PLAIN);
	counter("not_ours", 1000); /* a network has that */
	counter("icrc", 0);
	assert_quiet(doctor_check_alarms);
	assert_quiet(doctor_check_drops);
	facts.n_alarms = 1;
	facts.alarms[0] = (struct doctor_alarm){
		.kind = "tunnel_mtu", .subject = "10.0.0.2", .text = "too long", .active = true, .count = 3};
	assert_finds(doctor_check_alarms, DOCTOR_PROBLEM, "10.0.0.2", "tunnel_mtu, 3 times");
	facts.alarms[0].active = false;
	assert_finds(doctor_check_alarms, DOCTOR_NOTE, "10.0.0.2", "over now");
	facts.counters[1].value = 2;
	assert_finds(doctor_check_drops, DOCTOR_WARNING, "icrc", "2 packets");
	counter("no_mbuf", 1);
	assert_finds(doctor_check_drops, DOCTOR_PROBLEM, "no_mbuf", "1 packets");
}

/* Only checks whose needs are met run, each under its name; a report that is full keeps the worst. */
static void test_report(void **state)
{
	(void)state;
	well(PLAIN);
	snprintf(facts.clock_source, sizeof(facts.clock_source), "hpet");
	facts.daemon = false;
	facts.config = NULL;
	memset(&report, 0, sizeof(report));
	doctor_run(&facts, &report);
	for (uint32_t i = 0; i < report.n; i++)
		assert_true(!strcmp(report.findings[i].check, "clock") || !strcmp(report.findings[i].check, "daemon"));
	assert_int_equal(report.n, 2);
	memset(&report, 0, sizeof(report));
	for (int i = 0; i < DOCTOR_MAX_FINDINGS; i++)
		doctor_do(doctor_add(&report, i == 5 ? DOCTOR_NOTE : DOCTOR_WARNING, "many", "why", "%d", i), "do");
	doctor_do(doctor_add(&report, DOCTOR_NOTE, "more", "why", "note"), "do");
	doctor_do(doctor_add(&report, DOCTOR_PROBLEM, "worst", "why", "problem"), "do");
	assert_int_equal(report.n, DOCTOR_MAX_FINDINGS);
	assert_int_equal(report.left_out, 2);
	assert_string_equal(report.findings[5].subject, "worst");
	assert_string_equal(report.findings[6].subject, "many");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hugepages),
		cmocka_unit_test(test_busy_cpu),
		cmocka_unit_test(test_workers_that_share_a_cpu),
		cmocka_unit_test(test_cpu_lists),
		cmocka_unit_test(test_numa),
		cmocka_unit_test(test_memlock),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_config_and_daemon),
		cmocka_unit_test(test_alarms_and_drops),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
