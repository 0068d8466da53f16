// Runs the machines behind a mock cloud's instances: real sshds, one per running instance, each on an address of its
// own, and everything that runs on them. It does not depend on clouds: it boots and ends nodes by id and reports what
// they do.
#ifndef RB_PROVIDERS_MOCK_NODES_H
#define RB_PROVIDERS_MOCK_NODES_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rb_nodes;

struct rb_nodes_config {
    const char *directory; // nodes live in DIRECTORY/<id>; must exist
    int ssh_port;
    const char *host_path; // PATH behind every node's own tools
    bool netns;            // a network namespace for every node; root only
    double speed;          // seconds of a node's clock per second
    bool keep_logs;        // boot.log and sshd.log outlive their node
};

// Claims a block of addresses and checks that this account can be logged in to; errors carry the remedy.
bool rb_nodes_create(const struct rb_nodes_config *config, struct rb_nodes **out, struct rb_err *err);
void rb_nodes_destroy(struct rb_nodes *n); // ends all nodes and returns when their last process is gone
// IPv4, host byte order; no other rbmock of this machine uses them.
void rb_nodes_addresses(const struct rb_nodes *n, uint32_t *out_first, uint32_t *out_count);

// Where nodes find their metadata service: URL/<id>.<secret>/. Those booted before know of none.
void rb_nodes_serve_metadata(struct rb_nodes *n, const char *url, const char *secret);

// Starts booting; the outcome comes as a report. Everything is copied.
void rb_nodes_boot(struct rb_nodes *n, const char *id, uint32_t address, const void *user_data, size_t user_data_len);
// Starts killing; RB_NODE_GONE follows, at once if there is nothing to kill. Repeating is harmless.
void rb_nodes_end(struct rb_nodes *n, const char *id);

// Accidents, for tests. cut, drop: only with a network namespace of its own.
enum rb_node_accident {
    RB_NODE_CUT,      // the cable is out
    RB_NODE_HEAL,
    RB_NODE_DROP,     // packets vanish silently
    RB_NODE_UNDROP,
    RB_NODE_FREEZE,   // its processes stop; the kernel still answers the connect
    RB_NODE_THAW,
    RB_NODE_POWEROFF, // gone without notice; the cloud does not notice and continues billing
};
bool rb_node_accident_parse(const char *name, enum rb_node_accident *out);
// NOT_FOUND: no such node is up. INVALID: needs a network namespace.
bool rb_nodes_accident(struct rb_nodes *n, const char *id, enum rb_node_accident accident, struct rb_err *err);

struct rb_node_report {
    enum {
        RB_NODE_READY,    // logins are answered and user data has run
        RB_NODE_FAILED,   // it will never be reachable; text says why
        RB_NODE_GONE,     // not one of its processes is left
        RB_NODE_SHUTDOWN, // requested from inside, in `minutes`
        RB_NODE_CANCEL,   // `shutdown -c`
    } what;
    char id[32];
    int minutes;
    char text[256];
};

int rb_nodes_fd(const struct rb_nodes *n); // readable when there may be a report
bool rb_nodes_next_report(struct rb_nodes *n, struct rb_node_report *out); // false: nothing more for now

#endif
