// Recognises a full machine: one that has no open files, processes or memory left. errno reports it, it passes when other
// processes end, and no trial or node is to blame.
#ifndef RB_BASE_FULL_H
#define RB_BASE_FULL_H

#include "base/errors/err.h"

bool rb_is_full(int why); // an errno: EMFILE, ENFILE, EAGAIN (of fork), ENOMEM or ENOBUFS
// The same of the last output of a program that we started: did it end because the machine was full?
bool rb_says_full(const char *text);
// What the disk that it wrote to lacks, in strerror's words: it is full, over its quota, read-only or broken. NULL: it does
// not say so.
const char *rb_says_disk_fails(const char *text);
// RB_E_MACHINE_FULL: "cannot start ssh: this machine has no ...". Returns false.
bool rb_err_set_full(struct rb_err *err, int why, const char *what);

#endif
