// Starts a controller that outlives its terminal: `rbrun resume RUN` in a session of its own. It inherits our
// environment, so no secret is in an argument or on a disk. Where the user's service manager outlives the last login
// (linger is on), the process is in a scope of its own there, rb-RUN.scope: `systemd-run --scope` becomes the process
// itself, while a service would get its environment from a unit that others can read. Where linger is off, that manager
// ends with the last login and everything in it; a session of its own then lasts longer.
//
// The new process prints to our terminal until its run has begun, so errors look as in the foreground. Then its output
// goes to a file, and it takes no notice of us any more. If we die before that, it ends, too: nothing was launched.
#ifndef RB_EXECUTOR_DETACH_H
#define RB_EXECUTOR_DETACH_H

#include "executor/journal/run_files.h"

#define RB_DETACHED_LOG "rbrun.log" // in the run's directory

enum rb_linger {
    RB_LINGER_UNKNOWN, // no login manager answers
    RB_LINGER_OFF,
    RB_LINGER_ON,
};

struct rb_detached {
    int pid;
    char unit[192]; // "": none
    enum rb_linger linger;
};

// options: of rbrun resume, [n]. True: a process was started, and either its run has begun (*out_code is 0), or it has
// printed its error and ended with *out_code.
bool rb_detach(const struct rb_run_files *f, const char *const *options, int n, struct rb_detached *out, int *out_code,
               struct rb_err *err);

// In the new process, before anything is opened. False: this process was not started by rb_detach.
bool rb_detached_take(void);
// The run has begun: reports this to the process that waits for it, and prints to the log from now on.
void rb_detached_begun(const char *run_dir);

#endif
