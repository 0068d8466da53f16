// Runs the credential_process command of an AWS profile, without a shell.
#ifndef RB_PROVIDERS_CREDENTIAL_PROCESS_H
#define RB_PROVIDERS_CREDENTIAL_PROCESS_H

#include "base/text/buf.h"
#include "base/errors/err.h"

// Runs the command and returns its stdout; its stderr is ours. Words are split as a POSIX shell splits them (quotes and
// backslashes), nothing is expanded. Blocks for at most a minute. Owns: the output may hold secrets, wipe it.
bool rb_credential_process_run(const char *command, struct rb_buf *out, struct rb_err *err);

#endif
