#include "providers/slurm/slurm_decode.h"

#include "base/text/units.h"
#include "base/text/table.h"
#include "providers/wire/untrusted.h"

#include <inttypes.h>
#include <string.h>

// A plain number, or {"set":..,"infinite":..,"number":..} from v0.0.39 on; -1: not set, or more than a time can be.
static int64_t number(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    if (n && n->kind == RB_NODE_MAP) {
        const struct rb_node *set = rb_node_member(n, "set");
        if (set && set->kind == RB_NODE_BOOL && !set->boolean)
            return -1;
        n = rb_node_member(n, "number");
    }
    return n && n->kind == RB_NODE_INT && n->integer >= 0 && n->integer <= INT64_MAX / RB_US_PER_S ? n->integer : -1;
}

// --- the comment

// The value behind " key=", up to the next blank; NULL: absent.
static const char *pair(const char *comment, const char *key, struct rb_arena *arena)
{
    const size_t len = strlen(key);
    for (const char *p = strchr(comment, ' '); p; p = strchr(p + 1, ' '))
        if (strncmp(p + 1, key, len) == 0 && p[1 + len] == '=') {
            const char *value = p + 1 + len + 1;
            return rb_arena_printf(arena, "%.*s", (int)strcspn(value, " "), value);
        }
    return NULL;
}

static bool is_ours(const struct rb_node *job, const char *user)
{
    static const char mark[] = "rubberband ";
    return strncmp(rb_node_member_text(job, "comment"), mark, strlen(mark)) == 0 &&
           strcmp(rb_node_member_text(job, "user_name"), user) == 0;
}

// --- the state

// Source: slurm(1), "JOB STATE CODES". Base states; flags such as COMPLETING come with them or, in v0.0.38, instead of
// them.
static const struct state {
    const char *name;
    enum rb_instance_state state;
    bool flag;
} states[] = {
    {"PENDING", RB_INSTANCE_PENDING, false},
    {"RUNNING", RB_INSTANCE_RUNNING, false},
    {"SUSPENDED", RB_INSTANCE_STOPPED, false},
    {"COMPLETED", RB_INSTANCE_TERMINATED, false},
    {"CANCELLED", RB_INSTANCE_TERMINATED, false},
    {"FAILED", RB_INSTANCE_TERMINATED, false},
    {"TIMEOUT", RB_INSTANCE_TERMINATED, false},
    {"NODE_FAIL", RB_INSTANCE_TERMINATED, false},
    {"PREEMPTED", RB_INSTANCE_TERMINATED, false},
    {"BOOT_FAIL", RB_INSTANCE_TERMINATED, false},
    {"DEADLINE", RB_INSTANCE_TERMINATED, false},
    {"OUT_OF_MEMORY", RB_INSTANCE_TERMINATED, false},
    // The node may be booting: what runs there has not begun.
    {"CONFIGURING", RB_INSTANCE_PENDING, true},
    {"POWER_UP_NODE", RB_INSTANCE_PENDING, true},
    {"RESIZING", RB_INSTANCE_RUNNING, true},
    {"SIGNALING", RB_INSTANCE_RUNNING, true},
    {"STAGE_OUT", RB_INSTANCE_STOPPING, true},
    {"COMPLETING", RB_INSTANCE_STOPPING, true}, // its processes are being ended; the node is still held
    {"STOPPED", RB_INSTANCE_STOPPED, true},     // its processes
    // It will run again, or somewhere else, from the beginning: the node that it was is gone.
    {"REQUEUED", RB_INSTANCE_STOPPED, true},
    {"REQUEUE_FED", RB_INSTANCE_STOPPED, true},
    {"REQUEUE_HOLD", RB_INSTANCE_STOPPED, true},
    {"SPECIAL_EXIT", RB_INSTANCE_STOPPED, true},
    {"RESV_DEL_HOLD", RB_INSTANCE_STOPPED, true},
    {"REVOKED", RB_INSTANCE_TERMINATED, true},
    {"LAUNCH_FAILED", RB_INSTANCE_TERMINATED, true},
    {"RECONFIG_FAIL", RB_INSTANCE_TERMINATED, true},
    {"UPDATE_DB", RB_INSTANCE_TERMINATED, true},
};

// A flag is more specific than the base state beside it; of several flags the most final one counts.
static void add_state(const struct state *s, const struct state **out)
{
    if (!*out || (s->flag && !(*out)->flag) || (s->flag == (*out)->flag && s->state > (*out)->state))
        *out = s;
}

// One word in v0.0.38, a list of flags later.
static bool read_state(const struct rb_node *job, const char **out_name, enum rb_instance_state *out,
                       struct rb_err *err)
{
    const struct rb_node *n = rb_node_member(job, "job_state");
    const struct state *found = NULL, *base = NULL;
    const struct rb_node *word = n && n->kind == RB_NODE_LIST ? n->first : n;
    for (; word; word = n->kind == RB_NODE_LIST ? word->next : NULL) {
        const struct state *s = word->kind == RB_NODE_STRING ? RB_ROW_OF(states, word->text) : NULL;
        if (!s)
            return rb_err_set(err, RB_E_ANSWER, "answer: job_state: expected a state of a job, got \"%.40s\"",
                              word->kind == RB_NODE_STRING ? word->text : "");
        add_state(s, &found);
        base = s->flag ? base : s;
    }
    if (!found)
        return rb_err_set(err, RB_E_ANSWER, "answer: job_state: expected a state of a job");
    *out_name = base ? base->name : found->name;
    *out = found->state;
    return true;
}

// --- jobs

static void read_times(const struct rb_node *job, struct rb_instance *i)
{
    const int64_t start_s = number(job, "start_time"), end_s = number(job, "end_time");
    i->running_at_us = i->terminated_at_us = -1;
    if (i->state == RB_INSTANCE_TERMINATED && end_s > 0)
        i->terminated_at_us = end_s * RB_US_PER_S;
    // For a waiting job it is a forecast; for one that was cancelled while it waited, the instant of that.
    const bool began = i->state == RB_INSTANCE_TERMINATED ? start_s < end_s : i->state != RB_INSTANCE_PENDING;
    if (began && start_s > 0)
        i->running_at_us = start_s * RB_US_PER_S;
}

static bool read_job(const struct rb_node *job, struct rb_arena *arena, struct rb_instance *out, struct rb_err *err)
{
    const int64_t id = number(job, "job_id"), restarts = number(job, "restart_cnt");
    const char *comment = rb_node_member_text(job, "comment"), *nodes = rb_node_member_text(job, "nodes"), *state = "",
               *reason = rb_node_member_text(job, "state_reason");
    struct rb_instance i = {.market = RB_MARKET_ON_DEMAND};
    if (id <= 0)
        return rb_err_set(err, RB_E_ANSWER, "answer: job_id: expected the number of a job");
    if (!read_state(job, &state, &i.state, err))
        return false;
    if (restarts > 0 && i.state < RB_INSTANCE_STOPPING) // Slurm's own second try is a node that no launch requested
        i.state = RB_INSTANCE_STOPPED;
    i.id = rb_arena_printf(arena, "%" PRId64, id);
    if (i.state == RB_INSTANCE_RUNNING && nodes[0]) {
        if (!rb_is_instance_id(nodes))
            return rb_err_set(err, RB_E_ANSWER, "answer: nodes of job %s: expected the name of one node, got \"%.60s\"",
                              i.id, nodes);
        i.address = i.private_address = rb_arena_strdup(arena, nodes);
    }
    read_times(job, &i);
    i.instance_type = pair(comment, "type", arena);
    i.region = rb_arena_strdup(arena, rb_node_member_text(job, "partition"));
    i.token = pair(comment, "token", arena);
    i.run_id = pair(comment, "run", arena);
    i.launch_id = pair(comment, "launch", arena);
    i.owner = pair(comment, "owner", arena);
    if (restarts > 0)
        i.state_reason = rb_arena_printf(arena, "Slurm took its node away and queued it again (%s)", state);
    else if (reason[0] && strcmp(reason, "None") != 0)
        i.state_reason = rb_arena_printf(arena, "Slurm reports %s (%.80s)", state, reason);
    else
        i.state_reason = rb_arena_printf(arena, "Slurm reports %s", state);
    *out = i;
    return true;
}

bool rb_slurm_decode_jobs(const struct rb_node *answer, const char *user, struct rb_arena *arena,
                          struct rb_slurm_jobs *out, struct rb_err *err)
{
    const struct rb_node *jobs = rb_node_member(answer, "jobs");
    if (!jobs || jobs->kind != RB_NODE_LIST) // another machine's answer must not pass for an empty listing
        return rb_err_set(err, RB_E_ANSWER, "answer: jobs: expected a list");
    struct rb_slurm_jobs all = {.instances = rb_arena_array(arena, (size_t)jobs->n_children, sizeof *all.instances)};
    for (const struct rb_node *job = jobs->first; job; job = job->next)
        if (is_ours(job, user) && !read_job(job, arena, &all.instances[all.n++], err))
            return false;
    *out = all;
    return true;
}

bool rb_slurm_decode_submission(const struct rb_node *answer, int64_t *out_id, struct rb_err *err)
{
    const struct rb_node *errors = rb_node_member(answer, "errors");
    const int64_t id = number(answer, "job_id");
    if (id <= 0 && (!errors || errors->kind != RB_NODE_LIST || errors->n_children == 0))
        return rb_err_set(err, RB_E_ANSWER, "answer: job_id: expected the number of the new job");
    *out_id = id > 0 ? id : 0;
    return true;
}
