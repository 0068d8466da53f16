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

const struct rb_scheduler_kind rb_scheduler_kinds[] = {
    {.name = "sha", .has_rungs = true},
    {.name = "hyperband", .has_rungs = true, .num_trials = RB_TRIALS_DERIVED, .has_brackets = true},
    {.name = "asha", .has_rungs = true, .has_brackets = true, .shares_levels = true, .admits_one_by_one = true},
    {.name = "pasha", .has_rungs = true, .shares_levels = true, .admits_one_by_one = true},
    {.name = "dehb", .has_rungs = true, .num_trials = RB_TRIALS_DERIVED, .has_brackets = true, .sampler = "de"},
    {.name = "freeze_thaw", .has_rungs = true, .shares_levels = true, .admits_one_by_one = true},
    {.name = "pbt", .has_rungs = true, .is_population = true, .sampler = "pbt"},
    {.name = "median", .shares_levels = true, .admits_one_by_one = true},
    {.name = "random"},
    {.name = "grid", .num_trials = RB_TRIALS_OPTIONAL},
    {.name = NULL},
};

const struct rb_scheduler_kind *rb_scheduler_kind(const char *type)
{
    for (const struct rb_scheduler_kind *k = rb_scheduler_kinds; k->name; k++)
        if (strcmp(k->name, type) == 0)
            return k;
    return NULL;
}

static bool is(const struct rb_scheduler *s, const char *type)
{
    return strcmp(s->type, type) == 0;
}

static bool is_population(const struct rb_scheduler *s)
{
    const struct rb_scheduler_kind *kind = rb_scheduler_kind(s->type);
    return kind && kind->is_population;
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
    enum { N = sizeof rb_scheduler_kinds / sizeof rb_scheduler_kinds[0] - 1 };
    const char *names[N];
    int choice;
    for (int i = 0; i < N; i++)
        names[i] = rb_scheduler_kinds[i].name;
    if (!rb_keys_choice(m, "type", names, N, 0, &choice, err))
        return false;
    s->type = names[choice];
    return true;
}

// grid has all points unless the job limits them.
static bool read_num_trials(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    const struct rb_node *node, *given = rb_keys_given(m, "num_trials");
    const struct rb_scheduler_kind *kind = rb_scheduler_kind(s->type);
    if (kind->num_trials == RB_TRIALS_NEEDED)
        return rb_map_need(m, "num_trials", &node, err) &&
               rb_keys_count(m, "num_trials", 1, RB_LIMIT_TRIALS, 0, &s->num_trials, err);
    if (given && !rb_keys_count(m, "num_trials", 0, RB_LIMIT_TRIALS, 0, &s->num_trials, err))
        return false;
    return kind->num_trials == RB_TRIALS_OPTIONAL || s->num_trials == 0 ||
           rb_node_refuse(
               given, err, RB_E_SCHEDULER_KEYS,
               "%s's number of trials follows from min_resource, max_resource, eta and brackets; leave "
               "num_trials out",
               s->type);
}

// `none`: no trial is ever asked to stop. A promotion needs eta results, so num_trials trials reach this level at most.
static bool highest_reachable(const struct rb_node *max, struct rb_scheduler *s, struct rb_err *err)
{
    s->max_resource = s->min_resource;
    for (int64_t n = s->num_trials; n >= s->eta; n /= s->eta)
        if (__builtin_mul_overflow(s->max_resource, s->eta, &s->max_resource) || s->max_resource > RB_LIMIT_RESOURCE)
            return rb_node_refuse(max, err, RB_E_OUT_OF_RANGE,
                                  "%d trials could be promoted beyond %d units; give a number, or fewer trials",
                                  s->num_trials, RB_LIMIT_RESOURCE);
    return true;
}

static bool read_max_resource(struct rb_map *m, struct rb_scheduler *s, bool *is_none, struct rb_err *err)
{
    const struct rb_node *max;
    if (!rb_map_need(m, "max_resource", &max, err))
        return false;
    *is_none = max->kind == RB_NODE_STRING && strcmp(max->text, "none") == 0;
    if (!*is_none)
        return rb_node_int(max, 1, RB_LIMIT_RESOURCE, &s->max_resource, err);
    s->max_resource = RB_LIMIT_RESOURCE;
    return is(s, "asha") || rb_node_refuse(max, err, RB_E_SCHEDULER_KEYS,
                                           "only scheduler.type: asha goes on without an upper limit; give %s a number",
                                           s->type);
}

static bool read_resource(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    bool none;
    s->min_resource = 1;
    s->eta = DEFAULT_ETA;
    if (!read_max_resource(m, s, &none, err))
        return false;
    return is_population(s) ||
           (rb_keys_int(m, "min_resource", 1, s->max_resource, s->min_resource, &s->min_resource, err) &&
            rb_keys_count(m, "eta", 2, MAX_ETA, s->eta, &s->eta, err) &&
            (!none || highest_reachable(rb_map_get(m, "max_resource"), s, err)));
}

// Hyperband without some of its brackets is no longer that.
static bool all_brackets(const struct rb_scheduler *s)
{
    const struct rb_scheduler_kind *kind = rb_scheduler_kind(s->type);
    return kind && kind->num_trials == RB_TRIALS_DERIVED;
}

static bool read_brackets(struct rb_map *m, struct rb_scheduler *s, struct rb_err *err)
{
    const bool has_brackets = rb_scheduler_kind(s->type)->has_brackets;
    const int most = rb_scheduler_s_max(s->min_resource, s->max_resource, s->eta) + 1;
    if (!rb_keys_count(m, "brackets", 1, RB_LIMIT_STAGES, all_brackets(s) ? most : 1, &s->brackets, err))
        return false;
    return !has_brackets || s->brackets <= most ||
           rb_node_refuse(
               rb_map_get(m, "brackets"), err, RB_E_SCHEDULER_KEYS,
               "expected at most %d, got %d: a bracket starts at min_resource times a power of eta, and only "
               "%d of these are within max_resource",
               most, s->brackets, most);
}

// A population trains in stages of equal length.
static bool refuse_rungs_of_population(struct rb_map *m, const struct rb_scheduler *s, struct rb_err *err)
{
    static const char *const keys[] = {"min_resource", "eta", "rungs", "brackets", NULL};
    for (int i = 0; is_population(s) && keys[i]; i++) {
        const struct rb_node *node = rb_keys_given(m, keys[i]);
        if (node)
            return rb_node_refuse(node, err, RB_E_SCHEDULER_KEYS,
                                  "%s compares its members every ready_every units; leave %s out", s->type, keys[i]);
    }
    return true;
}

// An optional key that not every tuner has; `type` is one that does.
static bool read_choice_of(struct rb_map *m, const char *key, const struct rb_scheduler *s, const char *type, bool has,
                           const char *const *names, int *out, struct rb_err *err)
{
    const struct rb_node *node = rb_keys_given(m, key);
    if (node && !has)
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
    const bool shares = rb_scheduler_kind(s->type)->shares_levels;
    return (!shares && s->brackets_run != RB_BRACKETS_SIDE_BY_SIDE) || s->rungs == RB_RUNGS_CUMULATIVE ||
           rb_node_refuse(rb_map_get(m, "rungs"), err, RB_E_SCHEDULER_KEYS, "expected cumulative: %s %s; leave rungs out",
                          shares ? s->type : "brackets side by side",
                          shares ? "compares results at the same resource" : "share their rungs");
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

static bool refuse_sampler(const struct rb_node *node, const struct rb_scheduler *s, const char *own, struct rb_err *err)
{
    return rb_node_refuse(node, err, RB_E_SCHEDULER_KEYS,
                          "%s chooses configurations itself, by the sampler %s; leave sampler out", s->type, own);
}

// A name, {type: NAME, its options}, or a command. The sampler checks its options itself (samplers/sampler.h).
static bool read_sampler(struct rb_map *m, struct rb_arena *arena, struct rb_scheduler *s, struct rb_err *err)
{
    static const char *const known[] = {"type", NULL};
    const struct rb_node *node = rb_keys_given(m, "sampler"), *name = node;
    const char *own = rb_scheduler_kind(s->type)->sampler;
    struct rb_sampler_spec spec = {.type = own};
    int choice;
    if (!node) {
        s->sampler = spec;
        return true;
    }
    if (is(s, "grid"))
        return rb_node_refuse(node, err, RB_E_SCHEDULER_KEYS,
                              "grid trains every combination; leave sampler out, or choose scheduler.type: random");
    if (node->kind == RB_NODE_MAP && rb_node_member(node, "command")) {
        if (own)
            return refuse_sampler(node, s, own, err);
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
    if (own && strcmp(own, spec.type) != 0)
        return refuse_sampler(node, s, own, err);
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
        !read_type(&m, &s, err) || !read_num_trials(&m, &s, err) || !refuse_rungs_of_population(&m, &s, err) ||
        !read_resource(&m, &s, err) || !rb_keys_text(&m, "unit", "epoch", arena, &s.unit, err) ||
        !read_brackets(&m, &s, err) ||
        !read_choice_of(&m, "brackets_run", &s, "hyperband", all_brackets(&s), rb_brackets_run_names, &run, err) ||
        !read_choice_of(&m, "rule", &s, "asha", is(&s, "asha"), rb_rule_names, &given_rule, err))
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
    const bool has_rungs = !is_population(s); // it has no such keys, and no sampler but its own
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
    if (all_brackets(s))
        rb_json_kstring(j, "brackets_run", rb_brackets_run_names[s->brackets_run]);
    if (is(s, "asha"))
        rb_json_kstring(j, "rule", rb_rule_names[s->rule]);
    if (has_rungs)
        write_sampler(&s->sampler, j);
    rb_settings_write(&s->options, j);
    rb_json_end_object(j);
}
