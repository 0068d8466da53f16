// rbplan init: a job file to begin with, for a script that need not exist yet. What is asked most often stands in it, with the
// words to change; everything else is in docs/formats/job.md.
#include "commands/rbplan.h"

#include "base/file.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_CHARS 40 // of a job, as docs/formats/job.md says

static const char head[] =
    "# A job to begin with: change it, check it with `rbplan --check`, then measure it with `rbprofile train`.\n"
    "# The script finds its parameters in $RB_ARGS, the checkpoint to go on from in $RB_RESUME_FROM, where to write "
    "one in\n"
    "# $RB_CHECKPOINT_DIR, and reports by a line such as `epoch=3 val_acc=0.81`.\n";

static const char before_run[] = "metric: {name: val_acc, goal: maximize}\n"
                                 "parameters:\n"
                                 "  lr: {distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}\n"
                                 "  batch_size: {values: [64, 128, 256]}\n"
                                 "scheduler: {type: sha, num_trials: 27, max_resource: 27, eta: 3, unit: epoch}\n"
                                 "trial:\n"
                                 "  gpus: {min: 1, max: 4}        # what one trial may be given\n";

static const char after_run[] =
    "resources:\n"
    "  infra: [local]                # or [aws/us-east-1], [gcp/us-central1], [slurm/PARTITION]\n"
    "  # instance_types: [g5.12xlarge]\n"
    "  # image_id: {aws/us-east-1: ami-...}\n"
    "  # spot: allow\n"
    "  max_nodes: 4\n"
    "deadline: 2h\n"
    "# budget: 40                    # dollars, for the whole job\n";

static const struct rb_option options[] = {
    {"output", 'o', RB_OPT_STRING, false, "FILE", "write it there, if there is no such file yet (default: stdout)", 0,
     0},
    {"db", 0, RB_OPT_STRING, false, "FILE", "profile store (not read)", 0, 0},
    {0},
};

// "src/Train_Cifar.py" -> "train-cifar".
static void put_name(struct rb_buf *out, const char *script)
{
    const char *slash = strrchr(script, '/'), *stem = slash ? slash + 1 : script;
    const size_t start = out->len, n = strcspn(stem, ".");
    for (size_t i = 0; i < n && out->len - start < NAME_MAX_CHARS; i++) {
        const unsigned char c = (unsigned char)stem[i];
        rb_buf_putc(out, isascii(c) && isalnum(c) ? (char)tolower(c) : '-');
    }
    if (out->len == start)
        rb_buf_puts(out, "job");
}

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

static void put_run(struct rb_buf *out, const char *script)
{
    if (ends_in(script, ".py"))
        rb_buf_printf(out, "run: python %s $RB_ARGS\n", script);
    else
        rb_buf_printf(out, "run: %s%s $RB_ARGS\n", strchr(script, '/') ? "" : "./", script);
}

static bool run_init(const struct rb_args *args, struct rb_err *err)
{
    const char *script = args->n_args > 0 ? args->args[0] : "train.py", *path = rb_args_string(args, "output", NULL);
    if (!is_plain(script))
        return rb_err_set(err, RB_E_OPERANDS,
                          "expected a script whose name has only letters, digits and _ . / -, got "
                          "\"%.60s\": begin with another, and quote it in `run` yourself",
                          script);
    if (path && access(path, F_OK) == 0)
        return rb_err_set(err, RB_E_FILE_EXISTS, "%s is there already: give another --output, or remove it", path);
    struct rb_buf out = RB_BUF_INIT;
    rb_buf_printf(&out, "%sname: ", head);
    put_name(&out, script);
    rb_buf_putc(&out, '\n');
    rb_buf_puts(&out, before_run);
    put_run(&out, script);
    rb_buf_puts(&out, after_run);
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
        .summary = "Prints a job file to begin with.",
        .examples = "  rbplan init train.py > job.yaml\n"
                    "  rbplan init src/train.sh -o job.yaml\n",
        .options = options,
        .min_args = 0,
        .max_args = 1,
    };
    return rb_plan_carry_out(&command, run_init, argc, argv);
}
