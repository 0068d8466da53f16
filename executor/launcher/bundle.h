// Packs the work directory and the node script into one archive, once per run, for every node.
#ifndef RB_EXECUTOR_BUNDLE_H
#define RB_EXECUTOR_BUNDLE_H

#include "base/errors/err.h"

#include <stddef.h>

// <run_dir>/bundle.tar with "node" and "work/..."; .rbignore of the work directory is honoured (tar patterns). Kept if
// it exists already. out_digest: its sha256.
bool rb_bundle_make(const char *run_dir, const char *workdir, char *out_path, size_t path_size, char out_digest[65],
                    struct rb_err *err);

#endif
