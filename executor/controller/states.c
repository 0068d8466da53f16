#include "executor/controller/states.h"

#include "executor/journal/journal.h"

#include <assert.h>

#define TO(state) (1u << (state))

const struct rb_states rb_launch_states = {
    .object = "launch",
    .names = {"intent", "sent", "ambiguous", "refused", "acked", "running", "ready", "terminating", "gone"},
    .next =
        {
            [RB_LAUNCH_INTENT] = TO(RB_LAUNCH_SENT) | TO(RB_LAUNCH_REFUSED),
            [RB_LAUNCH_SENT] =
                TO(RB_LAUNCH_INTENT) | TO(RB_LAUNCH_AMBIGUOUS) | TO(RB_LAUNCH_REFUSED) | TO(RB_LAUNCH_ACKED),
            [RB_LAUNCH_AMBIGUOUS] = TO(RB_LAUNCH_REFUSED) | TO(RB_LAUNCH_ACKED),
            [RB_LAUNCH_REFUSED] = TO(RB_LAUNCH_ACKED), // a copy of the request arrived late
            [RB_LAUNCH_ACKED] = TO(RB_LAUNCH_RUNNING) | TO(RB_LAUNCH_TERMINATING) | TO(RB_LAUNCH_GONE),
            [RB_LAUNCH_RUNNING] = TO(RB_LAUNCH_READY) | TO(RB_LAUNCH_TERMINATING) | TO(RB_LAUNCH_GONE),
            [RB_LAUNCH_READY] = TO(RB_LAUNCH_TERMINATING) | TO(RB_LAUNCH_GONE),
            [RB_LAUNCH_TERMINATING] = TO(RB_LAUNCH_GONE),
        },
};

const struct rb_states rb_task_states = {
    .object = "task",
    .names = {"intent", "exited", "saved", "ended", "killing", "killed"},
    .next =
        {
            [RB_TASK_INTENT] = TO(RB_TASK_EXITED) | TO(RB_TASK_ENDED) | TO(RB_TASK_KILLING) | TO(RB_TASK_KILLED),
            [RB_TASK_EXITED] = TO(RB_TASK_SAVED) | TO(RB_TASK_ENDED) | TO(RB_TASK_KILLING) | TO(RB_TASK_KILLED),
            [RB_TASK_KILLING] = TO(RB_TASK_KILLED),
        },
};

const struct rb_states rb_link_states = {
    .object = "link",
    .names = {"none", "preparing", "prepared"},
    .next =
        {
            [RB_LINK_NONE] = TO(RB_LINK_PREPARING),
            [RB_LINK_PREPARING] = TO(RB_LINK_PREPARED) | TO(RB_LINK_NONE),
            [RB_LINK_PREPARED] = TO(RB_LINK_NONE),
        },
};

const struct rb_states rb_end_states = {
    .object = "end",
    .names = {"unconfirmed", "not-found", "accepted"},
    .next =
        {
            [RB_END_UNCONFIRMED] = TO(RB_END_NOT_FOUND) | TO(RB_END_ACCEPTED),
            [RB_END_NOT_FOUND] = TO(RB_END_UNCONFIRMED) | TO(RB_END_ACCEPTED),
        },
};

const struct rb_states rb_process_states = {
    .object = "process",
    .names = {"unfollowed", "ordered", "followed", "yielding", "saving", "killing"},
    .next =
        {
            [RB_PROCESS_UNFOLLOWED] = TO(RB_PROCESS_FOLLOWED),
            [RB_PROCESS_ORDERED] = TO(RB_PROCESS_FOLLOWED) | TO(RB_PROCESS_UNFOLLOWED),
            [RB_PROCESS_FOLLOWED] =
                TO(RB_PROCESS_YIELDING) | TO(RB_PROCESS_SAVING) | TO(RB_PROCESS_KILLING) | TO(RB_PROCESS_UNFOLLOWED),
            [RB_PROCESS_YIELDING] = TO(RB_PROCESS_SAVING) | TO(RB_PROCESS_KILLING) | TO(RB_PROCESS_UNFOLLOWED),
            [RB_PROCESS_SAVING] = TO(RB_PROCESS_KILLING) | TO(RB_PROCESS_UNFOLLOWED),
            [RB_PROCESS_KILLING] = TO(RB_PROCESS_UNFOLLOWED),
        },
};

const struct rb_states rb_phases = {
    .object = "run",
    .names = {"running", "recovering", "closing", "over"},
    .next =
        {
            [RB_PHASE_RUNNING] = TO(RB_PHASE_RECOVERING) | TO(RB_PHASE_CLOSING) | TO(RB_PHASE_OVER),
            [RB_PHASE_RECOVERING] = TO(RB_PHASE_RUNNING) | TO(RB_PHASE_OVER),
            [RB_PHASE_CLOSING] = TO(RB_PHASE_RUNNING) | TO(RB_PHASE_OVER),
        },
};

bool rb_states_follow(const struct rb_states *s, int from, int to)
{
    return (s->next[from] & TO(to)) != 0;
}

int rb_states_enter(const struct rb_states *s, int from, int to)
{
    assert(rb_states_follow(s, from, to));
    return to;
}
