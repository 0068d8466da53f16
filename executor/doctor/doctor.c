// Would a run work, and if not, what helps? Reads, changes nothing, launches nothing.
#include "executor/doctor/doctor.h"

#include "base/clock.h"
#include "executor/journal/run_dir.h"
#include "profiles/catalog/infra.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rb_finding *rb_doctor_find(struct rb_doctor *d, const char *check, const char *subject, enum rb_verdict verdict,
                                  const char *fmt, ...)
{
    va_list ap;
    d->findings = rb_xrealloc(d->findings, (size_t)d->n_findings + 1, sizeof *d->findings);
    struct rb_finding *f = &d->findings[d->n_findings++];
    *f = (struct rb_finding){.check = check, .verdict = verdict};
    snprintf(f->subject, sizeof f->subject, "%s", subject);
    va_start(ap, fmt);
    vsnprintf(f->detail, sizeof f->detail, fmt, ap);
    va_end(ap);
    return f;
}

// --- this machine

static void advise(struct rb_finding *f, const char *remedy)
{
    snprintf(f->remedy, sizeof f->remedy, "%s", remedy);
}

static bool is_in_path(const char *program)
{
    const char *path = getenv("PATH");
    RB_AUTO(rb_buf_finish) struct rb_buf name = RB_BUF_INIT;
    for (const char *dir = path; dir && *dir; dir += strcspn(dir, ":"), dir += *dir == ':') {
        rb_buf_clear(&name);
        rb_buf_printf(&name, "%.*s/%s", (int)strcspn(dir, ":"), dir, program);
        if (access(rb_buf_str(&name), X_OK) == 0)
            return true;
    }
    return false;
}

// The keys of nodes, and ours, are ed25519 (executor/transport/ssh_command.c).
static void check_host_keys(struct rb_doctor *d)
{
    static const char *const argv[] = {"ssh", "-Q", "key", NULL};
    RB_AUTO(rb_buf_finish) struct rb_buf kinds = RB_BUF_INIT;
    struct rb_err err;
    if (!rb_child_run(argv, &(struct rb_child_options){.out = &kinds, .max_output_bytes = 1 << 16, .quiet = true},
                      &err))
        advise(rb_doctor_find(d, "ssh", "host keys", RB_VERDICT_FAIL, "%s", err.message),
               "install OpenSSH 6.5 or later");
    else if (!strstr(rb_buf_str(&kinds), "ssh-ed25519\n"))
        advise(rb_doctor_find(d, "ssh", "host keys", RB_VERDICT_FAIL, "this ssh does not know ed25519"),
               "install OpenSSH 6.5 or later");
    else
        rb_doctor_find(d, "ssh", "host keys", RB_VERDICT_OK, "ed25519, known before a node boots");
}

static void check_ssh(struct rb_doctor *d)
{
    static const char *const programs[] = {"ssh", "ssh-keygen"};
    bool remote = d->n_infras == 0;
    for (int i = 0; i < d->n_infras; i++)
        remote = remote || strcmp(d->infras[i], "local") != 0;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0] && remote; i++) {
        if (is_in_path(programs[i]))
            rb_doctor_find(d, "ssh", programs[i], RB_VERDICT_OK, "found");
        else
            advise(rb_doctor_find(d, "ssh", programs[i], RB_VERDICT_FAIL, "not found in PATH"),
                   "install openssh-client");
    }
    if (remote && is_in_path(programs[0]))
        check_host_keys(d);
}

// Runs hold keys and checkpoints, which other users must not read.
static void check_state_dir(struct rb_doctor *d)
{
    char root[4096];
    struct rb_err err;
    struct stat st;
    if (!rb_run_dir_root(d->state_dir, root, sizeof root, &err)) {
        rb_doctor_find(d, "state", "", RB_VERDICT_FAIL, "%s", err.message);
        return;
    }
    snprintf(d->root, sizeof d->root, "%s", root);
    if (stat(root, &st) != 0) {
        rb_doctor_find(d, "state", "", errno == ENOENT ? RB_VERDICT_OK : RB_VERDICT_FAIL, "%.300s: %s", root,
                       errno == ENOENT ? "will be made" : strerror(errno));
    } else if (access(root, W_OK | X_OK) != 0) {
        advise(rb_doctor_find(d, "state", "", RB_VERDICT_FAIL, "%.300s cannot be written to", root),
               "make it yours, or give --state-dir");
    } else if (st.st_mode & (S_IRWXG | S_IRWXO)) {
        advise(rb_doctor_find(d, "state", "", RB_VERDICT_WARN, "%.300s can be read by other users", root),
               "chmod 700 it");
    } else {
        rb_doctor_find(d, "state", "", RB_VERDICT_OK, "%.300s", root);
    }
}

// --- the plan

static void check_prices(struct rb_doctor *d)
{
    const int64_t now_us = rb_clock_unix_us(), day_us = 86400 * RB_US_PER_S;
    int n_old = 0, n_undated = 0, oldest = 0;
    for (int i = 0; i < d->plan->n_offers; i++) {
        const struct rb_offer *o = &d->plan->offers[i];
        if (o->declared_free)
            continue;
        const int days = o->fetched_at_us < 0 ? 0 : (int)((now_us - o->fetched_at_us) / day_us);
        n_undated += o->fetched_at_us < 0;
        n_old += rb_offer_is_old(o, now_us);
        oldest = days > oldest ? days : oldest;
    }
    if (n_old > 0 || n_undated > 0)
        advise(rb_doctor_find(
                   d, "prices", "plan", RB_VERDICT_WARN,
                   "%d of %d are old (over %d days on demand, %d day spot), the oldest %d days; %d have no date", n_old,
                   d->plan->n_offers, RB_OLD_ON_DEMAND_DAYS, RB_OLD_SPOT_DAYS, oldest, n_undated),
               "run `rbprofile prices update`, then plan again");
    else
        rb_doctor_find(d, "prices", "plan", RB_VERDICT_OK, "at most %d days old", oldest);
}

static void check_secrets(struct rb_doctor *d)
{
    const struct rb_job *job = d->job;
    for (int i = 0; i < job->secrets.n; i++) {
        if (getenv(job->secrets.items[i]))
            rb_doctor_find(d, "secrets", job->secrets.items[i], RB_VERDICT_OK, "set");
        else
            advise(rb_doctor_find(d, "secrets", job->secrets.items[i], RB_VERDICT_FAIL, "not set in the environment"),
                   "export it");
    }
}

// --- the plan or job

static void add_infra(struct rb_doctor *d, const char *infra)
{
    for (int i = 0; i < d->n_infras; i++)
        if (strcmp(d->infras[i], infra) == 0)
            return;
    if (d->n_infras < RB_RUN_INFRAS)
        snprintf(d->infras[d->n_infras++], sizeof d->infras[0], "%s", infra);
}

// Makes a plan from what a job allows: every type in every place on every market.
static bool wish(struct rb_doctor *d, struct rb_plan *out, struct rb_err *err)
{
    const struct rb_resources *r = &d->job->resources;
    struct rb_offer *offers =
        rb_arena_array(&d->files.arena, (size_t)(r->infra.n * r->instance_types.n * 2 + 1), sizeof *offers);
    *out = (struct rb_plan){.job = d->job, .offers = offers};
    for (int i = 0; i < r->infra.n; i++) {
        for (int k = 0; k < r->instance_types.n * 2; k++) {
            const enum rb_market market = k % 2 ? RB_MARKET_SPOT : RB_MARKET_ON_DEMAND;
            if (market == RB_MARKET_SPOT ? r->spot != RB_SPOT_NEVER : r->spot != RB_SPOT_ONLY)
                offers[out->n_offers++] = (struct rb_offer){
                    .infra = r->infra.items[i], .instance_type = r->instance_types.items[k / 2], .market = market};
        }
        char infra[64];
        rb_infra_without_zone(r->infra.items[i], infra);
        add_infra(d, infra);
    }
    rb_plan_set_images(out, &d->files.arena);
    d->wishes = out->n_offers > 0 ? out : NULL;
    return d->n_infras > 0 || rb_err_set(err, RB_E_LIST_LENGTH, "resources.infra: expected at least one");
}

static bool is_plan(const char *path)
{
    const size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

bool rb_doctor_read(struct rb_doctor *d, const char *path, struct rb_err *err)
{
    if (!is_plan(path)) {
        struct rb_job *job = rb_arena_alloc(&d->files.arena, sizeof *job);
        if (!rb_job_load(path, NULL, 0, &d->files.arena, job, err))
            return false;
        d->job = job;
        return wish(d, &d->files.plan, err);
    }
    if (!rb_run_read_plan(&d->files, path, err))
        return false;
    d->plan = d->wishes = &d->files.plan;
    d->job = d->plan->job;
    d->n_infras = rb_run_infras(d->plan, d->infras, RB_RUN_INFRAS);
    return true;
}

bool rb_doctor_add_infra(struct rb_doctor *d, const char *infra, struct rb_err *err)
{
    if (!rb_infra_check(infra, err))
        return rb_err_prefix(err, "--infra");
    if (!rb_infra_is_priceable(infra))
        return rb_err_set(err, RB_E_REGION, "--infra %s: expected a region, such as aws/us-east-1", infra);
    add_infra(d, infra);
    return true;
}

// --- all checks

void rb_doctor_init(struct rb_doctor *d, const char *state_dir)
{
    *d = (struct rb_doctor){.state_dir = state_dir};
}

void rb_doctor_examine(struct rb_doctor *d)
{
    check_ssh(d);
    check_state_dir(d);
    if (d->plan)
        check_prices(d);
    if (d->job)
        check_secrets(d);
    rb_doctor_clouds(d);
    rb_doctor_images(d);
}

int rb_doctor_exit_code(const struct rb_doctor *d)
{
    int code = 0;
    for (int i = 0; i < d->n_findings; i++)
        if (d->findings[i].verdict == RB_VERDICT_FAIL && code != 5)
            code = d->findings[i].denied ? 5 : 1;
    return code;
}

void rb_doctor_finish(struct rb_doctor *d)
{
    free(d->findings);
    rb_run_files_finish(&d->files);
}
