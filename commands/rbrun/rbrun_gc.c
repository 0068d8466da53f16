// rbrun gc: ending what was left running.
#include "executor/gc/gc.h"
#include "executor/gc/groups.h"
#include "executor/run/session.h"

#include "base/clock.h"
#include "base/log.h"
#include "executor/campaign/campaign_dir.h"
#include "executor/journal/run_dir.h"
#include "executor/transport/loop_uv.h"
#include "executor/transport/ssh_command.h"
#include "profiles/catalog/infra.h"
#include "providers/wire/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option gc_options[] = {
    {"dry-run", 0, RB_OPT_FLAG, false, NULL, "only say what would be ended", 0, 0},
    {"yes", 0, RB_OPT_FLAG, false, NULL, "end them without asking", 0, 0},
    {"infra", 0, RB_OPT_STRING, true, "aws/us-east-1", "look there too (default: wherever a run on this machine was)",
     0, 0},
    {"all-regions", 0, RB_OPT_FLAG, false, NULL, "in every region of these clouds that the account may use", 0, 0},
    {"owner", 0, RB_OPT_STRING, false, "USER@HOST", "this owner's instead of yours: left by a machine that is gone", 0,
     0},
    {"end-in-use", 0, RB_OPT_STRING, true, "INSTANCE",
     "end this one although a run elsewhere holds it: its lease has not lapsed", 0, 0},
    {"older-than", 0, RB_OPT_DURATION, false, "D", "spare instances younger than this (default 5m)", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static const struct rb_command gc_command = {
    .name = "rbrun gc",
    .usage = "[options]",
    .summary = "Finds instances that carry your owner tag but whose run nobody carries out any more, and ends them. "
               "What a run "
               "of another machine or container uses is known by its lease, and left alone.",
    .examples = "  rbrun gc --dry-run\n"
                "  rbrun gc --infra aws/eu-west-1\n"
                "  rbrun gc --infra aws/us-east-1 --all-regions --older-than 1h\n"
                "  rbrun gc --infra aws/us-east-1 --owner ann@old-laptop --dry-run\n"
                "  rbrun gc --infra aws/us-east-1 --end-in-use i-0abc1234def567890\n",
    .options = gc_options,
};

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

void rb_gc_fail(struct rb_gc *gc, const struct rb_err *err)
{
    if (gc->failure.code == RB_ERR_NONE)
        gc->failure = *err;
    else
        rb_warn("%s", err->message);
}

static void listed(void *arg, const struct rb_err *err, const struct rb_instance *instances, int n, bool complete)
{
    struct gc_call *call = arg;
    struct rb_err why;
    for (int i = 0; i < n; i++)
        rb_gc_judge(call->gc, call->infra, &instances[i]);
    if (err) {
        why = *err;
        rb_err_prefix(&why, "%s", call->gc->infras[call->infra]);
        rb_gc_fail(call->gc, &why);
    } else if (!complete) {
        rb_err_set(&why, RB_E_INSTANCES_LEFT, "%s could not be listed completely; run the command again",
                   call->gc->infras[call->infra]);
        rb_gc_fail(call->gc, &why);
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
        rb_gc_fail(gc, err);
    f->ended = !err;
    answered(call);
}

static bool open_provider(struct rb_gc *gc, int i, struct rb_err *err)
{
    const struct rb_provider_ops *ops;
    char region[64];
    if (!rb_provider_find(gc->infras[i], &ops, region, err))
        return false;
    const struct rb_provider_config config = {.loop = rb_loop_uv_loop(gc->uv),
                                              .http = gc->http,
                                              .region = region,
                                              .loopback_only = strncmp(gc->infras[i], "mock/", 5) == 0};
    if (!ops->create(&config, &gc->providers[i], err))
        return rb_err_prefix(err, "%s", gc->infras[i]);
    gc->n_providers++;
    return true;
}

static void leave_out(struct rb_gc *gc, int i)
{
    memmove(gc->infras[i], gc->infras[i + 1], (size_t)(--gc->n_infras - i) * sizeof gc->infras[i]);
}

// Infras may be added while it goes on. A mock cloud that is no more has nothing that costs money.
static void open_providers(struct rb_gc *gc)
{
    struct rb_err err;
    while (gc->n_providers < gc->n_infras) {
        if (open_provider(gc, gc->n_providers, &err))
            continue;
        if (rb_infra_within(gc->infras[gc->n_providers], "mock"))
            rb_info("left out: %s", err.message);
        else
            rb_gc_fail(gc, &err);
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

static void regions_told(void *arg, const struct rb_err *err, const char *const *names, int n)
{
    struct gc_call *call = arg;
    struct rb_gc *gc = call->gc;
    for (int i = 0; i < n; i++) {
        char infra[128];
        snprintf(infra, sizeof infra, "%s/%s", gc->providers[call->infra].ops->name, names[i]);
        rb_gc_add_infra(gc, infra);
    }
    if (err)
        rb_gc_fail(gc, err);
    answered(call);
}

static void find_regions(struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        if (gc->providers[i].ops->regions)
            gc->providers[i].ops->regions(&gc->providers[i], regions_told, new_call(gc, i, -1));
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

// Every instance that was named is in sight, and is not one of a run of this machine.
static bool check_named(const struct rb_gc *gc, struct rb_err *err)
{
    const char *named;
    if (gc->at_work[0])
        return rb_err_set(err, RB_E_NOT_IN_USE,
                          "--end-in-use %s: its run is carried out on this machine: end it with `rbrun stop`",
                          gc->at_work);
    for (int i = 0; (named = rb_args_nth(gc->args, "end-in-use", i)); i++) {
        int at = 0;
        while (at < gc->n_found && strcmp(gc->found[at].id, named) != 0)
            at++;
        if (at == gc->n_found)
            return rb_err_set(err, RB_E_NOT_IN_USE,
                              "--end-in-use %.80s: no such instance of %s in the places looked at; nothing was ended",
                              named, gc->owner);
    }
    return true;
}

static bool confirm(const struct rb_gc *gc, int n, int n_in_use, struct rb_err *err)
{
    char what[512];
    bool harmless = true;
    for (int i = 0; i < gc->n_found; i++)
        harmless = harmless && (!rb_gc_ends(&gc->found[i]) || rb_session_is_harmless(gc->infras[gc->found[i].infra]));
    int len = snprintf(what, sizeof what, "ends %d instance%s%s%s%s", n, n == 1 ? "" : "s",
                       gc->is_elsewhere ? " of " : "", gc->is_elsewhere ? gc->owner : "",
                       gc->is_elsewhere ? ", whose runs may be at work where you cannot see them" : "");
    if (n_in_use > 0)
        snprintf(what + len, sizeof what - (size_t)len, "; %d of them %s in use by a run elsewhere, which loses %s",
                 n_in_use, n_in_use == 1 ? "is" : "are", n_in_use == 1 ? "it" : "them");
    return harmless || rb_run_confirm(rb_args_flag(gc->args, "yes"), what, err);
}

static bool end_them(struct rb_gc *gc, struct rb_err *err)
{
    int n = 0, n_in_use = 0;
    for (int i = 0; i < gc->n_found; i++) {
        n += rb_gc_ends(&gc->found[i]);
        n_in_use += gc->found[i].named && gc->found[i].in_use;
    }
    if (n == 0)
        return true;
    if (!confirm(gc, n, n_in_use, err))
        return false;
    for (int i = 0; i < gc->n_found; i++) {
        struct rb_provider *p = &gc->providers[gc->found[i].infra];
        if (rb_gc_ends(&gc->found[i]))
            p->ops->terminate(p, gc->found[i].id, terminated, new_call(gc, gc->found[i].infra, i));
    }
    rb_loop_uv_run(gc->uv);
    return true;
}

static void end_groups(struct rb_gc *gc, bool dry)
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

// Of runs and campaigns that were killed and that nobody has resumed.
static void leave_control_dir(void *ctx, const char *run_id, const char *dir)
{
    const struct rb_gc *gc = ctx;
    if (!rb_run_is_carried_out(gc->root, run_id))
        rb_ssh_leave_control_dir(dir);
}

static bool leave_control_dirs(struct rb_gc *gc, struct rb_err *err)
{
    char campaigns[4112];
    rb_campaign_dir_root(gc->root, campaigns, sizeof campaigns);
    return rb_run_dir_each(gc->root, leave_control_dir, gc, err) &&
           rb_run_dir_each(campaigns, leave_control_dir, gc, err);
}

static void gc_finish(struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        gc->providers[i].ops->destroy(&gc->providers[i]);
    rb_http_destroy(gc->http);
    if (gc->uv)
        rb_loop_uv_destroy(gc->uv);
    for (int i = 0; i < gc->n_unknown; i++) {
        free(gc->unknown[i].run_id);
        free(gc->unknown[i].why);
    }
    free(gc->unknown);
    free(gc->found);
}

// As the instances' tags say it. Of another one nobody here can see which runs are at work: so none is chosen by a pattern.
static bool choose_owner(struct rb_gc *gc, struct rb_err *err)
{
    const char *given = rb_args_string(gc->args, "owner", NULL), *at = given ? strchr(given, '@') : NULL;
    rb_run_owner(gc->owner, sizeof gc->owner);
    if (!given)
        return true;
    if (!at || at == given || at[1] == '\0' || strlen(given) >= sizeof gc->owner)
        return rb_err_set(err, RB_E_OPTION_VALUE,
                          "--owner: expected USER@HOST, as the tag rb:owner of an instance says it, got \"%.80s\"",
                          given);
    gc->is_elsewhere = strcmp(given, gc->owner) != 0;
    strcpy(gc->owner, given);
    return true;
}

static bool collect(const struct rb_args *args, int *out_code, struct rb_err *err)
{
    RB_AUTO(gc_finish) struct rb_gc gc = {.args = args};
    const bool dry = rb_args_flag(args, "dry-run");
    const char *infra;
    if (!choose_owner(&gc, err) ||
        !rb_run_dir_root(rb_args_string(args, "state-dir", NULL), gc.root, sizeof gc.root, err))
        return false;
    if (!rb_gc_add_infras_of_runs(&gc, err))
        return false;
    for (int i = 0; (infra = rb_args_nth(args, "infra", i)); i++) {
        if (!rb_infra_check(infra, err))
            return rb_err_prefix(err, "infra");
        rb_gc_add_infra(&gc, infra);
    }
    gc.uv = rb_loop_uv_create();
    if (!rb_http_create(rb_loop_uv_loop(gc.uv), &gc.http, err))
        return false;
    open_providers(&gc);
    if (rb_args_flag(args, "all-regions"))
        find_regions(&gc);
    find_left_over(&gc);
    if (!check_named(&gc, err) || (!dry && !end_them(&gc, err)))
        return false;
    end_groups(&gc, dry);
    if (!dry && !leave_control_dirs(&gc, err))
        return false;
    return rb_gc_show(&gc, rb_args_flag(args, "json"), out_code, err);
}

int rb_run_gc(int argc, char **argv)
{
    return rb_run_carry_out(&gc_command, collect, argc, argv);
}
