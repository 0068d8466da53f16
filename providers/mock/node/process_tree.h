// Signals and ends everything that a process has started, however often it forked. The process must be a subreaper
// (PR_SET_CHILD_SUBREAPER), so that orphans come back to it.
#ifndef RB_PROVIDERS_MOCK_PROCESS_TREE_H
#define RB_PROVIDERS_MOCK_PROCESS_TREE_H

#include <signal.h>

// This machine's /proc, which the process keeps open: it may enter a root whose /proc numbers processes otherwise.
int rb_process_tree_open(void);
void rb_process_tree_signal(int proc, int signal_number); // every descendant of this process
// Kills them and returns when the last one is gone. `signals` are blocked; one of them (SIGCHLD) ends a pause early.
void rb_process_tree_end(int proc, const sigset_t *signals);

#endif
