// rbrun gc --expired: a watchdog on a machine that has nothing of the runs but the right to list and to end instances.
// It keeps no state, so it may be ended at any instant.
#include "commands/rbrun/rbrun.h"

#include "base/errors/exit_codes.h"
#include "base/errors/log.h"
#include "executor/gc/gc.h"
#include "executor/journal/run_files.h"
#include "executor/run/infras.h"
#include "profiles/catalog/infra.h"
#include "views/tables/gc_table.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool check_every(const struct rb_args *args, struct rb_err *err)
{
    const int64_t every_us = rb_args_duration_us(args, "every", -1);
    if (every_us < 0)
        return true;
    if (every_us < RB_US_PER_S)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--every: expected at least 1s");
    return rb_args_flag(args, "yes") || rb_args_flag(args, "dry-run") ||
           rb_err_set(err, RB_E_OPTION_ALONE, "--every cannot ask: add --yes, or --dry-run to only look");
}

static bool check(const struct rb_args *args, struct rb_err *err)
{
    char ours[160];
    rb_run_owner(ours, sizeof ours);
    if (!rb_args_nth(args, "infra", 0))
        return rb_err_set(err, RB_E_OPTION_ALONE,
                          "--expired: a watchdog knows no runs: say where it looks, for example --infra aws/us-east-1");
    if (!rb_args_nth(args, "owner", 0))
        return rb_err_set(err, RB_E_OPTION_ALONE,
                          "--expired: say whose instances: --owner USER@HOST, as in their tag rb:owner (of runs that "
                          "are started here: %s)",
                          ours);
    if (rb_args_nth(args, "end-in-use", 0))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--expired ends nothing that is in use: leave out --end-in-use");
    return check_every(args, err);
}

static bool fill(struct rb_gc *gc, const struct rb_args *args, struct rb_err *err)
{
    const char *word;
    gc->by_lease = true;
    gc->grace_us = rb_args_duration_us(args, "older-than", RB_GC_DEFAULT_LAPSE_US);
    for (int i = 0; (word = rb_args_nth(args, "owner", i)); i++)
        if (!rb_gc_add_owner(gc, word, err))
            return false;
    for (int i = 0; (word = rb_args_nth(args, "infra", i)); i++) {
        if (!rb_infra_check(word, err))
            return rb_err_prefix(err, "infra");
        rb_gc_add_infra(gc, word, NULL);
    }
    return true;
}

static bool confirm(const struct rb_gc *gc, bool yes, struct rb_err *err)
{
    char what[128];
    bool harmless = true;
    for (int i = 0; i < gc->n_found; i++)
        harmless = harmless && (!rb_gc_ends(&gc->found[i]) || rb_infra_is_harmless(gc->infras[gc->found[i].infra]));
    const int n = rb_gc_count(gc, false);
    snprintf(what, sizeof what, "ends %d instance%s whose lease has lapsed", n, n == 1 ? "" : "s");
    return harmless || rb_run_confirm(yes, what, err);
}

// One look, and the end of what it found.
static bool look(struct rb_gc *gc, const struct rb_args *args, struct rb_err *err)
{
    if (!fill(gc, args, err) || !rb_gc_look(gc, rb_args_flag(args, "all-regions"), err))
        return false;
    if (rb_args_flag(args, "dry-run") || rb_gc_count(gc, false) == 0)
        return true;
    if (!confirm(gc, rb_args_flag(args, "yes"), err))
        return false;
    rb_gc_end_instances(gc);
    return true;
}

static bool look_once(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(rb_gc_finish) struct rb_gc gc = {0};
    return look(&gc, args, err) && rb_gc_show(&gc, rb_args_flag(args, "json"), args->out_code, err);
}

// ---- --every

// What stays as it was in the last round is not repeated.
static void report(struct rb_gc *gc)
{
    for (int i = 0; i < gc->n_found; i++) {
        const struct rb_gc_instance *f = &gc->found[i];
        const bool has_no_lease = f->in_use && !f->expires_at[0];
        if (f->ended)
            rb_info("%s in %s, of run %s: its lease had lapsed: ended", f->id, gc->infras[f->infra], f->run_id);
        else if (!f->in_use && rb_gc_is_news(gc, f->id))
            rb_info("%s in %s, of run %s: its lease has lapsed", f->id, gc->infras[f->infra], f->run_id);
        else if (has_no_lease && rb_gc_is_news(gc, f->id))
            rb_gc_explain_spared(gc, f);
    }
}

struct last_round {
    struct rb_buf troubles;
    bool failed;
};

static bool look_again(const struct rb_args *args, struct last_round *last, struct rb_err *err)
{
    RB_AUTO(rb_gc_finish) struct rb_gc gc = {.of_last_round = rb_buf_str(&last->troubles)};
    if (!look(&gc, args, err))
        return false;
    const bool failed = gc.failure.code != RB_ERR_NONE;
    if (rb_args_flag(args, "json") && !failed && !rb_gc_show(&gc, true, args->out_code, err))
        return false;
    report(&gc);
    if (last->failed && !failed)
        rb_info("every place could be looked at again");
    last->failed = failed;
    const struct rb_buf old = last->troubles;
    last->troubles = gc.troubles;
    gc.troubles = old;
    return true;
}

static void leave(int signal)
{
    (void)signal;
    _exit(RB_CODE_OK);
}

static void pause_for(int64_t us)
{
    struct timespec left = {us / RB_US_PER_S, us % RB_US_PER_S * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

static bool stay(const struct rb_args *args, struct rb_err *err)
{
    struct last_round last = {.troubles = RB_BUF_INIT};
    const int64_t every_us = rb_args_duration_us(args, "every", 0);
    char every[32];
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = leave}, NULL);
    rb_info("looking for lapsed leases every %s, until SIGTERM", rb_format_duration(every_us, every));
    while (look_again(args, &last, err))
        pause_for(every_us);
    rb_buf_finish(&last.troubles);
    return false;
}

bool rb_run_gc_expired(const struct rb_args *args, struct rb_err *err)
{
    if (!check(args, err))
        return false;
    return rb_args_duration_us(args, "every", -1) >= 0 ? stay(args, err) : look_once(args, err);
}
