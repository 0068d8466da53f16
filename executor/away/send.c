#include "executor/away/send.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/document/doc.h"
#include "base/errors/log.h"
#include "base/file.h"
#include "base/text/number.h"
#include "executor/away/machine.h"
#include "executor/away/program.h"
#include "executor/launcher/bundle.h"
#include "profiles/job/job_notify.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SENT_WORKDIR "work" // in the plan that is sent; host.sh makes it

enum {
    CLOCK_S = 60, // how far its clock may be from ours: signatures of requests hold for minutes
    ANSWER_BYTES = 1 << 16,
    SECRET_BYTES = 1 << 20,
    MAX_WORDS = 32,
};

// --- one verb

struct verb {
    const char *words[MAX_WORDS];
    int n;
};

static bool ask(const struct rb_host *host, const struct verb *v, int input_fd, struct rb_buf *out, int *out_code,
                struct rb_err *err)
{
    const struct rb_host_call call = {.words = v->words,
                                      .n_words = v->n,
                                      .input_fd = input_fd,
                                      .compress = input_fd >= 0,
                                      .out = out,
                                      .max_output_bytes = ANSWER_BYTES};
    return rb_host_call(host, &call, out_code, err);
}

// Sends bytes as the verb's input; anything but 0 is an error.
static bool give(const struct rb_host *host, const struct verb *v, int fd, const char *what, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    int code;
    if (fd < 0)
        return rb_err_set(err, RB_E_HOST_FAILED, "%s cannot be sent: %s", what, strerror(errno));
    const bool ok = ask(host, v, fd, &out, &code, err);
    close(fd);
    return ok &&
           (code == 0 || rb_err_set(err, RB_E_HOST_FAILED, "%s did not take %s (exit code %d); its reason is above",
                                    host->name, what, code));
}

// --- the host and the program

static bool check_host(const struct rb_host *host, const char *said, int64_t before_s, int64_t after_s, bool *out_has,
                       struct rb_err *err)
{
    struct utsname here;
    char system[32], machine[32];
    long long clock_s;
    int has;
    uname(&here);
    if (sscanf(said, "%31s %31s %lld %d", system, machine, &clock_s, &has) != 4)
        return rb_err_set(err, RB_E_HOST_UNFIT,
                          "%s: expected \"Linux %s CLOCK\", it said \"%.60s\"; its login shell must "
                          "print nothing by itself",
                          host->name, here.machine, said);
    if (strcmp(system, here.sysname) != 0 || strcmp(machine, here.machine) != 0)
        return rb_err_set(
            err, RB_E_HOST_UNFIT,
            "%s is %s on %s, and this program is for %s on %s: start it on such a host, or install rubberband "
            "there and start it there",
            host->name, system, machine, here.sysname, here.machine);
    const int64_t ahead_s = clock_s > after_s ? clock_s - after_s : clock_s < before_s ? clock_s - before_s : 0;
    if (ahead_s > CLOCK_S || ahead_s < -CLOCK_S)
        return rb_err_set(
            err, RB_E_HOST_UNFIT,
            "the clock of %s is %lld s %s ours: clouds refuse requests of wrong clocks; set it (timedatectl "
            "set-ntp true)",
            host->name, (long long)(ahead_s < 0 ? -ahead_s : ahead_s), ahead_s < 0 ? "behind" : "ahead of");
    *out_has = has != 0;
    return true;
}

static bool look(const struct rb_host *host, const char *digest, bool *out_has, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    int code;
    const struct verb v = {{"look", digest}, 2};
    const int64_t before_s = rb_clock_unix_us() / 1000000;
    if (!ask(host, &v, -1, &said, &code, err))
        return false;
    const int64_t after_s = rb_clock_unix_us() / 1000000 + 1;
    return check_host(host, rb_buf_str(&said), before_s - 1, after_s, out_has, err);
}

static bool give_program(const struct rb_host *host, const struct rb_buf *program, const char *digest,
                         struct rb_err *err)
{
    const struct verb v = {{"program", digest}, 2};
    rb_info("sending this program to %s, once (%zu MB)", host->name, program->len / 1000000 + 1);
    return give(host, &v, rb_memory_file(program->data, program->len), "this program", err);
}

bool rb_send_program(const struct rb_host *host, char out_digest[static 65], struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf program = RB_BUF_INIT;
    bool has = false;
    return rb_program_pack(&program, out_digest, err) && look(host, out_digest, &has, err) &&
           (has || give_program(host, &program, out_digest, err));
}

bool rb_send_command(const struct rb_host *host, const char *verb, const char *const *words, int n_words,
                     const struct rb_host_call *call, int *out_code, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf program = RB_BUF_INIT;
    char digest[65];
    struct verb v = {{verb, digest}, 2};
    struct rb_host_call full = *call;
    if (!rb_program_pack(&program, digest, err))
        return false;
    for (int i = 0; i < n_words && v.n < MAX_WORDS; i++)
        v.words[v.n++] = words[i];
    full.words = v.words;
    full.n_words = v.n;
    if (!rb_host_call(host, &full, out_code, err))
        return false;
    if (*out_code != RB_HOST_LACKS_PROGRAM)
        return true;
    return give_program(host, &program, digest, err) && rb_host_call(host, &full, out_code, err);
}

// --- the job

// The plan as it is on the host: the work directory lies beside it.
static bool write_plan(const struct rb_run_files *f, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_job job = *f->plan.job;
    struct rb_plan plan = f->plan;
    struct rb_json j = {.out = &text, .pretty = true};
    job.workdir = SENT_WORKDIR;
    plan.job = &job;
    plan.job_path = "";
    rb_plan_digest(&plan, rb_digest_sha256);
    rb_plan_write(&plan, &j);
    rb_buf_putc(&text, '\n');
    return rb_write_file(path, rb_buf_str(&text), text.len, err);
}

bool rb_send_file(const struct rb_host *host, const char *const *words, int n_words, const char *path, struct rb_err *err)
{
    struct verb v = {.n = 0};
    const char *slash = strrchr(path, '/');
    for (int i = 0; i < n_words && v.n < MAX_WORDS; i++)
        v.words[v.n++] = words[i];
    return give(host, &v, open(path, O_RDONLY | O_CLOEXEC), slash ? slash + 1 : path, err);
}

static bool send_file(const struct rb_host *host, const char *run_id, const char *name, const char *path,
                      struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    size_t n;
    char digest[65];
    if (!rb_read_file(path, (size_t)1 << 30, &bytes, &n, err))
        return false;
    rb_digest_sha256(bytes, n, digest);
    return rb_send_file(host, (const char *const[]){"file", run_id, name, digest}, 4, path, err);
}

// What its controller's machine is, where one was made for it.
static bool send_machine(const struct rb_host *host, const struct rb_elsewhere *e, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    rb_buf_printf(&path, "%s/" RB_MACHINE_FILE, e->dir);
    return !host->alias[0] || send_file(host, e->run_id, RB_MACHINE_FILE, rb_buf_str(&path), err);
}

static bool send_job(const struct rb_send *s, const struct rb_elsewhere *e, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf plan = RB_BUF_INIT;
    char bundle[4096], digest[65];
    rb_buf_printf(&plan, "%s/plan.json", e->dir);
    return write_plan(s->files, rb_buf_str(&plan), err) &&
           rb_bundle_make(e->dir, s->files->workdir, bundle, sizeof bundle, digest, err) &&
           send_machine(s->host, e, err) && send_file(s->host, e->run_id, "bundle.tar", bundle, err) &&
           send_file(s->host, e->run_id, "plan.json", rb_buf_str(&plan), err);
}

// --- secrets

int rb_send_secrets(const struct rb_job *job)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    const struct rb_string_list names = rb_job_hidden_variables(job, &arena);
    for (int i = 0; i < names.n; i++) {
        const char *value = getenv(names.items[i]);
        if (!value)
            continue;
        rb_buf_printf(&text, "%s=%s", names.items[i], value);
        rb_buf_putc(&text, '\0');
    }
    const int fd = rb_memory_file(text.data, text.len);
    if (text.data)
        explicit_bzero(text.data, text.len);
    return fd;
}

static bool set_secret(const struct rb_string_list *names, char *entry)
{
    char *value = strchr(entry, '=');
    for (int i = 0; value && i < names->n; i++) {
        const size_t n = strlen(names->items[i]);
        if (n == (size_t)(value - entry) && strncmp(entry, names->items[i], n) == 0)
            return setenv(names->items[i], value + 1, 1) == 0;
    }
    return false;
}

bool rb_sent_take_secrets(const struct rb_job *job, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_auto_free) char *bytes = NULL;
    const struct rb_string_list names = rb_job_hidden_variables(job, &arena);
    size_t n;
    bool ok = true;
    if (!rb_read_file("-", SECRET_BYTES, &bytes, &n, err))
        return false;
    for (char *at = bytes; ok && at < bytes + n; at += strlen(at) + 1)
        ok = set_secret(&names, at);
    explicit_bzero(bytes, n);
    return ok ||
           rb_err_set(err, RB_E_OPERANDS, "--sent: expected the job's secrets on stdin, as `rbrun --at` sends them");
}

// --- the start

static bool refuse(const struct rb_host *host, const struct rb_node *said, struct rb_err *err)
{
    int64_t number = 0;
    const char *code = rb_node_member_text(said, "number"), *message = rb_node_member_text(said, "message");
    if (strncmp(code, "RB", 2) != 0 || !rb_parse_int(code + 2, &number))
        number = RB_E_HOST_FAILED;
    const bool lacks_credentials = number >= RB_E_CREDENTIALS_MISSING && number <= RB_E_CREDENTIALS_FILE;
    return rb_err_set(err, (int)number, "on %s: %s%s", host->name, message,
                      lacks_credentials
                          ? "; the controller there needs credentials of its own: an instance role, a service "
                            "account, or its own configuration"
                          : "");
}

bool rb_sent_error(const struct rb_host *host, const struct rb_buf *said, int code, struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    if (!said->len || !rb_doc_parse_json(&doc, host->name, said->data, said->len, NULL) || code == 0)
        return rb_err_set(err, RB_E_HOST_FAILED, "%s did not do what it was asked for (exit code %d); its reason is above",
                          host->name, code);
    return refuse(host, doc.root, err);
}

static bool read_answer(const struct rb_host *host, const struct rb_buf *said, int code, struct rb_sent *out,
                        struct rb_err *err)
{
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    int64_t pid = 0;
    *out = (struct rb_sent){.had_begun = strcmp(rb_buf_str(said), "begun\n") == 0};
    if (code == 0 && out->had_begun)
        return true;
    if (code != 0 || !said->len || !rb_doc_parse_json(&doc, host->name, said->data, said->len, NULL))
        return rb_sent_error(host, said, code, err);
    if (!rb_node_int(rb_node_member(doc.root, "process"), 1, INT32_MAX, &pid, err))
        return false;
    out->pid = (int)pid;
    snprintf(out->unit, sizeof out->unit, "%s", rb_node_member_text(doc.root, "unit"));
    snprintf(out->log, sizeof out->log, "%s", rb_node_member_text(doc.root, "log"));
    return true;
}

static bool start(const struct rb_send *s, const char *digest, struct rb_elsewhere *e, struct rb_sent *out,
                  struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    struct verb v = {{"start", digest, e->run_id}, 3};
    int code;
    for (int i = 0; i < s->n_options && v.n < MAX_WORDS; i++)
        v.words[v.n++] = s->options[i];
    const int secrets = rb_send_secrets(s->files->plan.job);
    if (secrets < 0)
        return rb_err_set(err, RB_E_HOST_FAILED, "the secrets cannot be sent: %s", strerror(errno));
    const bool answered = ask(s->host, &v, secrets, &said, &code, err);
    close(secrets);
    if (!answered)
        return rb_err_prefix(
            err, "whether run %s has begun is not known: repeat this command, it asks for the same run", e->run_id);
    if (read_answer(s->host, &said, code, out, err))
        return true;
    rb_elsewhere_forget(e);
    return false;
}

bool rb_send_run(const struct rb_send *s, struct rb_elsewhere *record, struct rb_sent *out, struct rb_err *err)
{
    char digest[65];
    if (!rb_send_program(s->host, digest, err) ||
        (!record->run_id[0] && !rb_elsewhere_ask(s->files->root, s->host->name, s->files->plan.job->name,
                                                 s->files->plan_sha256, record, err)) ||
        !send_job(s, record, err) || !start(s, digest, record, out, err))
        return false;
    rb_elsewhere_confirm(record);
    return true;
}
