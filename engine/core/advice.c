#include "engine/core/advice.h"

#include "base/limits.h"

static void write_trial(const struct rb_advised_trial *t, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "trial", t->trial);
    rb_json_kint(j, "gpus", t->gpus);
    rb_json_end_object(j);
}

void rb_advice_write(const struct rb_advice *advice, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_karray(j, "trials");
    for (int i = 0; i < advice->n_trials; i++)
        write_trial(&advice->trials[i], j);
    rb_json_end_array(j);
    rb_json_key(j, "pool_nodes");
    if (advice->pool_nodes >= 0)
        rb_json_int(j, advice->pool_nodes);
    else
        rb_json_null(j);
    rb_json_kbool(j, "admit", advice->admit);
    rb_json_end_object(j);
}

const struct rb_advice *rb_advice_copy(const struct rb_advice *advice, struct rb_arena *arena)
{
    struct rb_advice *copy = rb_arena_array(arena, 1, sizeof *copy);
    struct rb_advised_trial *trials = rb_arena_array(arena, (size_t)advice->n_trials + 1, sizeof *trials);
    for (int i = 0; i < advice->n_trials; i++)
        trials[i] = advice->trials[i];
    *copy = *advice;
    copy->trials = trials;
    return copy;
}

static bool read_trial(const struct rb_node *node, struct rb_advised_trial *out, struct rb_err *err)
{
    struct rb_map m;
    return rb_map_begin(&m, node, err) && rb_map_need_count(&m, "trial", 0, RB_LIMIT_TRIALS - 1, &out->trial, err) &&
           rb_map_need_count(&m, "gpus", 0, RB_LIMIT_NODES * RB_LIMIT_GPUS_PER_NODE, &out->gpus, err) &&
           rb_map_end(&m, err);
}

static bool read_trials(const struct rb_node *node, struct rb_arena *arena, struct rb_advice *out, struct rb_err *err)
{
    if (!rb_node_list(node, err))
        return false;
    struct rb_advised_trial *trials = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *trials);
    int n = 0;
    for (const struct rb_node *item = node->first; item; item = item->next, n++) {
        if (!read_trial(item, &trials[n], err))
            return false;
        if (n > 0 && trials[n].trial <= trials[n - 1].trial)
            return rb_node_refuse(item, err, RB_E_ORDER, "expected trials in ascending order");
    }
    out->trials = trials;
    out->n_trials = n;
    return true;
}

static bool read_pool(const struct rb_node *node, int *out, struct rb_err *err)
{
    int64_t n = -1;
    if (node->kind != RB_NODE_NULL && !rb_node_int(node, 0, RB_LIMIT_NODES, &n, err))
        return false;
    *out = (int)n;
    return true;
}

bool rb_advice_read(const struct rb_node *node, struct rb_arena *arena, struct rb_advice *out, struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *trials, *pool, *admit;
    struct rb_advice advice;
    if (!rb_map_begin(&m, node, err) || !rb_map_need(&m, "trials", &trials, err) ||
        !read_trials(trials, arena, &advice, err) || !rb_map_need(&m, "pool_nodes", &pool, err) ||
        !read_pool(pool, &advice.pool_nodes, err) || !rb_map_need(&m, "admit", &admit, err) ||
        !rb_node_bool(admit, &advice.admit, err) || !rb_map_end(&m, err))
        return false;
    *out = advice;
    return true;
}
