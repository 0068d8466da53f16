// Explains ssh's error messages: the cause and the remedy.
#ifndef RB_EXECUTOR_SSH_TROUBLE_H
#define RB_EXECUTOR_SSH_TROUBLE_H

#include "base/text/buf.h"

#include <stdbool.h>

// Appends one sentence without a full stop: the last line of ssh's stderr (sanitised), then what to do about it, where
// that is known.
void rb_ssh_trouble_text(const char *said, struct rb_buf *out);
// Can it be temporary while a node boots? A wrong key or user is not.
bool rb_ssh_trouble_passes(const char *said);

#endif
