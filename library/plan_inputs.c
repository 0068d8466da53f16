#include "library/plan_inputs.h"

#include "base/clock.h"
#include "base/log.h"
#include "profiles/catalog/infra.h"
#include "profiles/import/import.h"
#include "profiles/store/store.h"
#include "providers/local/local.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- the job

static const char *const key_flags[] = {"deadline", "budget", "confidence",
                                        "seed"}; // named like the keys that they set

// --deadline and friends are --set of the same keys; they come last and win.
static int collect_overrides(const struct rb_args *args, int n_more, struct rb_arena *arena, const char ***out)
{
    const char **list = rb_arena_array(arena, (size_t)(args->n_given + n_more) + 1, sizeof *list), *text;
    int n = 0;
    while ((text = rb_args_nth(args, "set", n)))
        list[n++] = text;
    for (size_t i = 0; i < sizeof key_flags / sizeof key_flags[0]; i++) {
        text = rb_args_string(args, key_flags[i], NULL);
        if (text && strcmp(key_flags[i], "budget") == 0 && text[0] == '$')
            text++; // YAML wants the bare number
        if (text)
            list[n++] = rb_arena_printf(arena, "--%s=%s", key_flags[i], text);
    }
    *out = list;
    return n;
}

static bool load_job(const char *path, const struct rb_args *args, const char *const *more, int n_more,
                     struct rb_arena *arena, struct rb_job *out, struct rb_err *err)
{
    const char **overrides;
    int n = collect_overrides(args, n_more, arena, &overrides);
    for (int i = 0; i < n_more; i++)
        overrides[n++] = more[i];
    return rb_job_load(path, overrides, n, arena, out, err) && rb_job_settle_deadline(out, rb_clock_unix_us(), err);
}

bool rb_plan_inputs_job(struct rb_plan_inputs *out, const struct rb_args *args, struct rb_err *err)
{
    return rb_plan_inputs_job_with(out, args, NULL, 0, err);
}

bool rb_plan_inputs_job_with(struct rb_plan_inputs *out, const struct rb_args *args, const char *const *more,
                             int n_more, struct rb_err *err)
{
    struct rb_plan_inputs in = {.job_path = args->args[0]};
    rb_arena_init(&in.arena);
    if (!load_job(in.job_path, args, more, n_more, &in.arena, &in.job, err)) {
        rb_arena_finish(&in.arena);
        return false;
    }
    in.imports = rb_xcalloc(RB_PLAN_INPUTS_FILES + 1, sizeof *in.imports);
    *out = in;
    return true;
}

void rb_plan_inputs_finish(struct rb_plan_inputs *in)
{
    for (int i = 0; i < in->n_imports; i++)
        rb_import_finish(&in->imports[i]);
    free(in->imports);
    rb_arena_finish(&in->arena);
    *in = (struct rb_plan_inputs){0};
}

bool rb_plan_inputs_job_again(struct rb_plan_inputs *in, const struct rb_args *args, const char *const *more,
                              int n_more, struct rb_job *out, struct rb_err *err)
{
    struct rb_job job;
    if (strcmp(in->job_path, "-") == 0)
        return rb_err_set(err, RB_E_STDIN_ONCE, "the job is read more than once: write it to a file, not to stdin");
    if (!load_job(in->job_path, args, more, n_more, &in->arena, &job, err))
        return false;
    *out = job;
    return true;
}

// --- files

static const char *beside(struct rb_plan_inputs *in, const char *name)
{
    const char *slash = strrchr(in->job_path, '/');
    if (!slash)
        return rb_arena_strdup(&in->arena, name);
    return rb_arena_printf(&in->arena, "%.*s/%s", (int)(slash - in->job_path), in->job_path, name);
}

static bool read_file(struct rb_plan_inputs *in, const char *path, enum rb_import_format format, struct rb_import **out,
                      struct rb_err *err)
{
    struct rb_import_options options = {.format = format};
    if (in->n_imports > RB_PLAN_INPUTS_FILES)
        return rb_err_set(err, RB_E_LIST_LENGTH, "more than %d files of prices; import them with `rbprofile import`",
                          RB_PLAN_INPUTS_FILES);
    if (!rb_import_read(path, &options, &in->imports[in->n_imports], err))
        return false;
    *out = &in->imports[in->n_imports++];
    return true;
}

static bool use_profile_file(struct rb_plan_inputs *in, const char *path, struct rb_err *err)
{
    struct rb_import *import = NULL;
    if (!read_file(in, path, RB_IMPORT_PROFILE, &import, err))
        return false;
    in->profile = import->profile;
    rb_info("profile %s from %s", in->profile.name, path);
    return true;
}

// --- prices

static bool use_price_file(struct rb_plan_inputs *in, const char *path, struct rb_err *err)
{
    struct rb_import *import = NULL;
    if (!read_file(in, path, RB_IMPORT_PRICES, &import, err))
        return false;
    rb_catalog_add(&in->catalog, &import->prices, &in->arena);
    rb_info("prices from %s", path);
    return true;
}

// Has every infra the job names a price? mock has aws's.
static bool prices_cover_job(const struct rb_plan_inputs *in)
{
    const struct rb_string_list *infra = &in->job.resources.infra;
    for (int i = 0; i < infra->n; i++) {
        bool found = strcmp(infra->items[i], "local") == 0;
        char aws[128] = "";
        if (rb_infra_within(infra->items[i], "mock"))
            snprintf(aws, sizeof aws, "aws%s", infra->items[i] + strlen("mock"));
        for (int k = 0; k < in->catalog.n_offers && !found; k++)
            found = rb_infra_within(in->catalog.offers[k].infra, infra->items[i]) ||
                    (aws[0] && rb_infra_within(in->catalog.offers[k].infra, aws));
        if (!found)
            return false;
    }
    return true;
}

static bool use_price_files_beside(struct rb_plan_inputs *in, struct rb_err *err)
{
    static const char *const patterns[] = {"prices.csv", "../prices/*.csv"};
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; p++) {
        glob_t found;
        if (glob(beside(in, patterns[p]), 0, NULL, &found) != 0)
            continue;
        bool ok = true;
        for (size_t i = 0; i < found.gl_pathc && ok; i++)
            ok = use_price_file(in, rb_arena_strdup(&in->arena, found.gl_pathv[i]), err);
        globfree(&found);
        if (!ok)
            return false;
    }
    return true;
}

static void add_local_if_asked(struct rb_plan_inputs *in)
{
    const struct rb_string_list *infra = &in->job.resources.infra;
    for (int i = 0; i < infra->n; i++) {
        if (strcmp(infra->items[i], "local") == 0) {
            const char *accelerator;
            int slots = rb_local_slots(&accelerator);
            rb_catalog_add_local(&in->catalog, &in->arena, accelerator, slots);
            return;
        }
    }
}

static bool find_prices(struct rb_plan_inputs *in, struct rb_store *store, const struct rb_args *args,
                        struct rb_err *err)
{
    const char *file = rb_args_string(args, "prices", NULL);
    if (file) {
        if (!use_price_file(in, file, err))
            return false;
    } else {
        if (store && !rb_store_prices(store, &in->arena, &in->catalog, err))
            return false;
        if (!prices_cover_job(in) && !use_price_files_beside(in, err))
            return false;
    }
    add_local_if_asked(in);
    rb_catalog_sort(&in->catalog);
    return true;
}

// --- the profile

static bool find_profile(struct rb_plan_inputs *in, struct rb_store *store, const struct rb_args *args,
                         struct rb_err *err)
{
    const char *file = rb_args_string(args, "profile-file", NULL);
    if (file)
        return use_profile_file(in, file, err);
    if (store) {
        if (rb_store_profile(store, in->job.profile, &in->arena, &in->profile, err))
            return true;
        if (err->code != RB_ERR_NOT_FOUND)
            return false;
    }
    const char *path = beside(in, "profile.yaml");
    if (access(path, F_OK) == 0)
        return use_profile_file(in, path, err);
    if (store)
        return false;
    return rb_err_set(err, RB_E_PROFILE_MISSING,
                      "there is no profile \"%s\": no profile store, and no %s; measure one with `rbprofile train %s`, "
                      "or give one with --profile-file FILE.yaml",
                      in->job.profile, path, in->job_path);
}

bool rb_plan_inputs_find(struct rb_plan_inputs *in, const struct rb_args *args, struct rb_err *err)
{
    struct rb_store *store = NULL;
    const char *db = rb_args_string(args, "db", NULL);
    if (!rb_store_open(db, true, &store, err)) {
        if (err->code != RB_ERR_NOT_FOUND || db)
            return false;
        *err = (struct rb_err){0};
    }
    bool ok = find_profile(in, store, args, err) && find_prices(in, store, args, err);
    rb_store_close(store);
    if (ok)
        *err = (struct rb_err){0};
    return ok;
}
