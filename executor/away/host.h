// Another host on which a controller may live: what its name is, and how it is asked. One ssh for every question, by the
// user's own ssh configuration, keys and known hosts; no password is ever asked. A machine that ssh does not reach is asked
// by the transport of its provider's nodes.
#ifndef RB_EXECUTOR_HOST_H
#define RB_EXECUTOR_HOST_H

#include "base/errors/err.h"
#include "base/text/buf.h"

#include <stdbool.h>

struct rb_transport;

enum { RB_HOST_LACKS_PROGRAM = 199 }; // exit code of verbs that need it: send it, then ask again

struct rb_host {
    char name[320];             // "ssh:me@box:2222"
    char address[256], port[8]; // "me@box"; "": ssh's own
    // A machine that was made for a run: the folder of its keys and known_hosts, and its name there. "": ssh's own.
    char keys[4352], alias[128];
    const struct rb_transport *by; // NULL: ssh
    char infra[64], run_id[128], shared_dir[1024], context[256], namespace[64]; // by: what it needs to know
};

// "ssh:[USER@]HOST[:PORT]". Other places are refused, with what to do instead.
bool rb_host_parse(const char *text, struct rb_host *out, struct rb_err *err);

struct rb_host_call {
    const char *const *words; // a verb of host.sh and its arguments, [n_words]
    int n_words;
    int input_fd;     // what the verb reads; -1: an input that ends with this process, by another way than ssh an empty one
    bool on_terminal; // it gets our terminal, where ssh is the way
    bool compress;
    bool quiet;       // what ssh and the verb say on stderr is dropped
    struct rb_buf *out; // NULL: output_fd, 0: our stdout
    int output_fd;
    size_t max_output_bytes;
};
// *out_code: of the verb. stderr is ours. Errors: HOST_UNREACHABLE, HOST_FAILED.
bool rb_host_call(const struct rb_host *host, const struct rb_host_call *call, int *out_code, struct rb_err *err);

// A file in memory that holds these bytes, at its beginning; -1: the system has no room.
int rb_memory_file(const void *bytes, size_t n);

#endif
