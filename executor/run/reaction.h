// Whether a process of this machine reacts to a signal or is suspended, according to /proc.
#ifndef RB_EXECUTOR_REACTION_H
#define RB_EXECUTOR_REACTION_H

#include <stdint.h>

enum rb_reaction {
    RB_REACTION_SEEN,    // it has run since, or /proc does not show it
    RB_REACTION_NONE,    // it has not had the processor since: frozen (docker pause), or starved
    RB_REACTION_STOPPED, // by a signal (Ctrl-Z, kill -STOP) or a debugger
};

// Number of times it has given up the processor so far; -1: unknown. Read it before the signal is sent.
int64_t rb_process_switches(int pid);
enum rb_reaction rb_process_reaction(int pid, int64_t switches_before);

#endif
