// rbplan init: writes a first job file for a script that need not exist yet. It has the most frequent keys, with the
// words to change; docs/formats/job.md has the rest. If the Python script exists, its options become parameters and
// words of `run`, and its output becomes the metric (rbplan_draft.h). These are guesses, and marked as guesses.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "profiles/draft/job_of_script.h"

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
    RB_AUTO(rb_arena_finish) struct rb_arena arena;
    struct rb_job_draft draft;
    struct rb_buf out = RB_BUF_INIT;
    rb_arena_init(&arena);
    rb_draft_job(script, &arena, &draft);
    rb_job_draft_write(&draft, &out);
    if (!path)
        return rb_plan_print(&out, err);
    const bool ok = rb_write_file(path, rb_buf_str(&out), out.len, err);
    rb_buf_finish(&out);
    return ok;
}

int rb_plan_init(int argc, char **argv)
{
    static const struct rb_command command = {
        .name = "rbplan init",
        .usage = "[SCRIPT] [-o job.yaml]",
        .summary = "Prints a first job file; from a Python script it reads the options and the output.",
        .examples = "  rbplan init train.py > job.yaml\n"
                    "  rbplan init src/train.sh -o job.yaml\n",
        .options = options,
        .min_args = 0,
        .max_args = 1,
    };
    return rb_plan_carry_out(&command, run_init, argc, argv);
}
