// Any bytes as a job of another tool: the first byte says which (w, d, r) or that the keys tell, the rest is YAML. Refused with
// a place in it, or made into a job that the job reader accepts.
#include "doc_check.h"
#include "fuzz.h"

#include "profiles/import/import_job.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static const char *format_of(uint8_t c)
{
    return c == 'w' ? "wandb" : c == 'd' ? "determined" : c == 'r' ? "ray" : NULL;
}

// The text of the job is what was read from it, and a reader of the text alone finds the same.
static void check_made(const struct rb_job_import *im)
{
    struct rb_doc doc;
    struct rb_job job;
    struct rb_arena arena;
    rb_arena_init(&arena);
    require(rb_doc_parse_yaml(&doc, "job.yaml", im->text, strlen(im->text), NULL));
    require(rb_job_read(doc.root, NULL, 0, &arena, &job, NULL));
    require(strcmp(job.run, im->job.run) == 0 && job.space.n_params == im->job.space.n_params);
    for (int i = 0; i < im->n_warnings; i++)
        require(im->warnings[i].line > 0 && im->warnings[i].text[0]);
    rb_doc_finish(&doc);
    rb_arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_doc doc;
    struct rb_job_import im;
    struct rb_err err = {0};
    if (n == 0)
        return 0;
    const struct rb_job_import_options options = {.from = format_of(bytes[0]), .num_trials = bytes[0] == 'W' ? 4 : 0};
    if (!rb_doc_parse_yaml(&doc, "other.yaml", (const char *)bytes + 1, n - 1, &err)) {
        check_error(&err, "other.yaml");
        return 0;
    }
    if (rb_job_import_read(&doc, &options, &im, &err)) {
        check_made(&im);
        rb_job_import_finish(&im);
    } else {
        check_error(&err, "other.yaml");
    }
    rb_doc_finish(&doc);
    return 0;
}
