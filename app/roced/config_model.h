/* SPDX-License-Identifier: BSD-3-Clause */
/* The learned controller's model, which a configuration or a scenario names. */
#ifndef CONFIG_MODEL_H
#define CONFIG_MODEL_H

#include "cc_model.h"
#include "config_read.h"

/* Reads the model in the file name, which counts from the folder of the reader's own file, and which key gave.
 * config_error() tells what is wrong, with the model's line; *model has no meaning then. */
void config_load_model(struct config_reader *reader, const char *key, const char *name, struct cc_model *model);

#endif
