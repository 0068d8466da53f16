#include "executor/search/earlier.h"

#include "base/document/doc.h"
#include "profiles/store/found.h"
#include "providers/wire/digest.h"
#include "samplers/sampler.h"

#include <string.h>

bool rb_earlier_matter(const struct rb_job *job)
{
    const struct rb_sampler *sampler = rb_sampler_find(job->scheduler.sampler.type);
    return sampler && sampler->recalls;
}

// ---- from the store

static bool read_result(const struct rb_space *space, const struct rb_found *run, const struct rb_found_result *r,
                        int age, struct rb_arena *arena, struct rb_earlier_result *out, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_value *values = rb_arena_array(arena, (size_t)space->n_params + 1, sizeof *values);
    if (!rb_doc_parse_json(&doc, "profile store", r->config_json, strlen(r->config_json), err) ||
        !rb_space_read_values(space, doc.root, arena, values, err))
        return rb_err_prefix(err, "the profile store's results of run %s", run->run);
    *out = (struct rb_earlier_result){.values = values,
                                      .resource = r->resource,
                                      .quantile = r->quantile,
                                      .unit_s = r->unit_s,
                                      .age = age,
                                      .run = run->run};
    return true;
}

static bool read_all(const struct rb_space *space, const struct rb_found *found, int n_found, struct rb_arena *arena,
                     struct rb_earlier *out, struct rb_err *err)
{
    int most = 0;
    for (int i = 0; i < n_found; i++)
        most += found[i].n;
    struct rb_earlier_result *results = rb_arena_array(arena, (size_t)most, sizeof *results);
    const char **runs = rb_arena_array(arena, (size_t)n_found, sizeof *runs);
    *out = (struct rb_earlier){.results = results, .runs = runs, .n_runs = n_found};
    for (int i = 0; i < n_found; i++) {
        runs[i] = found[i].run;
        for (int k = 0; k < found[i].n; k++)
            if (!read_result(space, &found[i], &found[i].results[k], i, arena, &results[out->n++], err))
                return false;
    }
    return true;
}

static void close_store(struct rb_store **s)
{
    rb_store_close(*s);
}

static bool find(const struct rb_job *job, const char *store, struct rb_arena *arena, struct rb_found **found, int *n,
                 struct rb_err *err)
{
    RB_AUTO(close_store) struct rb_store *s = NULL;
    char space[65];
    struct rb_err why;
    *n = 0;
    rb_found_space(job, rb_digest_sha256, space);
    if (!rb_store_open(store, true, &s, &why)) {
        if (rb_err_number(&why) == RB_E_PROFILE_MISSING)
            return true;
        if (err)
            *err = why;
        return false;
    }
    return rb_store_found(s, space, RB_EARLIER_RUNS, arena, found, n, err);
}

bool rb_earlier_find(const struct rb_job *job, const char *store, struct rb_arena *arena, struct rb_earlier *out,
                     struct rb_err *err)
{
    struct rb_found *found = NULL;
    int n;
    return find(job, store, arena, &found, &n, err) && read_all(&job->space, found, n, arena, out, err);
}

static bool copy(const struct rb_found *found, int n, const char *to, struct rb_err *err)
{
    RB_AUTO(close_store) struct rb_store *s = NULL;
    bool ok = rb_store_open(to, false, &s, err) && rb_store_begin(s, err);
    for (int i = 0; i < n && ok; i++)
        ok = rb_store_put_found(s, &found[i], err);
    return ok && rb_store_commit(s, err);
}

bool rb_earlier_keep(const struct rb_job *job, const char *store, const char *to, struct rb_arena *arena,
                     struct rb_earlier *out, struct rb_err *err)
{
    struct rb_found *found = NULL;
    int n;
    return find(job, store, arena, &found, &n, err) && read_all(&job->space, found, n, arena, out, err) &&
           (n == 0 || copy(found, n, to, err));
}

void rb_earlier_write(const struct rb_earlier *e, struct rb_buf *out)
{
    rb_buf_printf(out, "starts from %d earlier run%s: ", e->n_runs, e->n_runs == 1 ? "" : "s");
    for (int i = 0; i < e->n_runs; i++)
        rb_buf_printf(out, "%s%s", i > 0 ? ", " : "", e->runs[i]);
    rb_buf_printf(out, "; --cold leaves %s out", e->n_runs == 1 ? "it" : "them");
}
