// Provides what nodes need from the machine they share: a block of loopback addresses, an account that can be logged in
// to, sshd's own directory.
#ifndef RB_PROVIDERS_MOCK_NODE_HOST_H
#define RB_PROVIDERS_MOCK_NODE_HOST_H

#include "base/errors/err.h"

#include <stdint.h>

// Claims 127.K.0.0/16 for this process, K the smallest free one: *out_lock is a socket bound to 127.K.0.1, to be kept.
bool rb_node_host_claim(int ssh_port, uint32_t *out_first, uint32_t *out_count, int *out_lock, struct rb_err *err);
// sshd is installed, its privilege separation directory exists (made if we are root), and this user's account is
// neither locked nor without a shell. Nothing of an account is ever changed.
bool rb_node_host_check(struct rb_err *err);

#endif
