// rbplan init: a job file to begin with, for a script that need not exist yet. What is asked most often stands in it, with the
// words to change; everything else is in docs/formats/job.md. Of a Python script that is there, its options become parameters
// and words of `run`, and what it prints becomes the metric (rbplan_draft.h): guesses, and called so.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "profiles/draft/script_draft.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char head[] =
    "A job to begin with: change it, check it with `rbplan --check`, then measure it with `rbprofile train`.";

#define SCRIPT_MAX_BYTES ((size_t)1 << 20) // longer ones are no scripts that people read

static const struct rb_option options[] = {
    {"output", 'o', RB_OPT_STRING, false, "FILE", "write it there, if there is no such file yet (default: stdout)", 0,
     0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (not read)", 0, 0},
    {0},
};

// Neither the shell nor YAML gives a meaning to any of it.
static bool is_plain(const char *script)
{
    return script[strspn(script, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-")] == '\0' &&
           script[0] != '-';
}

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static const char *run_line(const char *script, struct rb_arena *arena)
{
    if (ends_in(script, ".py"))
        return rb_arena_printf(arena, "python3 %s $RB_ARGS", script);
    return rb_arena_printf(arena, "%s%s $RB_ARGS", strchr(script, '/') ? "" : "./", script);
}

// "src/Train_Cifar.py" -> "train-cifar".
static const char *name_of(const char *script, struct rb_arena *arena)
{
    const char *slash = strrchr(script, '/'), *stem = slash ? slash + 1 : script;
    return rb_yaml_text(rb_job_draft_name(stem, strcspn(stem, "."), arena), arena);
}

static void set_example(struct rb_job_draft *d, enum rb_draft_section section, const char *key, const char *value,
                        const char *comment)
{
    rb_job_draft_set(d, section, key, value, comment, NULL);
}

// A folder is none, nor is what cannot be read: it need not exist yet.
static char *read_python(const char *script)
{
    char *text = NULL;
    size_t n;
    return rb_has_ending(script, ".py") && rb_read_file(script, SCRIPT_MAX_BYTES, &text, &n, NULL) ? text : NULL;
}

// Of a script that is not there an example; of one that is not read nothing is made up.
static void draft_without_source(const char *script, struct rb_job_draft *d)
{
    const bool exists = access(script, F_OK) == 0;
    if (exists)
        rb_job_draft_remark(
            d, RB_DRAFT_METRIC,
            rb_arena_printf(d->arena, "only Python scripts are read: yours must print e.g. epoch=3 val_acc=0.81"));
    rb_job_draft_set(d, RB_DRAFT_METRIC, "name", "val_acc", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_METRIC, "goal", "maximize", NULL, NULL);
    void (*const put)(struct rb_job_draft *, enum rb_draft_section, const char *, const char *, const char *) =
        exists ? rb_job_draft_suggest : set_example;
    put(d, RB_DRAFT_PARAMETERS, "lr", "{distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}", NULL);
    put(d, RB_DRAFT_PARAMETERS, "batch_size", "{values: [64, 128, 256]}", NULL);
    rb_job_draft_remark(
        d, RB_DRAFT_PARAMETERS,
        rb_arena_printf(d->arena, exists ? "examples: what %s takes was not read" : "examples: there is no %s yet",
                        script));
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "type", "sha", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "num_trials", "27", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "max_resource", "27", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "eta", "3", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "unit", "epoch", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_RUN, NULL, run_line(script, d->arena), NULL, NULL);
}

static void draft_job(const char *script, struct rb_arena *arena, struct rb_job_draft *d)
{
    RB_AUTO(rb_auto_free) char *source = read_python(script);
    rb_job_draft_init(d, arena);
    d->head = rb_arena_printf(arena, "%s\n%s", head, rb_job_draft_contract);
    rb_job_draft_set(d, RB_DRAFT_NAME, NULL, name_of(script, arena), NULL, NULL);
    if (source)
        rb_draft_from_script(script, source, d);
    else
        draft_without_source(script, d);
    rb_job_draft_set(d, RB_DRAFT_TRIAL, "gpus", "{min: 1, max: 4}", "what one trial may be given", NULL);
    rb_job_draft_where(d, "2h");
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
    draft_job(script, &arena, &draft);
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
        .summary =
            "Prints a job file to begin with; of a Python script it reads what options it takes and what it prints.",
        .examples = "  rbplan init train.py > job.yaml\n"
                    "  rbplan init src/train.sh -o job.yaml\n",
        .options = options,
        .min_args = 0,
        .max_args = 1,
    };
    return rb_plan_carry_out(&command, run_init, argc, argv);
}
