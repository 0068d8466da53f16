// Source: the OpenAPI documents v0.0.38 (Slurm 22.05) to v0.0.45, schema job_desc_msg (v0.0.38: job_properties).
#include "providers/slurm/slurm_encode.h"

#include "base/document/json.h"
#include "base/limits.h"
#include "base/text/number.h"
#include "base/text/units.h"

#include <stdio.h>
#include <string.h>

#define BYTES_PER_MB INT64_C(1048576) // Slurm's megabyte

bool rb_slurm_shape(const char *instance_type, struct rb_slurm_shape *out, struct rb_err *err)
{
    const char *count = strrchr(instance_type, ':');
    int64_t units;
    const bool cpu = strncmp(instance_type, "cpu:", 4) == 0, gpu = strncmp(instance_type, "gpu:", 4) == 0;
    // It is copied into a request: only the characters of a GRES are allowed.
    const bool plain = instance_type[strspn(instance_type, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                                           "0123456789_.:-")] == '\0';
    if (!plain || !(gpu || (cpu && count == instance_type + 3)) || !rb_parse_int(count + 1, &units) || units < 1 ||
        units > RB_LIMIT_GPUS_PER_NODE)
        return rb_err_set(
            err, RB_E_SLURM_TYPE,
            "instance type \"%.60s\": expected gpu:N, gpu:TYPE:N as in --gres, or cpu:N, with N in 1..%d: "
            "correct it in the prices of slurm",
            instance_type, RB_LIMIT_GPUS_PER_NODE);
    *out = (struct rb_slurm_shape){.gres = gpu ? instance_type : NULL, .units = (int)units};
    return true;
}

static void put_pair(struct rb_buf *out, const char *key, const char *value)
{
    if (!value)
        return;
    rb_buf_printf(out, " %s=", key);
    for (; *value; value++)
        rb_buf_putc(out, (unsigned char)*value <= ' ' || *value == 127 ? '_' : *value);
}

void rb_slurm_comment(const struct rb_launch *l, struct rb_buf *out)
{
    rb_buf_puts(out, "rubberband");
    put_pair(out, "owner", l->tags.owner);
    put_pair(out, "run", l->tags.run_id);
    put_pair(out, "launch", l->tags.launch_id);
    put_pair(out, "token", l->token);
    put_pair(out, "type", l->instance_type);
}

// From v0.0.39 on a number may also be unset or infinite.
static void write_number(struct rb_json *j, const char *key, int64_t value, int api)
{
    rb_json_put(j, api < 39 ? "%s: %jd" : "%s: {set: true, infinite: false, number: %jd}", key, value);
}

static void write_resources(struct rb_json *j, const struct rb_slurm_shape *shape, const struct rb_slurm_spec *spec,
                            int api)
{
    const int cpus = shape->gres ? spec->cpus_per_gpu * shape->units : shape->units;
    const bool by_cpu = !shape->gres && spec->memory_per_cpu_bytes > 0;
    const int64_t bytes = by_cpu ? spec->memory_per_cpu_bytes : spec->memory_per_gpu_bytes;
    const int64_t megabytes = (bytes / BYTES_PER_MB + (bytes % BYTES_PER_MB > 0)) * shape->units;
    rb_json_put(j, api < 39 ? "nodes: 1, tasks: 1" : "minimum_nodes: 1, maximum_nodes: 1, tasks: 1");
    if (cpus > 0)
        rb_json_kint(j, "cpus_per_task", cpus);
    if (megabytes > 0)
        write_number(j, "memory_per_node", megabytes, api);
    if (shape->gres)
        rb_json_put(j, api < 39 ? "gres: %s" : "tres_per_node: 'gres/%s'", shape->gres);
}

void rb_slurm_write_submission(const struct rb_launch *l, const struct rb_slurm_shape *shape,
                               const struct rb_slurm_spec *spec, int api, struct rb_buf *out)
{
    static const char path[] = "PATH=/usr/local/bin:/usr/bin:/bin"; // a job without an environment is refused
    RB_AUTO(rb_buf_finish) struct rb_buf comment = RB_BUF_INIT;
    const char *name = l->tags.name, *run_id = l->tags.run_id;
    struct rb_json j;
    rb_slurm_comment(l, &comment);
    rb_json_init(&j, out, false);
    rb_json_put(&j, "{script: %s, job: {name: '%s-%.*s', comment: %s, partition: %s, account: %s", l->user_data,
                name ? name : "rb", 12, l->token, rb_buf_str(&comment), l->region && l->region[0] ? l->region : NULL,
                spec->account);
    write_resources(&j, shape, spec, api);
    if (l->max_lifetime_s > 0)
        write_number(&j, "time_limit", (l->max_lifetime_s + 59) / 60, api);
    rb_json_put(&j, "requeue: false, current_working_directory: %s, standard_output: '%s/%s/slurm-%s'",
                spec->shared_dir, spec->shared_dir, run_id ? run_id : ".", "%j.out");
    rb_json_put(&j, api < 39 ? "environment: {PATH: %s}}}" : "environment: [%s]}}",
                api < 39 ? strchr(path, '=') + 1 : path);
}
