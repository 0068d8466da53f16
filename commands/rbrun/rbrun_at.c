// rbrun --at PLACE, and the commands that follow such a run: RUN@PLACE.
#include "commands/rbrun/rbrun_at.h"

#include "base/arena.h"
#include "base/errors/log.h"
#include "base/file.h"
#include "base/text/closest.h"
#include "executor/away/send.h"
#include "executor/journal/handover.h"
#include "executor/journal/run_dir.h"
#include "executor/launcher/launcher.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_WORDS = 24, CHECKPOINT_BYTES = 1 << 30 };

struct words {
    const char *items[MAX_WORDS];
    int n;
    struct rb_arena arena;
};

static void add_option(struct words *w, const char *name, const char *value)
{
    RB_AUTO(rb_buf_finish) struct rb_buf word = RB_BUF_INIT;
    rb_buf_printf(&word, "--%s%s%s", name, value ? "=" : "", value ? value : "");
    if (w->n < MAX_WORDS)
        w->items[w->n++] = rb_arena_strdup(&w->arena, rb_buf_str(&word));
}

static void add_given(struct words *w, const struct rb_args *args, int i)
{
    const struct rb_option *option = args->given[i].option;
    add_option(w, option->name, option->type == RB_OPT_FLAG ? NULL : args->given[i].text);
}

static void words_finish(struct words *w)
{
    rb_arena_finish(&w->arena);
}

// --- the start

static void write_json(const struct rb_elsewhere *e, const struct rb_sent *sent, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    rb_json_put(&j, "{format: 'rb-detached/1' run: %s place: %s process: %jd|null unit: %s|null log: %s|null}",
                e->run_id, e->place, (intmax_t)(sent->pid > 0 ? sent->pid : -1), sent->unit[0] ? sent->unit : NULL,
                sent->log[0] ? sent->log : NULL);
    rb_buf_putc(out, '\n');
}

static void write_text(const struct rb_elsewhere *e, const struct rb_sent *sent, struct rb_buf *out)
{
    const char *run = e->run_id, *place = e->place;
    if (sent->had_begun)
        rb_buf_printf(out, "run %s had begun on %s before this command\n", run, place);
    else
        rb_buf_printf(out, "run %s goes on at %s: process %d%s%s\n", run, place, sent->pid,
                      sent->unit[0] ? ", unit " : "", sent->unit);
    rb_buf_printf(out,
                  "  look    rbrun status %s@%s\n"
                  "  follow  rbrun attach %s@%s\n"
                  "  stop    rbrun stop %s@%s\n"
                  "  fetch   rbrun fetch %s@%s --best DIR\n",
                  run, place, run, place, run, place, run, place);
}

// A machine belongs to a run, so that is asked for first; a host must fit before it is.
static bool reach(const struct rb_run_files *f, const struct rb_controller_place *place, const struct rb_machine *machine,
                  int64_t deadline_us, struct rb_elsewhere *record, struct rb_host *out, struct rb_err *err)
{
    if (!machine)
        return rb_host_parse(place->name, out, err);
    return rb_elsewhere_ask(f->root, place->name, f->plan.job->name, f->plan_sha256, record, err) &&
           rb_machine_make(&f->plan, record, machine, deadline_us, out, err);
}

// The host has refused the run, and nothing remembers the machine but this.
static void end_unused(const struct rb_elsewhere *record, const struct rb_host *host, const struct rb_machine *machine,
                       const struct rb_resources *resources)
{
    struct rb_machine made = *machine;
    struct rb_err why;
    int64_t ended_unix_us;
    snprintf(made.instance_id, sizeof made.instance_id, "%s", host->alias);
    if (!rb_machine_end(&made, resources, record->run_id, &ended_unix_us, &why))
        rb_warn("%s in %s was made for this run and may be there yet; it ends itself within an hour: %s", host->alias,
                made.infra, why.message);
}

bool rb_run_at(struct rb_run_files *f, const struct rb_controller_place *place, const struct rb_machine *machine, int64_t deadline_us,
               const struct rb_args *args, struct rb_err *err)
{
    static const char *const passed_on[] = {"deadline", "budget", "max-cost", "cold", NULL};
    RB_AUTO(words_finish) struct words options = {.n = 0};
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_elsewhere record = {.lock = -1};
    struct rb_host host = {.name = ""};
    struct rb_sent sent;
    for (int i = 0; i < args->n_given; i++)
        if (rb_is_one_of(args->given[i].option->name, passed_on))
            add_given(&options, args, i);
    const struct rb_send send = {.host = &host, .files = f, .options = options.items, .n_options = options.n};
    if (!rb_run_dir_root(rb_run_state_dir(args), f->root, sizeof f->root, err))
        return false;
    const bool ok = reach(f, place, machine, deadline_us, &record, &host, err) &&
                    rb_send_run(&send, &record, &sent, err);
    if (!ok && machine && record.forgotten && host.alias[0])
        end_unused(&record, &host, machine, &f->plan.job->resources);
    rb_elsewhere_finish(&record);
    if (!ok)
        return false;
    (rb_args_flag(args, "json") ? write_json : write_text)(&record, &sent, &out);
    return rb_print(&out, err);
}

// --- RUN@PLACE

// Does the command work on one run, the first operand?
static bool is_of_one_run(const struct rb_command *command)
{
    static const struct rb_command *const commands[] = {&rb_run_attach, &rb_run_status, &rb_run_stop,   &rb_run_logs,
                                                        &rb_run_report, &rb_run_resume, &rb_run_replay, &rb_run_fetch};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (commands[i] == command)
            return true;
    return false;
}

// A run of this machine knows where it is by its journal. *out_found: there is one, with its journal.
static bool find_own(const char *root, const char *text, struct rb_run_location *out, bool *out_found, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    char run_id[128], dir[4352];
    struct rb_journal *j;
    struct rb_handover h;
    int n_others;
    *out_found = false;
    if (!rb_run_dir_find(root, text, run_id, sizeof run_id, dir, sizeof dir, &n_others, NULL))
        return true; // the command says why
    rb_buf_printf(&path, "%s/journal.db", dir);
    if (!rb_journal_open_reader(rb_buf_str(&path), &j, NULL))
        return true;
    const bool known = rb_handover_latest(j, &h, NULL);
    rb_journal_close(j);
    *out_found = out->is_own = known;
    snprintf(out->run_id, sizeof out->run_id, "%s", run_id);
    out->is_away = known && h.state == RB_HANDOVER_AWAY;
    out->is_leaving = known && h.state == RB_HANDOVER_LEAVING;
    if (!known || !rb_handover_is_away(&h))
        return true;
    return strncmp(h.place, "ssh:", 4) == 0 ? rb_host_parse(h.place, &out->host, err)
                                            : rb_handover_refuse(&h, run_id, err); // someone has fetched it
}

bool rb_run_locate(const char *root, const char *text, struct rb_run_location *out, struct rb_err *err)
{
    struct rb_elsewhere e;
    bool found;
    *out = (struct rb_run_location){.is_away = false};
    struct rb_controller_place place;
    if (!rb_place_of_run(text, &out->is_away, out->run_id, &place, err))
        return false;
    if (out->is_away)
        return rb_place_reach(place.name, root, out->run_id, &out->host, err);
    snprintf(out->run_id, sizeof out->run_id, "%s", text);
    if (!find_own(root, text, out, &found, err))
        return false;
    if (found || !rb_elsewhere_find(root, text, &e))
        return true;
    out->is_away = true;
    return rb_place_reach(e.place, root, text, &out->host, err);
}

// Operands first, the run without its place, then the options as they were given; --state-dir is of this machine.
static void write_words(const struct rb_args *args, const char *run, int n_operands, struct words *w)
{
    w->items[w->n++] = run;
    for (int i = 1; i < n_operands && w->n < MAX_WORDS; i++)
        w->items[w->n++] = args->args[i];
    for (int i = 0; i < args->n_given; i++)
        if (strcmp(args->given[i].option->name, "state-dir") != 0)
            add_given(w, args, i);
}

static bool pass(const struct rb_args *args, const struct rb_host *host, const char *run, struct rb_err *err)
{
    RB_AUTO(words_finish) struct words w = {.n = 0};
    const bool on_terminal = !host->by && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    const struct rb_host_call call = {.input_fd = -1, .on_terminal = on_terminal};
    if (args->command == &rb_run_report && (rb_args_string(args, "html", NULL) || rb_args_string(args, "gantt", NULL)))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT,
                          "--html and --gantt would write on %s: run it there, or take --json", host->name);
    w.items[w.n++] = strrchr(args->command->name, ' ') + 1;
    write_words(args, run, args->n_args, &w);
    if (args->command == &rb_run_resume && !rb_args_flag(args, "detach"))
        add_option(&w, "detach", NULL); // it must not end with this connection
    return rb_send_command(host, on_terminal || host->by ? "run" : "pass", w.items, w.n, &call, args->out_code, err);
}

// What the host unpacked comes as a tar, and is looked at like every archive of a node.
static bool fetch(const struct rb_args *args, const struct rb_host *host, const char *run, struct rb_err *err)
{
    RB_AUTO(words_finish) struct words w = {.n = 0};
    RB_AUTO(rb_buf_finish) struct rb_buf archive = RB_BUF_INIT;
    char path[64];
    const char *dir = args->args[args->n_args - 1];
    const struct rb_host_call call = {.input_fd = -1, .out = &archive, .max_output_bytes = CHECKPOINT_BYTES};
    if (rb_args_flag(args, "json"))
        return rb_err_set(err, RB_E_OPTIONS_CONFLICT, "--json is for checkpoints of this machine: leave it out");
    write_words(args, run, args->n_args - 1, &w);
    if (!rb_send_command(host, "fetch", w.items, w.n, &call, args->out_code, err))
        return false;
    if (*args->out_code != 0)
        return true; // it has printed why
    const int fd = rb_memory_file(archive.data, archive.len);
    if (fd < 0)
        return rb_err_set(err, RB_E_HOST_FAILED, "there is no memory for a checkpoint of %zu bytes", archive.len);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    const bool ok = rb_checkpoint_extract(path, dir, err);
    close(fd);
    if (ok)
        printf("%s -> %s\n", args->args[0], dir);
    return ok;
}

static bool refuse_leaving(const struct rb_run_location *run, struct rb_err *err)
{
    struct rb_handover h = {.state = RB_HANDOVER_LEAVING};
    snprintf(h.place, sizeof h.place, "%s", run->host.name);
    return rb_handover_refuse(&h, run->run_id, err);
}

bool rb_run_divert(const struct rb_args *args, bool *out_done, struct rb_err *err)
{
    char root[4096];
    struct rb_run_location place;
    *out_done = false;
    if (!is_of_one_run(args->command) || (args->n_args == 0 && args->command == &rb_run_fetch) ||
        !rb_run_dir_root(rb_run_state_dir(args), root, sizeof root, NULL))
        return true;
    if (!rb_run_locate(root, args->n_args ? args->args[0] : "", &place, err)) {
        *out_done = true;
        return false;
    }
    *out_done = place.is_away || place.is_leaving;
    if (place.is_leaving)
        return refuse_leaving(&place, err);
    if (!place.is_away)
        return true;
    return (args->command == &rb_run_fetch ? fetch : pass)(args, &place.host, place.run_id, err);
}
