// rbplan import: turns a job of another tool into a job.yaml to edit. Warns about what could not be translated.
#include "commands/rbplan/rbplan.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/errors/log.h"
#include "profiles/import/import_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct rb_option options[] = {
    {"output", 'o', RB_OPT_STRING, false, "FILE", "write it there, if there is no such file yet (default: stdout)", 0,
     0},
    {"from", 0, RB_OPT_STRING, false, "TOOL",
     "determined, katib, optuna, ray, sagemaker, vertex or wandb (default: recognised by the keys of the file)", 0, 0},
    {"run", 0, RB_OPT_STRING, false, "COMMAND",
     "the command of a trial, if the file has none or only its tool can run it", 0, 0},
    {"num-trials", 0, RB_OPT_INT, false, "N", "the number of trials, if the file has none", 1, 131072},
    {"max-resource", 0, RB_OPT_INT, false, "N", "the resource to which a trial trains, if the file has none", 1,
     1000000},
    {"json", 0, RB_OPT_FLAG, false, NULL, "print the job and the warnings as one JSON document", 0, 0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (not read)", 0, 0},
    {0},
};

static void warn(const struct rb_job_import *im)
{
    for (int i = 0; i < im->n_warnings; i++) {
        const struct rb_job_warning *w = &im->warnings[i];
        rb_warn("%s:%d:%d: %s: %s", im->file, w->line, w->column, w->key, w->text);
    }
    RB_AUTO(rb_buf_finish) struct rb_buf ignored = RB_BUF_INIT;
    for (int i = 0; i < im->n_ignored; i++)
        rb_buf_printf(&ignored, "%s%s", i ? ", " : "", im->ignored[i]);
    if (im->n_ignored > 0)
        rb_info("%s: left out, as it matters to the other tool only: %s", im->file, rb_buf_str(&ignored));
}

static bool print_json(const struct rb_job_import *im, struct rb_err *err)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    rb_job_import_write(im, &j);
    rb_buf_putc(&out, '\n');
    return rb_plan_print(&out, err);
}

static bool deliver(const struct rb_args *args, const struct rb_job_import *im, struct rb_err *err)
{
    const char *path = rb_args_string(args, "output", NULL);
    const bool json = rb_args_flag(args, "json");
    struct rb_buf out = RB_BUF_INIT;
    if (!json)
        warn(im);
    if (path && !rb_write_file(path, im->text, strlen(im->text), err))
        return false;
    if (json)
        return print_json(im, err);
    if (path)
        return true;
    rb_buf_puts(&out, im->text);
    return rb_plan_print(&out, err);
}

// A Python program is not run to find out what it searches. True: it is one, and err says what to do.
static bool refuse_program(const char *path, struct rb_err *err)
{
    const size_t n = strlen(path);
    char *text = NULL;
    size_t len;
    if (n < 3 || strcmp(path + n - 3, ".py") != 0 || !rb_read_file(path, RB_LIMIT_DOC_BYTES, &text, &len, err))
        return false;
    const char *what = strstr(text, "optuna")                                   ? "an Optuna study"
                       : strstr(text, "import ray") || strstr(text, "from ray") ? "a Ray Tune program"
                       : strstr(text, "hyperopt")                               ? "a Hyperopt program"
                                                                                : "a Python program";
    free(text);
    return !rb_err_set(
        err, RB_E_JOB_TOOL,
        "%s is %s, which is not run: move what one trial does into a script that takes its parameters as options, "
        "then `rbplan init SCRIPT`; of Ray Tune and Optuna, a search that is written as JSON can be imported "
        "(docs/formats/import.md)",
        path, what);
}

static bool run_import(const struct rb_args *args, struct rb_err *err)
{
    const struct rb_job_import_options given = {
        .from = rb_args_string(args, "from", NULL),
        .run = rb_args_string(args, "run", NULL),
        .num_trials = rb_args_int(args, "num-trials", 0),
        .max_resource = rb_args_int(args, "max-resource", 0),
    };
    const char *path = rb_args_string(args, "output", NULL);
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    RB_AUTO(rb_job_import_finish) struct rb_job_import im = {0};
    if (path && access(path, F_OK) == 0)
        return rb_err_set(err, RB_E_FILE_EXISTS, "%s is there already: give another --output, or remove it", path);
    return !refuse_program(args->args[0], err) && rb_doc_read(&doc, args->args[0], err) &&
           rb_job_import_read(&doc, &given, &im, err) && deliver(args, &im, err);
}

const struct rb_command rb_plan_import = {
    .name = "rbplan import",
    .usage = "[options] FILE",
    .summary = "Turns a W&B sweep, a Determined or Katib experiment, a SageMaker or Vertex AI tuning "
               "job, or the JSON of an Optuna study or of Ray Tune into a job.yaml.",
    .examples = "  rbplan import sweep.yaml -o job.yaml\n"
                "  rbplan import sweep.yaml --num-trials 64 --max-resource 50 > job.yaml\n"
                "  rbplan import experiment.json --from ray --run 'python train.py $RB_ARGS'\n",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run_import,
};
