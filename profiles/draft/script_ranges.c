// The purpose of an option, from its name, and a search range for it, from its name, type and default.
#include "base/text/number.h"
#include "profiles/draft/script_draft.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

// --- names

// model.learning-rate -> learning_rate; at most 63 bytes of it.
static void normal_name(const char *name, char out[static 64])
{
    const char *dot = strrchr(name, '.');
    size_t n = 0;
    for (const char *p = dot ? dot + 1 : name; *p && n < 63; p++)
        out[n++] = *p == '-' ? '_' : (char)tolower((unsigned char)*p);
    out[n] = '\0';
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

// Is one of the words between _ among these, ignoring digits at its end? beta is a word of adam_beta1.
static bool has_word(const char *name, const char *const *words)
{
    char copy[64];
    normal_name(name, copy);
    char *rest = copy;
    for (char *word; (word = strsep(&rest, "_"));) {
        if (is_one_of(word, words))
            return true;
        word[strcspn(word, "0123456789")] = '\0';
        if (*word && is_one_of(word, words))
            return true;
    }
    return false;
}

static bool takes_text(const struct rb_script_option *o)
{
    return (o->type == RB_SCRIPT_TEXT || o->type == RB_SCRIPT_ANY) && o->form != RB_SCRIPT_OTHER && !o->choices;
}

enum rb_option_role rb_option_role(const struct rb_script_option *o)
{
    static const char *const epochs[] = {
        "epochs",           "num_epochs",   "n_epochs",     "nepochs",         "max_epochs", "nb_epochs",
        "num_train_epochs", "train_epochs", "total_epochs", "training_epochs", "epoch",      NULL};
    static const char *const steps[] = {
        "max_steps",      "num_steps",      "n_steps",        "total_steps", "train_steps",     "num_train_steps",
        "training_steps", "steps",          "max_iters",      "max_iter",    "num_iters",       "n_iters",
        "iterations",     "num_iterations", "max_iterations", "iters",       "num_train_iters", NULL};
    static const char *const resume[] = {"resume",          "resume_from", "resume_from_checkpoint",
                                         "resume_path",     "resume_ckpt", "resume_checkpoint",
                                         "load_checkpoint", "load_ckpt",   "restore",
                                         "restore_from",    "ckpt_path",   "from_checkpoint",
                                         "init_from",       "load_from",   NULL};
    static const char *const checkpoint[] = {"checkpoint_format",
                                             "output",
                                             "save",
                                             "checkpoint_dir",
                                             "checkpoints_dir",
                                             "ckpt_dir",
                                             "checkpoint_path",
                                             "output_dir",
                                             "out_dir",
                                             "outdir",
                                             "outputdir",
                                             "save_dir",
                                             "savedir",
                                             "model_dir",
                                             "exp_dir",
                                             "save_path",
                                             "save_folder",
                                             "output_folder",
                                             "default_root_dir",
                                             "workdir",
                                             "work_dir",
                                             NULL};
    static const char *const rounds[] = {"num_round",       "num_rounds", "num_boost_round", "num_boost_rounds",
                                         "n_estimators",    "n_rounds",   "nrounds",         "nround",
                                         "boosting_rounds", "rounds",     "boost_rounds",    NULL};
    static const char *const horizons[] = {"lr_decay_iters", "lr_decay_steps", "decay_steps",    "decay_iters",
                                           "t_max",          "cosine_steps",   "schedule_steps", NULL};
    static const char *const intervals[] = {"eval_interval", "eval_every", "eval_freq",
                                            "val_interval",  "eval_steps", NULL};
    static const char *const seeds[] = {"seed", "random_seed", "manual_seed", "random_state", NULL};
    static const char *const logs[] = {"log_dir",         "logdir",      "log_path", "logs_dir", "tb_dir",
                                       "tensorboard_dir", "summary_dir", "logs",     NULL};
    static const char *const saves[] = {"save_model", "save_checkpoint", "save", NULL};
    static const char *const left[] = {
        "accel",   "val",           "valid",     "validation",  "verbosity", "repeats",  "seed",        "seeds",
        "worker",  "workers",       "gpu",       "gpus",        "rank",      "port",     "interval",    "every",
        "freq",    "frequency",     "device",    "devices",     "world",     "log",      "logging",     "logger",
        "save",    "saving",        "print",     "verbose",     "verbosity", "debug",    "quiet",       "classes",
        "labels",  "timeout",       "nodes",     "node",        "local",     "threads",  "nproc",       "cores",
        "cuda",    "cpu",           "mps",       "tpu",         "backend",   "dataset",  "data",        "dir",
        "path",    "file",          "name",      "dry",         "eval",      "evaluate", "test",        "predict",
        "do",      "load",          "overwrite", "distributed", "download",  "wandb",    "tensorboard", "plot",
        "profile", "deterministic", "version",   "push",        "cache",     "compile",  "progress",    "show",
        "export",  "split",         "task",      "mode",        "tokens",    "vocab",    "start",       "visualize",
        "force",   "limit",         NULL};
    static const char *const scratch[] = {"init_from", NULL}; // scratch or resume
    char name[64];
    normal_name(o->name, name);
    if (is_one_of(name, epochs) && o->type != RB_SCRIPT_TEXT)
        return RB_OPTION_EPOCHS;
    if (is_one_of(name, steps) && o->type != RB_SCRIPT_TEXT)
        return RB_OPTION_STEPS;
    if (is_one_of(name, rounds) && o->type != RB_SCRIPT_TEXT)
        return RB_OPTION_ROUNDS;
    if (is_one_of(name, horizons) && o->type != RB_SCRIPT_TEXT)
        return RB_OPTION_HORIZON;
    if (is_one_of(name, intervals) && o->type == RB_SCRIPT_INT)
        return RB_OPTION_INTERVAL;
    if (is_one_of(name, seeds) && o->form == RB_SCRIPT_VALUE)
        return RB_OPTION_SEED;
    if (is_one_of(name, logs) && takes_text(o))
        return RB_OPTION_LOGS;
    if (is_one_of(name, saves) && o->form == RB_SCRIPT_SWITCH)
        return RB_OPTION_SAVE;
    if (is_one_of(name, resume) && (o->form == RB_SCRIPT_SWITCH || takes_text(o) || is_one_of(name, scratch)))
        return RB_OPTION_RESUME;
    if (is_one_of(name, checkpoint) && takes_text(o))
        return RB_OPTION_CHECKPOINT;
    return has_word(name, left) || is_one_of(name, epochs) || is_one_of(name, steps) || is_one_of(name, resume)
               ? RB_OPTION_LEFT
               : RB_OPTION_PARAMETER;
}

int rb_option_worth(const struct rb_script_option *o)
{
    static const char *const whole[] = {"lr",
                                        "learning_rate",
                                        "base_lr",
                                        "initial_lr",
                                        "init_lr",
                                        "max_lr",
                                        "peak_lr",
                                        "eta",
                                        "batch_size",
                                        "batchsize",
                                        "bs",
                                        "train_batch_size",
                                        "per_device_train_batch_size",
                                        "weight_decay",
                                        "wd",
                                        "dropout",
                                        "drop",
                                        "momentum",
                                        "beta1",
                                        "beta2",
                                        "adam_beta1",
                                        "adam_beta2",
                                        "warmup_epochs",
                                        "warmup_iters",
                                        "warmup_steps",
                                        "warmup_ratio",
                                        "gamma",
                                        "max_depth",
                                        "label_smoothing",
                                        "smoothing",
                                        "subsample",
                                        "min_child_weight",
                                        "colsample_bytree",
                                        "num_leaves",
                                        "reg_alpha",
                                        "reg_lambda",
                                        "opt",
                                        "optimizer",
                                        NULL};
    static const char *const words[] = {"dropout", "momentum", "warmup", "depth", "layer",    "layers",
                                        "hidden",  "width",    "units",  "decay", "l2",       "l1",
                                        "mixup",   "cutmix",   "clip",   "sched", "schedule", "scheduler",
                                        "beta",    "gamma",    "batch",  "embd",  "heads",    NULL};
    char name[64];
    normal_name(o->name, name);
    for (int i = 0; whole[i]; i++)
        if (strcmp(name, whole[i]) == 0)
            return i + 1;
    return has_word(name, words) ? 100 : 0;
}

// --- ranges

// Six digits: 3e-4 * 10 is not 0.003 exactly.
static const char *number_text(double v, struct rb_arena *arena)
{
    const char *text = rb_arena_printf(arena, "%.6g", v);
    return strchr(text, '.') || !strchr(text, 'e')
               ? rb_arena_printf(arena, strpbrk(text, ".e") ? "%s" : "%s.0", text)
               : rb_arena_printf(arena, "%.*s.0%s", (int)strcspn(text, "e"), text, strchr(text, 'e'));
}

static const char *factor_of_ten(double d, struct rb_arena *arena)
{
    return rb_arena_printf(arena, "{distribution: log_uniform, min: %s, max: %s}", number_text(d / 10, arena),
                           number_text(d * 10, arena));
}

// For a fraction, a probability, or a share kept at each step: never 1 or more.
static const char *range_below_one(double d)
{
    if (d < 0 || d > 0.9999)
        return NULL;
    return d <= 0.5 ? "{min: 0.0, max: 0.5}" : d <= 0.99 ? "{min: 0.0, max: 0.99}" : "{min: 0.9, max: 0.9999}";
}

// What boosting calls so has a usual range, whatever its default.
static const char *range_of_boosting(const char *name)
{
    char normal[64];
    normal_name(name, normal);
    if (strcmp(normal, "eta") == 0)
        return "{distribution: log_uniform, min: 0.01, max: 0.3}";
    return strcmp(normal, "subsample") == 0 || strncmp(normal, "colsample", 9) == 0 ? "{min: 0.5, max: 1.0}" : NULL;
}

static const char *range_of_float(const char *name, double d, struct rb_arena *arena)
{
    static const char *const rates[] = {"lr",      "rate", "learning", "wd",          "decay", "eps",
                                        "epsilon", "l2",   "l1",       "temperature", NULL};
    static const char *const parts[] = {"dropout",     "drop",   "dropconnect", "momentum", "mom",  "beta",
                                        "betas",       "gamma",  "smoothing",   "ema",      "rho",  "prob",
                                        "probability", "p",      "ratio",       "fraction", "frac", "keep",
                                        "mixup",       "cutmix", "discount",    "gae",      NULL};
    static const char *const decays[] = {"wd", "decay", "l2", "l1", NULL};
    if (d > 0 && d <= 1 && range_of_boosting(name))
        return range_of_boosting(name);
    if (has_word(name, parts) && d <= 1)
        return range_below_one(d);
    if (d > 0)
        return d >= 0.3 && d < 1 && !has_word(name, rates) ? range_below_one(fmax(d, 0.51)) : factor_of_ten(d, arena);
    return !(d < 0) && has_word(name, decays) ? "{distribution: log_uniform, min: 1.0e-6, max: 1.0e-2}" : NULL;
}

static const char *range_of_int(const char *name, int64_t d, struct rb_arena *arena)
{
    static const char *const batches[] = {"batch", "batchsize", "bs", NULL};
    if (d < 1 || d > INT32_MAX)
        return NULL;
    if (has_word(name, batches) && d % 2 == 0)
        return rb_arena_printf(arena, "{values: [%lld, %lld, %lld]}", (long long)d / 2, (long long)d, 2 * (long long)d);
    return rb_arena_printf(arena, "{min: %lld, max: %lld}", (long long)(d > 1 ? d / 2 : 1), 2 * (long long)d);
}

// A learning rate and a batch size have a usual range even without a default.
static const char *range_by_name(const struct rb_script_option *o)
{
    static const char *const rates[] = {"lr", "learning_rate", NULL}, *const batches[] = {"batch_size", "batchsize",
                                                                                          "bs", NULL};
    static const struct {
        const char *name, *range;
        bool is_whole;
    } known[] = {
        {"eta", "{distribution: log_uniform, min: 0.01, max: 0.3}", false}, // of boosting
        {"max_depth", "{min: 3, max: 10}", true},
        {"gamma", "{min: 0.0, max: 5.0}", false},
        {"min_child_weight", "{min: 1, max: 10}", false},
        {"subsample", "{min: 0.5, max: 1.0}", false},
        {"colsample_bytree", "{min: 0.5, max: 1.0}", false},
        {"num_leaves", "{min: 15, max: 127}", true},
        {"weight_decay", "{distribution: log_uniform, min: 1.0e-6, max: 1.0e-2}", false},
        {"wd", "{distribution: log_uniform, min: 1.0e-6, max: 1.0e-2}", false},
        {"momentum", "{min: 0.5, max: 0.99}", false},
        {"dropout", "{min: 0.0, max: 0.5}", false},
    };
    char name[64];
    normal_name(o->name, name);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0 && o->type == (known[i].is_whole ? RB_SCRIPT_INT : RB_SCRIPT_FLOAT))
            return known[i].range;
    if (o->type != RB_SCRIPT_INT && is_one_of(name, rates))
        return "{distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}";
    return o->type != RB_SCRIPT_FLOAT && is_one_of(name, batches) ? "{values: [32, 64, 128]}" : NULL;
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

static const char *range_of_switch(const struct rb_script_option *o)
{
    const bool is_on = o->default_value && strcmp(o->default_value, "True") == 0;
    if (o->form == RB_SCRIPT_SWITCH)
        return is_on ? NULL : "{flag: true}"; // if it is already on, its name changes nothing
    return o->form == RB_SCRIPT_EITHER ? (is_on ? "{values: [true, false]}" : "{flag: true}") : NULL;
}

// 1_000 -> 1000.
static const char *without_underscores(const char *number, struct rb_arena *arena)
{
    char *out = rb_arena_strdup(arena, number), *end = out;
    for (const char *p = number; *p; p++)
        if (*p != '_')
            *end++ = *p;
    *end = '\0';
    return out;
}

const char *rb_option_range(const struct rb_script_option *o, struct rb_arena *arena)
{
    double d;
    int64_t i;
    if (o->type == RB_SCRIPT_BOOL)
        return range_of_switch(o);
    if (o->form == RB_SCRIPT_OTHER || o->form == RB_SCRIPT_SWITCH)
        return NULL;
    if (o->choices)
        return values_of(o->choices, arena);
    const char *value = o->default_value ? without_underscores(o->default_value, arena) : NULL;
    if (!value || !rb_parse_double(value, &d))
        return value ? NULL : range_by_name(o);
    if (o->type == RB_SCRIPT_INT)
        return rb_parse_int(value, &i) ? range_of_int(o->name, i, arena) : NULL;
    return o->type == RB_SCRIPT_FLOAT ? range_of_float(o->name, d, arena) : NULL;
}
