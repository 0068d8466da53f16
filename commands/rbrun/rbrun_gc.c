// rbrun gc: ends what was left running.
#include "commands/rbrun/rbrun.h"

#include "executor/gc/gc.h"
#include "executor/journal/run_dir.h"
#include "executor/run/infras.h"
#include "profiles/catalog/infra.h"
#include "views/tables/gc_table.h"

#include <stdio.h>

static const struct rb_option gc_options[] = {
    {"dry-run", 0, RB_OPT_FLAG, false, NULL, "only show what would be ended", 0, 0},
    {"yes", 0, RB_OPT_FLAG, false, NULL, "end them without asking", 0, 0},
    {"infra", 0, RB_OPT_STRING, true, "aws/us-east-1", "look there too (default: wherever a run on this machine was)",
     0, 0},
    {"all-regions", 0, RB_OPT_FLAG, false, NULL, "in every region of these clouds that the account may use", 0, 0},
    {"owner", 0, RB_OPT_STRING, true, "USER@HOST", "this owner's instead of yours: left by a machine that is gone", 0,
     0},
    {"end-in-use", 0, RB_OPT_STRING, true, "INSTANCE",
     "end this one although a run elsewhere holds it: its lease has not lapsed", 0, 0},
    {"older-than", 0, RB_OPT_DURATION, false, "D",
     "spare instances younger than this (default 5m); with --expired: whose lease lapsed less than this ago (default 10m)",
     0, 0},
    {"expired", 0, RB_OPT_FLAG, false, NULL,
     "be a watchdog: end what no one renews the lease of, in --infra, of --owner; looks at no run of this machine", 0, 0},
    {"every", 0, RB_OPT_DURATION, false, "D", "with --expired: stay, and look again every D, until SIGTERM", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static bool confirm(const struct rb_gc *gc, bool yes, int n, int n_in_use, struct rb_err *err)
{
    char what[512];
    bool harmless = true;
    for (int i = 0; i < gc->n_found; i++)
        harmless = harmless && (!rb_gc_ends(&gc->found[i]) || rb_infra_is_harmless(gc->infras[gc->found[i].infra]));
    int len = snprintf(what, sizeof what, "ends %d instance%s%s%s%s", n, n == 1 ? "" : "s",
                       gc->is_elsewhere ? " of " : "", gc->is_elsewhere ? gc->owners[0] : "",
                       gc->is_elsewhere ? ", whose runs may be executed where you cannot see it" : "");
    if (n_in_use > 0)
        snprintf(what + len, sizeof what - (size_t)len, "; %d of them %s in use by a run elsewhere, which loses %s",
                 n_in_use, n_in_use == 1 ? "is" : "are", n_in_use == 1 ? "it" : "them");
    return harmless || rb_run_confirm(yes, what, err);
}

static bool end_them(struct rb_gc *gc, const struct rb_args *args, struct rb_err *err)
{
    int n = 0, n_in_use = 0;
    for (int i = 0; i < gc->n_found; i++) {
        n += rb_gc_ends(&gc->found[i]);
        n_in_use += gc->found[i].named && gc->found[i].in_use;
    }
    if (n == 0)
        return true;
    if (!confirm(gc, rb_args_flag(args, "yes"), n, n_in_use, err))
        return false;
    rb_gc_end_instances(gc);
    return true;
}

static bool add_infras(struct rb_gc *gc, const struct rb_args *args, struct rb_err *err)
{
    const char *infra;
    if (!rb_gc_add_infras_of_runs(gc, err))
        return false;
    for (int i = 0; (infra = rb_args_nth(args, "infra", i)); i++) {
        if (!rb_infra_check(infra, err))
            return rb_err_prefix(err, "infra");
        rb_gc_add_infra(gc, infra, NULL);
    }
    return true;
}

static bool add_owners(struct rb_gc *gc, const struct rb_args *args, struct rb_err *err)
{
    int n = 0;
    for (const char *owner; (owner = rb_args_nth(args, "owner", n)); n++)
        if (!rb_gc_add_owner(gc, owner, err))
            return false;
    return n > 0 || rb_gc_add_owner(gc, NULL, err);
}

static bool collect(const struct rb_args *args, struct rb_err *err)
{
    if (rb_args_flag(args, "expired"))
        return rb_run_gc_expired(args, err);
    if (rb_args_duration_us(args, "every", -1) >= 0)
        return rb_err_set(err, RB_E_OPTION_ALONE, "--every goes with --expired: add it, with --owner and --infra");
    RB_AUTO(rb_auto_free) const char **named = rb_xcalloc((size_t)args->n_given + 1, sizeof *named);
    RB_AUTO(rb_gc_finish)
    struct rb_gc gc = {.named = named, .grace_us = rb_args_duration_us(args, "older-than", RB_GC_DEFAULT_AGE_US)};
    const bool dry = rb_args_flag(args, "dry-run");
    while ((named[gc.n_named] = rb_args_nth(args, "end-in-use", gc.n_named)))
        gc.n_named++;
    if (!add_owners(&gc, args, err) ||
        !rb_run_dir_root(rb_run_state_dir(args), gc.root, sizeof gc.root, err) || !add_infras(&gc, args, err) ||
        !rb_gc_look(&gc, rb_args_flag(args, "all-regions"), err) || !rb_gc_check_named(&gc, err) ||
        (!dry && !end_them(&gc, args, err)))
        return false;
    rb_gc_end_groups(&gc, dry);
    if (!dry && !rb_gc_leave_nothing_here(&gc, err))
        return false;
    return rb_gc_show(&gc, rb_args_flag(args, "json"), args->out_code, err);
}

const struct rb_command rb_run_gc = {
    .name = "rbrun gc",
    .usage = "[options]",
    .summary = "Finds instances that carry your owner tag but whose run no process executes, and ends them. "
               "Instances "
               "of runs on other machines or in other containers are recognised by their leases, and left alone. "
               "Containers that such runs have left on this machine are ended, too.",
    .examples = "  rbrun gc --dry-run\n"
                "  rbrun gc --infra aws/eu-west-1\n"
                "  rbrun gc --infra aws/us-east-1 --all-regions --older-than 1h\n"
                "  rbrun gc --infra aws/us-east-1 --owner ann@old-laptop --dry-run\n"
                "  rbrun gc --infra aws/us-east-1 --end-in-use i-0abc1234def567890\n"
                "  rbrun gc --expired --infra aws/us-east-1 --owner ann@laptop --yes\n",
    .options = gc_options,
    .run = collect,
};
