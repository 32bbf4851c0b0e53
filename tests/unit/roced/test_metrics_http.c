/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests for metrics (RFC 9112): right ones, wrong ones, those that come in pieces, and bytes that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "metrics_http.h"

#define HOST "Host: localhost:9464\r\n\r\n"

/* In memory of its own, so that sanitizers see who reads behind it. */
static int parse(const char *text, size_t n, bool *head)
{
	char *copy = malloc(n != 0 ? n : 1);
	int status;

	memcpy(copy, text, n);
	status = metrics_http_parse(copy, n, head);
	free(copy);
	return status;
}

static int status_of(const char *text)
{
	bool head;

	return parse(text, strlen(text), &head);
}

static void test_right(void **state)
{
	bool head;

	(void)state;
	assert_int_equal(status_of("GET /metrics HTTP/1.1\r\n" HOST), 200);
	assert_int_equal(status_of("GET /metrics HTTP/1.0\r\n\r\n"), 200);
	assert_int_equal(status_of("GET /metrics?name[]=x HTTP/1.1\r\n" HOST), 200);
	assert_int_equal(status_of("GET http://localhost:9464/metrics HTTP/1.1\r\n" HOST), 200);
	assert_int_equal(status_of("\r\nGET /metrics HTTP/1.1\r\n" HOST), 200);
	assert_int_equal(status_of("GET /metrics HTTP/1.1\nHost:\n\n"), 200);
	assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nAccept: */*\r\nhOsT: x\r\nX:\r\n\r\nbody"), 200);
	assert_int_equal(parse("HEAD /metrics HTTP/1.1\r\n" HOST, strlen("HEAD /metrics HTTP/1.1\r\n" HOST), &head), 200);
	assert_true(head);
}

static void test_wrong(void **state)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{"GET / HTTP/1.1\r\n" HOST, 404},
		{"GET /metrics/ HTTP/1.1\r\n" HOST, 404},
		{"GET /metric HTTP/1.1\r\n" HOST, 404},
		{"GET /METRICS HTTP/1.1\r\n" HOST, 404},
		{"GET http://localhost HTTP/1.1\r\n" HOST, 404},
		{"GET http:///x HTTP/1.1\r\n" HOST, 404},
		{"GET * HTTP/1.1\r\n" HOST, 404},
		{"POST /metrics HTTP/1.1\r\n" HOST, 405},
		{"get /metrics HTTP/1.1\r\n" HOST, 405},
		{"GET /metrics HTTP/2.0\r\n" HOST, 505},
		{"GET /metrics HTTP/0.9\r\n" HOST, 505},
		{"GET /metrics\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		{"GET  /metrics HTTP/1.1\r\n" HOST, 400},
		{"GET /metrics  HTTP/1.1\r\n" HOST, 400},
		{"GET /metrics HTTP/1.1 \r\n" HOST, 400},
		{" GET /metrics HTTP/1.1\r\n" HOST, 400},
		{"G\tT /metrics HTTP/1.1\r\n" HOST, 400},
		{"GET /met\x01rics HTTP/1.1\r\n" HOST, 400},
		{"GET /metrics HTTP/1.x\r\n" HOST, 400},
		{"GET /metrics HTTP/11\r\n" HOST, 400},
		{"GET /metrics ICAP/1.0\r\n" HOST, 400},
		{"GET /metrics HTTP/1.1\r\nHost : x\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\nHost: x\r\n: nameless\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\nHost: x\x02\r\n\r\n", 400},
		{"GET /metrics HTTP/1.1\r\nHost: x\ry\r\n\r\n", 400},
		{"\n", 400},
		{"\r\n\r\n", 400},
		{"\x16\x03\x01\x02\n\n", 400},
		{"  \n\n", 400},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (status_of(cases[i].text) != cases[i].status)
			fail_msg("case %zu: %d in place of %d", i, status_of(cases[i].text), cases[i].status);
	}
}

/* Zeros are no end of anything. */
static void test_zeros(void **state)
{
	static const char text[] = "GET /metrics\0 HTTP/1.1\r\nHost: x\r\n\r\n", field[] = "GET /metrics HTTP/1.1\r\nHo\0st: x\r\n\r\n";
	bool head;

	(void)state;
	assert_int_equal(parse(text, sizeof(text) - 1, &head), 400);
	assert_int_equal(parse(field, sizeof(field) - 1, &head), 400);
}

static void test_pieces(void **state)
{
	static const char text[] = "GET /metrics HTTP/1.1\r\n" HOST;
	bool head;

	(void)state;
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		assert_int_equal(parse(text, n, &head), 0);
	assert_int_equal(parse(text, sizeof(text) - 1, &head), 200);
}

static void test_too_long(void **state)
{
	char text[METRICS_HTTP_REQUEST_BYTES + 1];
	bool head;

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(parse(text, METRICS_HTTP_REQUEST_BYTES - 1, &head), 0);
	assert_int_equal(parse(text, METRICS_HTTP_REQUEST_BYTES, &head), 414);
	memcpy(text, "GET /metrics HTTP/1.1\r\nX: ", 26);
	assert_int_equal(parse(text, METRICS_HTTP_REQUEST_BYTES - 1, &head), 0);
	assert_int_equal(parse(text, METRICS_HTTP_REQUEST_BYTES, &head), 431);
}

/* Whatever comes, it is answered with one of these, and nothing is read that did not come. */
static void test_random(void **state)
{
	static const char *const words[] = {"GET", "HEAD", " ", "/metrics", "?", "HTTP/1.1", "HTTP/1.0", "\r\n", "\n", "\r", "Host", ":", "x",
		"http://", "/", "\t", "\x80", "", "POST"};
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		char text[256];
		size_t n = 0;
		bool head;
		int status;

		for (int k = 0; k < 16; k++) {
			const char *word;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			word = words[(seed >> 33) % (sizeof(words) / sizeof(words[0]))];
			memcpy(text + n, word, strlen(word));
			n += strlen(word);
		}
		status = parse(text, n, &head);
		assert_true(status == 0 || status == 200 || status == 400 || status == 404 || status == 405 || status == 505);
	}
}

static void test_answers(void **state)
{
	static const int statuses[] = {200, 400, 404, 405, 414, 431, 503, 505, 999};
	char header[METRICS_HTTP_HEADER_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		size_t n = metrics_http_answer(header, statuses[i], false, "text/x", 12345), body, length;
		const char *end = strstr(header, "\r\n\r\n"), *field = strstr(header, "\r\nContent-Length: ");
		int status;

		assert_true(n == strlen(header) && n < METRICS_HTTP_HEADER_BYTES && end != NULL && field != NULL);
		assert_int_equal(sscanf(header, "HTTP/1.1 %d ", &status), 1);
		assert_int_equal(status, statuses[i]);
		assert_int_equal(sscanf(field, "\r\nContent-Length: %zu\r\n", &length), 1);
		body = n - (size_t)(end + 4 - header);
		assert_int_equal(statuses[i] == 200 ? 0 : length, body);
		assert_true(statuses[i] != 200 || length == 12345);
		assert_int_equal(strstr(header, "\r\nAllow: GET, HEAD\r\n") != NULL, statuses[i] == 405);
		n = metrics_http_answer(header, statuses[i], true, "text/x", 12345);
		assert_memory_equal(header + n - 4, "\r\n\r\n", 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_zeros),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
