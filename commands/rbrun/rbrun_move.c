// rbrun move: the controller of a run goes to another host, or comes back.
#include "commands/rbrun/rbrun_at.h"

#include "base/errors/exit_codes.h"
#include "base/errors/log.h"
#include "base/file.h"
#include "executor/away/arrival.h"
#include "executor/away/departure.h"
#include "executor/away/hand_over.h"
#include "executor/away/send.h"
#include "executor/journal/run_dir.h"

#include <stdio.h>
#include <string.h>

static const struct rb_option move_options[] = {
    {"to", 0, RB_OPT_STRING, false, "ssh:HOST|here", "where its controller goes; here: back to this machine", 0, 0},
    {"part", 0, RB_OPT_STRING, false, "PART", "as move asks on the other host: one step, secrets come by stdin", 0, 0},
    {"id", 0, RB_OPT_STRING, false, "ID", "the move that the part is of", 0, 0},
    RB_RUN_COMMON_OPTIONS,
    {0},
};

// --- parts, which the other host asks for

struct part {
    const char *root, *run_id, *id, *to;
};

static bool print_answer(const struct part *p, const struct rb_move_answer *a, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    rb_move_answer_write(a, p->run_id, NULL, &out);
    return rb_print(&out, err);
}

static bool read_under_way(const struct part *p, bool *out, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_journal *j;
    if (!rb_run_files_open_listed(&f, p->root, p->run_id, &j, err))
        return false;
    const bool ok = rb_move_is_under_way(j, &f.plan, out, err);
    rb_journal_close(j);
    return ok;
}

// "1" if the run needs a controller, else "0"; then its plan.
static bool print_plan(const struct part *p, struct rb_move *m, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT, out = RB_BUF_INIT;
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    bool under_way = false;
    size_t n;
    (void)m;
    rb_buf_printf(&path, "%s/%s/plan.json", p->root, p->run_id);
    if (!read_under_way(p, &under_way, err) || !rb_read_file(rb_buf_str(&path), RB_LIMIT_PLAN_BYTES, &bytes, &n, err))
        return false;
    rb_buf_puts(&out, under_way ? "1\n" : "0\n");
    rb_buf_append(&out, bytes, n);
    return rb_print(&out, err);
}

static bool depart(const struct part *p, struct rb_move *m, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_departure d;
    if (!rb_run_files_open(&f, p->root, p->run_id, err) || !rb_sent_take_secrets(f.plan.job, err) || !rb_depart(m, p->to, &d, err))
        return false;
    rb_buf_printf(&out, "%s %s\n", d.move.id, d.digest);
    return rb_print(&out, err);
}

static bool arrive(const struct part *p, struct rb_move *m, struct rb_err *err)
{
    struct rb_move_answer a;
    return rb_arrive(m, p->id, rb_sent_take_secrets, &a, err) && print_answer(p, &a, err);
}

static bool verdict(const struct part *p, struct rb_move *m, struct rb_err *err)
{
    struct rb_move_answer a;
    return rb_arrival_verdict(m, p->id, &a, err) && print_answer(p, &a, err);
}

static bool settle(const struct part *p, struct rb_move *m, bool accepted, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_move_answer a = {.accepted = accepted};
    return rb_run_files_open(&f, p->root, p->run_id, err) && rb_sent_take_secrets(f.plan.job, err) &&
           rb_depart_settle(m, p->id, &a, err) && print_answer(p, &a, err);
}

static bool accepted(const struct part *p, struct rb_move *m, struct rb_err *err)
{
    return settle(p, m, true, err);
}

static bool refused(const struct part *p, struct rb_move *m, struct rb_err *err)
{
    return settle(p, m, false, err);
}

static const struct {
    const char *name;
    bool (*run)(const struct part *p, struct rb_move *m, struct rb_err *err);
    enum rb_move_side side;
    bool of_move; // --id
} parts[] = {
    {"plan", print_plan, RB_MOVE_LEAVES, false},  {"depart", depart, RB_MOVE_LEAVES, false},
    {"arrive", arrive, RB_MOVE_ARRIVES, true},    {"verdict", verdict, RB_MOVE_ARRIVES, true},
    {"accepted", accepted, RB_MOVE_LEAVES, true}, {"refused", refused, RB_MOVE_LEAVES, true},
};

static bool run_part(const char *name, const struct part *p, struct rb_err *err)
{
    RB_AUTO(rb_move_close) struct rb_move m = {.lock = -1};
    size_t i = 0;
    while (i < sizeof parts / sizeof *parts && strcmp(parts[i].name, name) != 0)
        i++;
    if (i == sizeof parts / sizeof *parts)
        return rb_err_set(err, RB_E_OPERANDS, "--part: expected a part as `rbrun move` asks for it, got \"%.40s\"",
                          name);
    return rb_run_dir_check_id(p->run_id, err) && (!parts[i].of_move || rb_move_check_id(p->id, err)) &&
           rb_move_open(p->root, p->run_id, parts[i].side, &m, err) && parts[i].run(p, &m, err);
}

// --- what is printed

static void write_text(const char *run, const char *place, bool here, const struct rb_move_answer *a,
                       struct rb_buf *out)
{
    const char *at = here ? "" : "@";
    rb_buf_printf(out, "run %s %s %s%s", run, a->process.pid > 0 ? "goes on" : "is", here ? "here" : "at ",
                  here ? "" : place);
    if (a->process.pid > 0)
        rb_buf_printf(out, ": process %d%s%s", a->process.pid, a->process.unit[0] ? ", unit " : "", a->process.unit);
    rb_buf_printf(out,
                  "\n  look    rbrun status %s%s%s\n"
                  "  follow  rbrun attach %s%s%s\n"
                  "  stop    rbrun stop %s%s%s\n",
                  run, at, here ? "" : place, run, at, here ? "" : place, run, at, here ? "" : place);
}

// place: where it was to go; NULL: here. from: where it is after a refusal; NULL: here.
static bool conclude(const struct rb_args *args, const char *run, const char *place, const char *from,
                     const struct rb_move_answer *a, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    char process[64] = "";
    if (!a->accepted) {
        if (a->process.pid > 0)
            snprintf(process, sizeof process, ", process %d", a->process.pid);
        return rb_err_set(err, RB_E_MOVE_REFUSED, "%s refused run %s: %s; the run goes on %s%s%s",
                          place ? place : "this host", run, a->why.message, from ? "at " : "here", from ? from : "",
                          process);
    }
    if (a->why.code != RB_ERR_NONE)
        return rb_err_set(err, rb_err_number(&a->why), "run %s is %s%s, and no process goes on with it: %s", run,
                          place ? "at " : "here", place ? place : "", a->why.message);
    if (rb_args_flag(args, "json"))
        rb_move_answer_write(a, run, place, &out);
    else
        write_text(run, place, !place, a, &out);
    return rb_print(&out, err);
}

// --- the move

static bool go(const struct rb_args *args, const char *root, const struct rb_run_location *now, const char *to,
               struct rb_err *err)
{
    struct rb_host host;
    struct rb_move_answer a = {.accepted = true};
    if (now->is_away && strcmp(now->host.name, to) == 0 && !now->is_own) // it began there
        return conclude(args, now->run_id, to, NULL, &a, err);
    if (now->is_away && strcmp(now->host.name, to) != 0)
        return rb_err_set(err, RB_E_RUN_MOVED,
                          "run %s is at %s: bring it here first (`rbrun move %s --to here`), then move it to %s",
                          now->run_id, now->host.name, now->run_id, to);
    if (now->is_leaving && strcmp(now->host.name, to) != 0)
        return rb_err_set(
            err, RB_E_RUN_MOVED,
            "run %s is moving to %s: ask again with `rbrun move %s --to %s`, or take it back with --to here",
            now->run_id, now->host.name, now->run_id, now->host.name);
    return rb_host_parse(to, &host, err) && rb_hand_over(root, now->run_id, &host, &a, err) &&
           conclude(args, now->run_id, host.name, NULL, &a, err);
}

// The run is here: a machine that was made for its controller has done its work.
static bool arrived(const struct rb_args *args, const char *root, const char *run, const char *from,
                    const struct rb_move_answer *a, struct rb_err *err)
{
    return conclude(args, run, NULL, from, a, err) && rb_place_leave(root, run, err);
}

static bool come_back(const struct rb_args *args, const char *root, const struct rb_run_location *now,
                      struct rb_err *err)
{
    struct rb_move_answer a;
    if (!now->is_away && !now->is_leaving)
        return rb_hand_nowhere(root, now->run_id, &a, err) && arrived(args, root, now->run_id, NULL, &a, err);
    if (now->is_leaving && !rb_hand_back(root, now->run_id, &now->host, &a, err))
        return false;
    if (now->is_leaving && !a.accepted) {
        a.accepted = true; // what was asked for: it is here
        a.why = (struct rb_err){.code = RB_ERR_NONE};
        return conclude(args, now->run_id, NULL, NULL, &a, err);
    }
    return rb_hand_fetch(root, now->run_id, &now->host, &a, err) &&
           arrived(args, root, now->run_id, now->host.name, &a, err);
}

static bool move(const struct rb_args *args, struct rb_err *err)
{
    char root[4096];
    struct rb_run_location now;
    const char *to = rb_args_string(args, "to", NULL), *part = rb_args_string(args, "part", NULL);
    if (!rb_run_dir_root(rb_run_state_dir(args), root, sizeof root, err))
        return false;
    if (part)
        return run_part(
            part,
            &(struct part){
                .root = root, .run_id = args->args[0], .id = rb_args_string(args, "id", ""), .to = to ? to : ""},
            err);
    if (!to)
        return rb_err_set(err, RB_E_OPERANDS, "--to: expected where the run goes: --to ssh:HOST, or --to here");
    return rb_run_locate(root, args->args[0], &now, err) &&
           (strcmp(to, "here") == 0 ? come_back(args, root, &now, err) : go(args, root, &now, to, err));
}

const struct rb_command rb_run_move = {
    .name = "rbrun move",
    .usage = "[options] RUN --to ssh:HOST|here",
    .summary =
        "Moves the controller of a run to another host, or back, while its nodes train on. Killed or cut off anywhere: "
        "repeat it.",
    .examples = "  rbrun move digits-2026 --to ssh:me@build-box\n"
                "  rbrun move digits-2026 --to here\n",
    .options = move_options,
    .min_args = 1,
    .max_args = 1,
    .run = move,
};
