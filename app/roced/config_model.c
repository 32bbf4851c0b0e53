/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its name as seen from where the program was started. */
static void model_path(const struct config_reader *reader, const char *name, char *path, size_t path_bytes)
{
	const char *slash = strrchr(reader->path, '/');
	int folder = slash != NULL && name[0] != '/' ? (int)(slash - reader->path) + 1 : 0;

	(void)snprintf(path, path_bytes, "%.*s%s", folder, reader->path, name);
}

/* The text of a file, one byte more than a model may have at most; NULL, errno: it cannot be read. */
static char *read_text(const char *path, size_t *bytes)
{
	char *text = malloc(CC_MODEL_TEXT_MAX + 1);
	FILE *file = text != NULL ? fopen(path, "re") : NULL;
	int error;

	if (file == NULL)
		goto fail;
	*bytes = fread(text, 1, CC_MODEL_TEXT_MAX + 1, file);
	if (ferror(file))
		goto fail;
	fclose(file);
	return text;
fail:
	error = errno;
	if (file != NULL)
		fclose(file);
	free(text);
	errno = error;
	return NULL;
}

void config_load_model(struct config_reader *reader, const char *key, const char *name, struct cc_model *model)
{
	char path[CONFIG_TEXT_BYTES + 4096], *text;
	struct config_at at = {0};
	struct cc_model_error error;
	size_t bytes;

	if (name[0] == '\0') {
		config_error(reader, &at, "%s: is missing, must be the file of a model as tools/train-cc writes it", key);
		return;
	}
	model_path(reader, name, path, sizeof(path));
	at.file = path;
	text = read_text(path, &bytes);
	if (text == NULL) {
		config_error(reader, &at, "cannot read: %s", strerror(errno));
		return;
	}
	if (cc_model_parse(model, text, bytes, &error) != 0) {
		at.line = error.line;
		config_error(reader, &at, "%s", error.what);
	}
	free(text);
}
