// Names of events; their JSON is in event_codec.c.
#include "engine/events/event.h"

#include <string.h>

const char *const rb_event_kind_names[] = {
    [RB_EVENT_START] = "start",
    [RB_EVENT_NODE_RUNNING] = "node_running",
    [RB_EVENT_NODE_READY] = "node_ready",
    [RB_EVENT_NODE_REFUSED] = "node_refused",
    [RB_EVENT_NODE_LOST] = "node_lost",
    [RB_EVENT_REPORT] = "report",
    [RB_EVENT_TRIAL_ENDED] = "trial_ended",
    [RB_EVENT_TIME] = "time",
    [RB_EVENT_ADVICE] = "advice",
    [RB_EVENT_FORECAST] = "forecast",
    [RB_EVENT_STOP] = "stop",
    [RB_EVENT_LENT] = "lent",
    [RB_EVENT_RESUME] = "resume",
    [RB_EVENT_SUGGESTED] = "suggested",
    [RB_EVENT_TRIAL_SAVED] = "saved",
};

const char *const rb_outcome_names[] = {
    [RB_OUTCOME_REACHED] = "reached", [RB_OUTCOME_YIELDED] = "yielded", [RB_OUTCOME_FAILED] = "failed",
    [RB_OUTCOME_HUNG] = "hung",       [RB_OUTCOME_EVICTED] = "evicted",
};

const char *const rb_stop_reason_names[] = {
    [RB_STOP_USER] = "user",         [RB_STOP_DEADLINE] = "deadline",
    [RB_STOP_BUDGET] = "budget",     [RB_STOP_CAPACITY] = "capacity",
    [RB_STOP_DRIFT] = "drift",       [RB_STOP_FAILURE] = "failure",
    [RB_STOP_RELEASED] = "released", [RB_STOP_BROKEN_SCRIPT] = "broken_script",
};

void rb_event_values(const struct rb_event *e, const struct rb_space *space, struct rb_value *out_values)
{
    for (int i = 0; i < space->n_params; i++) {
        out_values[i] = (struct rb_value){.kind = RB_VALUE_ABSENT};
        for (int k = 0; k < e->n_values; k++)
            if (strcmp(e->values[k].name, space->params[i].name) == 0)
                out_values[i] = e->values[k].value;
    }
}

const char *rb_event_kind_name(enum rb_event_kind kind)
{
    return rb_event_kind_names[kind];
}

const char *rb_outcome_name(enum rb_outcome o)
{
    return rb_outcome_names[o];
}

const char *rb_stop_reason_name(enum rb_stop_reason r)
{
    return rb_stop_reason_names[r];
}
