// rbplan init: a job file to begin with, for a script that need not exist yet. What is asked most often stands in it, with the
// words to change; everything else is in docs/formats/job.md. Of a Python script that is there, its options become parameters
// and words of trial.args, and what it prints becomes the metric (profiles/draft): guesses, and called so.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "profiles/draft/job_of_script.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option options[] = {
    {"output", 'o', RB_OPT_STRING, false, "FILE", "write it there, if there is no such file yet (default: stdout)", 0,
     0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (not read)", 0, 0},
    {0},
};

// Neither the shell nor YAML treats any of it specially.
static bool is_plain(const char *script)
{
    return script[strspn(script, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")] == '\0' &&
           script[0] != '-';
}

// Editors find the schema by this line. There is no address of it on the web: the file that was installed beside this program,
// PREFIX/share/doc/rubberband/schemas, or that of the source tree from which it was built. Neither: no line.
static void write_schema_line(struct rb_arena *arena, struct rb_buf *out)
{
    static const char *const places[] = {"../share/doc/rubberband/schemas", "../docs/schemas"};
    char program[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(program, '/');
    if (!slash)
        return;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        RB_AUTO(rb_auto_free)
        char *path = realpath(rb_arena_printf(arena, "%s/%s/job.schema.json", program, places[i]), NULL);
        if (path && !strpbrk(path, " \n")) {
            rb_buf_printf(out, "# yaml-language-server: $schema=%s\n", path);
            return;
        }
    }
}

static bool run_init(const struct rb_args *args, struct rb_err *err)
{
    const char *script = args->n_args > 0 ? args->args[0] : "train.py", *path = rb_args_string(args, "output", NULL);
    if (!is_plain(script))
        return rb_err_set(err, RB_E_OPERANDS,
                          "expected a script whose name has only letters, digits and _ . / -, got "
                          "\"%.60s\": name another one, then put this one into `run` yourself, in quotes",
                          script);
    if (path && access(path, F_OK) == 0)
        return rb_err_set(err, RB_E_FILE_EXISTS, "%s is there already: give another --output, or remove it", path);
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_job_draft draft;
    struct rb_buf out = RB_BUF_INIT;
    rb_draft_job(script, &arena, &draft);
    write_schema_line(&arena, &out);
    rb_job_draft_write(&draft, &out);
    if (!path)
        return rb_plan_print(&out, err);
    const bool ok = rb_write_file(path, rb_buf_str(&out), out.len, err);
    rb_buf_finish(&out);
    return ok;
}

const struct rb_command rb_plan_init = {
    .name = "rbplan init",
    .usage = "[SCRIPT] [-o job.yaml]",
    .summary = "Prints a first job file; from a Python script it reads the options and the output.",
    .examples = "  rbplan init train.py > job.yaml\n"
                "  rbplan init src/train.sh -o job.yaml\n",
    .options = options,
    .min_args = 0,
    .max_args = 1,
    .run = run_init,
};
