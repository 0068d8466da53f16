// Explains ssh's error messages: what is wrong and what helps.
#ifndef RB_EXECUTOR_SSH_TROUBLE_H
#define RB_EXECUTOR_SSH_TROUBLE_H

#include "base/buf.h"

#include <stdbool.h>

// One sentence, no dot at its end: the last line of what ssh said on stderr (sanitised), then what to do about it,
// where that is known.
void rb_ssh_trouble_text(const char *said, struct rb_buf *out);
// May it pass while a node boots? A wrong key or user does not.
bool rb_ssh_trouble_passes(const char *said);

#endif
