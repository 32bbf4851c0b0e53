/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a burst of packets under one key becomes work that fills the CPU. Each kernel includes this file once, after it has
 * defined, as static inline functions for its own instructions:
 *
 *	KERNEL_BULK(key)	blocks from which a run is ciphered where it is, and of which it is a multiple; 0: never
 *	kernel_stream(key, blocks, n)		ciphers @n blocks in place; may cipher up to SIMD_BATCH_MAX of slack behind
 *	kernel_bulk(key, h, nonce, counter, data, blocks, sealing)	key stream and GHASH of a run
 *	struct hash, hash_start(h, key, blocks of AAD, blocks of text and lengths, bulk), hash_blocks(h, key, data, n),
 *	hash_xor(h, key, data, stream, n, sealing)	both key stream by XOR and GHASH of the cipher text
 *	hash_finish(h, key, bits of AAD, bits of text, out)
 *
 * The texts of a burst are laid out as pieces, first (lay_*): counter blocks of everything short go one behind the other
 * into the scratch memory and are ciphered at once; then the pieces are worked through (work_*). All the blocks E(J0) of a
 * burst are in the same batch.
 */
#ifndef SIMD_ENGINE_H
#define SIMD_ENGINE_H

#include <errno.h>
#include <string.h>

#include "simd_kernel.h"

#ifndef ALWAYS_INLINE
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#endif

/* Where laying out has come to. */
struct walk {
	uint64_t left;		/* bytes of the job's text */
	uint32_t offset;
	uint32_t counter;
	uint16_t segment;
	uint8_t job;
	uint8_t started;
};

/* The job that pieces are being worked on; one may go on over several layouts. */
struct work {
	struct hash hash;
	uint8_t mask[16];	/* E(J0) */
	uint64_t text_bytes;
};

static uint64_t text_bytes(const struct crypt_job *job)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < job->n_segs; i++)
		bytes += job->segs[i].bytes;
	return bytes;
}

ALWAYS_INLINE struct simd_piece *lay_piece(struct simd_scratch *scratch, const struct walk *walk, enum simd_piece_kind kind)
{
	struct simd_piece *piece = &scratch->pieces[scratch->n_pieces++];

	piece->job = walk->job;
	piece->kind = (uint8_t)kind;
	return piece;
}

ALWAYS_INLINE void lay_counters(struct simd_scratch *scratch, struct walk *walk, const uint8_t *nonce, uint32_t n)
{
	uint8_t *block = scratch->stream[scratch->n_blocks];
	uint64_t low;
	uint32_t high;

	memcpy(&low, nonce, 8);
	memcpy(&high, nonce + 8, 4);
	scratch->n_blocks += n;
	for (uint32_t i = 0; i < n; i++, block += 16) {
		const uint64_t upper = (uint64_t)__builtin_bswap32(walk->counter++) << 32 | high;

		memcpy(block, &low, 8);
		memcpy(block + 8, &upper, 8);
	}
}

/* A block that no segment holds alone. */
ALWAYS_INLINE void lay_gather(struct simd_scratch *scratch, struct walk *walk, const struct crypt_job *job)
{
	struct simd_piece *piece = lay_piece(scratch, walk, SIMD_GATHER);
	uint32_t bytes = walk->left < 16 ? (uint32_t)walk->left : 16;

	piece->blocks = bytes;
	piece->segment = walk->segment;
	piece->counter = walk->offset;
	lay_counters(scratch, walk, job->nonce, 1);
	walk->left -= bytes;
	while (bytes > job->segs[walk->segment].bytes - walk->offset) {
		bytes -= job->segs[walk->segment].bytes - walk->offset;
		walk->segment++;
		walk->offset = 0;
	}
	walk->offset += bytes;
}

/* Whether all of the text is laid out; else the scratch memory is full. */
ALWAYS_INLINE int lay_text(struct simd_scratch *scratch, struct walk *walk, const struct crypt_job *job, uint32_t bulk)
{
	while (walk->left > 0) {
		const struct crypt_seg *seg = &job->segs[walk->segment];
		const uint32_t here = (seg->bytes - walk->offset) / 16;
		const uint32_t room = SIMD_STREAM_BLOCKS - scratch->n_blocks;
		struct simd_piece *piece;

		if (seg->bytes == walk->offset) {
			walk->segment++;
			walk->offset = 0;
			continue;
		}
		if (scratch->n_pieces == SIMD_PIECES || (room == 0 && (bulk == 0 || here < bulk)))
			return 0;
		if (here == 0) {
			lay_gather(scratch, walk, job);
			continue;
		}
		if (bulk > 0 && here >= bulk) {
			piece = lay_piece(scratch, walk, SIMD_BULK);
			piece->blocks = here - here % bulk;
			piece->counter = walk->counter;
			walk->counter += piece->blocks;
		} else {
			piece = lay_piece(scratch, walk, SIMD_RUN);
			piece->blocks = here < room ? here : room;
			lay_counters(scratch, walk, job->nonce, piece->blocks);
		}
		piece->data = seg->data + walk->offset;
		walk->offset += piece->blocks * 16;
		walk->left -= (uint64_t)piece->blocks * 16;
	}
	return 1;
}

/* Lays out as much of the jobs from @walk on as there is room for. */
ALWAYS_INLINE void lay(struct simd_scratch *scratch, struct walk *walk, struct crypt_job *jobs, unsigned int n, uint32_t bulk)
{
	scratch->n_blocks = 0;
	scratch->n_pieces = 0;
	for (; walk->job < n; walk->job++) {
		struct crypt_job *job = &jobs[walk->job];

		if (!walk->started) {
			if (scratch->n_pieces == SIMD_PIECES || scratch->n_blocks == SIMD_STREAM_BLOCKS)
				return;
			walk->left = text_bytes(job);
			if (walk->left > SIMD_TEXT_BYTES_MAX) {
				job->status = -EMSGSIZE;
				continue;
			}
			walk->segment = 0;
			walk->offset = 0;
			walk->counter = 1;
			lay_piece(scratch, walk, SIMD_START);
			lay_counters(scratch, walk, job->nonce, 1);
			walk->started = 1;
		}
		if (!lay_text(scratch, walk, job, bulk) || scratch->n_pieces == SIMD_PIECES)
			return;
		lay_piece(scratch, walk, SIMD_FINISH);
		walk->started = 0;
	}
}

/* Copies fewer than 16 bytes without a call. */
ALWAYS_INLINE void copy_short(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (bytes & 8) {
		memcpy(to, from, 8);
		to += 8;
		from += 8;
	}
	if (bytes & 4) {
		memcpy(to, from, 4);
		to += 4;
		from += 4;
	}
	if (bytes & 2) {
		memcpy(to, from, 2);
		to += 2;
		from += 2;
	}
	if (bytes & 1)
		*to = *from;
}

ALWAYS_INLINE void work_start(struct work *work, const struct crypt_key *key, const struct crypt_job *job, const uint8_t *stream)
{
	const uint32_t whole = job->aad_bytes / 16, rest = job->aad_bytes % 16;
	uint8_t last[16] = { 0 };

	work->text_bytes = text_bytes(job);
	memcpy(work->mask, stream, 16);
	hash_start(&work->hash, key, whole + (rest > 0), (work->text_bytes + 15) / 16 + 1, KERNEL_BULK(key));
	if (whole > 0)
		hash_blocks(&work->hash, key, job->aad, whole);
	if (rest > 0) {
		copy_short(last, job->aad + 16 * (size_t)whole, rest);
		hash_blocks(&work->hash, key, last, 1);
	}
}

/* The bytes of a block to or from its segments. */
static void scatter(const struct crypt_job *job, const struct simd_piece *piece, uint8_t block[16], int back)
{
	const struct crypt_seg *seg = &job->segs[piece->segment];
	uint32_t offset = piece->counter;

	for (uint32_t i = 0; i < piece->blocks; i++, offset++) {
		while (offset == seg->bytes) {
			seg++;
			offset = 0;
		}
		if (back)
			seg->data[offset] = block[i];
		else
			block[i] = seg->data[offset];
	}
}

ALWAYS_INLINE void work_gather(struct work *work, const struct crypt_key *key, const struct crypt_job *job,
	const struct simd_piece *piece, const uint8_t *stream, int sealing)
{
	const struct crypt_seg *seg = &job->segs[piece->segment];
	const int alone = piece->blocks < 16 && seg->bytes - piece->counter >= piece->blocks;
	uint8_t mask[16] = { 0 }, block[16] = { 0 };

	/* The mask has zeros behind the text, so that the block is padded with zeros on both sides of the cipher. */
	if (piece->blocks == 16)
		memcpy(mask, stream, 16);
	else
		copy_short(mask, stream, piece->blocks);
	if (alone)
		copy_short(block, seg->data + piece->counter, piece->blocks);
	else
		scatter(job, piece, block, 0);
	hash_xor(&work->hash, key, block, mask, 1, sealing);
	if (alone)
		copy_short(seg->data + piece->counter, block, piece->blocks);
	else
		scatter(job, piece, block, 1);
}

static void wipe_text(const struct crypt_job *job)
{
	for (unsigned int i = 0; i < job->n_segs; i++)
		if (job->segs[i].bytes > 0)
			explicit_bzero(job->segs[i].data, job->segs[i].bytes);
}

ALWAYS_INLINE int work_finish(struct work *work, const struct crypt_key *key, struct crypt_job *job, int sealing)
{
	uint64_t tag[2], mask[2], given[2];

	hash_finish(&work->hash, key, (uint64_t)job->aad_bytes * 8, work->text_bytes * 8, (uint8_t *)tag);
	memcpy(mask, work->mask, 16);
	tag[0] ^= mask[0];
	tag[1] ^= mask[1];
	job->status = 0;
	if (sealing) {
		memcpy(job->tag, tag, 16);
		return 1;
	}
	memcpy(given, job->tag, 16);
	/* one look at all the bits: how many are right stays unknown */
	if (((tag[0] ^ given[0]) | (tag[1] ^ given[1])) == 0)
		return 1;
	job->status = -EBADMSG;
	wipe_text(job);
	return 0;
}

/* Works through the pieces. Returns how many jobs are done with status 0. */
ALWAYS_INLINE unsigned int work_pieces(const struct simd_scratch *scratch, struct work *work, const struct crypt_key *key,
	struct crypt_job *jobs, int sealing)
{
	const uint8_t *stream = scratch->stream[0];
	unsigned int good = 0;

	for (unsigned int i = 0; i < scratch->n_pieces; i++) {
		const struct simd_piece *piece = &scratch->pieces[i];
		struct crypt_job *job = &jobs[piece->job];

		switch (piece->kind) {
		case SIMD_START:
			work_start(work, key, job, stream);
			stream += 16;
			break;
		case SIMD_RUN:
			hash_xor(&work->hash, key, piece->data, stream, piece->blocks, sealing);
			stream += 16 * (size_t)piece->blocks;
			break;
		case SIMD_GATHER:
			work_gather(work, key, job, piece, stream, sealing);
			stream += 16;
			break;
		case SIMD_BULK:
			kernel_bulk(key, &work->hash, job->nonce, piece->counter, piece->data, piece->blocks, sealing);
			break;
		default:
			good += (unsigned int)work_finish(work, key, job, sealing);
		}
	}
	return good;
}

ALWAYS_INLINE unsigned int group(struct simd_scratch *scratch, struct crypt_job *jobs, unsigned int n, int sealing)
{
	const struct crypt_key *key = jobs[0].key;
	struct walk walk = { .job = 0 };
	struct work work = { .text_bytes = 0 };
	unsigned int good = 0;

	while (walk.job < n) {
		lay(scratch, &walk, jobs, n, KERNEL_BULK(key));
		kernel_stream(key, scratch->stream[0], scratch->n_blocks);
		good += work_pieces(scratch, &work, key, jobs, sealing);
	}
	return good;
}

static unsigned int engine_seal(struct simd_scratch *scratch, struct crypt_job *jobs, unsigned int n)
{
	return group(scratch, jobs, n, 1);
}

static unsigned int engine_open(struct simd_scratch *scratch, struct crypt_job *jobs, unsigned int n)
{
	return group(scratch, jobs, n, 0);
}

#endif
