// Who may approve. Two kinds of signatures:
//   hmac-sha256   with the key file of this user, mode 0600: $RB_APPROVAL_KEY_FILE, else ~/.config/rubberband/approval.key.
//                 Signing makes the file if there is none.
//   ed25519-ssh   by `ssh-keygen -Y`, namespace rubberband-approval, with a key that allowed_signers names:
//                 /etc/rubberband/allowed_signers if it exists, else $RB_APPROVAL_SIGNERS, else
//                 ~/.config/rubberband/allowed_signers. Where there is such a file, an hmac-sha256 counts for nothing.
#ifndef RB_EXECUTOR_APPROVAL_SIGNATURE_H
#define RB_EXECUTOR_APPROVAL_SIGNATURE_H

#include "executor/approval/approval.h"

#include <stdbool.h>

// Fills kind and signature. ssh_key NULL: hmac-sha256; else the path of a private key, or of a public one whose private half
// ssh-agent or a token holds. Errors: APPROVAL_KEY, CREDENTIALS_OPEN (others may read the key file).
bool rb_approval_sign(struct rb_approval *a, const char *ssh_key, struct rb_err *err);
// APPROVAL_SIGNATURE: it was not made by one who may approve, or what was signed has changed since.
bool rb_approval_verify(const struct rb_approval *a, struct rb_err *err);

#endif
