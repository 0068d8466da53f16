#include "executor/controller/states.h"

#include "executor/journal/journal.h"

#include <assert.h>

#define BIT(state)      (1u << (state))
#define TO(a)           BIT(a)
#define TO2(a, b)       (BIT(a) | BIT(b))
#define TO3(a, b, c)    (BIT(a) | BIT(b) | BIT(c))
#define TO4(a, b, c, d) (BIT(a) | BIT(b) | BIT(c) | BIT(d))

const struct rb_states rb_launch_states = {
    .object = "launch",
    .of = {[RB_LAUNCH_INTENT] = {"intent", TO2(RB_LAUNCH_SENT, RB_LAUNCH_REFUSED)},
           [RB_LAUNCH_SENT] = {"sent", TO4(RB_LAUNCH_INTENT, RB_LAUNCH_AMBIGUOUS, RB_LAUNCH_REFUSED, RB_LAUNCH_ACKED)},
           [RB_LAUNCH_AMBIGUOUS] = {"ambiguous", TO2(RB_LAUNCH_REFUSED, RB_LAUNCH_ACKED)},
           [RB_LAUNCH_REFUSED] = {"refused", TO(RB_LAUNCH_ACKED)},
           [RB_LAUNCH_ACKED] = {"acked", TO3(RB_LAUNCH_RUNNING, RB_LAUNCH_TERMINATING, RB_LAUNCH_GONE)},
           [RB_LAUNCH_RUNNING] = {"running", TO3(RB_LAUNCH_READY, RB_LAUNCH_TERMINATING, RB_LAUNCH_GONE)},
           [RB_LAUNCH_READY] = {"ready", TO2(RB_LAUNCH_TERMINATING, RB_LAUNCH_GONE)},
           [RB_LAUNCH_TERMINATING] = {"terminating", TO(RB_LAUNCH_GONE)},
           [RB_LAUNCH_GONE] = {"gone", 0}}};

const struct rb_states rb_task_states = {
    .object = "task",
    .of = {[RB_TASK_INTENT] = {"intent", TO4(RB_TASK_EXITED, RB_TASK_ENDED, RB_TASK_KILLING, RB_TASK_KILLED)},
           [RB_TASK_EXITED] = {"exited", TO4(RB_TASK_SAVED, RB_TASK_ENDED, RB_TASK_KILLING, RB_TASK_KILLED)},
           [RB_TASK_SAVED] = {"saved", 0},
           [RB_TASK_ENDED] = {"ended", 0},
           [RB_TASK_KILLING] = {"killing", TO(RB_TASK_KILLED)},
           [RB_TASK_KILLED] = {"killed", 0}}};

const struct rb_states rb_link_states = {
    .object = "link",
    .of = {[RB_LINK_NONE] = {"none", TO(RB_LINK_PREPARING)},
           [RB_LINK_PREPARING] = {"preparing", TO2(RB_LINK_PREPARED, RB_LINK_NONE)},
           [RB_LINK_PREPARED] = {"prepared", TO(RB_LINK_NONE)}}};

const struct rb_states rb_end_states = {
    .object = "end",
    .of = {[RB_END_UNCONFIRMED] = {"unconfirmed", TO2(RB_END_NOT_FOUND, RB_END_ACCEPTED)},
           [RB_END_NOT_FOUND] = {"not_found", TO2(RB_END_UNCONFIRMED, RB_END_ACCEPTED)},
           [RB_END_ACCEPTED] = {"accepted", 0}}};

const struct rb_states rb_process_states = {
    .object = "process",
    .of = {[RB_PROCESS_UNFOLLOWED] = {"unfollowed", TO(RB_PROCESS_FOLLOWED)},
           [RB_PROCESS_ORDERED] = {"ordered", TO2(RB_PROCESS_FOLLOWED, RB_PROCESS_UNFOLLOWED)},
           [RB_PROCESS_FOLLOWED] = {"followed", TO4(RB_PROCESS_YIELDING, RB_PROCESS_SAVING, RB_PROCESS_KILLING,
                                                    RB_PROCESS_UNFOLLOWED)},
           [RB_PROCESS_YIELDING] = {"yielding", TO3(RB_PROCESS_SAVING, RB_PROCESS_KILLING, RB_PROCESS_UNFOLLOWED)},
           [RB_PROCESS_SAVING] = {"saving", TO2(RB_PROCESS_KILLING, RB_PROCESS_UNFOLLOWED)},
           [RB_PROCESS_KILLING] = {"killing", TO(RB_PROCESS_UNFOLLOWED)}}};

const struct rb_states rb_phases = {
    .object = "run",
    .of = {[RB_PHASE_RUNNING] = {"running", TO3(RB_PHASE_RECOVERING, RB_PHASE_CLOSING, RB_PHASE_OVER)},
           [RB_PHASE_RECOVERING] = {"recovering", TO2(RB_PHASE_RUNNING, RB_PHASE_OVER)},
           [RB_PHASE_CLOSING] = {"closing", TO2(RB_PHASE_RUNNING, RB_PHASE_OVER)},
           [RB_PHASE_OVER] = {"over", 0}}};

bool rb_states_follow(const struct rb_states *s, int from, int to)
{
    return (s->of[from].next & BIT(to)) != 0;
}

void rb_states_check(const struct rb_states *s, int from, int to)
{
    assert(from == to || rb_states_follow(s, from, to));
}
