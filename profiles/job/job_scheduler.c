// Values that follow from other keys are computed, not read: Hyperband's number of trials, the largest number of
// brackets.
#include "profiles/job/job_scheduler.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <string.h>

#define MAX_ETA     1024
#define DEFAULT_ETA 3

static bool is(const struct rb_scheduler *s, const char *type)
{
    return strcmp(s->type, type) == 0;
}

int rb_scheduler_s_max(int64_t r, int64_t R, int eta)
{
    int s_max = 0;
    for (int64_t step = r; step <= R / eta; s_max++)
        step *= eta;
    return s_max;
}

static bool read_type(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    int choice;
    if (!rb_keys_choice(m, "type", rb_tuner_names, rb_names_count(rb_tuner_names), 0, &choice, err))
        return false;
    s->type = rb_tuner_names[choice];
    return true;
}

// grid has all points unless the job limits them.
static bool read_num_trials(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    const struct rb_node *node, *given = rb_keys_given(m, "num_trials");
    if (!is(s, "grid") && !is(s, "hyperband"))
        return rb_map_need(m, "num_trials", &node, err) &&
               rb_keys_count(m, "num_trials", 1, RB_LIMIT_TRIALS, 0, &s->num_trials, err);
    if (given && !rb_keys_count(m, "num_trials", 0, RB_LIMIT_TRIALS, 0, &s->num_trials, err))
        return false;
    return is(s, "grid") || s->num_trials == 0 ||
           rb_node_refuse(
               given, err, RB_E_SCHEDULER_KEYS,
               "hyperband's number of trials follows from min_resource, max_resource, eta and brackets; leave "
               "num_trials out");
}

static bool read_resource(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    const struct rb_node *max;
    s->min_resource = 1;
    s->eta = DEFAULT_ETA;
    if (!rb_map_need(m, "max_resource", &max, err) || !rb_node_int(max, 1, RB_LIMIT_RESOURCE, &s->max_resource, err))
        return false;
    return is(s, "pbt") ||
           (rb_keys_int(m, "min_resource", 1, s->max_resource, s->min_resource, &s->min_resource, err) &&
            rb_keys_count(m, "eta", 2, MAX_ETA, s->eta, &s->eta, err));
}

static bool read_brackets(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    const bool has_brackets = is(s, "hyperband") || is(s, "asha");
    const int most = rb_scheduler_s_max(s->min_resource, s->max_resource, s->eta) + 1;
    if (!rb_keys_count(m, "brackets", 1, RB_LIMIT_STAGES, is(s, "hyperband") ? most : 1, &s->brackets, err))
        return false;
    return !has_brackets || s->brackets <= most ||
           rb_node_refuse(
               rb_map_get(m, "brackets"), err, RB_E_SCHEDULER_KEYS,
               "expected at most %d, got %d: a bracket starts at min_resource times a power of eta, and only "
               "%d of these are within max_resource",
               most, s->brackets, most);
}

// A population trains in stages of equal length.
static bool refuse_rungs_of_pbt(struct rb_map *m, const struct rb_scheduler *s, struct rb_err *err)
{
    static const char *const keys[] = {"min_resource", "eta", "rungs", "brackets", NULL};
    for (int i = 0; is(s, "pbt") && keys[i]; i++) {
        const struct rb_node *node = rb_keys_given(m, keys[i]);
        if (node)
            return rb_node_refuse(node, err, RB_E_SCHEDULER_KEYS,
                                  "pbt compares its members every ready_every units; leave %s out", keys[i]);
    }
    return true;
}

// An optional key that one tuner has.
static bool read_choice_of(struct rb_map *m, const char *key, const struct rb_scheduler *s, const char *type,
                           const char *const *names, int *out, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    if (node && !is(s, type))
        return rb_node_refuse(node, err, RB_E_SCHEDULER_KEYS, "only scheduler.type: %s has it; leave it out of %s",
                              type, s->type);
    return !node || rb_node_choice(node, names, rb_names_count(names), out, err);
}

// If brackets share their levels, all of them must train to the same resource there.
static bool read_rungs(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    int rungs;
    if (!rb_keys_choice(m, "rungs", rb_rungs_names, rb_names_count(rb_rungs_names), 0, &rungs, err))
        return false;
    s->rungs = (enum rb_rungs)rungs;
    const bool shares_levels = is(s, "asha") || s->brackets_run == RB_BRACKETS_SIDE_BY_SIDE;
    return !shares_levels || s->rungs == RB_RUNGS_CUMULATIVE ||
           rb_node_refuse(rb_map_get(m, "rungs"), err, RB_E_SCHEDULER_KEYS, "expected cumulative: %s; leave rungs out",
                          is(s, "asha") ? "asha compares results at the same resource"
                                        : "brackets side by side share their rungs");
}

#define DEFAULT_TIMEOUT_US (30 * RB_US_PER_S)

// A program that proposes configurations: {command: ..., timeout: 30s, on_failure: random}.
static bool read_command(const struct rb_node *node, struct rb_arena *arena, struct rb_sampler_spec *out,
                         struct rb_err *err)
{
    static const char *const keys[] = {"command", "timeout", "on_failure", NULL};
    struct rb_map m;
    int on_failure;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_need_text(&m, "command", arena, &out->command, err) ||
        !rb_keys_duration(&m, "timeout", DEFAULT_TIMEOUT_US, &out->timeout_us, err) ||
        !rb_keys_choice(&m, "on_failure", rb_on_failure_names, rb_names_count(rb_on_failure_names), 0, &on_failure, err))
        return false;
    out->type = "command";
    out->stop_on_failure = on_failure == 1;
    return true;
}

// A name, {type: NAME, its options}, or a command. The sampler checks its options itself (samplers/sampler.h).
static bool read_sampler(struct rb_map *m, struct rb_arena *arena, struct rb_scheduler *s, struct rb_err *err)
{
    static const char *const known[] = {"type", NULL};
    const struct rb_node *node = rb_keys_given(m, "sampler"), *name = node;
    struct rb_sampler_spec spec = {0};
    int choice;
    s->sampler.type = is(s, "pbt") ? s->type : NULL;
    if (!node)
        return true;
    if (is(s, "grid"))
        return rb_node_refuse(node, err, RB_E_SCHEDULER_KEYS,
                              "grid trains every combination; leave sampler out, or choose scheduler.type: random");
    if (is(s, "pbt"))
        return rb_node_refuse(node, err, RB_E_SCHEDULER_KEYS,
                              "pbt explores around the trials that it copies; leave sampler out, or choose "
                              "scheduler.type: asha");
    if (node->kind == RB_NODE_MAP && rb_node_member(node, "command")) {
        if (!read_command(node, arena, &spec, err))
            return false;
        s->sampler = spec;
        return true;
    }
    if (node->kind == RB_NODE_MAP) {
        name = rb_node_member(node, "type");
        if (!name)
            return rb_node_refuse(node, err, RB_E_KEY_MISSING,
                                  "expected `type`, or `command` for a program of your own");
        if (!rb_settings_collect(node, known, arena, &spec.options, err))
            return false;
    }
    if (name->kind == RB_NODE_STRING && strcmp(name->text, "pbt") == 0)
        return rb_node_refuse(name, err, RB_E_SCHEDULER_KEYS,
                              "it explores around trials that are copied, and only scheduler.type: pbt copies any");
    if (!rb_node_choice(name, rb_sampler_names, rb_names_count(rb_sampler_names), &choice, err))
        return false;
    spec.type = rb_sampler_names[choice];
    s->sampler = spec;
    return true;
}

static void write_sampler(const struct rb_sampler_spec *s, struct rb_json *j)
{
    char timeout[64];
    if (!s->type)
        return;
    rb_json_kobject(j, "sampler");
    if (s->command) {
        rb_json_kstring(j, "command", s->command);
        rb_json_kstring(j, "timeout", rb_format_duration_exact(s->timeout_us, timeout));
        rb_json_kstring(j, "on_failure", rb_on_failure_names[s->stop_on_failure]);
    } else {
        rb_json_kstring(j, "type", s->type);
        rb_settings_write(&s->options, j);
    }
    rb_json_end_object(j);
}

bool rb_scheduler_read(const struct rb_node *node, enum rb_rule rule, struct rb_arena *arena, struct rb_scheduler *out,
                       struct rb_err *err)
{
    static const char *const keys[] = {"type",  "num_trials", "min_resource", "max_resource", "eta", "unit",
                                       "rungs", "brackets",   "brackets_run", "rule",         "sampler", NULL};
    struct rb_scheduler s = {0};
    struct rb_map m;
    int given_rule = (int)rule, run = RB_BRACKETS_IN_TURN;
    if (!rb_map_begin(&m, node, err) || !rb_settings_collect(node, keys, arena, &s.options, err) ||
        !read_type(&m, &s, err) || !read_num_trials(&m, &s, err) ||
        !refuse_rungs_of_pbt(&m, &s, err) || !read_resource(&m, &s, err) || !rb_keys_text(&m, "unit", "epoch", arena, &s.unit, err) ||
        !read_brackets(&m, &s, err) ||
        !read_choice_of(&m, "brackets_run", &s, "hyperband", rb_brackets_run_names, &run, err) ||
        !read_choice_of(&m, "rule", &s, "asha", rb_rule_names, &given_rule, err))
        return false;
    s.brackets_run = (enum rb_brackets_run)run;
    s.rule = is(&s, "asha") ? (enum rb_rule)given_rule : RB_RULE_PROMOTE;
    if (!read_rungs(&m, &s, err) || !read_sampler(&m, arena, &s, err))
        return false;
    *out = s;
    return true;
}

void rb_scheduler_write(const struct rb_scheduler *s, struct rb_json *j)
{
    const bool has_rungs = !is(s, "pbt"); // it has no such keys, and no sampler's but its own
    rb_json_begin_object(j);
    rb_json_kstring(j, "type", s->type);
    rb_json_kint(j, "num_trials", s->num_trials);
    if (has_rungs)
        rb_json_kint(j, "min_resource", s->min_resource);
    rb_json_kint(j, "max_resource", s->max_resource);
    if (has_rungs)
        rb_json_kint(j, "eta", s->eta);
    rb_json_kstring(j, "unit", s->unit);
    if (has_rungs) {
        rb_json_kstring(j, "rungs", rb_rungs_names[s->rungs]);
        rb_json_kint(j, "brackets", s->brackets);
    }
    if (is(s, "hyperband"))
        rb_json_kstring(j, "brackets_run", rb_brackets_run_names[s->brackets_run]);
    if (is(s, "asha"))
        rb_json_kstring(j, "rule", rb_rule_names[s->rule]);
    if (has_rungs)
        write_sampler(&s->sampler, j);
    rb_settings_write(&s->options, j);
    rb_json_end_object(j);
}
