// Runs the containers of pods as local processes. Each pod has a supervisor, which starts the container's command as
// process 1 and further commands beside it, and kills what is left when process 1 ends. It does not depend on
// Kubernetes: pods have ids, commands and volumes.
//
//   DIR/<id>/log        what process 1 printed
//   DIR/<id>/root       where the pod's root is mounted
//   DIR/<id>/volumes/K  the K-th volume
#ifndef RB_PROVIDERS_MOCK_PODS_H
#define RB_PROVIDERS_MOCK_PODS_H

#include "base/errors/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct rb_pods;

struct rb_pods_config {
    const char *directory; // must exist
    const char *path;      // PATH of a container that brings none
    double speed;          // seconds of a container's clock per second: RB_CLOCK_PERMILLE, as on nodes
    bool keep_logs;        // logs outlive their pod
};

bool rb_pods_create(const struct rb_pods_config *config, struct rb_pods **out, struct rb_err *err);
void rb_pods_destroy(struct rb_pods *p); // kills all pods and returns when their last process is gone

struct rb_pod_volume {
    const char *path;      // where the container sees it: "/rb"
    const char *directory; // what it sees there; NULL: an empty one of the pod's own
};

struct rb_pod_start {
    const char *id;
    const char *const *argv; // NULL-terminated
    const char *const *env;  // NULL-terminated, "NAME=VALUE": all that its processes have, but PATH
    const char *workdir;     // must exist in the container
    const struct rb_pod_volume *volumes;
    int n_volumes;
};

// The outcome comes as a report. Everything is copied. Where the pod cannot have a root of its own, a value of `env`
// that is a volume's path, or below it, names the volume's directory instead.
void rb_pods_start(struct rb_pods *p, const struct rb_pod_start *start);

// Process 1 gets the signal; SIGSTOP and SIGCONT reach all processes. False: no such pod runs.
bool rb_pods_signal(struct rb_pods *p, const char *id, int signal_number);
// The machine under the pod is gone: no report comes any more.
void rb_pods_vanish(struct rb_pods *p, const char *id);

// Starts a command beside process 1; fds become its stdin, stdout and stderr, and are not closed here. Its number is in
// the report of its end. False: no such pod runs.
bool rb_pods_exec(struct rb_pods *p, const char *id, const char *const *argv, const int fds[3], int *out_number);

struct rb_pod_report {
    enum {
        RB_POD_STARTED,     // process 1 runs
        RB_POD_FAILED,      // it cannot; text says why
        RB_POD_EXITED,      // not one of the container's processes is left; status is that of process 1
        RB_POD_EXEC_ENDED,  // status
        RB_POD_EXEC_FAILED, // text
    } what;
    char id[40];
    int status; // exit code; 128 + the number of the signal that killed it
    int number; // of the command
    char text[256];
};

int rb_pods_fd(const struct rb_pods *p);                                // readable when there may be a report
bool rb_pods_next_report(struct rb_pods *p, struct rb_pod_report *out); // false: nothing more for now

#endif
