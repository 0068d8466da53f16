// Runs a program that prints a credential.
#ifndef RB_PROVIDERS_CHILD_ANSWER_H
#define RB_PROVIDERS_CHILD_ANSWER_H

#include "base/errors/err.h"
#include "base/text/buf.h"

struct rb_child_question {
    const char *setting;       // what names the program, for messages: "credential_process"
    const char *const *argv;   // NULL-terminated; argv[0] is looked up in PATH
    char *const *env;
};

// Returns its stdout, at most 64 KiB; its stderr is ours, its stdin empty. Blocks for at most a minute. Owns: the output
// may hold secrets, wipe it. Errors: RB_E_CREDENTIAL_PROCESS, RB_E_PROGRAM.
bool rb_child_answer(const struct rb_child_question *q, struct rb_buf *out, struct rb_err *err);

#endif
