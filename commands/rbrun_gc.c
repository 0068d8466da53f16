// rbrun gc: ending what was left running.
#include "commands/rbrun.h"
#include "commands/rbrun_groups.h"
#include "commands/rbrun_session.h"

#include "base/clock.h"
#include "base/log.h"
#include "executor/campaign_dir.h"
#include "executor/loop_uv.h"
#include "executor/run_dir.h"
#include "executor/ssh_command.h"
#include "profiles/infra.h"
#include "providers/http.h"

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
    {"owner", 0, RB_OPT_STRING, false, "USER@HOST",
     "this owner's instead of yours: left by a machine that is gone, whose runs nobody can be at work on", 0, 0},
    {"older-than", 0, RB_OPT_DURATION, false, "D", "spare instances younger than this (default 5m)", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

static const struct rb_command gc_command = {
    .name = "rbrun gc",
    .usage = "[options]",
    .summary = "Finds instances that carry your owner tag but whose run nobody carries out any more, and ends them.",
    .examples = "  rbrun gc --dry-run\n"
                "  rbrun gc --infra aws/eu-west-1\n"
                "  rbrun gc --infra aws/us-east-1 --all-regions --older-than 1h\n"
                "  rbrun gc --infra aws/us-east-1 --owner ann@old-laptop --dry-run\n",
    .options = gc_options,
};

enum { MAX_INFRAS = 128, GC_TERMINATE_TRIES = 5 };
#define DEFAULT_AGE_US (300 * RB_US_PER_S)

struct found_instance {
    char id[128], run_id[128], instance_type[64];
    int64_t age_us; // -1: the cloud does not say
    int infra, tries;
    bool ended;
};

struct gc {
    const struct rb_args *args;
    char root[4096], owner[160]; // whose instances are looked for
    bool is_elsewhere;           // that is not who asks: whether its runs are at work cannot be seen from here
    char infras[MAX_INFRAS][64];
    int n_infras;
    struct rb_loop_uv *uv;
    struct rb_http *http;
    struct rb_provider providers[MAX_INFRAS];
    int n_providers, n_waiting;
    struct found_instance *found;
    int n_found, n_ended;
    int n_spared; // ours, but too young
    struct rb_err failure;
};

// One request that is under way.
struct gc_call {
    struct gc *gc;
    int infra, found;
};

// mock/R is what aws/R is where that is on loopback: one endpoint, one listing.
static bool is_same_place(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return true;
    const char *region = strchr(a, '/'), *other = strchr(b, '/');
    return region && other && strcmp(region, other) == 0 &&
           (rb_infra_within(a, "mock") ? rb_infra_within(b, "aws")
                                       : rb_infra_within(a, "aws") && rb_infra_within(b, "mock")) &&
           rb_session_is_harmless(a) && rb_session_is_harmless(b);
}

static void add_infra(struct gc *gc, const char *infra)
{
    char name[64];
    snprintf(name, sizeof name, "%s", infra);
    char *slash = strchr(name, '/');
    slash = slash ? strchr(slash + 1, '/') : NULL;
    if (slash)
        *slash = '\0';
    for (int i = 0; i < gc->n_infras; i++)
        if (is_same_place(gc->infras[i], name))
            return;
    // What a pool lends is its own run's to end.
    if (strcmp(name, "local") != 0 && strcmp(name, "pool") != 0 && gc->n_infras < MAX_INFRAS)
        strcpy(gc->infras[gc->n_infras++], name);
}

static void add_infra_of_campaign(void *ctx, const char *run_id, const char *dir)
{
    char infra[RB_CAMPAIGN_INFRA_BYTES];
    (void)run_id;
    if (rb_campaign_dir_infra(dir, infra))
        add_infra(ctx, infra);
}

static void add_infras_of_run(void *ctx, const char *run_id, const char *dir)
{
    struct gc *gc = ctx;
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_journal *journal;
    struct rb_launch_row *rows;
    int n;
    (void)run_id;
    rb_arena_init(&arena);
    rb_buf_printf(&path, "%s/journal.db", dir);
    if (!rb_journal_open_reader(rb_buf_str(&path), &journal, NULL))
        return; // it ended before anything was launched
    if (rb_journal_launches(journal, &arena, &rows, &n, NULL))
        for (int i = 0; i < n; i++)
            add_infra(gc, rows[i].infra);
    rb_journal_close(journal);
}

static void judge(struct gc *gc, int infra, const struct rb_instance *i)
{
    const bool aged = i->running_at_us >= 0;
    const int64_t age_us = aged ? rb_clock_unix_us() - i->running_at_us : -1;
    const int64_t grace_us = rb_args_duration_us(gc->args, "older-than", DEFAULT_AGE_US);
    if (i->state == RB_INSTANCE_TERMINATED || i->state == RB_INSTANCE_STOPPING || !i->owner || !i->run_id)
        return;
    if (strcmp(i->owner, gc->owner) != 0) {
        rb_info("%s in %s: belongs to %s: left alone", i->id, gc->infras[infra], i->owner);
    } else if (rb_run_is_carried_out(gc->root, i->run_id)) {
        rb_info("%s in %s: run %s is at work: left alone", i->id, gc->infras[infra], i->run_id);
    } else if (aged ? age_us < grace_us : grace_us > 0) {
        rb_info("%s in %s: %s: left alone; to end it, add --older-than 0s", i->id, gc->infras[infra],
                aged ? "younger than --older-than" : "of unknown age");
        gc->n_spared++;
    } else {
        gc->found = rb_xrealloc(gc->found, (size_t)gc->n_found + 1, sizeof *gc->found);
        struct found_instance *f = &gc->found[gc->n_found++];
        *f = (struct found_instance){.infra = infra, .age_us = age_us};
        snprintf(f->id, sizeof f->id, "%s", i->id);
        snprintf(f->run_id, sizeof f->run_id, "%s", i->run_id);
        snprintf(f->instance_type, sizeof f->instance_type, "%s", i->instance_type ? i->instance_type : "");
    }
}

static void answered(struct gc_call *call)
{
    struct gc *gc = call->gc;
    free(call);
    if (--gc->n_waiting == 0)
        rb_loop_uv_stop(gc->uv);
}

// What cannot be looked at or ended somewhere is no reason to leave the others running: the first is the command's error.
static void fail(struct gc *gc, const struct rb_err *err)
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
        judge(call->gc, call->infra, &instances[i]);
    if (err) {
        why = *err;
        rb_err_prefix(&why, "%s", call->gc->infras[call->infra]);
        fail(call->gc, &why);
    } else if (!complete) {
        rb_err_set(&why, RB_E_INSTANCES_LEFT, "%s could not be listed completely; say it again",
                   call->gc->infras[call->infra]);
        fail(call->gc, &why);
    }
    answered(call);
}

static void terminated(void *arg, const struct rb_err *err)
{
    struct gc_call *call = arg;
    struct gc *gc = call->gc;
    struct found_instance *f = &gc->found[call->found];
    struct rb_provider *p = &gc->providers[f->infra];
    if (err && ++f->tries < GC_TERMINATE_TRIES) {
        p->ops->terminate(p, f->id, terminated, call);
        return;
    }
    if (err)
        fail(gc, err);
    f->ended = !err;
    gc->n_ended += !err;
    answered(call);
}

static bool open_provider(struct gc *gc, int i, struct rb_err *err)
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

static void leave_out(struct gc *gc, int i)
{
    memmove(gc->infras[i], gc->infras[i + 1], (size_t)(--gc->n_infras - i) * sizeof gc->infras[i]);
}

// Infras may be added while it goes on. A mock cloud that is no more has nothing that costs money.
static void open_providers(struct gc *gc)
{
    struct rb_err err;
    while (gc->n_providers < gc->n_infras) {
        if (open_provider(gc, gc->n_providers, &err))
            continue;
        if (rb_infra_within(gc->infras[gc->n_providers], "mock"))
            rb_info("left out: %s", err.message);
        else
            fail(gc, &err);
        leave_out(gc, gc->n_providers);
    }
}

static struct gc_call *new_call(struct gc *gc, int infra, int found)
{
    struct gc_call *call = rb_xcalloc(1, sizeof *call);
    *call = (struct gc_call){gc, infra, found};
    gc->n_waiting++;
    return call;
}

static void regions_told(void *arg, const struct rb_err *err, const char *const *names, int n)
{
    struct gc_call *call = arg;
    struct gc *gc = call->gc;
    for (int i = 0; i < n; i++) {
        char infra[128];
        snprintf(infra, sizeof infra, "%s/%s", gc->providers[call->infra].ops->name, names[i]);
        add_infra(gc, infra);
    }
    if (err)
        fail(gc, err);
    answered(call);
}

static void find_regions(struct gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        if (gc->providers[i].ops->regions)
            gc->providers[i].ops->regions(&gc->providers[i], regions_told, new_call(gc, i, -1));
    if (gc->n_waiting > 0)
        rb_loop_uv_run(gc->uv);
    open_providers(gc);
}

static void find_left_over(struct gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        gc->providers[i].ops->list(&gc->providers[i], NULL, listed, new_call(gc, i, -1));
    if (gc->n_waiting > 0)
        rb_loop_uv_run(gc->uv);
}

static bool end_them(struct gc *gc, struct rb_err *err)
{
    char what[384];
    bool harmless = true;
    for (int i = 0; i < gc->n_found; i++)
        harmless = harmless && rb_session_is_harmless(gc->infras[gc->found[i].infra]);
    snprintf(what, sizeof what, "ends %d instance%s%s%s%s", gc->n_found, gc->n_found == 1 ? "" : "s",
             gc->is_elsewhere ? " of " : "", gc->is_elsewhere ? gc->owner : "",
             gc->is_elsewhere ? ", whose runs may be at work where you cannot see them" : "");
    if (!harmless && !rb_run_confirm(rb_args_flag(gc->args, "yes"), what, err))
        return false;
    for (int i = 0; i < gc->n_found; i++) {
        struct rb_provider *p = &gc->providers[gc->found[i].infra];
        p->ops->terminate(p, gc->found[i].id, terminated, new_call(gc, gc->found[i].infra, i));
    }
    rb_loop_uv_run(gc->uv);
    return true;
}

static bool group_is_left_over(void *ctx, const struct rb_placement_group *g)
{
    const struct gc *gc = ctx;
    return g->owner && g->run_id && strcmp(g->owner, gc->owner) == 0 && !rb_run_is_carried_out(gc->root, g->run_id);
}

static void end_groups(struct gc *gc, bool dry)
{
    const char *infras[MAX_INFRAS];
    for (int i = 0; i < gc->n_providers; i++)
        infras[i] = gc->infras[i];
    rb_run_groups_delete(&(struct rb_run_groups){.uv = gc->uv,
                                                 .providers = gc->providers,
                                                 .infras = infras,
                                                 .n = gc->n_providers,
                                                 .may = group_is_left_over,
                                                 .ctx = gc,
                                                 .dry = dry});
}

// Of runs and campaigns that were killed and that nobody has resumed.
static void leave_control_dir(void *ctx, const char *run_id, const char *dir)
{
    const struct gc *gc = ctx;
    if (!rb_run_is_carried_out(gc->root, run_id))
        rb_ssh_leave_control_dir(dir);
}

static bool leave_control_dirs(struct gc *gc, struct rb_err *err)
{
    char campaigns[4112];
    rb_campaign_dir_root(gc->root, campaigns, sizeof campaigns);
    return rb_run_dir_each(gc->root, leave_control_dir, gc, err) &&
           rb_run_dir_each(campaigns, leave_control_dir, gc, err);
}

static void gc_finish(struct gc *gc)
{
    for (int i = 0; i < gc->n_providers; i++)
        gc->providers[i].ops->destroy(&gc->providers[i]);
    rb_http_destroy(gc->http);
    if (gc->uv)
        rb_loop_uv_destroy(gc->uv);
    free(gc->found);
}

static bool print_table(const struct gc *gc, struct rb_err *err)
{
    static const struct rb_text_column columns[] = {{"instance", false, 0}, {"where", false, 4}, {"type", false, 2},
                                                    {"age", true, 1},       {"run", false, 3},   {"", false, 0}};
    const struct rb_text_style style = rb_run_style(STDOUT_FILENO);
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_text_table t;
    rb_text_table_init(&t, columns, (int)(sizeof columns / sizeof *columns));
    for (int i = 0; i < gc->n_found; i++) {
        const struct found_instance *f = &gc->found[i];
        char age[32] = "unknown";
        if (f->age_us >= 0)
            rb_format_duration(f->age_us, age);
        rb_text_table_cell(&t, "%s", f->id);
        rb_text_table_cell(&t, "%s", gc->infras[f->infra]);
        rb_text_table_cell(&t, "%s", f->instance_type);
        rb_text_table_cell(&t, "%s", age);
        rb_text_table_cell(&t, "%s", f->run_id);
        rb_text_table_cell(&t, "%s", f->ended ? "ended" : "left over");
    }
    if (gc->n_found > 0)
        rb_text_table_write(&t, &style, &out);
    rb_text_table_finish(&t);
    rb_buf_printf(&out, "%d region%s looked at, %d instance%s left over, %d ended", gc->n_infras,
                  gc->n_infras == 1 ? "" : "s", gc->n_found, gc->n_found == 1 ? "" : "s", gc->n_ended);
    if (gc->n_spared > 0)
        rb_buf_printf(&out, "; %d more left alone, too young to tell", gc->n_spared);
    rb_buf_putc(&out, '\n');
    if (gc->n_infras == 0)
        rb_info("nothing was launched from this machine so far; to look elsewhere, add --infra aws/REGION");
    return rb_run_print(&out, err);
}

static bool print_json(const struct gc *gc, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &text, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-gc/1");
    rb_json_kint(&j, "ended", gc->n_ended);
    rb_json_key(&j, "left_over");
    rb_json_begin_array(&j);
    for (int i = 0; i < gc->n_found; i++) {
        rb_json_begin_object(&j);
        rb_json_kstring(&j, "id", gc->found[i].id);
        rb_json_kstring(&j, "infra", gc->infras[gc->found[i].infra]);
        rb_json_kstring(&j, "run", gc->found[i].run_id);
        rb_json_end_object(&j);
    }
    rb_json_end_array(&j);
    rb_json_end_object(&j);
    rb_buf_putc(&text, '\n');
    return rb_run_print(&text, err);
}

static bool show(const struct gc *gc, bool json, struct rb_err *err)
{
    if (gc->failure.code != RB_ERR_NONE && json) { // one document, and the error is it
        *err = gc->failure;
        return rb_err_prefix(err, "%d of %d instances that were left over were ended, and something failed",
                             gc->n_ended, gc->n_found);
    }
    if (!(json ? print_json(gc, err) : print_table(gc, err)))
        return false;
    if (gc->failure.code != RB_ERR_NONE)
        *err = gc->failure;
    return gc->failure.code == RB_ERR_NONE;
}

// As the instances' tags say it. Of another one nobody here can see which runs are at work: so none is chosen by a pattern.
static bool choose_owner(struct gc *gc, struct rb_err *err)
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
    RB_AUTO(gc_finish) struct gc gc = {.args = args};
    const bool dry = rb_args_flag(args, "dry-run");
    const char *infra;
    (void)out_code;
    char campaigns[4112];
    if (!choose_owner(&gc, err) ||
        !rb_run_dir_root(rb_args_string(args, "state-dir", NULL), gc.root, sizeof gc.root, err))
        return false;
    rb_campaign_dir_root(gc.root, campaigns, sizeof campaigns);
    if (!rb_run_dir_each(gc.root, add_infras_of_run, &gc, err) ||
        !rb_run_dir_each(campaigns, add_infra_of_campaign, &gc, err))
        return false;
    for (int i = 0; (infra = rb_args_nth(args, "infra", i)); i++) {
        if (!rb_infra_check(infra, err))
            return rb_err_prefix(err, "infra");
        add_infra(&gc, infra);
    }
    gc.uv = rb_loop_uv_create();
    if (!rb_http_create(rb_loop_uv_loop(gc.uv), &gc.http, err))
        return false;
    open_providers(&gc);
    if (rb_args_flag(args, "all-regions"))
        find_regions(&gc);
    find_left_over(&gc);
    if (!dry && gc.n_found > 0 && !end_them(&gc, err))
        return false;
    end_groups(&gc, dry);
    if (!dry && !leave_control_dirs(&gc, err))
        return false;
    return show(&gc, rb_args_flag(args, "json"), err);
}

int rb_run_gc(int argc, char **argv)
{
    return rb_run_carry_out(&gc_command, collect, argc, argv);
}
