// An approval is a person's permission to carry out one plan, once, on one controller, until an instant, for at most an
// amount (rb-approval/1, docs/formats/approval.md). This is the document; who may sign is executor/approval/signature.h, and
// what it must agree with executor/approval/agreement.h.
#ifndef RB_EXECUTOR_APPROVAL_H
#define RB_EXECUTOR_APPROVAL_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <stdint.h>

enum {
    RB_APPROVAL_INFRAS = 32,
    RB_APPROVAL_BYTES = 64 << 10,    // of a file; the longest signatures take some KiB
    RB_APPROVAL_SIGNATURE = 8192,
    RB_APPROVAL_NONCE = 32,          // hex digits
};

enum rb_approval_kind {
    RB_APPROVAL_HMAC_SHA256, // with a key file of the user's own: stops a program that has tools only
    RB_APPROVAL_ED25519_SSH, // with an ssh key: stops a program with a shell, too, if the key is not in its reach
};

struct rb_approval {
    char plan_sha256[65];    // of the bytes of plan.json
    char job_sha256[65];     // as in the plan: of the job with every key resolved
    char workdir_sha256[65]; // of what nodes get (agreement.h)
    int64_t max_cost_uusd;
    char infra[RB_APPROVAL_INFRAS][64]; // without zones, [n_infra]
    int n_infra;
    char controller[200];    // user@host
    int64_t not_before_us, not_after_us; // Unix time, whole seconds
    char nonce[RB_APPROVAL_NONCE + 1];
    char by[128];
    enum rb_approval_kind kind;
    char signature[RB_APPROVAL_SIGNATURE]; // hmac: hex; ssh: what `ssh-keygen -Y sign` writes
};

// Strict: unknown keys are refused. The file may be hostile; every member has its form.
bool rb_approval_read(const char *path, struct rb_approval *out, struct rb_err *err);
bool rb_approval_parse(const char *name, const char *bytes, size_t n, struct rb_approval *out, struct rb_err *err);
void rb_approval_write(const struct rb_approval *a, struct rb_buf *out); // pretty, with a newline at the end
// What is signed: "rubberband-approval-v1\n" and the canonical JSON without `signature`.
void rb_approval_signed_bytes(const struct rb_approval *a, struct rb_buf *out);
// A fresh one.
void rb_approval_make_nonce(char out[static RB_APPROVAL_NONCE + 1]);

#endif
