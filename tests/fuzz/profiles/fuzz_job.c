// Any bytes as job.yaml, with what stands before a NUL byte as one --set: refused with a place, or a job that
// reads back from its resolved form to the same bytes, and whose trials can be drawn.
#include "doc_check.h"
#include "fuzz.h"

#include "profiles/job/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void write_job(const struct rb_job *job, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_job_write(job, &j);
}

static void check_fixed_point(const struct rb_job *job, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
    struct rb_doc doc;
    struct rb_job back;
    write_job(job, &text);
    require(rb_doc_parse_json(&doc, "resolved.json", rb_buf_str(&text), text.len, NULL));
    require(rb_job_read(doc.root, NULL, 0, arena, &back, NULL));
    rb_doc_finish(&doc);
    write_job(&back, &again);
    require(strcmp(rb_buf_str(&text), rb_buf_str(&again)) == 0);
}

static void check_trials(const struct rb_job *job, struct rb_arena *arena)
{
    struct rb_value *values = rb_arena_array(arena, (size_t)job->space.n_params, sizeof *values);
    int64_t n_points;
    for (uint32_t trial = 0; trial < 3; trial++) {
        RB_AUTO(rb_buf_finish) struct rb_buf args = RB_BUF_INIT;
        rb_space_sample(&job->space, job->seed, trial, values);
        for (int i = 0; i < job->space.n_params; i++)
            require(isfinite(values[i].number));
        rb_space_args(&job->space, values, &args);
    }
    if (rb_space_grid_size(&job->space, &n_points, NULL)) {
        require(n_points >= 1);
        rb_space_grid_point(&job->space, 0, values);
        rb_space_grid_point(&job->space, n_points - 1, values);
    }
}

static void check_job(const struct rb_job *job, struct rb_arena *arena)
{
    struct rb_err err = {0};
    check_fixed_point(job, arena);
    check_trials(job, arena);
    require(rb_job_check_supported(job, &err) || (err.code == RB_ERR_INVALID && err.key[0]));
}

// The error stands in the file, or names the flag.
static void check_place(const struct rb_err *err)
{
    if (strncmp(err->file, "--set ", 6) == 0)
        require(err->code == RB_ERR_INVALID && err->message[0]);
    else
        check_error(err, "job.yaml");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const uint8_t *nul = memchr(bytes, 0, n);
    const size_t start = nul ? (size_t)(nul - bytes) + 1 : 0;
    const char *const override = nul ? (const char *)bytes : NULL;
    struct rb_doc doc;
    struct rb_err err = {0};
    if (!rb_doc_parse_yaml(&doc, "job.yaml", (const char *)bytes + start, n - start, &err)) {
        check_error(&err, "job.yaml");
        return 0;
    }
    struct rb_arena arena;
    struct rb_job job;
    rb_arena_init(&arena);
    if (rb_job_read(doc.root, &override, nul ? 1 : 0, &arena, &job, &err))
        check_job(&job, &arena);
    else
        check_place(&err);
    rb_arena_finish(&arena);
    rb_doc_finish(&doc);
    return 0;
}
