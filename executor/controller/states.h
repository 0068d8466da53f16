// The states of a run's objects and every transition between them, as tables. The drawing of them is
// docs/explanation/launch-states.md; tests/executor/controller/test_states.c compares the two.
#ifndef RB_EXECUTOR_STATES_H
#define RB_EXECUTOR_STATES_H

#include <stdbool.h>

enum { RB_STATES_MAX = 9 };

// States are numbered from 0, in the order of their enum.
struct rb_states {
    const char *object; // "launch"; its name in the drawing
    struct {
        const char *name;         // NULL behind the last state
        unsigned next;            // bit `to`: the transition is legal
    } of[RB_STATES_MAX];
};

// enum rb_launch_state and enum rb_task_state are journalled (executor/journal/journal.h). The other states are kept in
// memory: a restarted controller begins with the first state of each, unless the row says more.
extern const struct rb_states rb_launch_states, rb_task_states, rb_link_states, rb_end_states, rb_process_states, rb_phases;

// The launcher's link to a node.
enum rb_link_state {
    RB_LINK_NONE,
    RB_LINK_PREPARING, // the launcher connects to the node and sets it up
    RB_LINK_PREPARED,  // the launcher reaches it
};

// The cloud's answer to the termination of an instance.
enum rb_end_state {
    RB_END_UNCONFIRMED, // nothing yet, or the last answer was an error
    RB_END_NOT_FOUND,   // the last answer: there is no such instance
    RB_END_ACCEPTED,    // a termination was accepted; later answers do not matter
};

// What the launcher knows of a task's processes.
enum rb_process_state {
    RB_PROCESS_UNFOLLOWED, // they may exist; this launcher has not been asked to follow them
    RB_PROCESS_ORDERED,    // ordered by this controller, not handed to the launcher: none exist
    RB_PROCESS_FOLLOWED,   // handed to the launcher, which reports their output and end
    RB_PROCESS_YIELDING,   // asked to save a checkpoint and exit
    RB_PROCESS_SAVING,     // they have exited, and their checkpoint is being saved
    RB_PROCESS_KILLING,    // the launcher was asked to kill them
};

// The run itself.
enum rb_phase {
    RB_PHASE_RUNNING,
    RB_PHASE_RECOVERING, // after a restart, until every cloud was listed: nothing is launched
    RB_PHASE_CLOSING,    // everything has ended; the last listing must show no instance
    RB_PHASE_OVER,       // `finished` was or will be called
};

bool rb_states_follow(const struct rb_states *s, int from, int to); // is the transition legal?
void rb_states_check(const struct rb_states *s, int from, int to); // asserts that it is, or that nothing changes

// Changes a state. Nothing else does.
#define RB_ENTER(states, field, to) (rb_states_check(&(states), (int)(field), (int)(to)), (void)((field) = (to)))

#endif
