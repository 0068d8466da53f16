#include "profiles/script/trial_variables.h"

#include "base/text/closest.h"

#include <ctype.h>
#include <string.h>

const char *const rb_trial_variables[] = {
    "RB_ARGS",
    "RB_PARAMS_FILE",
    "RB_PARAMS_JSON",
    "RB_JOB_NAME",
    "RB_RUN_ID",
    "RB_TRIAL_ID",
    "RB_PARENT_TRIAL_ID",
    "RB_TRIAL_SEED",
    "RB_RUNG",
    "RB_ATTEMPT",
    "RB_RESOURCE_START",
    "RB_RESOURCE_END",
    "RB_MAX_RESOURCE",
    "RB_RESUME_FROM",
    "RB_CHECKPOINT_DIR",
    "RB_CHECKPOINT_EVERY_S",
    "RB_DATA_DIR",
    "RB_PREEMPT_FILE",
    "RB_METRICS_FILE",
    "RB_NODE_RANK",
    "RB_NUM_NODES",
    "RB_NODE_IPS",
    "RB_GPUS_PER_NODE",
    "RB_DEADLINE",
    "RB_BATCH_SIZE",
    "RB_BATCH_PER_GPU",
    "RB_ACCUM_STEPS",
    "RB_LR_FACTOR",
    "RB_GPU_SHARE",
    "RB_NODE_DEVICES",
    "RB_CPUS",
    NULL,
};
#define N_VARIABLES ((int)(sizeof rb_trial_variables / sizeof rb_trial_variables[0]) - 1)

const char *rb_param_variable(const char *param, struct rb_arena *arena)
{
    char *name = rb_arena_printf(arena, "RB_PARAM_%s", param);
    for (char *c = name; *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    return name;
}

static const char **all(const struct rb_space *space, struct rb_arena *arena, int *out_n)
{
    const char **names = rb_arena_array(arena, (size_t)(N_VARIABLES + space->n_params), sizeof *names);
    int n = 0;
    for (; n < N_VARIABLES; n++)
        names[n] = rb_trial_variables[n];
    for (int i = 0; i < space->n_params; i++)
        names[n++] = rb_param_variable(space->params[i].name, arena);
    *out_n = n;
    return names;
}

bool rb_trial_variable_exists(const struct rb_space *space, const char *name, struct rb_arena *arena)
{
    int n;
    const char **names = all(space, arena, &n);
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

const char *rb_trial_variable_closest(const struct rb_space *space, const char *name, struct rb_arena *arena)
{
    int n;
    const char **names = all(space, arena, &n);
    return rb_closest(name, names, n);
}
