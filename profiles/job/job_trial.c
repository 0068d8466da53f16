// `trial:` of job.yaml: the sizes a trial may have, its batch, its patience.
#include "profiles/job/job_trial.h"

#include "base/limits.h"
#include "base/order.h"
#include "base/text/units.h"
#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GPUS     4096 // of one trial
#define MAX_CPUS     1024 // likewise
#define MAX_RESTARTS 1000
#define MAX_BATCH    (INT64_C(1) << 30) // samples

// A list of distinct whole numbers, any order in, ascending out.
static bool read_sizes(const struct rb_node *list, int max, struct rb_arena *arena, const int **out, int *out_n,
                       struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    const int n = list->n_children;
    if (n < 1 || n > RB_LIMIT_GPUS_PER_NODE)
        return rb_node_refuse(list, err, RB_E_LIST_LENGTH, "expected 1..%d entries, got %d", RB_LIMIT_GPUS_PER_NODE, n);
    int *sizes = rb_arena_array(arena, (size_t)n, sizeof *sizes), i = 0;
    for (const struct rb_node *child = list->first; child; child = child->next) {
        int64_t v;
        if (!rb_node_int(child, 1, max, &v, err))
            return false;
        for (int k = 0; k < i; k++)
            if (sizes[k] == v)
                return rb_node_refuse(child, err, RB_E_LIST_REPEATED, "%s is listed twice; remove one", child->text);
        sizes[i++] = (int)v;
    }
    qsort(sizes, (size_t)n, sizeof *sizes, rb_order_ints);
    *out = sizes;
    *out_n = n;
    return true;
}

static void use_sizes(const int *sizes, int n, struct rb_arena *arena, struct rb_trial_spec *t)
{
    int *copy = rb_arena_array(arena, (size_t)n, sizeof *copy);
    memcpy(copy, sizes, (size_t)n * sizeof *copy);
    t->sizes = copy;
    t->n_sizes = n;
}

// Powers of two between the bounds, and the bounds themselves.
static void default_sizes(struct rb_arena *arena, struct rb_trial_spec *t)
{
    int sizes[34], n = 0;
    sizes[n++] = t->min_gpus;
    for (int size = 1; size < t->max_gpus; size *= 2)
        if (size > t->min_gpus)
            sizes[n++] = size;
    if (t->max_gpus > t->min_gpus)
        sizes[n++] = t->max_gpus;
    use_sizes(sizes, n, arena, t);
}

static bool read_gpu_bounds(struct rb_map *m, struct rb_arena *arena, struct rb_trial_spec *t, struct rb_err *err)
{
    const struct rb_node *sizes = rb_map_get(m, "sizes");
    if (sizes && !read_sizes(sizes, MAX_GPUS, arena, &t->sizes, &t->n_sizes, err))
        return false;
    const int first = sizes ? t->sizes[0] : 1, last = sizes ? t->sizes[t->n_sizes - 1] : MAX_GPUS;
    if (!rb_keys_count(m, "min", 1, first == 1 ? MAX_GPUS : first, first, &t->min_gpus, err))
        return false;
    if (!sizes && !rb_map_get(m, "max"))
        return rb_node_refuse(m->node, err, RB_E_TRIAL_GPUS,
                              "expected `max` or `sizes`: how many GPUs may one trial use at most?");
    if (!rb_keys_count(m, "max", t->min_gpus, MAX_GPUS, last, &t->max_gpus, err))
        return false;
    if (sizes && (first < t->min_gpus || last > t->max_gpus))
        return rb_node_refuse(sizes, err, RB_E_TRIAL_GPUS, "expected sizes within min..max, which is %d..%d",
                              t->min_gpus, t->max_gpus);
    if (!sizes)
        default_sizes(arena, t);
    return true;
}

static bool read_gpus(const struct rb_node *node, struct rb_arena *arena, struct rb_trial_spec *t, struct rb_err *err)
{
    static const char *const keys[] = {"min", "max", "sizes", "share", NULL};
    static const int alone[] = {1};
    struct rb_map m;
    int64_t fixed = 1;
    t->shares = alone;
    t->n_shares = 1;
    if (!node || node->kind == RB_NODE_INT) {
        if (node && !rb_node_int(node, 1, MAX_GPUS, &fixed, err))
            return false;
        t->min_gpus = t->max_gpus = (int)fixed;
        default_sizes(arena, t);
        return true;
    }
    if (node->kind != RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected a whole number, or a map {min, max, sizes, share}");
    if (!rb_keys_begin(&m, node, keys, err) || !read_gpu_bounds(&m, arena, t, err))
        return false;
    const struct rb_node *share = rb_map_get(&m, "share");
    return !share || read_sizes(share, RB_LIMIT_TRIALS_PER_GPU, arena, &t->shares, &t->n_shares, err);
}

// A job needs GPUs or it needs CPUs. One that needs CPUs has one size: a slot of that many.
static bool read_cpus(struct rb_map *m, struct rb_trial_spec *t, struct rb_err *err)
{
    const struct rb_node *cpus = rb_keys_given(m, "cpus"), *memory = rb_keys_given(m, "memory");
    if (cpus && rb_map_get(m, "gpus"))
        return rb_node_refuse(cpus, err, RB_E_TRIAL_CPUS,
                              "trial.gpus and trial.cpus are both given; a job trains on GPUs or on machines without "
                              "GPUs: remove one (a machine with GPUs brings its CPUs along)");
    if (memory && !cpus)
        return rb_node_refuse(memory, err, RB_E_TRIAL_CPUS,
                              "trial.memory goes with trial.cpus, for jobs without GPUs; add trial.cpus, or remove it");
    if (cpus && rb_keys_given(m, "batch"))
        return rb_node_refuse(cpus, err, RB_E_TRIAL_CPUS,
                              "trial.batch tunes the batch of GPUs, and trial.cpus asks for none: remove one");
    if (cpus && rb_keys_given(m, "max_nodes"))
        return rb_node_refuse(cpus, err, RB_E_TRIAL_CPUS,
                              "a trial with trial.cpus stays on one node: remove trial.max_nodes");
    return rb_keys_count(m, "cpus", 1, MAX_CPUS, 0, &t->cpus, err) &&
           rb_keys_size(m, "memory", 0, &t->memory_bytes, err);
}

static bool read_batch(const struct rb_node *node, struct rb_trial_spec *t, struct rb_err *err)
{
    static const char *const keys[] = {"size", "max", "max_per_gpu", "lr_scaling", NULL};
    struct rb_map m;
    const struct rb_node *size, *max;
    if (!node)
        return true;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_map_need(&m, "size", &size, err) ||
        !rb_node_int(size, 1, MAX_BATCH, &t->batch_size, err) || !rb_map_need(&m, "max", &max, err) ||
        !rb_node_int(max, t->batch_size, MAX_BATCH, &t->batch_max, err) ||
        !rb_keys_int(&m, "max_per_gpu", 1, t->batch_max, t->batch_max, &t->batch_max_per_gpu, err))
        return false;
    if (t->batch_max < t->max_gpus)
        return rb_node_refuse(
            max, err, RB_E_TRIAL_GPUS,
            "expected %d or more: a trial may have that many GPUs, and each takes at least one sample", t->max_gpus);
    const struct rb_node *scaling = rb_keys_given(&m, "lr_scaling");
    int choice = 0;
    if (scaling && !rb_node_choice(scaling, rb_lr_scaling_names, rb_names_count(rb_lr_scaling_names), &choice, err))
        return false;
    t->lr_scaling = scaling ? rb_lr_scaling_names[choice] : NULL;
    return true;
}

bool rb_trial_spec_read(const struct rb_node *node, const struct rb_space *space, struct rb_arena *arena,
                        struct rb_trial_spec *out, struct rb_err *err)
{
    static const char *const keys[] = {"gpus",         "cpus",    "memory", "batch", "max_nodes",
                                       "max_restarts", "timeout", "stop",   "args",  NULL};
    const struct rb_node empty = {.kind = RB_NODE_MAP};
    struct rb_trial_spec t = {0};
    struct rb_map m;
    int stop;
    if (!rb_keys_begin(&m, node ? node : &empty, keys, err) || !read_gpus(rb_map_get(&m, "gpus"), arena, &t, err) ||
        !read_cpus(&m, &t, err) || !read_batch(rb_keys_given(&m, "batch"), &t, err) ||
        !rb_keys_count(&m, "max_nodes", 1, RB_LIMIT_GPUS_PER_NODE, 1, &t.max_nodes, err) ||
        !rb_keys_count(&m, "max_restarts", 0, MAX_RESTARTS, 3, &t.max_restarts, err) ||
        !rb_keys_duration(&m, "timeout", 30 * 60 * RB_US_PER_S, &t.timeout_us, err) ||
        !rb_keys_choice(&m, "stop", rb_stop_names, rb_names_count(rb_stop_names), RB_STOP_SELF, &stop, err) ||
        !rb_trial_args_read(rb_keys_given(&m, "args"), space, arena, &t.args, err))
        return false;
    t.stop = (enum rb_stop)stop;
    *out = t;
    return true;
}

// --- words ---

struct rb_trial_unit rb_trial_unit(const struct rb_trial_spec *t)
{
    return t->cpus > 0 ? (struct rb_trial_unit){"CPU", "CPUs", t->cpus} : (struct rb_trial_unit){"GPU", "GPUs", 1};
}

const char *rb_trial_unit_text(const struct rb_trial_spec *t, int n, char out[static 32])
{
    const struct rb_trial_unit unit = rb_trial_unit(t);
    const int all = n * unit.each;
    snprintf(out, 32, "%d %s", all, all == 1 ? unit.one : unit.many);
    return out;
}

// --- writing ---

static void write_ints(struct rb_json *j, const char *key, const int *values, int n)
{
    rb_json_karray(j, key);
    for (int i = 0; i < n; i++)
        rb_json_int(j, values[i]);
    rb_json_end_array(j);
}

static void write_gpus(const struct rb_trial_spec *t, struct rb_json *j)
{
    rb_json_kobject(j, "gpus");
    rb_json_kint(j, "min", t->min_gpus);
    rb_json_kint(j, "max", t->max_gpus);
    write_ints(j, "sizes", t->sizes, t->n_sizes);
    write_ints(j, "share", t->shares, t->n_shares);
    rb_json_end_object(j);
}

static void write_cpus(const struct rb_trial_spec *t, struct rb_json *j)
{
    char memory[32];
    rb_json_kint(j, "cpus", t->cpus);
    rb_json_kstring(j, "memory", t->memory_bytes ? rb_format_size_exact(t->memory_bytes, memory) : NULL);
}

static void write_batch(const struct rb_trial_spec *t, struct rb_json *j)
{
    rb_json_key(j, "batch");
    if (t->batch_size == 0) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_json_kint(j, "size", t->batch_size);
    rb_json_kint(j, "max", t->batch_max);
    rb_json_kint(j, "max_per_gpu", t->batch_max_per_gpu);
    rb_json_kstring(j, "lr_scaling", t->lr_scaling);
    rb_json_end_object(j);
}

void rb_trial_spec_write(const struct rb_trial_spec *t, struct rb_json *j)
{
    char timeout[32];
    rb_json_begin_object(j);
    if (t->cpus > 0) {
        write_cpus(t, j);
    } else {
        write_gpus(t, j);
        write_batch(t, j);
        rb_json_kint(j, "max_nodes", t->max_nodes);
    }
    rb_json_kint(j, "max_restarts", t->max_restarts);
    rb_json_kstring(j, "timeout", rb_format_duration_exact(t->timeout_us, timeout));
    if (t->stop != RB_STOP_SELF)
        rb_json_kstring(j, "stop", rb_stop_names[t->stop]);
    if (t->args.given) {
        rb_json_key(j, "args");
        rb_trial_args_write(&t->args, j);
    }
    rb_json_end_object(j);
}
