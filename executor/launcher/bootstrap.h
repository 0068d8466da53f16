// Writes the user data of a node: the run's ssh key, a host key known beforehand, the dead man's switch. It is
// #cloud-config with exactly the keys ssh_authorized_keys, ssh_deletekeys, ssh_keys, bootcmd, runcmd.
#ifndef RB_EXECUTOR_BOOTSTRAP_H
#define RB_EXECUTOR_BOOTSTRAP_H

#include "base/text/buf.h"
#include "base/errors/err.h"

#include <stdint.h>

struct rb_host_key {
    char private_pem[1024];  // wiped by the caller after use
    char public_line[128];   // "ssh-ed25519 AAAA..."
};

// <run_dir>/keys/id_ed25519 (0600) and .pub; kept if they exist.
bool rb_bootstrap_run_key(const char *run_dir, char out_public[static 256], struct rb_err *err);
// One-time host key of one node, by ssh-keygen in a private directory. The private half goes into user-data only.
bool rb_bootstrap_host_key(struct rb_host_key *out, struct rb_err *err);
// hard_limit_min: after every boot the node's switch is set to end it after this many minutes (node_switch.h). Only a
// heartbeat that reads the switch back shows whether it is armed.
bool rb_bootstrap_user_data(const char *run_public_key, const struct rb_host_key *host, int64_t hard_limit_min,
                            struct rb_buf *out, struct rb_err *err);

#endif
