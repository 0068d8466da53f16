// This program as an archive that runs elsewhere: bin/rbrun, and in lib/ every shared library that it has loaded but
// glibc's. The same program gives the same bytes.
#ifndef RB_EXECUTOR_PROGRAM_H
#define RB_EXECUTOR_PROGRAM_H

#include "base/errors/err.h"
#include "base/text/buf.h"

// out: a tar. out_digest: its sha256.
bool rb_program_pack(struct rb_buf *out, char out_digest[static 65], struct rb_err *err);

#endif
