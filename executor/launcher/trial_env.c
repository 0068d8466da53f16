// Environment of a trial: a pure function of the order.
#include "executor/launcher/trial_env.h"

#include "base/crc32c.h"
#include "base/text/buf.h"
#include "base/document/json.h"
#include "base/stream.h"
#include "profiles/script/trial_variables.h"

#include <inttypes.h>
#include <string.h>

struct env {
    struct rb_arena *arena;
    struct rb_key_value *items;
    int n;
};

// A later value of the same name replaces the earlier one.
static void put(struct env *env, const char *key, const char *value)
{
    int at = 0;
    while (at < env->n && strcmp(env->items[at].key, key) != 0)
        at++;
    env->items[at] = (struct rb_key_value){rb_arena_strdup(env->arena, key), rb_arena_strdup(env->arena, value)};
    env->n += at == env->n;
}

static void put_int(struct env *env, const char *key, int64_t value)
{
    put(env, key, rb_arena_printf(env->arena, "%" PRId64, value));
}

static void put_configuration(struct env *env, const struct rb_trial_order *o)
{
    const struct rb_space *space = &o->job->space;
    const struct rb_value *values = rb_trial_values(o->job, o->trial, o->suggested, env->arena);
    for (int i = 0; i < space->n_params; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
        if (values[i].kind == RB_VALUE_ABSENT)
            continue;
        rb_value_text(&values[i], &text);
        put(env, rb_param_variable(space->params[i].name, env->arena), rb_buf_str(&text));
    }
    RB_AUTO(rb_buf_finish) struct rb_buf args = RB_BUF_INIT, params = RB_BUF_INIT;
    struct rb_json json = {.out = &params};
    rb_space_json(space, values, &json);
    rb_space_args(space, values, &args);
    put(env, "RB_ARGS", rb_buf_str(&args));
    put(env, "RB_PARAMS_JSON", rb_buf_str(&params));
}

static void put_secrets(struct env *env, const struct rb_trial_order *o)
{
    for (int i = 0; o->secret && i < o->job->secrets.n; i++) {
        const char *value = o->secret(o->secret_ctx, o->job->secrets.items[i]);
        if (value)
            put(env, o->job->secrets.items[i], value);
    }
}

// 31 bits, so that every language takes it as a seed.
int64_t rb_trial_seed(const struct rb_job *job, int trial)
{
    struct rb_stream s;
    rb_stream_init(&s,
                   &(struct rb_stream_key){.seed = job->seed, .purpose = RB_DRAW_TRIAL_SEED, .index = (uint32_t)trial});
    return (int64_t)(rb_stream_u32(&s) >> 1);
}

int rb_trial_master_port(const char *run_id, int trial)
{
    enum { FIRST = 20000, N = 12000 };
    const uint32_t of_run = rb_crc32c(run_id, strlen(run_id)) % N;
    return FIRST + (int)((of_run + (uint32_t)trial) % N);
}

static void put_nodes(struct env *env, const struct rb_trial_order *o)
{
    RB_AUTO(rb_buf_finish) struct rb_buf ips = RB_BUF_INIT;
    for (int i = 0; i < o->n_nodes; i++)
        rb_buf_printf(&ips, "%s%s", i ? "," : "", o->node_ips[i]);
    put_int(env, "RB_NUM_NODES", o->n_nodes);
    put(env, "RB_NODE_IPS", rb_buf_str(&ips));
    put(env, "MASTER_ADDR", o->n_nodes > 0 ? o->node_ips[0] : "127.0.0.1");
    put_int(env, "MASTER_PORT", rb_trial_master_port(o->run_id, o->trial));
}

// Numbers that a script can use directly: the total is what one step trains on.
static void put_batch(struct env *env, const struct rb_trial_order *o)
{
    const struct rb_batch *batch = &o->batch.batch;
    if (batch->per_gpu == 0)
        return;
    put(env, "RB_BATCH_SIZE", rb_arena_printf(env->arena, "%.0f", rb_batch_total(batch, o->gpus)));
    put_int(env, "RB_BATCH_PER_GPU", batch->per_gpu);
    put_int(env, "RB_ACCUM_STEPS", batch->accumulation);
    put(env, "RB_LR_FACTOR", rb_arena_printf(env->arena, "%.17g", o->batch.lr_factor));
}

// Each gets an equal part of the GPU's multiprocessors if NVIDIA's MPS runs on the node; otherwise they take turns.
static void put_share(struct env *env, const struct rb_trial_order *o)
{
    if (o->sharers == 0)
        return;
    put(env, "RB_GPU_SHARE", rb_arena_printf(env->arena, "%.6g", 1.0 / o->sharers));
    if (o->sharers > 1)
        put_int(env, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", 100 / o->sharers);
}

// A library that starts a thread for every CPU of the machine would slow down the other trials. Before the job's own
// variables, which win.
static void put_cpus(struct env *env, int cpus)
{
    if (cpus == 0)
        return;
    put_int(env, "RB_CPUS", cpus);
    put_int(env, "OMP_NUM_THREADS", cpus);
}

void rb_trial_env(const struct rb_trial_order *o, struct rb_arena *arena, struct rb_key_value **out, int *out_n)
{
    const struct rb_job *job = o->job;
    const int most = job->n_envs + job->secrets.n + job->space.n_params + 30;
    struct env env = {.arena = arena, .items = rb_arena_array(arena, (size_t)most, sizeof(struct rb_key_value))};
    put_cpus(&env, job->trial.cpus);
    for (int i = 0; i < job->n_envs; i++)
        put(&env, job->envs[i].key, job->envs[i].value);
    put_secrets(&env, o);
    put_configuration(&env, o);
    put(&env, "RB_JOB_NAME", job->name);
    put(&env, "RB_RUN_ID", o->run_id);
    put_int(&env, "RB_TRIAL_ID", o->trial);
    if (o->parent >= 0)
        put_int(&env, "RB_PARENT_TRIAL_ID", o->parent);
    put_int(&env, "RB_TRIAL_SEED", rb_trial_seed(job, o->trial));
    put_int(&env, "RB_RUNG", o->stage);
    put_int(&env, "RB_ATTEMPT", o->attempt);
    put_int(&env, "RB_RESOURCE_START", job->starts_over ? 0 : o->resource_start);
    put_int(&env, "RB_RESOURCE_END", o->resource_end);
    put_int(&env, "RB_MAX_RESOURCE", job->scheduler.max_resource);
    put_int(&env, "RB_CHECKPOINT_EVERY_S", o->checkpoint_every_s);
    put_nodes(&env, o);
    put_batch(&env, o);
    put_share(&env, o);
    put(&env, "RB_DEADLINE",
        o->deadline_unix_us < 0 ? "" : rb_arena_printf(arena, "%" PRId64, o->deadline_unix_us / 1000000));
    *out = env.items;
    *out_n = env.n;
}
