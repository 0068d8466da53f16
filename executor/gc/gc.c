#include "executor/gc/gc.h"

#include "base/errors/log.h"
#include "executor/campaign/campaign_dir.h"
#include "executor/gc/groups.h"
#include "executor/journal/run_dir.h"
#include "executor/run/infras.h"
#include "executor/transport/container.h"
#include "executor/transport/ssh_command.h"
#include "profiles/catalog/infra.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GC_TERMINATE_TRIES = 5 };

// One request that is under way.
struct gc_call {
    struct rb_gc *gc;
    int infra, found;
};

static void answered(struct gc_call *call)
{
    struct rb_gc *gc = call->gc;
    free(call);
    if (--gc->n_waiting == 0)
        rb_loop_uv_stop(gc->uv);
}

bool rb_gc_is_news(struct rb_gc *gc, const char *what)
{
    RB_AUTO(rb_buf_finish) struct rb_buf line = RB_BUF_INIT;
    rb_buf_printf(&line, "\n%s\n", what);
    rb_buf_puts(&gc->troubles, rb_buf_str(&line));
    return !gc->of_last_round || !strstr(gc->of_last_round, rb_buf_str(&line));
}

void rb_gc_fail(struct rb_gc *gc, const char *what, const struct rb_err *err)
{
    const bool is_first = gc->failure.code == RB_ERR_NONE;
    if (is_first)
        gc->failure = *err;
    if (rb_gc_is_news(gc, what) && (gc->of_last_round || !is_first))
        rb_warn("%s", err->message);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct gc_call *call = arg;
    struct rb_err why;
    for (int i = 0; i < n; i++)
        (call->gc->by_lease ? rb_gc_judge_by_lease : rb_gc_judge)(call->gc, call->infra, &instances[i]);
    if (err) {
        why = *err;
        rb_err_prefix(&why, "%s", call->gc->infras[call->infra]);
        rb_gc_fail(call->gc, call->gc->infras[call->infra], &why);
    } else if (!complete) {
        rb_err_set(&why, RB_E_INSTANCES_LEFT, "%s could not be listed completely; run the command again",
                   call->gc->infras[call->infra]);
        rb_gc_fail(call->gc, call->gc->infras[call->infra], &why);
    }
    answered(call);
}

static void terminated(void *arg, const struct rb_err *err)
{
    struct gc_call *call = arg;
    struct rb_gc *gc = call->gc;
    struct rb_gc_instance *f = &gc->found[call->found];
    struct rb_provider *p = &gc->providers[f->infra];
    if (err && ++f->tries < GC_TERMINATE_TRIES) {
        p->ops->terminate(p, f->id, terminated, call);
        return;
    }
    if (err)
        rb_gc_fail(gc, f->id, err);
    f->ended = !err;
    answered(call);
}

static bool open_provider(struct rb_gc *gc, int i, struct rb_err *err)
{
    const struct rb_provider_config config = {
        .loop = rb_loop_uv_loop(gc->uv),
        .http = gc->http,
        .resources = gc->files[i] ? &gc->files[i]->plan.job->resources : NULL,
    };
    if (!rb_infra_open(gc->infras[i], &config, &gc->providers[i], err))
        return false;
    gc->n_providers++;
    return true;
}

static void free_files(struct rb_run_files *f)
{
    if (f)
        rb_run_files_finish(f);
    free(f);
}

static void leave_out(struct rb_gc *gc, int i)
{
    const size_t n = (size_t)(--gc->n_infras - i);
    free_files(gc->files[i]);
    memmove(gc->infras[i], gc->infras[i + 1], n * sizeof gc->infras[i]);
    memmove(&gc->files[i], &gc->files[i + 1], n * sizeof gc->files[i]);
    gc->files[gc->n_infras] = NULL;
}

// Adds to the providers while it runs: infras may still be added. A mock cloud that no longer exists has nothing that
// costs money.
static void open_providers(struct rb_gc *gc)
{
    struct rb_err err;
    while (gc->n_providers < gc->n_infras) {
        if (open_provider(gc, gc->n_providers, &err))
            continue;
        if (rb_infra_within(gc->infras[gc->n_providers], "mock"))
            rb_info("left out: %s", err.message);
        else
            rb_gc_fail(gc, gc->infras[gc->n_providers], &err);
        leave_out(gc, gc->n_providers);
    }
}

static struct gc_call *new_call(struct rb_gc *gc, int infra, int found)
{
    struct gc_call *call = rb_xcalloc(1, sizeof *call);
    *call = (struct gc_call){gc, infra, found};
    gc->n_waiting++;
    return call;
}

static void regions_known(void *arg, const struct rb_err *err, const char *const *names, int n)
{
    struct gc_call *call = arg;
    struct rb_gc *gc = call->gc;
    for (int i = 0; i < n; i++) {
        char infra[128];
        snprintf(infra, sizeof infra, "%s/%s", gc->providers[call->infra].ops->name, names[i]);
        rb_gc_add_infra(gc, infra, NULL);
    }
    if (err)
        rb_gc_fail(gc, gc->providers[call->infra].ops->name, err);
    answered(call);
}

static void find_regions(struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        if (gc->providers[i].ops->regions)
            gc->providers[i].ops->regions(&gc->providers[i], regions_known, new_call(gc, i, -1));
    if (gc->n_waiting > 0)
        rb_loop_uv_run(gc->uv);
    open_providers(gc);
}

static void find_left_over(struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        gc->providers[i].ops->list(&gc->providers[i], NULL, listed, new_call(gc, i, -1));
    if (gc->n_waiting > 0)
        rb_loop_uv_run(gc->uv);
}

bool rb_gc_look(struct rb_gc *gc, bool all_regions, struct rb_err *err)
{
    gc->uv = rb_loop_uv_create();
    if (!rb_http_create(rb_loop_uv_loop(gc->uv), &gc->http, err))
        return false;
    open_providers(gc);
    if (all_regions)
        find_regions(gc);
    find_left_over(gc);
    return true;
}

// Checks that every named instance was found, and is not one of a run of this machine.
bool rb_gc_check_named(const struct rb_gc *gc, struct rb_err *err)
{
    if (gc->at_work[0])
        return rb_err_set(err, RB_E_NOT_IN_USE,
                          "--end-in-use %s: its run is executed on this machine: end it with `rbrun stop`",
                          gc->at_work);
    for (int i = 0; i < gc->n_named; i++) {
        const char *named = gc->named[i];
        int at = 0;
        while (at < gc->n_found && strcmp(gc->found[at].id, named) != 0)
            at++;
        if (at == gc->n_found)
            return rb_err_set(err, RB_E_NOT_IN_USE,
                              "--end-in-use %.80s: no such instance of %s%s in the places looked at; nothing was ended",
                              named, gc->owners[0], gc->n_owners > 1 ? " and the other owners" : "");
    }
    return true;
}

void rb_gc_end_instances(struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_found; i++) {
        struct rb_provider *p = &gc->providers[gc->found[i].infra];
        if (rb_gc_ends(&gc->found[i]))
            p->ops->terminate(p, gc->found[i].id, terminated, new_call(gc, gc->found[i].infra, i));
    }
    if (gc->n_waiting > 0)
        rb_loop_uv_run(gc->uv);
}

void rb_gc_end_groups(struct rb_gc *gc, bool dry)
{
    const char *infras[RB_GC_MAX_INFRAS];
    for (int i = 0; i < gc->n_providers; i++)
        infras[i] = gc->infras[i];
    rb_run_groups_delete(&(struct rb_run_groups){.uv = gc->uv,
                                                 .providers = gc->providers,
                                                 .infras = infras,
                                                 .n = gc->n_providers,
                                                 .may = rb_gc_group_is_left_over,
                                                 .ctx = gc,
                                                 .dry = dry});
}

// Of runs and campaigns that were killed and not resumed.
static void leave_nothing_here(void *ctx, const char *run_id, const char *dir)
{
    const struct rb_gc *gc = ctx;
    if (rb_run_is_carried_out(gc->root, run_id))
        return;
    rb_ssh_leave_control_dir(dir);
    if (rb_container_drop_here(dir, run_id) > 0)
        rb_info("run %s: its container on this machine was ended", run_id);
}

bool rb_gc_leave_nothing_here(struct rb_gc *gc, struct rb_err *err)
{
    char campaigns[4112];
    rb_campaign_dir_root(gc->root, campaigns, sizeof campaigns);
    return rb_run_dir_each(gc->root, leave_nothing_here, gc, err) &&
           rb_run_dir_each(campaigns, leave_nothing_here, gc, err);
}

void rb_gc_finish(struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        gc->providers[i].ops->destroy(&gc->providers[i]);
    rb_http_destroy(gc->http);
    rb_loop_uv_destroy(gc->uv);
    for (int i = 0; i < gc->n_infras; i++)
        free_files(gc->files[i]);
    for (int i = 0; i < gc->n_unknown; i++) {
        free(gc->unknown[i].run_id);
        free(gc->unknown[i].why);
    }
    free(gc->unknown);
    free(gc->found);
    rb_buf_finish(&gc->troubles);
}

// As in the instances' tags. This machine cannot see which runs of another owner are at work, so no pattern chooses an
// owner.
bool rb_gc_add_owner(struct rb_gc *gc, const char *given, struct rb_err *err)
{
    const char *at = given ? strchr(given, '@') : NULL;
    char ours[sizeof gc->owners[0]];
    if (given && (!at || at == given || at[1] == '\0' || strlen(given) >= sizeof ours))
        return rb_err_set(err, RB_E_OPTION_VALUE,
                          "--owner: expected USER@HOST, as in the tag rb:owner of an instance, got \"%.80s\"", given);
    if (gc->n_owners == RB_GC_MAX_OWNERS)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--owner: more than %d of them; look with a second command",
                          RB_GC_MAX_OWNERS);
    rb_run_owner(ours, sizeof ours);
    gc->is_elsewhere = gc->is_elsewhere || (given && strcmp(given, ours) != 0);
    strcpy(gc->owners[gc->n_owners++], given ? given : ours);
    return true;
}

bool rb_gc_is_owner(const struct rb_gc *gc, const char *owner)
{
    for (int i = 0; i < gc->n_owners; i++)
        if (strcmp(gc->owners[i], owner) == 0)
            return true;
    return false;
}
