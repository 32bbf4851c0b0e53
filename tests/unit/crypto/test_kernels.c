/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crypt_simd.h: without a name, the best kernel that the machine has; by what the kernel of the system says of the CPU, by which
 * of them can be had by their names, and on CPUs that lack one thing or the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <rte_cpuflags.h>

#include "crypt_simd.h"

#define NOTHING (-1)

/* ---- a CPU of this machine's kind that lacks something ---- */

static int lacking = NOTHING;

int __real_rte_cpu_get_flag_enabled(enum rte_cpu_flag_t feature);
int __wrap_rte_cpu_get_flag_enabled(enum rte_cpu_flag_t feature);

int __wrap_rte_cpu_get_flag_enabled(enum rte_cpu_flag_t feature)
{
	return (int)feature == lacking ? 0 : __real_rte_cpu_get_flag_enabled(feature);
}

/* ---- what is best ---- */

/* Its place among the kernels, best last. */
static unsigned int rank_of(const char *name)
{
	unsigned int i = 0;

	while (crypt_simd_kernel(i) != NULL && strcmp(crypt_simd_kernel(i), name) != 0)
		i++;
	assert_non_null(crypt_simd_kernel(i));
	return i;
}

static unsigned int chosen(void)
{
	void *ctx = crypt_simd_new(NULL);
	unsigned int rank;

	assert_non_null(ctx);
	rank = rank_of(crypt_simd_kernel_of(ctx));
	crypt_simd_free(ctx);
	return rank;
}

/* Whether the system says that the CPU has all of these; none of it depends on how DPDK asks the CPU. */
static bool system_says(const char *const *flags)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	static char line[16384];
	bool all = false;

	assert_non_null(f);
	while (!all && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, "flags", 5) != 0)
			continue;
		line[strcspn(line, "\n")] = ' ';
		all = true;
		for (; *flags != NULL && all; flags++) {
			char word[32];

			(void)snprintf(word, sizeof(word), " %s ", *flags);
			all = strstr(line, word) != NULL;
		}
		break;
	}
	(void)fclose(f);
	return all;
}

static const char *best_by_the_system(void)
{
#ifdef SIMD_X86
	static const char *const avx512[] = {"avx512f", "avx512bw", "avx512vl", "gfni", "aes", "vaes", "vpclmulqdq", NULL};
	static const char *const avx2[] = {"avx2", "aes", "vaes", "vpclmulqdq", NULL};
	static const char *const sse[] = {"sse4_1", "aes", "pclmulqdq", NULL};

	if (system_says(avx512))
		return "avx512";
	if (system_says(avx2))
		return "avx2";
	if (system_says(sse))
		return "sse";
#endif
	return "portable";
}

/* ---- tests ---- */

static void best_is_last(void **state)
{
	static const char *const order[] = {"portable", "sse", "avx2", "avx512"};

	(void)state;
	for (unsigned int i = 0; i < 4; i++)
		assert_string_equal(crypt_simd_kernel(i), order[i]);
	assert_null(crypt_simd_kernel(4));
}

static void best_of_those_that_run(void **state)
{
	unsigned int best = 0;

	(void)state;
	for (unsigned int i = 0; crypt_simd_kernel(i) != NULL; i++) {
		void *ctx = crypt_simd_new(crypt_simd_kernel(i));

		if (ctx == NULL) {
			assert_int_equal(errno, ENOTSUP);
			continue;
		}
		assert_string_equal(crypt_simd_kernel_of(ctx), crypt_simd_kernel(i));
		crypt_simd_free(ctx);
		best = i;
	}
	assert_int_equal(chosen(), best);
}

static void best_that_the_system_knows_of(void **state)
{
	(void)state;
	print_message("this machine's is %s\n", best_by_the_system());
	assert_string_equal(crypt_simd_kernel(chosen()), best_by_the_system());
}

#ifdef SIMD_X86
static void what_a_cpu_lacks_it_is_not_given(void **state)
{
	static const struct {
		int lacking;
		const char *best;  /* where it has all else */
	} rows[] = {
		{RTE_CPUFLAG_AVX512F, "avx2"}, {RTE_CPUFLAG_AVX512BW, "avx2"}, {RTE_CPUFLAG_AVX512VL, "avx2"}, {RTE_CPUFLAG_GFNI, "avx2"},
		{RTE_CPUFLAG_VAES, "sse"}, {RTE_CPUFLAG_VPCLMULQDQ, "sse"}, {RTE_CPUFLAG_AES, "portable"},
	};
	unsigned int here = chosen();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned int best = rank_of(rows[i].best);

		lacking = rows[i].lacking;
		assert_int_equal(chosen(), best < here ? best : here);
		errno = 0;
		if (here > best) {
			assert_null(crypt_simd_new(crypt_simd_kernel(here)));
			assert_int_equal(errno, ENOTSUP);
		}
		lacking = NOTHING;
	}
	assert_int_equal(chosen(), here);
}
#endif

static void unknown_names(void **state)
{
	(void)state;
	assert_null(crypt_simd_new("avx1024"));
	assert_int_equal(errno, EINVAL);
	assert_null(crypt_simd_new(""));
	assert_int_equal(errno, EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_is_last),
		cmocka_unit_test(best_of_those_that_run),
		cmocka_unit_test(best_that_the_system_knows_of),
#ifdef SIMD_X86
		cmocka_unit_test(what_a_cpu_lacks_it_is_not_given),
#endif
		cmocka_unit_test(unknown_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
