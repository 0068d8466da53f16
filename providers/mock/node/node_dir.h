// Creates the directory that is an instance's whole machine: its home, its /run, its tools, its sshd's keys and
// configuration.
//
//   DIR/home            HOME of user data and of every session
//   DIR/run/rb          RB_RUN_DIR, what /run/rb is on a real node
//   DIR/bin             first in PATH: substitutes for shutdown, systemctl, apt-get, ... (node_tools.c)
//   DIR/session         what sshd runs instead of a command; it sets up the environment and runs the command
//   DIR/boot.log        what user data printed, and calls of the substitutes
//   DIR/no-bus          there while bootcmd runs: a real machine's D-Bus is not up yet
//   DIR/control         a FIFO by which the node requests the end of its instance
#ifndef RB_PROVIDERS_MOCK_NODE_DIR_H
#define RB_PROVIDERS_MOCK_NODE_DIR_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "providers/mock/node/user_data.h"

#include <stdint.h>

struct rb_node_dir {
    const char *root, *home, *run, *bin, *tmp;
    const char *boot_log, *sshd_log, *control, *sshd_config, *boot_script, *run_script;
    const char *id;      // the instance
    const char *metadata_url; // of its metadata service, NULL: none
    const char *path;    // PATH inside the node
    const char *no_bus;  // DIR/no-bus
    const char *clock_permille; // how fast the node's clock runs, in thousandths; NULL: as the host's
    const char *address; // dotted
    int ssh_port;
    bool has_boot_script, has_run_script;
};

// Paths only; strings live in the arena. host_path is the PATH behind DIR/bin.
struct rb_node_dir rb_node_dir_name(const char *parent, const char *id, uint32_t address, int ssh_port,
                                    const char *host_path, struct rb_arena *arena);
// Makes everything but the host key, which ssh-keygen makes at boot when user data brought none.
bool rb_node_dir_make(struct rb_node_dir *d, const struct rb_user_data *user_data, struct rb_err *err);
void rb_node_dir_log(const struct rb_node_dir *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// Removes the disk: all but boot.log and sshd.log, these too unless keep_logs.
void rb_node_dir_remove(const struct rb_node_dir *d, bool keep_logs);

// The script behind every substitute (node_tools.c), for the node in `root`.
void rb_node_tools_write(const char *root, struct rb_buf *out);

#endif
