// Carries commands in pods over WebSockets: the channels of v4 and v5.channel.k8s.io between a client's connection and
// the pipes of a process. A client that goes ends nothing: its command gets the end of stdin, and what it prints is
// thrown away.
#ifndef RB_PROVIDERS_MOCK_EXEC_STREAMS_H
#define RB_PROVIDERS_MOCK_EXEC_STREAMS_H

#include "providers/mock/k8s/mock_k8s.h"

#include <microhttpd.h>

struct rb_exec_streams;

struct rb_exec_streams *rb_exec_streams_create(struct rb_pods *pods);
// Closes every connection; before the daemon stops, which waits for them.
void rb_exec_streams_destroy(struct rb_exec_streams *all);

// Starts the command. Takes over exec, and the connection until rb_exec_streams gives `handle` back. bytes: what the
// client sent behind its request.
void rb_exec_streams_begin(struct rb_exec_streams *all, struct rb_k8s_exec *exec, int fd, const char *bytes, size_t n,
                           struct MHD_UpgradeResponseHandle *handle);
// RB_POD_EXEC_ENDED, RB_POD_EXEC_FAILED
void rb_exec_streams_report(struct rb_exec_streams *all, const struct rb_pod_report *r);

// Has a connection been given back since the last call? The daemon closes it when it runs next, and wakes no thread for it.
bool rb_exec_streams_have_let_go(struct rb_exec_streams *all);

int rb_exec_streams_fd(const struct rb_exec_streams *all); // readable when there is something to do
void rb_exec_streams_run(struct rb_exec_streams *all);

#endif
