/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks through the text before libconfig does, for what libconfig (1.5) does not tell of: it cuts numbers that
 * do not fit 32 bits (64 with an L), and a directory given as an include file ends the process.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config_read.h"

#define INCLUDE     "@include"
#define WORD_BYTES  128

struct text {
	struct config_reader *reader;
	struct config_at at;
	FILE *file;
	uint32_t *n_files;
};

static void check_file(struct config_reader *reader, const struct config_at *from, const char *path,
	uint32_t *n_files);

/* Steps over the rest of a comment or text, whose first characters are gone; counts lines. */
static void skip_until(struct text *text, const char *end)
{
	bool is_text = end[0] == '"';
	int c, before = 0;

	while ((c = fgetc(text->file)) != EOF) {
		if (c == '\n')
			text->at.line++;
		if (is_text && c == '\\') {
			if (fgetc(text->file) == '\n')
				text->at.line++;
			continue;
		}
		if (end[1] == '\0' ? c == end[0] : before == end[0] && c == end[1])
			return;
		before = c;
	}
}

/* The rest of a word that began with first; what does not fit is left out. */
static void take_word(struct text *text, int first, const char *more, char word[WORD_BYTES])
{
	size_t n = 0;
	int c = first;

	do {
		if (n < WORD_BYTES - 1)
			word[n++] = (char)c;
		c = fgetc(text->file);
	} while (c != EOF && (isalnum(c) || strchr(more, c) != NULL));
	word[n] = '\0';
	ungetc(c, text->file);
}

static void check_number(struct text *text, const char *word)
{
	bool hex = word[0] == '0' && (word[1] == 'x' || word[1] == 'X'), is_long;
	unsigned long long value, most;
	char *end;

	errno = 0;
	value = strtoull(word, &end, hex ? 16 : 10);
	is_long = *end == 'L';
	if (end == word || (*end != '\0' && !is_long))
		return; /* a fraction, or what the parser will complain of */
	most = is_long ? (hex ? UINT64_MAX : INT64_MAX) : (hex ? UINT32_MAX : INT32_MAX);
	if (errno == 0 && value <= most)
		return;
	if (errno == 0 && !is_long && value <= INT64_MAX)
		config_error(text->reader, &text->at, "%s: a number above %llu needs an L at its end", word, most);
	else
		config_error(text->reader, &text->at, "%s: no number may be so large", word);
}

static void include(struct text *text)
{
	char path[CONFIG_TEXT_BYTES];
	size_t n = 0;
	int c;

	while ((c = fgetc(text->file)) == ' ' || c == '\t')
		;
	if (c != '"') {
		ungetc(c, text->file);
		return; /* the parser says so */
	}
	while ((c = fgetc(text->file)) != EOF && c != '"' && c != '\n' && n < sizeof(path) - 1)
		path[n++] = (char)c;
	path[n] = '\0';
	if (c == '\n')
		ungetc(c, text->file);
	if (n != 0)
		check_file(text->reader, &text->at, path, text->n_files);
}

static void scan(struct text *text)
{
	char word[WORD_BYTES];
	int c, next;

	while ((c = fgetc(text->file)) != EOF) {
		if (c == '\n') {
			text->at.line++;
		} else if (c == '"') {
			skip_until(text, "\"");
		} else if (c == '#') {
			skip_until(text, "\n");
		} else if (c == '/') {
			next = fgetc(text->file);
			if (next == '/' || next == '*')
				skip_until(text, next == '/' ? "\n" : "*/");
		} else if (isdigit(c) || c == '.') {
			take_word(text, c, ".", word);
			check_number(text, word);
		} else if (isalpha(c) || c == '*' || c == '@') {
			take_word(text, c, "-_*", word);
			if (!strcmp(word, INCLUDE))
				include(text);
		}
	}
}

/* from: where the file is named, line 0 for the first one. */
static void check_file(struct config_reader *reader, const struct config_at *from, const char *path,
	uint32_t *n_files)
{
	const uint32_t most = CONFIG_MAX_FILES;
	struct text text = {.reader = reader, .at = {.file = path, .line = 1}, .n_files = n_files};
	const char *why = NULL;
	struct stat st;

	if (++*n_files > most) {
		if (*n_files == most + 1)
			config_error(reader, from, "too many files are included, %u may be", most - 1);
		return;
	}
	if (stat(path, &st) != 0 || access(path, R_OK) != 0)
		why = strerror(errno);
	else if (S_ISDIR(st.st_mode))
		why = "it is a directory";
	if (why != NULL) {
		config_error(reader, from, "%s%scannot read: %s", from->line != 0 ? path : "",
			from->line != 0 ? ": " : "", why);
		return;
	}
	/* What comes through a pipe can be read only once. */
	text.file = S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
	if (text.file == NULL)
		return;
	scan(&text);
	fclose(text.file);
}

void config_text_check(struct config_reader *reader)
{
	uint32_t n_files = 0;

	check_file(reader, &(struct config_at){0}, reader->path, &n_files);
}
