// Names of events; their JSON is in event_codec.c.
#include "engine/events/event.h"

const char *rb_event_kind_name(enum rb_event_kind kind)
{
    switch (kind) {
    case RB_EVENT_START:
        return "start";
    case RB_EVENT_NODE_RUNNING:
        return "node_running";
    case RB_EVENT_NODE_READY:
        return "node_ready";
    case RB_EVENT_NODE_REFUSED:
        return "node_refused";
    case RB_EVENT_NODE_LOST:
        return "node_lost";
    case RB_EVENT_REPORT:
        return "report";
    case RB_EVENT_TRIAL_ENDED:
        return "trial_ended";
    case RB_EVENT_TIME:
        return "time";
    case RB_EVENT_ADVICE:
        return "advice";
    case RB_EVENT_FORECAST:
        return "forecast";
    case RB_EVENT_STOP:
        return "stop";
    case RB_EVENT_LENT:
        return "lent";
    case RB_EVENT_RESUME:
        return "resume";
    }
    return "unknown";
}

const char *rb_outcome_name(enum rb_outcome o)
{
    switch (o) {
    case RB_OUTCOME_REACHED:
        return "reached";
    case RB_OUTCOME_YIELDED:
        return "yielded";
    case RB_OUTCOME_FAILED:
        return "failed";
    case RB_OUTCOME_HUNG:
        return "hung";
    case RB_OUTCOME_EVICTED:
        return "evicted";
    }
    return "unknown";
}

const char *rb_stop_reason_name(enum rb_stop_reason r)
{
    switch (r) {
    case RB_STOP_USER:
        return "user";
    case RB_STOP_DEADLINE:
        return "deadline";
    case RB_STOP_BUDGET:
        return "budget";
    case RB_STOP_CAPACITY:
        return "capacity";
    case RB_STOP_DRIFT:
        return "drift";
    case RB_STOP_FAILURE:
        return "failure";
    case RB_STOP_RELEASED:
        return "released";
    case RB_STOP_BROKEN_SCRIPT:
        return "broken_script";
    }
    return "unknown";
}
