// Reads the user data of a launch: a `#!` script, or `#cloud-config` with the few keys listed here. Strict: another key
// is an error, and the node then never becomes reachable, as with broken user data anywhere.
//   ssh_authorized_keys: [..]   ssh_deletekeys: true   ssh_keys: {ed25519_private: .., ed25519_public: ..}
//   bootcmd: [..]   runcmd: [..]        a string is shell text, a list is one command with its arguments
//   users, disable_root                 read and ignored: a node has one account, that of rbmock's user
#ifndef RB_PROVIDERS_MOCK_USER_DATA_H
#define RB_PROVIDERS_MOCK_USER_DATA_H

#include "base/arena.h"
#include "base/errors/err.h"

#include <stdbool.h>
#include <stddef.h>

struct rb_user_data {
    const char *authorized_keys; // one a line, "" if none
    const char *host_private, *host_public; // NULL: the node makes its own
    const char *boot_script;     // bootcmd as shell text, "" if none
    const char *run_script;      // runcmd as shell text, or the script as it is, "" if none
};

// Tools that end or change a machine. A node gets substitutes for them in its PATH (node_tools.h).
extern const char *const rb_user_data_tools[]; // NULL-terminated

// Refuses text that would reach the host's tools past the node's PATH: an absolute path to one of them, an assignment
// to PATH that does not begin with $PATH, `command -p`, `env -i`. A net against accidents, not against malice.
bool rb_user_data_is_harmless(const char *text, size_t n, struct rb_err *err);

// Everything lives in the arena. Empty text is valid and says nothing.
bool rb_user_data_read(const char *text, size_t n, struct rb_arena *arena, struct rb_user_data *out,
                       struct rb_err *err);

#endif
