#include "profiles/inputs/plan_inputs.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "profiles/catalog/infra.h"
#include "profiles/catalog/pods.h"
#include "profiles/guess/guess.h"
#include "profiles/guess/guess_library.h"
#include "profiles/import/import.h"
#include "profiles/inputs/spot_means.h"
#include "profiles/store/store.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- the job

void rb_plan_inputs_init(struct rb_plan_inputs *in, const char *job_path)
{
    *in = (struct rb_plan_inputs){.job_path = job_path};
    in->imports = rb_xcalloc(RB_PLAN_INPUTS_FILES + 1, sizeof *in->imports);
}

static bool load_job(struct rb_plan_inputs *in, const char *const *overrides, int n, struct rb_job *out,
                     struct rb_err *err)
{
    const int64_t now_us = rb_clock_unix_us();
    if (!rb_job_load(in->job_path, overrides, n, &in->arena, out, err) || !rb_job_settle_deadline(out, now_us, err))
        return false;
    rb_job_settle_reservations(out, now_us);
    return true;
}

bool rb_plan_inputs_job(struct rb_plan_inputs *in, const char *const *overrides, int n, struct rb_err *err)
{
    return load_job(in, overrides, n, &in->job, err);
}

void rb_plan_inputs_finish(struct rb_plan_inputs *in)
{
    for (int i = 0; i < in->n_imports; i++)
        rb_import_finish(&in->imports[i]);
    free(in->imports);
    rb_arena_finish(&in->arena);
    *in = (struct rb_plan_inputs){0};
}

bool rb_plan_inputs_job_again(struct rb_plan_inputs *in, const char *const *overrides, int n, struct rb_job *out,
                              struct rb_err *err)
{
    struct rb_job job;
    if (strcmp(in->job_path, "-") == 0)
        return rb_err_set(err, RB_E_STDIN_ONCE, "the job is read more than once: write it to a file, not to stdin");
    if (!load_job(in, overrides, n, &job, err))
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

static void add_local_if_asked(struct rb_plan_inputs *in, rb_local_slots_fn *local_slots)
{
    const struct rb_string_list *infra = &in->job.resources.infra;
    for (int i = 0; i < infra->n; i++) {
        if (strcmp(infra->items[i], "local") == 0) {
            const char *accelerator;
            int slots = local_slots(in->job.trial.cpus > 0, &accelerator);
            rb_catalog_add_local(&in->catalog, &in->arena, accelerator, slots);
            return;
        }
    }
}

static bool find_prices(struct rb_plan_inputs *in, struct rb_store *store, const char *file,
                        rb_local_slots_fn *local_slots, struct rb_err *err)
{
    if (file) {
        if (!use_price_file(in, file, err))
            return false;
    } else {
        if (store && !rb_store_prices(store, &in->arena, &in->catalog, err))
            return false;
        if (!prices_cover_job(in) && !use_price_files_beside(in, err))
            return false;
    }
    add_local_if_asked(in, local_slots);
    if (!rb_catalog_add_pods(&in->catalog, &in->job, &in->arena, err))
        return false;
    rb_catalog_sort(&in->catalog);
    return true;
}

// --- the profile

// A figure was given that wins over what was measured; the reader may not know of that.
static void mention_measured(struct rb_plan_inputs *in, struct rb_store *store)
{
    struct rb_profile p;
    struct rb_err none = {0};
    if (!store || !rb_store_profile(store, in->job.profile, &in->arena, &p, &none))
        return;
    const char *gpu = p.has_measured ? rb_guess_best_measured(&p) : NULL;
    if (gpu)
        rb_info("profile %s was measured on %s, which is not used: --guess measured=%s plans from that", p.name, gpu,
                gpu);
}

// *out_found: there is a profile, in *in. Otherwise the job's guess is all there is, for which prices must be known first.
static bool find_profile(struct rb_plan_inputs *in, struct rb_store *store, const struct rb_input_sources *from,
                         bool *out_found, struct rb_err *err)
{
    const struct rb_guess *guess = in->job.guess;
    const char *file = from->profile_file;
    *out_found = !(from->guess && !guess->measured);
    if (!*out_found) {
        mention_measured(in, store);
        return true;
    }
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
    *out_found = !(guess && !guess->measured);
    if (!*out_found)
        return true;
    if (store)
        return false;
    return rb_err_set(err, RB_E_PROFILE_MISSING,
                      "there is no profile \"%s\": no profile store, and no %s; measure one with `rbprofile train %s`, "
                      "give one with --profile-file FILE.yaml, or guess: --guess unit=4m,on=A10G",
                      in->job.profile, path, in->job_path);
}

// --- a guess from what was measured on another GPU

static bool is_listed(const struct rb_string_list *list, const char *item)
{
    bool found = list->n == 0;
    for (int i = 0; i < list->n && !found; i++)
        found = strcmp(list->items[i], item) == 0;
    return found;
}

// Was one of the GPUs measured that the job may use? Machines without GPUs are all of one kind.
static bool has_measured_offer(const struct rb_plan_inputs *in)
{
    bool found = in->job.trial.cpus > 0;
    for (int i = 0; i < in->catalog.n_offers && !found; i++) {
        const char *gpu = in->catalog.offers[i].accelerator;
        found = is_listed(&in->job.resources.accelerators, gpu) && rb_profile_training(&in->profile, gpu);
    }
    return found;
}

// To the GPUs that the job may use: where all of those were measured, nothing is a guess.
static bool transfer(struct rb_plan_inputs *in, const struct rb_guess *guess, struct rb_err *err)
{
    struct rb_job job = in->job;
    struct rb_catalog listed = in->catalog;
    struct rb_profile profile;
    job.guess = guess;
    listed.offers = rb_arena_array(&in->arena, (size_t)in->catalog.n_offers + 1, sizeof *listed.offers);
    listed.n_offers = 0;
    for (int i = 0; i < in->catalog.n_offers; i++)
        if (is_listed(&job.resources.accelerators, in->catalog.offers[i].accelerator))
            listed.offers[listed.n_offers++] = in->catalog.offers[i];
    if (!rb_guess_of_job(&job, &in->profile, &listed, &in->arena, &profile, err))
        return false;
    in->profile = profile;
    if (profile.n_basis > 0)
        rb_info("profile %s has times of %s; those of GPUs that it lacks are guessed from them", profile.name,
                guess->measured);
    return true;
}

// The job's guess where there is no profile, or where the profile has none of the GPUs on offer.
static bool apply_guess(struct rb_plan_inputs *in, bool found, struct rb_err *err)
{
    const struct rb_guess *given = in->job.guess;
    if (!found)
        return rb_guess_of_job(&in->job, NULL, &in->catalog, &in->arena, &in->profile, err);
    if (!given)
        return true;
    if (given->measured)
        return transfer(in, given, err);
    struct rb_guess *guess = rb_arena_alloc(&in->arena, sizeof *guess);
    *guess = (struct rb_guess){.measured = rb_guess_best_measured(&in->profile),
                               .kind = given->like ? given->like->kind : given->kind};
    return in->profile.n_basis > 0 || !guess->measured || has_measured_offer(in) || transfer(in, guess, err);
}

bool rb_plan_inputs_find(struct rb_plan_inputs *in, const struct rb_input_sources *from, rb_local_slots_fn *local_slots,
                         struct rb_err *err)
{
    struct rb_store *store = NULL;
    if (!rb_store_open(from->db, true, &store, err)) {
        if (err->code != RB_ERR_NOT_FOUND || from->db)
            return false;
        *err = (struct rb_err){0};
    }
    bool found;
    const bool ok = find_profile(in, store, from, &found, err) &&
                    find_prices(in, store, from->prices, local_slots, err) && apply_guess(in, found, err);
    rb_store_close(store);
    if (ok) {
        *err = (struct rb_err){0};
        in->catalog = *rb_catalog_at_means(&in->catalog, &in->profile, &in->arena, NULL);
    }
    return ok;
}

bool rb_stored_prices(const char *db, struct rb_arena *arena, struct rb_catalog *out, struct rb_err *err)
{
    struct rb_store *store = NULL;
    struct rb_err why = {0};
    if (!rb_store_open(db, true, &store, &why)) {
        if (why.code != RB_ERR_NOT_FOUND)
            *err = why;
        return why.code == RB_ERR_NOT_FOUND;
    }
    const bool ok = rb_store_prices(store, arena, out, err);
    rb_store_close(store);
    return ok;
}
