/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notifications to clients whose socket may be full. They are sent at once when that works; else
 * the note stays on the worker's list, counted, and is tried again. Nobody ever waits for a client.
 */
#ifndef VD_WORKER_NOTES_H
#define VD_WORKER_NOTES_H

#include "vd_internal.h"

/* One more completion notification of a queue. */
void vd_note_comp(struct vd_worker *worker, struct vd_note *note);
/* One asynchronous event; the same event twice before the client takes it is told once. */
void vd_note_async(struct vd_worker *worker, struct vd_note *note, enum ibv_event_type type);
/* Tries some of what could not be sent, now and then. */
void vd_notes_retry(struct vd_worker *worker);
void vd_note_forget(struct vd_worker *worker, struct vd_note *note);

#endif
