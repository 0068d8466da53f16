// rbplan init: a job file to begin with, for a script that need not exist yet. What is asked most often stands in it, with the
// words to change; everything else is in docs/formats/job.md. Of a Python script that is there, the options of argparse become
// parameters, with ranges around their defaults: guesses, and called so.
#include "commands/rbplan.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/number.h"
#include "profiles/job_draft.h"
#include "profiles/python_options.h"

#include <ctype.h>
#include <math.h>
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

// ---- parameters of a script

// How long it trains: that is the scheduler's to say.
static bool is_length(const char *name)
{
    static const char *const names[] = {"epochs",     "num_epochs", "num-epochs", "n_epochs",
                                        "max_epochs", "max-epochs", NULL};
    for (const char *const *n = names; *n; n++)
        if (strcmp(name, *n) == 0)
            return true;
    return false;
}

// What nobody searches, though it is a number.
static bool is_no_hyperparameter(const char *name)
{
    static const char *const words[] = {"seed",  "worker", "gpu",    "rank",       "port", "interval",
                                        "every", "freq",   "device", "world_size", NULL};
    for (const char *const *w = words; *w; w++)
        if (strstr(name, *w))
            return true;
    return is_length(name);
}

// One that job.yaml may have.
static bool is_parameter_name(const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && n <= 64 && (isalpha((unsigned char)name[0]) || name[0] == '_') &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

static const char *number_text(double v, struct rb_arena *arena)
{
    char text[32];
    rb_format_double(v, text);
    return rb_arena_printf(arena, strpbrk(text, ".e") ? "%s" : "%s.0", text);
}

static const char *range_of_float(double d, struct rb_arena *arena)
{
    if (d >= 0.3 && d < 1) // a momentum, a part
        return d <= 0.99 ? "{min: 0.0, max: 0.99}" : d <= 0.9999 ? "{min: 0.9, max: 0.9999}" : NULL;
    if (d > 0)
        return rb_arena_printf(arena, "{distribution: log_uniform, min: %s, max: %s}", number_text(d / 10, arena),
                               number_text(d * 10, arena));
    return d < 0 ? NULL : "{min: 0.0, max: 0.5}";
}

static const char *range_of_int(int64_t d, struct rb_arena *arena)
{
    if (d < 1 || d > INT32_MAX)
        return NULL;
    return rb_arena_printf(arena, "{min: %lld, max: %lld}", (long long)(d > 1 ? d / 2 : 1), 2 * (long long)d);
}

// ["sgd", "adam"] or (16, 32) -> {values: [sgd, adam]}; NULL: not all of them are literals.
static const char *values_of(const char *choices, struct rb_arena *arena)
{
    const size_t n = strlen(choices);
    if (n < 3 || !strchr("[(", choices[0]) || !strchr("])", choices[n - 1]))
        return NULL;
    char *rest = rb_arena_strndup(arena, choices + 1, n - 2);
    const char *list = "";
    for (char *item; (item = strsep(&rest, ","));) {
        item += strspn(item, " \t\n");
        item[strcspn(item, " \t\n")] = '\0';
        const size_t m = strlen(item);
        if (m == 0 && !rest) // a comma at the end
            break;
        const bool quoted = m > 2 && strchr("\"'", item[0]) && item[m - 1] == item[0];
        if (!quoted && !rb_is_number(item))
            return NULL;
        const char *value = quoted ? rb_yaml_text(rb_arena_strndup(arena, item + 1, m - 2), arena) : item;
        list = rb_arena_printf(arena, "%s%s%s", list, *list ? ", " : "", value);
    }
    return *list ? rb_arena_printf(arena, "{values: [%s]}", list) : NULL;
}

// A guess at what to search; NULL: left to the script.
static const char *range_of(const struct rb_python_option *o, struct rb_arena *arena)
{
    double d;
    int64_t i;
    if (o->is_switch || !is_parameter_name(o->name) || is_no_hyperparameter(o->name))
        return NULL;
    if (o->choices)
        return values_of(o->choices, arena);
    if (!o->default_value || !rb_parse_double(o->default_value, &d))
        return NULL;
    const bool whole = o->type ? strcmp(o->type, "int") == 0 : rb_parse_int(o->default_value, &i);
    if (whole)
        return rb_parse_int(o->default_value, &i) ? range_of_int(i, arena) : NULL;
    return !o->type || strcmp(o->type, "float") == 0 ? range_of_float(d, arena) : NULL;
}

// Its parameters, and how long it says that it trains (0: it does not). False: it has none that we see.
static bool draft_parameters(const char *text, struct rb_job_draft *d, int64_t *out_length)
{
    const struct rb_python_option *found;
    const int n = rb_python_options_read(text, d->arena, &found);
    const char *left = "";
    bool any = false;
    for (int i = 0; i < n; i++) {
        const struct rb_python_option *o = &found[i];
        const char *range = rb_job_draft_find(d, RB_DRAFT_PARAMETERS, o->name) ? NULL : range_of(o, d->arena);
        int64_t length;
        if (is_length(o->name) && o->default_value && rb_parse_int(o->default_value, &length) && length > 0)
            *out_length = length;
        if (range)
            rb_job_draft_set(
                d, RB_DRAFT_PARAMETERS, o->name, range,
                o->default_value ? rb_arena_printf(d->arena, "a guess; default %s", o->default_value) : NULL, NULL);
        else
            left = rb_arena_printf(d->arena, "%s%s--%s", left, *left ? ", " : "", o->name);
        any = any || range;
    }
    if (any && *left)
        rb_job_draft_remark(d, RB_DRAFT_PARAMETERS, rb_arena_printf(d->arena, "not searched: %s", left));
    return any;
}

// A script that cannot be read need not exist yet.
static bool draft_from_script(const char *script, struct rb_job_draft *d, int64_t *out_length)
{
    RB_AUTO(rb_auto_free) char *text = NULL;
    size_t n;
    return rb_has_ending(script, ".py") && rb_read_file(script, SCRIPT_MAX_BYTES, &text, &n, NULL) &&
           draft_parameters(text, d, out_length);
}

static void draft_job(const char *script, struct rb_arena *arena, struct rb_job_draft *d)
{
    rb_job_draft_init(d, arena);
    d->head = rb_arena_printf(arena, "%s\n%s", head, rb_job_draft_contract);
    rb_job_draft_set(d, RB_DRAFT_NAME, NULL, name_of(script, arena), NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_METRIC, "name", "val_acc", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_METRIC, "goal", "maximize", NULL, NULL);
    int64_t length = 0;
    if (!draft_from_script(script, d, &length)) {
        rb_job_draft_set(d, RB_DRAFT_PARAMETERS, "lr", "{distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}", NULL,
                         NULL);
        rb_job_draft_set(d, RB_DRAFT_PARAMETERS, "batch_size", "{values: [64, 128, 256]}", NULL, NULL);
        rb_job_draft_remark(d, RB_DRAFT_PARAMETERS,
                            rb_arena_printf(arena, access(script, F_OK) == 0 ? "examples: no options of argparse were seen in %s"
                                                                             : "examples: there is no %s yet",
                                            script));
    }
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "type", "sha", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "num_trials", "27", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "max_resource",
                     length > 0 && length <= RB_LIMIT_RESOURCE ? rb_arena_printf(arena, "%lld", (long long)length)
                                                               : "27",
                     NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "eta", "3", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "unit", "epoch", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_TRIAL, "gpus", "{min: 1, max: 4}", "what one trial may be given", NULL);
    rb_job_draft_set(d, RB_DRAFT_RUN, NULL, run_line(script, arena), NULL, NULL);
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
        .summary = "Prints a job file to begin with; of a Python script it reads the options that argparse knows.",
        .examples = "  rbplan init train.py > job.yaml\n"
                    "  rbplan init src/train.sh -o job.yaml\n",
        .options = options,
        .min_args = 0,
        .max_args = 1,
    };
    return rb_plan_carry_out(&command, run_init, argc, argv);
}
