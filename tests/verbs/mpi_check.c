// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sends, reduces and exchanges between all ranks and checks every value that arrives: messages of
 * sizes around the limits of the eager, rendezvous and segmented protocols of MPI libraries.
 *
 * Prints "mpi_check: N ranks, no errors" on rank 0; exit status 1 when any value was wrong.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_WORDS (1 << 18)
#define ROUNDS	  3

static const int words_of[] = {0, 1, 3, 250, 256, 1024, 4097, 20000, MAX_WORDS};
#define SIZES ((int)(sizeof(words_of) / sizeof(words_of[0])))

static long errors;

static uint32_t value(int from, int to, int round, int at)
{
	return (uint32_t)(from * 1000003 + to * 10007 + round * 101 + at);
}

static void fill(uint32_t *v, int words, int from, int to, int round)
{
	for (int i = 0; i < words; i++)
		v[i] = value(from, to, round, i);
}

static void expect(const char *what, const uint32_t *v, int words, int from, int to, int round)
{
	for (int i = 0; i < words; i++) {
		if (v[i] == value(from, to, round, i))
			continue;
		fprintf(stderr, "%s %d -> %d, word %d of %d: %u, not %u\n", what, from, to, i, words, v[i],
			value(from, to, round, i));
		errors++;
		return;
	}
}

/* Each rank with its neighbours in a ring; both directions are under way at once. */
static void check_ring(int rank, int ranks, uint32_t *out, uint32_t *in, int words, int round)
{
	int next = (rank + 1) % ranks, prev = (rank + ranks - 1) % ranks;
	MPI_Request req[2];
	MPI_Status status[2];
	int got;

	fill(out, words, rank, next, round);
	MPI_Irecv(in, words, MPI_UINT32_T, prev, round, MPI_COMM_WORLD, &req[0]);
	MPI_Isend(out, words, MPI_UINT32_T, next, round, MPI_COMM_WORLD, &req[1]);
	MPI_Waitall(2, req, status);
	MPI_Get_count(&status[0], MPI_UINT32_T, &got);
	errors += got != words;
	expect("send", in, words, prev, rank, round);
}

/* Rank 0 to each other one and back, one message at a time. */
static void check_pairs(int rank, int ranks, uint32_t *buf, int words, int round)
{
	for (int peer = 1; peer < ranks; peer++) {
		if (rank == 0) {
			fill(buf, words, 0, peer, round);
			MPI_Send(buf, words, MPI_UINT32_T, peer, 7, MPI_COMM_WORLD);
			MPI_Recv(buf, words, MPI_UINT32_T, peer, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			expect("answer", buf, words, peer, 0, round);
		} else if (rank == peer) {
			MPI_Recv(buf, words, MPI_UINT32_T, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			expect("request", buf, words, 0, peer, round);
			fill(buf, words, peer, 0, round);
			MPI_Send(buf, words, MPI_UINT32_T, 0, 8, MPI_COMM_WORLD);
		}
	}
}

static void check_allreduce(int rank, int ranks, uint32_t *out, uint32_t *in, int words, int round)
{
	fill(out, words, rank, 0, round);
	MPI_Allreduce(out, in, words, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < words; i++) {
		uint32_t sum = 0;

		for (int r = 0; r < ranks; r++)
			sum += value(r, 0, round, i);
		errors += in[i] != sum;
	}
}

static void check_alltoall(int rank, int ranks, uint32_t *out, uint32_t *in, int words, int round)
{
	words /= ranks;
	for (int r = 0; r < ranks; r++)
		fill(out + r * words, words, rank, r, round);
	MPI_Alltoall(out, words, MPI_UINT32_T, in, words, MPI_UINT32_T, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		expect("alltoall", in + r * words, words, r, rank, round);
}

int main(int argc, char **argv)
{
	uint32_t *out = calloc(MAX_WORDS, sizeof(*out)), *in = calloc(MAX_WORDS, sizeof(*in));
	long all = 1;
	int rank, ranks;

	if (out == NULL || in == NULL)
		return 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SIZES; i++) {
			check_ring(rank, ranks, out, in, words_of[i], round);
			check_pairs(rank, ranks, out, words_of[i], round);
			check_allreduce(rank, ranks, out, in, words_of[i], round);
			check_alltoall(rank, ranks, out, in, words_of[i], round);
		}
	}
	MPI_Allreduce(&errors, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0 && all == 0)
		printf("mpi_check: %d ranks, no errors\n", ranks);
	MPI_Finalize();
	free(out);
	free(in);
	return all != 0;
}
