#include "profiles/job/pool_file.h"

#include "base/limits.h"
#include "base/text/units.h"
#include "profiles/job/job_resources.h"
#include "profiles/job/keys.h"

#include <math.h>
#include <string.h>

#define MAX_JOBS     1000
#define MAX_FAIRNESS 100.0
#define MAX_WEIGHT   1e6
#define MAX_SEED     (INT64_C(1) << 53)
#define INTERVAL_US  (60 * RB_US_PER_S)
#define RESTART_US   (30 * RB_US_PER_S)

static bool read_format(struct rb_map *m, struct rb_err *err)
{
    const struct rb_node *node;
    const char *format;
    if (!rb_map_need(m, "format", &node, err) || !rb_node_string(node, &format, err))
        return false;
    return strcmp(format, "rb-pool/1") == 0 ||
           rb_node_refuse(node, err, RB_E_FORMAT_WRONG, "expected rb-pool/1, got %.40s", format);
}

// It appears in tags and names of instances.
static bool read_name(struct rb_map *m, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    const struct rb_node *node;
    if (!rb_map_need(m, "name", &node, err) || !rb_node_text(node, arena, out, err))
        return false;
    const size_t n = strlen(*out);
    return (n <= 40 && strspn(*out, "abcdefghijklmnopqrstuvwxyz0123456789-") == n) ||
           rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected 1 to 40 characters of a-z, 0-9 and -");
}

static bool read_job(const struct rb_node *node, struct rb_arena *arena, struct rb_pool_job *out, struct rb_err *err)
{
    static const char *const keys[] = {"job", "arrives", "deadline", "weight", NULL};
    struct rb_map m;
    *out = (struct rb_pool_job){.deadline_us = -1, .weight = 1};
    if (node->kind == RB_NODE_STRING)
        return rb_node_text(node, arena, &out->path, err);
    if (node->kind != RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG,
                              "expected a job file, or a map {job, arrives, deadline, weight}");
    return rb_keys_begin(&m, node, keys, err) && rb_keys_need_text(&m, "job", arena, &out->path, err) &&
           rb_keys_duration(&m, "arrives", 0, &out->arrives_us, err) &&
           rb_keys_duration(&m, "deadline", -1, &out->deadline_us, err) &&
           rb_keys_double(&m, "weight", 1 / MAX_WEIGHT, MAX_WEIGHT, 1, &out->weight, err);
}

static bool read_jobs(const struct rb_node *list, struct rb_arena *arena, struct rb_pool_file *p, struct rb_err *err)
{
    if (!list)
        return true;
    if (!rb_node_list(list, err))
        return false;
    if (list->n_children > MAX_JOBS)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected at most %d jobs", MAX_JOBS);
    struct rb_pool_job *jobs = rb_arena_array(arena, (size_t)list->n_children + 1, sizeof *jobs);
    for (const struct rb_node *node = list->first; node; node = node->next) {
        if (!read_job(node, arena, &jobs[p->n_jobs++], err))
            return false;
    }
    p->jobs = jobs;
    return true;
}

static bool read_root(const struct rb_node *root, struct rb_arena *arena, struct rb_pool_file *p, struct rb_err *err)
{
    static const char *const keys[] = {"format",  "name",   "resources", "policy", "fairness_p", "interval",
                                       "restart", "budget", "seed",      "jobs",   NULL};
    struct rb_map m;
    int64_t seed;
    if (!rb_keys_begin(&m, root, keys, err) || !read_format(&m, err) || !read_name(&m, arena, &p->name, err) ||
        !rb_resources_read(rb_map_get(&m, "resources"), arena, &p->resources, err) ||
        !rb_keys_text(&m, "policy", "goodput", arena, &p->policy, err) ||
        !rb_keys_double(&m, "fairness_p", -MAX_FAIRNESS, 1, NAN, &p->fairness_p, err) ||
        !rb_keys_duration(&m, "interval", INTERVAL_US, &p->interval_us, err) ||
        !rb_keys_duration(&m, "restart", RESTART_US, &p->restart_us, err) ||
        !rb_keys_money(&m, "budget", -1, &p->budget_uusd, err) || !rb_keys_int(&m, "seed", 0, MAX_SEED, 42, &seed, err))
        return false;
    p->seed = (uint64_t)seed;
    if (p->resources.n_reservations > 0)
        return rb_node_refuse(rb_map_get(&m, "resources"), err, RB_E_RESERVATION,
                              "reservations: a pool owns its nodes throughout and takes none; run its jobs by themselves");
    return read_jobs(rb_keys_given(&m, "jobs"), arena, p, err);
}

bool rb_pool_file_load(const char *path, struct rb_arena *arena, struct rb_pool_file *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_pool_file p = {0};
    if (!rb_doc_read(&doc, path, err) || !read_root(doc.root, arena, &p, err))
        return false;
    *out = p;
    return true;
}
