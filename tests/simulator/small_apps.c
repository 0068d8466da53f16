#include "small_apps.h"

#include "base/file.h"
#include "check.h"
#include "tests/base/remove_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char constants[] = "{\"apps\": {\"toy\": {\"init_batch_size\": 10, \"max_batch_size\": 40, "
                                "\"min_local_bsz\": 1, \"max_local_bsz\": 10,\n"
                                " \"max_epochs\": 2, \"completion_epoch\": {\"10\": 1, \"40\": 1}}}}\n";

// Placement 12 is written as a rotation would not be: the least one.
static const char placements[] = "placement,local_bsz,step_time,sync_time\n"
                                 "1,1,1.0,0.0\n1,10,1.0,0.0\n"
                                 "2,1,0.6,0.1\n2,10,0.6,0.1\n"
                                 "11,1,0.75,0.25\n11,10,0.75,0.25\n"
                                 "12,1,0.5,0.1\n12,10,0.5,0.1\n";

// Everything else: four GPUs of two nodes, from the grid.
static const char grid[] = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
                           "2,4,1,0.5,0.1\n2,4,10,0.5,0.1\n";

const char *small_apps_put(struct small_apps *s, const char *name, const char *text)
{
    struct rb_err err;
    const char *path = rb_arena_printf(&s->arena, "%s/%s", s->dir, name);
    if (!rb_write_file(path, text, strlen(text), &err))
        fail_msg("%s", err.message);
    return path;
}

void small_apps_write(struct small_apps *s)
{
    *s = (struct small_apps){.dir = "/tmp/rb-apps-XXXXXX"};
    rb_arena_init(&s->arena);
    assert_non_null(mkdtemp(s->dir));
    static const char *const folders[] = {"traces", "traces/toy", "derived-throughput-grid"};
    for (size_t i = 0; i < N_OF(folders); i++)
        assert_int_equal(mkdir(rb_arena_printf(&s->arena, "%s/%s", s->dir, folders[i]), 0700), 0);
    small_apps_put(s, "reference_vectors.json", constants);
    small_apps_put(s, "traces/toy/placements.csv", placements);
    small_apps_put(s, "derived-throughput-grid/toy-grid.csv.gz", grid); // the reader takes plain text, too
    small_apps_put(s, "traces/toy/validation-10.csv",
                   "progress,iteration,metric,grad_sqr,grad_var\n100.5,100,0.5,1,0\n200,200,0.6,1,0\n");
    small_apps_put(s, "traces/toy/validation-40.csv",
                   "progress,iteration,metric,grad_sqr,grad_var\n101,25,0.5,1,0\n201,50,0.6,1,0\n");
}

void small_apps_load(struct small_apps *s, const char *rows)
{
    struct rb_err err;
    const char *text = rb_arena_printf(&s->arena, "name,time,application,num_replicas,batch_size\n%s", rows);
    if (!rb_apps_load(&s->apps, s->dir, &err) ||
        !rb_trace_read(&s->trace, small_apps_put(s, "trace.csv", text), &s->apps, &err))
        fail_msg("%s: %s", err.key, err.message);
}

void small_apps_finish(struct small_apps *s)
{
    rb_trace_finish(&s->trace);
    rb_apps_finish(&s->apps);
    rb_arena_finish(&s->arena);
    remove_tree(s->dir);
}
