#include "executor/run/checks.h"

#include "executor/notify/hook.h"
#include "executor/run/infras.h"

#include "base/clock.h"
#include "base/errors/log.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/job_image.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- warnings

// The plan is executed as it stands; its file may have been overridden by flags when it was planned.
static void warn_of_changed_job(const struct rb_plan *plan, const char *job_path)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_job job;
    char digest[65];
    if (!job_path[0])
        return;
    digest[0] = '\0';
    if (rb_job_load(job_path, NULL, 0, &arena, &job, NULL)) {
        job.on_drift = job.on_drift == RB_DRIFT_UNSET ? plan->job->on_drift : job.on_drift; // as the plan has resolved it
        rb_plan_digest_job(&job, rb_digest_sha256, digest);
    }
    if (strcmp(digest, plan->job_sha256) != 0)
        rb_warn("%s has changed since the plan was made, or rbplan was given options that changed it; the plan is "
                "executed as it was made",
                job_path);
}

static void warn_of_old_prices(const struct rb_plan *plan)
{
    const int64_t now_us = rb_clock_unix_us();
    int64_t oldest_us = INT64_MAX;
    for (int i = 0; i < plan->n_offers; i++)
        if (rb_offer_is_old(&plan->offers[i], now_us) && plan->offers[i].fetched_at_us < oldest_us)
            oldest_us = plan->offers[i].fetched_at_us;
    if (oldest_us != INT64_MAX)
        rb_warn("the plan's prices are up to %d days old; the provider's bill may differ",
                (int)((now_us - oldest_us) / (86400 * RB_US_PER_S)));
}

#define LATE_US (60 * RB_US_PER_S)

// A plan is made for a run that begins at once; later, less is left of a reservation.
static void warn_of_reservations(const struct rb_plan *plan)
{
    char planned[32], left[32];
    for (int i = 0; i < plan->n_offers; i++) {
        const struct rb_reservation *then = plan->offers[i].reservation;
        if (!then || then->closes_us < 0)
            continue;
        struct rb_reservation now = *then;
        rb_reservation_settle(&now, rb_clock_unix_us());
        if (now.closes_us + LATE_US < then->closes_us)
            rb_warn("reservation %s closes in %s, and the plan was made for %s: what it cannot hold is on demand, and costs "
                    "more than planned; plan again with `rbplan`",
                    now.id, rb_format_duration(now.closes_us, left), rb_format_duration(then->closes_us, planned));
    }
}

// Is the difference large enough to change times: at least one, and at least half of the larger?
static bool is_another_load(double then, double now)
{
    return fabs(now - then) > fmax(1, fmax(now, then) / 2);
}

// Nodes on this machine share its processors with everything else that runs here.
static void warn_of_load(const struct rb_plan *plan)
{
    const struct rb_measured *m = &plan->profile->measured;
    double load;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (getloadavg(&load, 1) != 1 || cores < 1)
        return;
    if (plan->profile->has_measured && m->load >= 0) {
        if (is_another_load(m->load, load))
            rb_warn("nodes live on this machine, and its load is %.1f on %ld processor%s, while the profile was "
                    "measured at "
                    "load %.1f on %d: times will be %s than predicted",
                    load, cores, cores == 1 ? "" : "s", m->load, m->cpus, load > m->load ? "longer" : "shorter");
    } else if (load > (double)cores) {
        rb_warn(
            "this machine is busy (load %.1f on %ld cores) and nodes live on it: times will be longer than predicted",
            load, cores);
    }
}

// --- refusals

bool rb_run_check_secrets(const struct rb_job *job, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const struct rb_string_list needed = rb_job_secret_variables(job, &arena);
    for (int i = 0; i < needed.n; i++) {
        if (!getenv(needed.items[i]))
            return rb_err_set(err, i < job->secrets.n ? RB_E_SECRET_UNSET : RB_E_IMAGE_CREDENTIALS,
                              "%s: %s is not set in the environment; export it and try again",
                              i < job->secrets.n ? "secrets" : "image_credentials", needed.items[i]);
    }
    return rb_hooks_check(&job->hooks, err);
}

static bool check_credentials(const char *infra, struct rb_err *err)
{
    const struct rb_provider_ops *ops;
    char region[64], source[128];
    return !rb_provider_find(infra, &ops, region, NULL) || !ops->find_credentials ||
           ops->find_credentials(source, err) || rb_err_prefix(err, "%s", infra);
}

bool rb_run_check_host(const struct rb_plan *plan, struct rb_err *err)
{
    char infras[32][64];
    const int n = rb_run_infras(plan, infras, 32);
    if (!rb_job_check_supported(plan->job, err) || !rb_run_check_secrets(plan->job, err) ||
        !rb_run_check_open_files(plan, 1, err))
        return false;
    for (int i = 0; i < n; i++)
        if (!check_credentials(infras[i], err))
            return false;
    return true;
}

bool rb_run_check(const struct rb_plan *plan, const char *plan_path, struct rb_err *err)
{
    char infras[32][64], job_path[PATH_MAX], workdir[PATH_MAX];
    const int n = rb_run_infras(plan, infras, 32);
    bool here = false;
    if (!rb_run_places(plan, plan_path, job_path, workdir, err) || !rb_run_check_host(plan, err))
        return false;
    for (int i = 0; i < n; i++)
        here = here || rb_infra_is_harmless(infras[i]);
    warn_of_changed_job(plan, job_path);
    warn_of_old_prices(plan);
    warn_of_reservations(plan);
    if (here)
        warn_of_load(plan);
    return true;
}
