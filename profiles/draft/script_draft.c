#include "profiles/draft/script_draft.h"

#include "base/limits.h"
#include "base/number.h"
#include "profiles/script/trial_variables.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define END        "$RB_RESOURCE_END"
#define CHECKPOINT "\"$RB_CHECKPOINT_DIR\""
#define COPY       "[ -z \"$RB_RESUME_FROM\" ] || cp -R \"$RB_RESUME_FROM/.\" " CHECKPOINT

struct drafting {
    const char *path, *source;
    struct rb_script s;
    struct rb_job_draft *d;
    struct rb_arena *arena;
    const struct rb_script_option *length, *resume, *checkpoint; // NULL: no such option
    const char *words;                                           // of `run`, behind $RB_ARGS
    const char *first;                                           // a line of `run` before the command; NULL: none
    const char *to_do;                                           // words of `run` that a person must fill in
    bool has_parameters;
};

static void remark(struct drafting *w, enum rb_draft_section section, const char *text)
{
    rb_job_draft_remark(w->d, section, text);
}

// --- the purpose of each option

static void take_role(struct drafting *w, const struct rb_script_option *o)
{
    const enum rb_option_role role = rb_option_role(o);
    if (w->s.style == RB_SCRIPT_CONSTANTS)
        return;
    if (role == RB_OPTION_EPOCHS && (!w->length || rb_option_role(w->length) == RB_OPTION_STEPS))
        w->length = o;
    else if (role == RB_OPTION_STEPS && !w->length)
        w->length = o;
    else if (role == RB_OPTION_RESUME && !w->resume)
        w->resume = o;
    else if (role == RB_OPTION_CHECKPOINT && !w->checkpoint)
        w->checkpoint = o;
}

static bool has_role(const struct drafting *w, const struct rb_script_option *o)
{
    return o == w->length || o == w->resume || o == w->checkpoint;
}

// --- parameters

// A name that job.yaml accepts.
static bool is_parameter_name(const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && n <= 64 && (isalpha((unsigned char)name[0]) || name[0] == '_') &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

static const char *range_of(const struct drafting *w, const struct rb_script_option *o)
{
    if (rb_option_role(o) != RB_OPTION_PARAMETER || !is_parameter_name(o->name))
        return NULL;
    // The configurator wants True and False, and a constant is not passed at all.
    const bool by_variable = w->s.style == RB_SCRIPT_CONFIGURATOR || w->s.style == RB_SCRIPT_CONSTANTS;
    return o->type == RB_SCRIPT_BOOL && by_variable ? NULL : rb_option_range(o, w->arena);
}

static const char *guessed_from(const struct rb_script_option *o, struct rb_arena *arena)
{
    if (o->default_value)
        return rb_arena_printf(arena, "a guess; default %s", o->default_value);
    return o->choices ? NULL : "a guess";
}

static void draft_parameter(struct drafting *w, const struct rb_script_option *o, const char *range)
{
    if (w->s.style == RB_SCRIPT_CONSTANTS) {
        rb_job_draft_suggest(w->d, RB_DRAFT_PARAMETERS, o->name, range,
                             rb_arena_printf(w->arena, "%s = %s in line %d", o->name, o->default_value, o->line));
        return;
    }
    rb_job_draft_set(w->d, RB_DRAFT_PARAMETERS, o->name, range, guessed_from(o, w->arena), NULL);
    w->has_parameters = true;
}

static void draft_parameters(struct drafting *w)
{
    const char *left = "";
    for (int i = 0; i < w->s.n_options; i++) {
        const struct rb_script_option *o = &w->s.options[i];
        if (o->is_alias || has_role(w, o) || rb_job_draft_find(w->d, RB_DRAFT_PARAMETERS, o->name))
            continue;
        const char *range = range_of(w, o);
        const bool place_known = o->form != RB_SCRIPT_POSITION || o->position > 0;
        if (range && place_known)
            draft_parameter(w, o, range);
        else if (o->form != RB_SCRIPT_POSITION && !o->is_required && w->s.style != RB_SCRIPT_CONSTANTS)
            left = rb_arena_printf(w->arena, "%s%s--%s", left, *left ? ", " : "", o->name);
    }
    if (w->has_parameters && *left)
        remark(w, RB_DRAFT_PARAMETERS, rb_arena_printf(w->arena, "not searched: %s", left));
    if (!w->has_parameters && w->s.style != RB_SCRIPT_CONSTANTS)
        remark(w, RB_DRAFT_PARAMETERS,
               rb_arena_printf(w->arena, "no option of %s looks like one to search%s%s: name them here", w->path,
                               *left ? "; it has " : "", left));
}

// The parameters of TrainingArguments, with their defaults.
static void draft_hf_parameters(struct drafting *w)
{
    static const char *const lines[][2] = {
        {"learning_rate", "{distribution: log_uniform, min: 5.0e-6, max: 5.0e-4}"},
        {"weight_decay", "{min: 0.0, max: 0.1}"},
        {"warmup_ratio", "{min: 0.0, max: 0.2}"},
        {"per_device_train_batch_size", "{values: [8, 16, 32]}"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        rb_job_draft_set(w->d, RB_DRAFT_PARAMETERS, lines[i][0], lines[i][1], "a guess; of TrainingArguments", NULL);
    w->has_parameters = true;
}

// --- the command

static void add_word(struct drafting *w, const char *word)
{
    w->words = rb_arena_printf(w->arena, "%s %s", w->words, word);
}

// --name value, or --name=value if only that is understood.
static const char *option_word(const struct drafting *w, const struct rb_script_option *o, const char *value)
{
    const bool joined = w->s.style == RB_SCRIPT_CONFIGURATOR;
    return rb_arena_printf(w->arena, "--%s%c%s", o->name, joined ? '=' : ' ', value);
}

// A script with only a switch to resume does so from its output folder: the checkpoint is put there first.
static void add_resume(struct drafting *w)
{
    const struct rb_script_option *o = w->resume;
    if (!o)
        return;
    if (o->form == RB_SCRIPT_SWITCH || w->s.style == RB_SCRIPT_CONFIGURATOR) {
        w->first = w->checkpoint ? COPY : NULL;
        add_word(w, rb_arena_printf(w->arena, "${RB_RESUME_FROM:+--%s%s}", o->name,
                                    o->form == RB_SCRIPT_SWITCH ? "" : "=resume"));
        if (!w->checkpoint)
            remark(w, RB_DRAFT_RUN,
                   rb_arena_printf(w->arena, "--%s has no path: %s must look into $RB_RESUME_FROM", o->name, w->path));
        return;
    }
    add_word(w, rb_arena_printf(w->arena, "${RB_RESUME_FROM:+%s}", option_word(w, o, "\"$RB_RESUME_FROM\"")));
    remark(w, RB_DRAFT_RUN,
           rb_arena_printf(
               w->arena, "$RB_RESUME_FROM is a folder: if --%s wants a file, add its name, \"$RB_RESUME_FROM/last.pt\"",
               o->name));
}

static void add_options(struct drafting *w)
{
    if (w->length)
        add_word(w, option_word(w, w->length, END));
    if (w->checkpoint)
        add_word(w, option_word(w, w->checkpoint, CHECKPOINT));
    add_resume(w);
    for (int i = 0; i < w->s.n_options; i++) {
        const struct rb_script_option *o = &w->s.options[i];
        const bool searched = rb_job_draft_find(w->d, RB_DRAFT_PARAMETERS, o->name) != NULL;
        const bool position = o->form == RB_SCRIPT_POSITION;
        if (o->is_alias || has_role(w, o) || searched || !(position || o->is_required))
            continue;
        const char *to_do = rb_arena_printf(w->arena, "TODO_%s", o->name);
        add_word(w, position ? to_do : option_word(w, o, to_do));
        w->to_do = rb_arena_printf(w->arena, "%s%s%s", w->to_do, *w->to_do ? ", " : "", to_do);
    }
}

static void add_hf_options(struct drafting *w)
{
    add_word(w, "--num_train_epochs " END " --output_dir " CHECKPOINT);
    add_word(w, "${RB_RESUME_FROM:+--resume_from_checkpoint \"$(ls -d \"$RB_RESUME_FROM\"/checkpoint-* | sort -V | "
                "tail -n 1)\"}");
}

static void add_lightning_options(struct drafting *w)
{
    add_word(w, "--trainer.max_epochs " END " --trainer.default_root_dir " CHECKPOINT);
    add_word(w, "${RB_RESUME_FROM:+--ckpt_path \"$RB_RESUME_FROM/last.ckpt\"}");
    remark(w, RB_DRAFT_RUN,
           "last.ckpt: give the trainer a ModelCheckpoint with save_last=True that writes into $RB_CHECKPOINT_DIR");
}

// sys.argv[1], sys.argv[2], ...: each is the parameter of its name, or the value of the option with that name.
static void add_places(struct drafting *w)
{
    for (int position = 1; position <= 9; position++) {
        const struct rb_script_option *found = NULL;
        for (int i = 0; i < w->s.n_options && !found; i++)
            found = w->s.options[i].position == position ? &w->s.options[i] : NULL;
        if (!found)
            return;
        const bool searched = rb_job_draft_find(w->d, RB_DRAFT_PARAMETERS, found->name) != NULL;
        const char *to_do = rb_arena_printf(w->arena, "TODO_%s", found->name);
        add_word(w, found == w->length       ? END
                    : found == w->checkpoint ? CHECKPOINT
                    : found == w->resume     ? "\"$RB_RESUME_FROM\""
                    : searched ? rb_arena_printf(w->arena, "\"$%s\"", rb_param_variable(found->name, w->arena))
                               : to_do);
        if (!has_role(w, found) && !searched)
            w->to_do = rb_arena_printf(w->arena, "%s%s%s", w->to_do, *w->to_do ? ", " : "", to_do);
    }
}

static void remark_lacks(struct drafting *w)
{
    const bool own = w->s.uses_hf_arguments || w->s.style == RB_SCRIPT_LIGHTNING;
    const struct {
        bool is_there;
        const char *variable, *what;
    } needs[] = {
        {w->length || own, "RB_RESOURCE_END", "how long to train ($RB_RESOURCE_END)"},
        {w->checkpoint || own, "RB_CHECKPOINT_DIR", "where to write checkpoints ($RB_CHECKPOINT_DIR)"},
        {w->resume || own, "RB_RESUME_FROM", "what to resume from ($RB_RESUME_FROM, empty on a first start)"},
    };
    const char *lacks = "";
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (!needs[i].is_there && !strstr(w->source, needs[i].variable))
            lacks = rb_arena_printf(w->arena, "%s%s%s", lacks, *lacks ? "; " : "", needs[i].what);
    if (*lacks)
        remark(w, RB_DRAFT_RUN,
               rb_arena_printf(
                   w->arena,
                   "no option of %s was found for %s: the script must read what is missing from the environment",
                   w->path, lacks));
    if (*w->to_do)
        remark(w, RB_DRAFT_RUN,
               rb_arena_printf(w->arena, "%s needs a value from you in place of %s", w->path, w->to_do));
}

static void draft_run(struct drafting *w)
{
    const bool takes_args = w->s.style != RB_SCRIPT_CONSTANTS && w->s.style != RB_SCRIPT_ARGV;
    if (w->s.style == RB_SCRIPT_ARGV)
        add_places(w);
    else if (w->s.style == RB_SCRIPT_LIGHTNING)
        add_lightning_options(w);
    else if (w->s.style != RB_SCRIPT_CONSTANTS)
        add_options(w);
    if (w->s.uses_hf_arguments)
        add_hf_options(w);
    if (w->s.style == RB_SCRIPT_CONSTANTS)
        remark(w, RB_DRAFT_RUN,
               rb_arena_printf(
                   w->arena,
                   "%s takes no options. Give it some, then write $RB_ARGS behind its name; or let it read its "
                   "parameters from the environment, such as os.environ[\"RB_PARAM_LR\"]",
                   w->path));
    remark_lacks(w);
    const char *command =
        rb_arena_printf(w->arena, "python3 %s%s%s%s", w->path, w->s.style == RB_SCRIPT_LIGHTNING ? " fit" : "",
                        takes_args ? " $RB_ARGS" : "", w->words);
    const bool block = w->first || strpbrk(command, "\"'{");
    rb_job_draft_set(
        w->d, RB_DRAFT_RUN, NULL,
        block ? rb_arena_printf(w->arena, "|-\n  %s%s%s", w->first ? w->first : "", w->first ? "\n  " : "", command)
              : command,
        NULL, NULL);
}

// --- the metric

static int rank(const struct rb_script_metric *m)
{
    const bool training = strncmp(m->name, "train", 5) == 0;
    return 16 * m->is_report + 8 * m->is_validation + 4 * m->is_printed + 2 * (m->goal != 0) - 2 * training +
           (m->goal > 0);
}

static const struct rb_script_metric *best_metric(const struct rb_script *s)
{
    const struct rb_script_metric *best = NULL;
    for (int i = 0; i < s->n_metrics; i++)
        if (!best || rank(&s->metrics[i]) > rank(best))
            best = &s->metrics[i];
    return best;
}

static void set_metric(struct drafting *w, const char *name, bool minimize)
{
    rb_job_draft_set(w->d, RB_DRAFT_METRIC, "name", name, NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_METRIC, "goal", minimize ? "minimize" : "maximize", NULL, NULL);
}

static void remark_metric(struct drafting *w, const struct rb_script_metric *m, const char *unit)
{
    const char *example = rb_arena_printf(w->arena, "%s=3 %s=0.81", m->resource ? m->resource : unit, m->name);
    if (m->is_report && m->goal == 0)
        remark(w, RB_DRAFT_METRIC,
               rb_arena_printf(w->arena, "goal: a guess, as the name does not show which values are good"));
    else if (!m->is_printed)
        remark(w, RB_DRAFT_METRIC,
               rb_arena_printf(w->arena,
                               "%s:%d logs %s, and prints it on no line that was seen: your script must print e.g. %s",
                               w->path, m->line, m->name, example));
    else if (!m->is_report)
        remark(w, RB_DRAFT_METRIC,
               rb_arena_printf(w->arena, "%s:%d prints \"%s\", which is not read: your script must print e.g. %s",
                               w->path, m->line, m->shown, example));
}

// For libraries that print lines of their own.
static bool draft_library_metric(struct drafting *w)
{
    const bool accuracy = strstr(w->source, "accuracy") != NULL;
    if (w->s.uses_hf_arguments) {
        remark(w, RB_DRAFT_METRIC,
               "transformers prints {'eval_loss': ...}, which is not read: print e.g. epoch=3 eval_loss=0.81 in a "
               "TrainerCallback");
        set_metric(w, "eval_loss", true);
    } else if (w->s.is_keras) {
        remark(w, RB_DRAFT_METRIC,
               rb_arena_printf(
                   w->arena,
                   "Keras prints lines of its own, which are not read: print e.g. epoch=3 %s=0.81 in a callback",
                   accuracy ? "val_accuracy" : "val_loss"));
        set_metric(w, accuracy ? "val_accuracy" : "val_loss", !accuracy);
    } else {
        return false;
    }
    return true;
}

static const char *unit_of(const struct drafting *w, const struct rb_script_metric *m)
{
    if (m && m->resource)
        return m->resource;
    return w->length && rb_option_role(w->length) == RB_OPTION_STEPS ? "step" : "epoch";
}

static const char *draft_metric(struct drafting *w)
{
    const struct rb_script_metric *m = best_metric(&w->s);
    const char *unit = unit_of(w, m);
    if (m) {
        remark_metric(w, m, unit);
        set_metric(w, rb_yaml_text(m->name, w->arena), m->goal < 0);
    } else if (!draft_library_metric(w)) {
        remark(w, RB_DRAFT_METRIC,
               rb_arena_printf(
                   w->arena,
                   "no line that looks like a metric was found: your script must print e.g. %s=3 val_acc=0.81", unit));
        set_metric(w, "val_acc", false);
    }
    return unit;
}

// --- the length of training

static int64_t length_of(const struct drafting *w)
{
    const struct rb_script_option *from = w->length;
    for (int i = 0; i < w->s.n_options && !from; i++) {
        const enum rb_option_role role = rb_option_role(&w->s.options[i]);
        if (role == RB_OPTION_EPOCHS || role == RB_OPTION_STEPS)
            from = &w->s.options[i];
    }
    int64_t length;
    const bool known = from && from->default_value && rb_parse_int(from->default_value, &length) && length > 0;
    return known && length <= RB_LIMIT_RESOURCE ? length : 27;
}

static void draft_scheduler(struct drafting *w, const char *unit)
{
    enum { LONG = 100 }; // from there the first rung is not the first unit
    const int64_t length = length_of(w);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "type", "sha", NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "num_trials", "27", NULL, NULL);
    if (length > LONG)
        rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "min_resource",
                         rb_arena_printf(w->arena, "%lld", (long long)length / 27), NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "max_resource", rb_arena_printf(w->arena, "%lld", (long long)length),
                     NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "eta", "3", NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "unit", rb_yaml_text(unit, w->arena), NULL, NULL);
}

void rb_draft_from_script(const char *path, const char *source, struct rb_job_draft *d)
{
    struct drafting w = {.path = path, .source = source, .d = d, .arena = d->arena, .words = "", .to_do = ""};
    rb_script_read(source, d->arena, &w.s);
    for (int i = 0; i < w.s.n_options; i++)
        take_role(&w, &w.s.options[i]);
    if (w.s.uses_hf_arguments)
        draft_hf_parameters(&w);
    draft_parameters(&w);
    draft_scheduler(&w, draft_metric(&w));
    draft_run(&w);
}
