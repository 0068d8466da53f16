// rbplan approve: a person looks at a plan, types the amount, and so permits one run of it.
#include "commands/rbplan/rbplan.h"

#include "base/clock.h"
#include "base/limits.h"
#include "executor/approval/agreement.h"
#include "executor/approval/signature.h"
#include "executor/journal/run_files.h"
#include "executor/run/checks.h"
#include "executor/run/infras.h"
#include "providers/wire/digest.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN_CHARS = 160 };

static const struct rb_option options[] = {
    {"max-cost", 0, RB_OPT_MONEY, false, "USD", "most the run may cost; it stops before it costs more", 0, 0},
    {"for", 0, RB_OPT_DURATION, false, "D", "for how long the run may be begun, e.g. 24h", 0, 0},
    {"output", 'o', RB_OPT_STRING, false, "FILE", "write the approval there (default: approval.json)", 0, 0},
    {"ssh-key", 0, RB_OPT_STRING, false, "FILE",
     "sign with this ssh key; a public one, if ssh-agent or a token has the private half (default: this user's key "
     "file)",
     0, 0},
    {"by", 0, RB_OPT_STRING, false, "NAME", "who approves, as allowed_signers names the key (default: user@host)", 0,
     0},
    {"controller", 0, RB_OPT_STRING, false, "USER@HOST",
     "who will carry it out, and where (default: this user on this machine)", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (not read: a plan holds what it was made from)", 0, 0},
    {0},
};

struct subject {
    struct rb_arena arena;
    struct rb_plan plan;
    struct rb_approval approval;
    char workdir[PATH_MAX];
};

static void finish_subject(struct subject *s)
{
    rb_arena_finish(&s->arena);
}

// The plan of the very bytes whose digest is approved.
static bool read_plan(const char *path, struct subject *s, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    size_t n;
    if (!rb_read_file(path, RB_LIMIT_PLAN_BYTES, &bytes, &n, err) || !rb_doc_parse_json(&doc, path, bytes, n, err) ||
        !rb_plan_read(doc.root, rb_digest_sha256, &s->arena, &s->plan, err))
        return false;
    rb_digest_sha256(bytes, n, s->approval.plan_sha256);
    strcpy(s->approval.job_sha256, s->plan.job_sha256);
    return true;
}

static bool copy_name(const char *option, const char *text, char *out, size_t size, struct rb_err *err)
{
    bool ok = strlen(text) > 0 && strlen(text) < size;
    for (const char *at = text; *at; at++)
        ok = ok && (unsigned char)*at >= 0x20 && *at != 0x7f;
    if (!ok)
        return rb_err_set(err, RB_E_OPTION_VALUE, "--%s: expected 1 to %zu printable characters", option, size - 1);
    strcpy(out, text);
    return true;
}

static bool fill(const struct rb_args *args, const char *output, struct subject *s, struct rb_err *err)
{
    struct rb_approval *a = &s->approval;
    char job_path[PATH_MAX], here[sizeof a->controller];
    const char *plan = args->args[0], *but[] = {plan, output};
    const int64_t now_us = rb_clock_unix_us() / RB_US_PER_S * RB_US_PER_S;
    rb_run_owner(here, sizeof here);
    a->max_cost_uusd = rb_args_money_uusd(args, "max-cost", 0);
    a->n_infra = rb_run_infras(&s->plan, a->infra, RB_APPROVAL_INFRAS);
    a->not_before_us = now_us;
    a->not_after_us = now_us + rb_args_duration_us(args, "for", 0) / RB_US_PER_S * RB_US_PER_S;
    rb_approval_make_nonce(a->nonce);
    return copy_name("controller", rb_args_string(args, "controller", here), a->controller, sizeof a->controller,
                     err) &&
           copy_name("by", rb_args_string(args, "by", here), a->by, sizeof a->by, err) &&
           rb_run_places(&s->plan, plan, job_path, s->workdir, err) &&
           rb_workdir_digest(s->workdir, but, 2, a->workdir_sha256, err);
}

// --- what the person sees

// A plan may come from anyone: nothing in it may move the cursor, and nothing is endless.
static void show_text(const char *text)
{
    int n = 0;
    for (; *text && n < SHOWN_CHARS; text++, n++)
        fputc((unsigned char)*text >= 0x20 && (unsigned char)*text < 0x7f ? *text : ' ', stderr);
    fputs(*text ? "..." : "", stderr);
}

static void show_machines(const struct rb_plan *plan)
{
    for (int s = 0; s < plan->n_stages; s++) {
        const struct rb_plan_stage *stage = &plan->stages[s];
        fprintf(stderr, "  stage %d    %d trials on", s, stage->trials);
        for (int i = 0; i < stage->n_nodes; i++) {
            const struct rb_offer *offer = &plan->offers[stage->nodes[i].offer];
            fprintf(stderr, "%s %d x ", i ? "," : "", stage->nodes[i].count);
            show_text(offer->instance_type);
            fprintf(stderr, "%s", rb_market_mark(offer->market));
        }
        fputc('\n', stderr);
    }
}

static void show(const struct subject *s)
{
    const struct rb_approval *a = &s->approval;
    char mean[32], p95[32], most[32], until[32];
    fprintf(stderr, "\n  job        ");
    show_text(s->plan.job->name);
    fprintf(stderr, "\n  runs       ");
    show_text(s->plan.job->run);
    fprintf(stderr, "\n  files      ");
    show_text(s->workdir);
    fprintf(stderr, "\n  in         ");
    for (int i = 0; i < a->n_infra; i++) {
        fputs(i ? ", " : "", stderr);
        show_text(a->infra[i]);
    }
    fputc('\n', stderr);
    show_machines(&s->plan);
    fprintf(stderr, "  cost       %s on average; 95 %% of runs cost up to %s\n",
            rb_format_money(s->plan.estimate.cost_uusd.mean, mean),
            rb_format_money(s->plan.estimate.cost_uusd.p95, p95));
    fprintf(stderr, "  at most    %s%s\n", rb_format_money(a->max_cost_uusd, most),
            a->max_cost_uusd < s->plan.estimate.cost_uusd.p95 ? "; this may not be enough to finish" : "");
    fprintf(stderr, "  until      %s, once, by %s\n", rb_format_instant(a->not_after_us, until), a->controller);
    fprintf(stderr, "  plan       %s\n\n", a->plan_sha256);
}

static bool ask(const struct rb_approval *a, struct rb_err *err)
{
    char typed[64] = "", exact[32];
    int64_t uusd;
    fprintf(stderr,
            "Type the amount in dollars to approve this run (%s): ", rb_format_money_exact(a->max_cost_uusd, exact));
    if (!fgets(typed, sizeof typed, stdin))
        typed[0] = '\0';
    typed[strcspn(typed, "\r\n")] = '\0';
    return (rb_parse_money(typed, &uusd, NULL) && uusd == a->max_cost_uusd) ||
           rb_err_set(err, RB_E_APPROVAL_NOT_GIVEN, "the amount was not typed: nothing was approved");
}

static bool approve(const struct rb_args *args, struct rb_err *err)
{
    RB_AUTO(finish_subject) struct subject s = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const char *output = rb_args_string(args, "output", "approval.json");
    if (rb_args_money_uusd(args, "max-cost", 0) <= 0 || rb_args_duration_us(args, "for", 0) < RB_US_PER_S)
        return rb_err_set(err, RB_E_OPERANDS, "--max-cost USD and --for D are needed, e.g. --max-cost 5 --for 24h");
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return rb_err_set(err, RB_E_APPROVAL_NOT_GIVEN,
                          "a person approves on a terminal, and %s is none; nothing was approved",
                          isatty(STDIN_FILENO) ? "stderr" : "stdin");
    if (!read_plan(args->args[0], &s, err) || !fill(args, output, &s, err))
        return false;
    show(&s);
    if (!ask(&s.approval, err) || !rb_approval_sign(&s.approval, rb_args_string(args, "ssh-key", NULL), err))
        return false;
    rb_approval_write(&s.approval, &text);
    if (!rb_write_file(output, rb_buf_str(&text), text.len, err))
        return false;
    fprintf(stderr, "written to %s; carry it out with: rbrun %s --approval %s\n", output, args->args[0], output);
    return true;
}

const struct rb_command rb_plan_approve = {
    .name = "rbplan approve",
    .usage = "[options] plan.json",
    .summary =
        "Lets a person permit one run of a plan: shows what it costs and where, and asks for the amount. Needs a "
        "terminal.",
    .examples = "  rbplan approve plan.json --max-cost 5 --for 24h\n"
                "  rbplan approve plan.json --max-cost 5 --for 24h --ssh-key ~/.ssh/id_ed25519.pub --by ann\n"
                "  rbrun plan.json --approval approval.json\n",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = approve,
};
