// A machine that is full: no more open files, processes or memory for another one. That is said by errno, passes when others
// end, and is the fault of no trial and of no node.
#ifndef RB_BASE_FULL_H
#define RB_BASE_FULL_H

#include "base/err.h"

bool rb_is_full(int why); // an errno: EMFILE, ENFILE, EAGAIN (of fork), ENOMEM or ENOBUFS
// Likewise what a program of ours that was ended by it has printed last.
bool rb_says_full(const char *text);
// RB_E_MACHINE_FULL: "cannot start ssh: this machine has no ...". Returns false.
bool rb_err_set_full(struct rb_err *err, int why, const char *what);

#endif
