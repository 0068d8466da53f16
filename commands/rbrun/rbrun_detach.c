// --detach: the run goes on in a process without this terminal; what is printed then.
#include "commands/rbrun/rbrun.h"

#include "base/errors/log.h"
#include "base/file.h"
#include "executor/away/detach.h"
#include "executor/run/checks.h"

#include <stdio.h>

// What the new process gets of our options. A new run has its limits in its journal.
static const char *const passed_on[] = {"deadline", "budget", "db", "serve"};

enum { N_PASSED_ON = sizeof passed_on / sizeof *passed_on, MAX_OPTIONS = 2 * (N_PASSED_ON + 1) + 1 };

static void write_json(const struct rb_run_files *f, const struct rb_detached *d, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf log = RB_BUF_INIT;
    struct rb_json j = {.out = out};
    rb_buf_printf(&log, "%s/" RB_DETACHED_LOG, f->dir);
    rb_json_put(&j, "{format: 'rb-detached/1' run: %s place: null process: %d unit: %s|null log: %s}", f->run_id,
                d->pid, d->unit[0] ? d->unit : NULL, rb_buf_str(&log));
    rb_buf_putc(out, '\n');
}

static void write_text(const struct rb_run_files *f, const struct rb_detached *d, struct rb_buf *out)
{
    rb_buf_printf(out, "run %s goes on without this terminal: process %d%s%s\n", f->run_id, d->pid,
                  d->unit[0] ? ", unit " : "", d->unit);
    rb_buf_printf(out,
                  "  look    rbrun status %s\n"
                  "  follow  rbrun attach %s\n"
                  "  stop    rbrun stop %s\n"
                  "  output  %s/" RB_DETACHED_LOG "\n",
                  f->run_id, f->run_id, f->run_id, f->dir);
}

static void say_what_ends_it(enum rb_linger linger)
{
    if (linger == RB_LINGER_OFF)
        rb_info(
            "it outlives this terminal; your logout ends it only where logind has KillUserProcesses=yes. To be sure: "
            "`loginctl enable-linger`, before it is started");
    rb_info(
        "it does not outlive this machine's sleep or end: its nodes then end themselves, and `rbrun resume` goes on");
}

bool rb_run_detach(const struct rb_run_files *f, const struct rb_args *args, bool resumes, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    const char *options[MAX_OPTIONS];
    char names[N_PASSED_ON][24];
    struct rb_detached d;
    int n = 0;
    if (resumes && !rb_run_check_secrets(f->plan.job, err)) // of a pool: its jobs' plans have them
        return false;
    options[n++] = "--state-dir";
    options[n++] = f->root;
    for (int i = resumes ? 0 : 2; i < N_PASSED_ON; i++) {
        const char *value = rb_args_string(args, passed_on[i], NULL);
        if (!value)
            continue;
        snprintf(names[i], sizeof names[i], "--%s", passed_on[i]);
        options[n++] = names[i];
        options[n++] = value;
    }
    if (rb_args_flag(args, "json"))
        options[n++] = "--json";
    if (!rb_detach(f, options, n, &d, args->out_code, err))
        return false;
    if (*args->out_code != 0)
        return true; // it has printed why
    (rb_args_flag(args, "json") ? write_json : write_text)(f, &d, &out);
    if (!rb_print(&out, err))
        return false;
    say_what_ends_it(d.linger);
    return true;
}
