// Reads job, profile and prices, from files and from memory, with the readers of the commands.
#include "library/handles.h"

#include "base/clock.h"
#include "base/document/csv.h"
#include "base/limits.h"
#include "profiles/guess/guess.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_json(const char *name)
{
    const size_t n = strlen(name);
    return n >= 5 && strcmp(name + n - 5, ".json") == 0;
}

static bool parse(const char *name, const char *bytes, size_t n, struct rb_doc *out, struct rb_err *err)
{
    return is_json(name) ? rb_doc_parse_json(out, name, bytes, n, err) : rb_doc_parse_yaml(out, name, bytes, n, err);
}

// ---- jobs

static void write_resolved(struct rubberband_job *j)
{
    struct rb_json json = {.out = &j->json};
    rb_job_write(&j->job, &json);
}

static int make_job(const struct rb_doc *doc, const char *path, const char *const *overrides, int n,
                    struct rubberband_job **out, struct rubberband_error *error)
{
    struct rb_err err = {0};
    char absolute[PATH_MAX];
    struct rubberband_job *j = rb_xcalloc(1, sizeof *j);
    if (!rb_job_read(doc->root, overrides, n, &j->arena, &j->job, &err) ||
        !rb_job_settle_deadline(&j->job, rb_clock_unix_us(), &err)) {
        rubberband_job_free(j);
        return rb_library_fail(error, &err);
    }
    rb_job_settle_reservations(&j->job, rb_clock_unix_us());
    j->path = rb_arena_strdup(&j->arena, path && realpath(path, absolute) ? absolute : "");
    write_resolved(j);
    *out = j;
    return RUBBERBAND_OK;
}

int rubberband_job_load(const char *path, const char *const *overrides, int n_overrides,
                        struct rubberband_job **out_job, struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_doc doc;
    assert(path && out_job);
    if (!rb_doc_read(&doc, path, &err))
        return rb_library_fail(error, &err);
    const int status = make_job(&doc, path, overrides, n_overrides, out_job, error);
    rb_doc_finish(&doc);
    return status;
}

int rubberband_job_parse(const char *name, const char *bytes, size_t n_bytes, const char *const *overrides,
                         int n_overrides, struct rubberband_job **out_job, struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_doc doc;
    assert(name && bytes && out_job);
    if (!parse(name, bytes, n_bytes, &doc, &err))
        return rb_library_fail(error, &err);
    const int status = make_job(&doc, NULL, overrides, n_overrides, out_job, error);
    rb_doc_finish(&doc);
    return status;
}

void rubberband_job_free(struct rubberband_job *job)
{
    if (!job)
        return;
    rb_buf_finish(&job->json);
    rb_arena_finish(&job->arena);
    free(job);
}

const char *rubberband_job_name(const struct rubberband_job *job)
{
    return job->job.name;
}

const char *rubberband_job_json(const struct rubberband_job *job)
{
    return rb_buf_str(&job->json);
}

// ---- profiles

static int make_profile(const struct rb_doc *doc, const char *name, struct rubberband_profile **out,
                        struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rubberband_profile *p = rb_xcalloc(1, sizeof *p);
    if (!rb_profile_read(doc->root, NULL, rb_profile_stem(name, &p->arena), &p->arena, &p->profile, &err)) {
        rubberband_profile_free(p);
        return rb_library_fail(error, &err);
    }
    *out = p;
    return RUBBERBAND_OK;
}

int rubberband_profile_load(const char *path, struct rubberband_profile **out_profile, struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_doc doc;
    assert(path && out_profile);
    if (!rb_doc_read(&doc, path, &err))
        return rb_library_fail(error, &err);
    const int status = make_profile(&doc, path, out_profile, error);
    rb_doc_finish(&doc);
    return status;
}

int rubberband_profile_parse(const char *name, const char *bytes, size_t n_bytes,
                             struct rubberband_profile **out_profile, struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_doc doc;
    assert(name && bytes && out_profile);
    if (!parse(name, bytes, n_bytes, &doc, &err))
        return rb_library_fail(error, &err);
    const int status = make_profile(&doc, name, out_profile, error);
    rb_doc_finish(&doc);
    return status;
}

int rubberband_profile_guess(const struct rubberband_job *job, const struct rubberband_prices *prices,
                             struct rubberband_profile **out_profile, struct rubberband_error *error)
{
    struct rb_err err = {0};
    assert(job && prices && out_profile);
    const struct rb_job *j = &job->job;
    struct rubberband_profile *p = rb_xcalloc(1, sizeof *p);
    rb_arena_init(&p->arena);
    const bool ok =
        j->guess
            ? rb_guess_of_job(j, NULL, &prices->catalog, &p->arena, &p->profile, &err)
            : rb_err_set(&err, RB_E_PROFILE_MISSING,
                         "the job %s has no guess: load a profile, or add guess: {unit: 4m, on: A10G}", j->name);
    if (!ok) {
        rubberband_profile_free(p);
        return rb_library_fail(error, &err);
    }
    *out_profile = p;
    return RUBBERBAND_OK;
}

void rubberband_profile_free(struct rubberband_profile *profile)
{
    if (!profile)
        return;
    rb_arena_finish(&profile->arena);
    free(profile);
}

const char *rubberband_profile_name(const struct rubberband_profile *profile)
{
    return profile->profile.name;
}

// ---- prices

struct rubberband_prices *rubberband_prices_new(void)
{
    struct rubberband_prices *p = rb_xcalloc(1, sizeof *p);
    return p;
}

void rubberband_prices_free(struct rubberband_prices *prices)
{
    if (!prices)
        return;
    rb_arena_finish(&prices->arena);
    free(prices);
}

int rubberband_prices_add_local(struct rubberband_prices *prices, const char *accelerator, int gpus)
{
    assert(prices && accelerator);
    if (gpus < 1 || gpus > RB_LIMIT_GPUS_PER_NODE)
        return RUBBERBAND_INVALID;
    rb_catalog_add_local(&prices->catalog, &prices->arena, rb_arena_strdup(&prices->arena, accelerator), gpus);
    rb_catalog_sort(&prices->catalog);
    return RUBBERBAND_OK;
}

int rubberband_prices_count(const struct rubberband_prices *prices)
{
    return prices->catalog.n_offers;
}

static int add_rows(struct rubberband_prices *prices, const struct rb_csv *csv, struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_catalog more;
    if (!rb_catalog_from_csv(csv, &prices->arena, &more, &err))
        return rb_library_fail(error, &err);
    rb_catalog_add(&prices->catalog, &more, &prices->arena);
    rb_catalog_sort(&prices->catalog);
    return RUBBERBAND_OK;
}

int rubberband_prices_load(struct rubberband_prices *prices, const char *path, struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_csv csv;
    assert(prices && path);
    if (!rb_csv_read(&csv, path, &err))
        return rb_library_fail(error, &err);
    const int status = add_rows(prices, &csv, error);
    rb_csv_finish(&csv);
    return status;
}

int rubberband_prices_parse(struct rubberband_prices *prices, const char *name, const char *bytes, size_t n_bytes,
                            struct rubberband_error *error)
{
    struct rb_err err = {0};
    struct rb_csv csv;
    assert(prices && name && bytes);
    if (!rb_csv_parse(&csv, name, bytes, n_bytes, &err))
        return rb_library_fail(error, &err);
    const int status = add_rows(prices, &csv, error);
    rb_csv_finish(&csv);
    return status;
}
