// The container of a node, where the job names an image: one a node, as a pod is, with everything that is the job's in it
// and nothing that is ours: the bundle arrives, heartbeats are sent and the dead man's switch watches outside. Commands enter
// it by exec, so set-up, trials and their ends are what they are without one. How: container.sh.
#ifndef RB_EXECUTOR_CONTAINER_H
#define RB_EXECUTOR_CONTAINER_H

#include "base/text/buf.h"

struct rb_container {
    const char *run_id;
    int node;
    const char *image;   // with its digest, or the id of one that is there
    int gpus;            // of the node; 0: it gets none
    const char *data;    // a folder of the node that it sees at the same path, if there is one there; NULL: none
    const char *engines; // that may run it, in order: "podman docker"
};

enum { RB_CONTAINER_NO_ENGINE = 3 }; // exit code of `ready` where none is installed

// Command lines for the node's shell in its home; they may be repeated.
// Makes the container ready: the image is pulled, it runs. Its input: user and password, a line each, or nothing.
void rb_container_ready(const struct rb_container *c, struct rb_buf *out);
// The same command line, in the container.
void rb_container_enter(const char *run_id, const char *remote, struct rb_buf *out);
// Ends the containers of a run on this machine, with everything that runs in them, and waits for that. Clouds' machines take
// theirs with them. How many there were.
int rb_container_drop_here(const char *run_dir, const char *run_id);

#endif
