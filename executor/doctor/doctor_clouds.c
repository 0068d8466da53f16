// Asks the clouds about our credentials, their clock, our instances there, and our permissions.
#include "executor/doctor/doctor.h"
#include "executor/run/preflight.h"

#include "base/clock.h"
#include "executor/controller/lease.h"
#include "executor/transport/loop_uv.h"
#include "profiles/catalog/infra.h"
#include "providers/provider.h"
#include "providers/wire/http.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WARN_SKEW_S 60
#define MAX_SKEW_S  900 // AWS refuses signatures with a larger difference

struct visit {
    struct rb_doctor *doctor;
    const char *infra, *region;
    const struct rb_provider_ops *ops;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_provider provider;
    bool welcome; // the cloud knows our credentials
};

static void failed(struct rb_doctor *d, const char *check, const char *subject, const struct rb_err *err)
{
    struct rb_finding *f =
        rb_doctor_find(d, check, subject, RB_VERDICT_FAIL, "%s%s%s", err->file, err->file[0] ? ": " : "", err->message);
    f->denied = err->code == RB_ERR_DENIED;
}

// --- clock

static void answered(void *arg, const struct rb_http_response *response)
{
    struct visit *v = arg;
    const int64_t peer_us = rb_http_date_us(response), now_us = rb_clock_unix_us();
    struct rb_doctor *d = v->doctor;
    rb_loop_uv_stop(v->uv);
    if (response->status == 0) {
        rb_doctor_find(d, "endpoint", v->infra, RB_VERDICT_FAIL, "%s", response->transport_error);
        return;
    }
    rb_doctor_find(d, "endpoint", v->infra, RB_VERDICT_OK, "answers");
    if (peer_us < 0) {
        rb_doctor_find(d, "clock", v->infra, RB_VERDICT_WARN, "it does not report its time");
        return;
    }
    const int64_t skew_s = (peer_us - now_us) / RB_US_PER_S, off_s = skew_s < 0 ? -skew_s : skew_s;
    struct rb_finding *f = rb_doctor_find(d, "clock", v->infra,
                                          off_s > MAX_SKEW_S    ? RB_VERDICT_FAIL
                                          : off_s > WARN_SKEW_S ? RB_VERDICT_WARN
                                                                : RB_VERDICT_OK,
                                          "this machine is %" PRId64 " s %s", off_s, skew_s < 0 ? "ahead" : "behind");
    if (off_s > WARN_SKEW_S)
        snprintf(f->remedy, sizeof f->remedy, "set the clock, such as with chrony");
}

// Any answer will do, also a refusal: only its Date counts.
static void check_clock(struct visit *v)
{
    char url[520];
    struct rb_err err;
    const struct rb_http_request request = {.method = "GET", .url = url};
    if (v->ops->endpoint(v->region, url, sizeof url, &err) && rb_http_send(v->http, &request, answered, v, &err))
        rb_loop_uv_run(v->uv);
    else
        failed(v->doctor, "endpoint", v->infra, &err);
}

// --- credentials and instances

// As in `rbrun gc`: an instance whose run is not of this machine, and whose lease has not lapsed.
static bool is_in_use_elsewhere(const struct visit *v, const struct rb_instance *i, enum rb_run_hold hold)
{
    const struct rb_provider *p = &v->provider;
    const enum rb_lease_state lease = rb_lease_state(i->expires_at, p->ops->clock_us ? p->ops->clock_us(p) : -1);
    return (hold == RB_RUN_NOT_HERE || hold == RB_RUN_UNSURE) &&
           (!p->ops->renew || lease == RB_LEASE_FRESH || lease == RB_LEASE_UNKNOWN);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct visit *v = arg;
    char owner[160];
    char elsewhere[64] = "";
    int n_ours = 0, n_at_work = 0, n_elsewhere = 0;
    rb_loop_uv_stop(v->uv);
    if (err) {
        failed(v->doctor, err->code == RB_ERR_DENIED ? "credentials" : "instances", v->infra, err);
        return;
    }
    rb_doctor_find(v->doctor, "credentials", v->infra, RB_VERDICT_OK, "accepted");
    rb_run_owner(owner, sizeof owner);
    for (int i = 0; i < n; i++) {
        if (instances[i].state == RB_INSTANCE_TERMINATED || instances[i].state == RB_INSTANCE_STOPPING ||
            !instances[i].owner || strcmp(instances[i].owner, owner) != 0)
            continue;
        n_ours++;
        if (!instances[i].run_id)
            continue;
        const enum rb_run_hold hold = rb_run_hold(v->doctor->root, instances[i].run_id);
        n_at_work += hold == RB_RUN_AT_WORK;
        n_elsewhere += is_in_use_elsewhere(v, &instances[i], hold);
    }
    const bool orphans = n_ours > n_at_work + n_elsewhere;
    if (n_elsewhere > 0)
        snprintf(elsewhere, sizeof elsewhere, ", %d in use elsewhere", n_elsewhere);
    struct rb_finding *f =
        rb_doctor_find(v->doctor, "instances", v->infra, orphans || !complete ? RB_VERDICT_WARN : RB_VERDICT_OK,
                       "%s%d of %s, %d of them of runs that this machine executes%s",
                       complete ? "" : "the list is not complete: at least ", n_ours, owner, n_at_work, elsewhere);
    if (orphans)
        snprintf(f->remedy, sizeof f->remedy, "no process executes their runs: rbrun gc --dry-run --infra %s",
                 v->infra);
    else if (!complete)
        snprintf(f->remedy, sizeof f->remedy, "look again");
    v->welcome = true;
}

static void lacked(void *arg, const struct rb_err *err, const struct rb_lack *lacks, int n)
{
    struct visit *v = arg;
    rb_loop_uv_stop(v->uv);
    if (err)
        failed(v->doctor, "rights", v->infra, err);
    for (int i = 0; i < n; i++)
        snprintf(rb_doctor_find(v->doctor, "rights", v->infra, RB_VERDICT_WARN, "%s is not granted: %s", lacks[i].right,
                                lacks[i].loss)
                     ->remedy,
                 256, "nothing, if it is not needed; else ask for the right");
    if (!err && n == 0)
        rb_doctor_find(v->doctor, "rights", v->infra, RB_VERDICT_OK, "all that make a run more comfortable");
}

static void check_account(struct visit *v)
{
    struct rb_err err;
    const struct rb_provider_config config = {.loop = rb_loop_uv_loop(v->uv),
                                              .http = v->http,
                                              .region = v->region,
                                              .loopback_only = rb_infra_within(v->infra, "mock"),
                                              .resources = v->doctor->job ? &v->doctor->job->resources : NULL};
    if (!v->ops->create(&config, &v->provider, &err)) {
        failed(v->doctor, err.code == RB_ERR_DENIED ? "credentials" : "infra", v->infra, &err);
        return;
    }
    v->ops->list(&v->provider, NULL, listed, v);
    rb_loop_uv_run(v->uv);
    if (v->welcome && v->ops->lacks) {
        v->ops->lacks(&v->provider, lacked, v);
        rb_loop_uv_run(v->uv);
    }
    if (v->welcome)
        rb_doctor_quotas(v->doctor, v->infra, &v->provider, v->uv);
    v->ops->destroy(&v->provider);
}

static void report_source(const struct visit *v)
{
    char source[128];
    if (v->ops->find_credentials && v->ops->find_credentials(source, NULL)) // else the first signed request reports why
        rb_doctor_find(v->doctor, "identity", v->infra, RB_VERDICT_OK, "%s", source);
}

static void visit(struct rb_doctor *d, const char *infra, const struct rb_provider_ops *ops, const char *region)
{
    struct visit v = {.doctor = d, .infra = infra, .region = region, .ops = ops, .uv = rb_loop_uv_create()};
    struct rb_err err;
    if (!rb_http_create(rb_loop_uv_loop(v.uv), &v.http, &err)) {
        failed(d, "endpoint", infra, &err);
    } else {
        if (ops->endpoint) // for the others the listing shows whether they answer
            check_clock(&v);
        report_source(&v);
        check_account(&v);
    }
    rb_http_destroy(v.http);
    rb_loop_uv_destroy(v.uv);
}

// --- permissions and images

static bool is_known(const struct rb_doctor *d, const char *check, const char *subject)
{
    for (int i = 0; i < d->n_findings; i++)
        if (strcmp(d->findings[i].check, check) == 0 && strcmp(d->findings[i].subject, subject) == 0)
            return true;
    return false;
}

static void judge_image(struct rb_doctor *d, const char *infra, const char *image, const struct rb_err *err)
{
    if (is_known(d, "image", infra))
        return; // it is the same for every machine there
    if (!err)
        rb_doctor_find(d, "image", infra, RB_VERDICT_OK, "%.400s is there", image);
    else
        snprintf(rb_doctor_find(d, "image", infra, RB_VERDICT_FAIL, "%s", err->message)->remedy, 256,
                 "correct resources.image_id and plan again");
}

static void judge(void *ctx, const char *infra, const char *instance_type, bool stands_in, const struct rb_err *err,
                  const char *image)
{
    struct rb_doctor *d = ctx;
    char subject[128];
    snprintf(subject, sizeof subject, "%.60s in %.60s", instance_type, infra);
    if (err && stands_in) {
        struct rb_finding *f = rb_doctor_find(d, "launch", subject, RB_VERDICT_WARN,
                                              "cannot stand in when others are sold out: %s", err->message);
        snprintf(f->remedy, sizeof f->remedy, "nothing, if it is not needed; else correct the job and plan again");
    } else if (err && strcmp(err->key, "resources.image_id") == 0) {
        judge_image(d, infra, NULL, err);
    } else if (err && err->code == RB_ERR_DENIED) {
        failed(d, "permission", subject, err);
    } else if (err) {
        failed(d, "launch", subject, err);
    } else {
        rb_doctor_find(d, "permission", subject, RB_VERDICT_OK, "may be launched and ended");
        if (image)
            judge_image(d, infra, image, NULL);
    }
}

void rb_doctor_clouds(struct rb_doctor *d)
{
    struct rb_err err;
    bool pinned;
    int n_asked = 0; // clouds that can check permissions
    for (int i = 0; i < d->n_infras; i++) {
        const struct rb_provider_ops *ops;
        char region[64];
        if (!rb_provider_find(d->infras[i], &ops, region, &err)) {
            failed(d, "infra", d->infras[i], &err);
            continue;
        }
        if (!ops->is_in_process)
            visit(d, d->infras[i], ops, region);
        n_asked += ops->preflight != NULL;
    }
    if (n_asked == 0)
        return;
    if (!d->wishes)
        snprintf(rb_doctor_find(d, "permission", "", RB_VERDICT_WARN, "not looked at: no machine was named")->remedy,
                 256, "run: rbrun doctor plan.json, or name resources.instance_types in the job");
    else if (!rb_run_preflight(d->wishes, &d->files.arena, judge, d, &pinned, &err))
        failed(d, "permission", "plan", &err);
    if (!d->plan)
        snprintf(rb_doctor_find(d, "quota", "", RB_VERDICT_WARN, "not checked: only a plan has the number of machines")
                     ->remedy,
                 256, "run: rbrun doctor plan.json");
}
