// A job on a table: what the job does not say, the table's family says; what both say must agree.
#include "commands/rbsim/rbsim.h"

#include "profiles/job/job_names.h"
#include "samplers/sampler.h"

#include <stdio.h>
#include <string.h>

#define MOST_DEFAULTS 8

// ---- keys that the job leaves to the table

struct defaults {
    struct rb_arena *arena;
    const struct rb_node *job;
    const char **items;
    int n;
};

// key: at most one level below the job's own keys. value: JSON, which is YAML.
static void add_default(struct defaults *d, const char *key, const char *value)
{
    const char *dot = strchr(key, '.');
    const struct rb_node *node = dot ? rb_node_member(d->job, rb_arena_strndup(d->arena, key, (size_t)(dot - key)))
                                     : d->job;
    if (!rb_node_member(node, dot ? dot + 1 : key))
        d->items[d->n++] = rb_arena_printf(d->arena, "%s=%s", key, value);
}

static const char *quoted(struct rb_arena *arena, const char *text)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    rb_json_string(&j, text);
    return rb_arena_strdup(arena, rb_buf_str(&out));
}

static const char *written(struct rb_arena *arena, const struct rb_space *space)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    rb_space_write(space, &j);
    return rb_arena_strdup(arena, rb_buf_str(&out));
}

static void find_defaults(struct rb_sim_command *c, const struct rb_node *job)
{
    const struct rb_blackbox *t = &c->table;
    struct defaults d = {.arena = &c->table_arena, .job = job};
    d.items = rb_arena_array(d.arena, MOST_DEFAULTS, sizeof *d.items);
    add_default(&d, "metric.name", quoted(d.arena, t->metric_name));
    add_default(&d, "metric.goal", rb_goal_names[t->goal]);
    add_default(&d, "parameters", written(d.arena, &t->space));
    add_default(&d, "scheduler.max_resource", rb_arena_printf(d.arena, "%d", t->max_resource));
    add_default(&d, "scheduler.unit", quoted(d.arena, t->unit));
    add_default(&d, "checkpoint.resume", t->resumable ? "true" : "false");
    add_default(&d, "run", "\"true\""); // nothing is run
    c->defaults = d.items;
    c->n_defaults = d.n;
}

bool rb_sim_open_table(struct rb_sim_command *c, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    const char *path = c->args->args[0];
    if (strcmp(path, "-") == 0)
        return rb_err_set(err, RB_E_STDIN_ONCE,
                          "with --blackbox the job is read more than once: write it to a file, not to stdin");
    if (!rb_blackbox_read(rb_args_string(c->args, "blackbox", NULL), &c->table_arena, &c->table, err) ||
        !rb_doc_read(&doc, path, err))
        return false;
    find_defaults(c, doc.root);
    c->sim.table = &c->table;
    return true;
}

// ---- does the job fit?

static bool refuse(const char *key, struct rb_err *err, const char *expected, const char *got)
{
    return rb_err_set_at(err, RB_E_BLACKBOX_JOB, (struct rb_place){0}, key, "expected %s, as in the table, got %s",
                         expected, got);
}

// The parameter alone, without its condition: as a space of one.
static const char *written_alone(struct rb_arena *arena, const struct rb_param *p)
{
    struct rb_param alone = *p;
    alone.parent = -1;
    alone.n_parent_values = 0;
    return written(arena, &(struct rb_space){&alone, 1});
}

static bool same_condition(const struct rb_space *a, const struct rb_param *p, const struct rb_space *b,
                           const struct rb_param *q)
{
    if (p->n_parent_values != q->n_parent_values)
        return false;
    for (int i = 0; i < p->n_parent_values; i++)
        if (!rb_value_equal(&a->params[p->parent].values[p->parent_values[i]],
                            &b->params[q->parent].values[q->parent_values[i]]))
            return false;
    return p->n_parent_values == 0 || strcmp(a->params[p->parent].name, b->params[q->parent].name) == 0;
}

static const struct rb_param *find_param(const struct rb_space *space, const char *name)
{
    for (int i = 0; i < space->n_params; i++)
        if (strcmp(space->params[i].name, name) == 0)
            return &space->params[i];
    return NULL;
}

// Every parameter of `a` is in `b`, and is the same there; `is_there` says where b lies.
static bool check_params(const struct rb_space *a, const struct rb_space *b, const char *is_there, bool compare,
                         struct rb_arena *arena, struct rb_err *err)
{
    for (int i = 0; i < a->n_params; i++) {
        const struct rb_param *p = &a->params[i], *q = find_param(b, p->name);
        const char *key = rb_arena_printf(arena, "parameters.%s", p->name);
        if (!q)
            return rb_err_set_at(err, RB_E_BLACKBOX_JOB, (struct rb_place){0}, key, "%s does not have it", is_there);
        if (compare && (strcmp(written_alone(arena, p), written_alone(arena, q)) != 0 || !same_condition(a, p, b, q)))
            return rb_err_set_at(err, RB_E_BLACKBOX_JOB, (struct rb_place){0}, key, "it is not as in %s, which has %s%s",
                                 is_there, written_alone(arena, q),
                                 same_condition(a, p, b, q) ? "" : ", and another `if`");
    }
    return true;
}

static bool check_scheduler(const struct rb_blackbox *t, const struct rb_job *job, struct rb_err *err)
{
    const struct rb_scheduler *s = &job->scheduler;
    char got[32], most[48];
    snprintf(got, sizeof got, "%lld", (long long)s->max_resource);
    snprintf(most, sizeof most, "at most %d", t->max_resource);
    if (s->max_resource > t->max_resource)
        return refuse("scheduler.max_resource", err, most, got);
    return strcmp(s->type, "grid") != 0 ||
           rb_err_set_at(err, RB_E_BLACKBOX_JOB, (struct rb_place){0}, "scheduler.type",
                         "the rows of a table are no grid: choose another tuner");
}

bool rb_sim_fit_table(const struct rb_sim_command *c, struct rb_job *job, struct rb_err *err)
{
    const struct rb_blackbox *t = &c->table;
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    if (strcmp(job->metric_name, t->metric_name) != 0)
        return refuse("metric.name", err, t->metric_name, job->metric_name);
    if (job->goal != t->goal)
        return refuse("metric.goal", err, rb_goal_names[t->goal], rb_goal_names[job->goal]);
    if (!check_params(&job->space, &t->space, t->family_path, true, &arena, err) ||
        !check_params(&t->space, &job->space, "the job", false, &arena, err) || !check_scheduler(t, job, err))
        return false;
    job->space = t->space;
    if (!job->scheduler.sampler.type && !job->scheduler.sampler.command)
        job->scheduler.sampler.type = rb_sampler_find("random")->name;
    return true;
}
