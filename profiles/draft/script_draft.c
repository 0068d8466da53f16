#include "profiles/draft/drafting.h"
#include "profiles/draft/hydra_options.h"

#include "base/text/closest.h"
#include "base/limits.h"
#include "base/text/number.h"
#include "profiles/script/trial_variables.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 8, MOST_WORDS = 16 };

static void remark(struct rb_drafting *w, enum rb_draft_section section, const char *text)
{
    rb_job_draft_remark(w->d, section, text);
}

// Words of one part of trial.args.
struct words {
    const char *items[MOST_WORDS];
    int n;
};

static void add(struct words *l, const char *word)
{
    if (l->n < MOST_WORDS)
        l->items[l->n++] = word;
}

static bool by_arguments(const struct rb_drafting *w)
{
    return w->framework && w->framework->by_its_arguments;
}

static bool has_option(const struct rb_drafting *w, const char *name, size_t n)
{
    for (int i = 0; i < w->s.n_options; i++)
        if (strlen(w->s.options[i].name) == n && strncmp(w->s.options[i].name, name, n) == 0)
            return true;
    return false;
}

// Those of a framework; a word with ? needs the option.
static void add_framework_words(const struct rb_drafting *w, const char *const *from, int most, struct words *l)
{
    for (int i = 0; i < most && from[i]; i++) {
        const char *word = from[i] + (from[i][0] == '?');
        const char *name = word + strspn(word, "-");
        if (word == from[i] || has_option(w, name, strcspn(name, "=")))
            add(l, word);
    }
}

// --- what each option is for

static bool is_place(const struct rb_script_option *o)
{
    return o->form == RB_SCRIPT_POSITION;
}

static void take_role(struct rb_drafting *w, const struct rb_script_option *o)
{
    const enum rb_option_role role = rb_option_role(o);
    const struct rb_script_option **const slots[] = {
        [RB_OPTION_HORIZON] = &w->horizon,
        [RB_OPTION_INTERVAL] = &w->interval,
        [RB_OPTION_SEED] = &w->seed,
        [RB_OPTION_RESUME] = &w->resume,
        [RB_OPTION_LOGS] = &w->logs,
        [RB_OPTION_SAVE] = &w->save,
        [RB_OPTION_CHECKPOINT] = &w->checkpoint,
        [RB_OPTION_LEFT] = NULL,
    };
    const bool length = role == RB_OPTION_EPOCHS || role == RB_OPTION_STEPS || role == RB_OPTION_ROUNDS;
    if (w->s.style == RB_SCRIPT_CONSTANTS)
        return;
    if (length && (!w->length || (role == RB_OPTION_EPOCHS && rb_option_role(w->length) == RB_OPTION_STEPS)))
        w->length = o;
    else if (!length && role != RB_OPTION_PARAMETER && slots[role] && !*slots[role])
        *slots[role] = o;
}

static bool has_role(const struct rb_drafting *w, const struct rb_script_option *o)
{
    return o == w->length || o == w->resume || o == w->checkpoint || o == w->seed || o == w->logs || o == w->save ||
           (o == w->horizon && w->length);
}

// Itself, or through rubberband_trial.
static bool reads(const struct rb_drafting *w, const char *variable)
{
    return strstr(w->source, variable) || rb_script_imports(&w->s, "rubberband_trial");
}

// A name with the number of the epoch in it, and a look whether such a file is there: it finds its own.
static bool finds_own_checkpoint(const struct rb_drafting *w)
{
    return w->checkpoint && w->checkpoint->default_value && strchr(w->checkpoint->default_value, '{') &&
           (rb_script_names(&w->s, "exists") || rb_script_names(&w->s, "isfile") || rb_script_names(&w->s, "glob"));
}

static bool resumes_by_switch(const struct rb_script_option *o)
{
    return o->form == RB_SCRIPT_SWITCH || o->type == RB_SCRIPT_BOOL ||
           (o->default_value && strstr(o->default_value, "scratch"));
}

static void decide_resuming(struct rb_drafting *w)
{
    const struct rb_framework *f = w->framework;
    const bool places = (f && f->checkpoint[0]) || w->checkpoint || w->s.style == RB_SCRIPT_HYDRA;
    const bool own = f && f->resume && (f->resume[0] != '?' || w->resume);
    const bool positional = w->s.style == RB_SCRIPT_ARGV;
    w->in_place = (f && f->resumes_in_place) || finds_own_checkpoint(w) ||
                  (w->resume && !own && resumes_by_switch(w->resume) && places);
    w->resumes = reads(w, "RB_RESUME_FROM") || positional || (places && (own || w->resume || w->in_place));
    const bool horizon = (f && f->is_horizon) || w->habits.has_schedule;
    w->needs_save = w->resumes && horizon && !w->horizon && !reads(w, "RB_RESUME_FROM") && !positional;
}

// --- parameters

// A name that job.yaml accepts.
static bool is_parameter_name(const char *name)
{
    const size_t n = strlen(name);
    return n > 0 && n <= 64 && (isalpha((unsigned char)name[0]) || name[0] == '_') &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

static const char *range_of(const struct rb_drafting *w, const struct rb_script_option *o)
{
    const bool place_known = !is_place(o) || o->position > 0;
    if (rb_option_role(o) != RB_OPTION_PARAMETER || !is_parameter_name(o->name) || o->is_alias || has_role(w, o) ||
        !place_known)
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

static void draft_parameter(struct rb_drafting *w, const struct rb_script_option *o, const char *range)
{
    if (w->s.style == RB_SCRIPT_CONSTANTS) {
        rb_job_draft_suggest(w->d, RB_DRAFT_PARAMETERS, o->name, range,
                             rb_arena_printf(w->arena, "%s = %s in line %d", o->name, o->default_value, o->line));
        return;
    }
    rb_job_draft_set(w->d, RB_DRAFT_PARAMETERS, o->name, range, guessed_from(o, w->arena), NULL);
    w->has_parameters = true;
}

// Of those whose name says so, the ones that are worth most; where there are none, the first ones.
static void choose(const struct rb_drafting *w, int room, bool *chosen)
{
    bool any_named = w->has_parameters;
    for (int i = 0; i < w->s.n_options; i++)
        any_named = any_named || (rb_option_worth(&w->s.options[i]) > 0 && range_of(w, &w->s.options[i]));
    for (int k = 0; k < room; k++) {
        int best = -1, worth = 0;
        for (int i = 0; i < w->s.n_options; i++) {
            const int own = any_named ? rb_option_worth(&w->s.options[i]) : 1;
            if (!chosen[i] && own > 0 && (best < 0 || own < worth) && range_of(w, &w->s.options[i])) {
                best = i;
                worth = own;
            }
        }
        if (best >= 0)
            chosen[best] = true;
    }
}

static void remark_left(struct rb_drafting *w, const char *left, int n)
{
    if (w->has_parameters && n > 0)
        remark(w, RB_DRAFT_PARAMETERS, rb_arena_printf(w->arena, "not searched: %s", left));
    if (!w->has_parameters && w->s.style != RB_SCRIPT_CONSTANTS)
        remark(w, RB_DRAFT_PARAMETERS,
               rb_arena_printf(w->arena, "no option of %s looks like one to search%s%s: name them here", w->path,
                               n > 0 ? "; it has " : "", left));
}

static void draft_parameters(struct rb_drafting *w, int room)
{
    enum { MOST_LEFT = 12 };
    const char *left = "", *dashes = w->s.style == RB_SCRIPT_HYDRA ? "" : "--";
    int n = 0;
    bool *chosen = rb_arena_array(w->arena, (size_t)w->s.n_options + 1, sizeof *chosen);
    memset(chosen, 0, ((size_t)w->s.n_options + 1) * sizeof *chosen);
    choose(w, room, chosen);
    for (int i = 0; i < w->s.n_options; i++) {
        const struct rb_script_option *o = &w->s.options[i];
        if (chosen[i] && rb_job_draft_find(w->d, RB_DRAFT_PARAMETERS, o->name))
            continue; // added twice, as in two branches
        if (chosen[i])
            draft_parameter(w, o, range_of(w, o));
        else if (!is_place(o) && !o->is_required && !o->is_alias && !has_role(w, o) &&
                 w->s.style != RB_SCRIPT_CONSTANTS && ++n <= MOST_LEFT)
            left = rb_arena_printf(w->arena, "%s%s%s%s", left, *left ? ", " : "", dashes, o->name);
    }
    if (n > MOST_LEFT)
        left = rb_arena_printf(w->arena, "%s and %d more", left, n - MOST_LEFT);
    remark_left(w, left, n);
}

// What TrainingArguments has, with its defaults.
static int draft_hf_parameters(struct rb_drafting *w)
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
    return (int)(sizeof lines / sizeof lines[0]);
}

// --- words of trial.args

static const char *option_word(const struct rb_drafting *w, const struct rb_script_option *o, const char *value)
{
    return rb_arena_printf(w->arena, "%s%s=%s", w->s.style == RB_SCRIPT_HYDRA ? "" : "--", o->name, value);
}

// "./checkpoint-{epoch}.h5" -> checkpoint-{{epoch}}.h5; NULL: the default names no file.
static const char *file_of_default(const struct rb_drafting *w, const struct rb_script_option *o)
{
    struct rb_py_text text;
    rb_py_read(o->default_value ? o->default_value : "", w->arena, &text);
    const char *name = text.n == 1 ? rb_py_string(&text.tokens[0], w->arena) : NULL;
    const char *slash = name ? strrchr(name, '/') : NULL;
    name = slash ? slash + 1 : name;
    const char *dot = name ? strrchr(name, '.') : NULL;
    if (!dot || dot == name || strlen(dot) > 12)
        return NULL;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    for (; *name; name++) {
        if (*name == '{' || *name == '}')
            rb_buf_putc(&out, *name);
        rb_buf_putc(&out, *name);
    }
    return rb_arena_strdup(w->arena, rb_buf_str(&out));
}

static const char *checkpoint_word(const struct rb_drafting *w)
{
    const char *file = file_of_default(w, w->checkpoint);
    return option_word(w, w->checkpoint, file ? rb_arena_printf(w->arena, "{checkpoint}/%s", file) : "{checkpoint}");
}

static void checkpoint_words(const struct rb_drafting *w, struct words *l)
{
    const struct rb_framework *f = w->framework;
    const int before = l->n;
    if (f)
        add_framework_words(w, f->checkpoint, 4, l);
    if (l->n == before && w->checkpoint && !is_place(w->checkpoint))
        add(l, checkpoint_word(w));
    if (w->s.style == RB_SCRIPT_HYDRA)
        add(l, "hydra.run.dir={checkpoint}");
    if (w->logs && !by_arguments(w))
        add(l, option_word(w, w->logs, "{checkpoint}/logs"));
}

static void resume_words(struct rb_drafting *w, struct words *l)
{
    const char *saved = w->habits.saved_name;
    if (w->framework && w->framework->resume) {
        add_framework_words(w, &w->framework->resume, 1, l);
    } else if (w->resume && !is_place(w->resume) && w->resumes && !w->in_place) {
        const char *value = "{resume}";
        if (saved)
            value = rb_arena_printf(w->arena, strchr(saved, '*') ? "{resume:%s}" : "{resume}/%s", saved);
        else
            remark(w, RB_DRAFT_CHECKPOINT,
                   rb_arena_printf(w->arena,
                                   "{resume} is a folder: if --%s wants a file, add its name, {resume}/last.pt",
                                   w->resume->name));
        add(l, option_word(w, w->resume, value));
    } else if (w->resume && !is_place(w->resume) && w->in_place) {
        const bool is_switch = w->resume->form == RB_SCRIPT_SWITCH;
        add(l, is_switch ? rb_arena_printf(w->arena, "--%s", w->resume->name)
                         : option_word(w, w->resume, w->resume->type == RB_SCRIPT_BOOL ? "True" : "resume"));
    }
}

static void end_words(const struct rb_drafting *w, struct words *l)
{
    const char *value = w->resumes && !w->needs_save ? "{end}" : "{max}";
    if (by_arguments(w) && w->framework->style) {
        add(l, w->framework->end);
        add(l, value);
    } else if (by_arguments(w)) {
        add(l, rb_arena_printf(w->arena, "--%s=%s", w->framework->end, value));
    } else if (w->length && !is_place(w->length)) {
        add(l, option_word(w, w->length, value));
    }
}

// transformers called the option otherwise before 4.41; what the script says it needs decides.
static bool is_before_eval_strategy(const struct rb_drafting *w)
{
    for (int i = 0; i + 2 < w->s.text.n; i++) {
        const char *version =
            rb_py_is(&w->s.text.tokens[i], "check_min_version") && rb_py_is(&w->s.text.tokens[i + 1], "(")
                ? rb_py_string(&w->s.text.tokens[i + 2], w->arena)
                : NULL;
        char *end;
        const long major = version ? strtol(version, &end, 10) : 0;
        if (version)
            return major < 4 || (major == 4 && *end == '.' && strtol(end + 1, NULL, 10) < 41);
    }
    return false;
}

static void fixed_words(struct rb_drafting *w, struct words *l)
{
    const struct rb_framework *f = w->framework;
    struct words own = {0};
    if (f)
        add_framework_words(w, f->fixed, 10, &own);
    for (int i = 0; i < own.n; i++) {
        const bool renamed = strcmp(own.items[i], "--eval_strategy=epoch") == 0 && is_before_eval_strategy(w);
        add(l, renamed ? "--evaluation_strategy=epoch" : own.items[i]);
    }
    if (w->save)
        add(l, rb_arena_printf(w->arena, "--%s", w->save->name));
    if (w->horizon && w->length)
        add(l, option_word(w, w->horizon, "{max}"));
}

static const char *list_of(const struct words *l, struct rb_arena *arena)
{
    const char *text = l->n == 1 ? "" : "[";
    for (int i = 0; i < l->n; i++)
        text = rb_arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", rb_yaml_text(l->items[i], arena));
    return l->n == 1 ? text : rb_arena_printf(arena, "%s]", text);
}

static const char *args_block(struct rb_drafting *w)
{
    struct words parts[5] = {0};
    static const char *const names[] = {"fixed", "end", "seed", "checkpoint", "resume"};
    const char *style = w->s.style == RB_SCRIPT_HYDRA ? "bare" : w->framework ? w->framework->style : NULL;
    const char *text = style ? rb_arena_printf(w->arena, "\n    style: %s", style) : "";
    fixed_words(w, &parts[0]);
    end_words(w, &parts[1]);
    if (w->seed && !by_arguments(w))
        add(&parts[2], option_word(w, w->seed, "{seed}"));
    checkpoint_words(w, &parts[3]);
    resume_words(w, &parts[4]);
    for (int i = 0; i < 5; i++) {
        const char *value = parts[i].n > 0 ? list_of(&parts[i], w->arena) : NULL;
        if (value && i == 0 && parts[i].n == 1)
            value = rb_arena_printf(w->arena, "[%s]", value);
        if (value)
            text = rb_arena_printf(w->arena, "%s\n    %s: %s", text, names[i], value);
    }
    return text;
}

// --- the command

static bool is_searched(const struct rb_drafting *w, const struct rb_script_option *o)
{
    return rb_job_draft_find(w->d, RB_DRAFT_PARAMETERS, o->name) != NULL;
}

// Options without which the script does not start.
static const char *to_do_words(struct rb_drafting *w)
{
    static const char *const data[] = {"task_name", "dataset_name", NULL};
    const char *words = "";
    bool has_data = false;
    for (int i = 0; i < w->s.n_options; i++) {
        const struct rb_script_option *o = &w->s.options[i];
        const bool names_data = w->s.uses_hf_arguments && !has_data && !o->default_value && rb_is_one_of(o->name, data);
        const bool needed = o->is_required || names_data || (is_place(o) && !o->is_optional);
        if (!needed || o->is_alias || has_role(w, o) || is_searched(w, o))
            continue;
        has_data = has_data || names_data;
        words = is_place(o)                     ? rb_arena_printf(w->arena, "%s TODO_%s", words, o->name)
                : w->s.style == RB_SCRIPT_HYDRA ? rb_arena_printf(w->arena, "%s %s=TODO_%s", words, o->name, o->name)
                                                : rb_arena_printf(w->arena, "%s --%s=TODO_%s", words, o->name, o->name);
    }
    return words;
}

static const char *launcher(const struct rb_drafting *w)
{
    return w->habits.needs_launcher    ? "torchrun --standalone --nproc_per_node=\"$RB_GPUS_PER_NODE\""
           : w->habits.uses_accelerate ? "accelerate launch --num_processes=\"$RB_GPUS_PER_NODE\""
                                       : "python3";
}

// sys.argv[1], sys.argv[2], ...: each the parameter of its name, or what the option of that name would be.
static const char *place_words(struct rb_drafting *w)
{
    const char *words = "";
    for (int position = 1; position <= 9; position++) {
        const struct rb_script_option *found = NULL;
        for (int i = 0; i < w->s.n_options && !found; i++)
            found = w->s.options[i].position == position ? &w->s.options[i] : NULL;
        if (!found)
            break;
        const char *word = found == w->length       ? "$RB_RESOURCE_END"
                           : found == w->checkpoint ? "\"$RB_CHECKPOINT_DIR\""
                           : found == w->resume     ? "\"$RB_RESUME_FROM\""
                           : found == w->seed       ? "$RB_TRIAL_SEED"
                           : is_searched(w, found)
                               ? rb_arena_printf(w->arena, "\"$%s\"", rb_param_variable(found->name, w->arena))
                               : rb_arena_printf(w->arena, "TODO_%s", found->name);
        words = rb_arena_printf(w->arena, "%s %s", words, word);
    }
    return words;
}

static void remark_lacks(struct rb_drafting *w)
{
    const struct rb_framework *f = w->framework;
    const struct {
        bool is_there;
        const char *what;
    } needs[] = {
        {w->length || by_arguments(w) || reads(w, "RB_RESOURCE_END"), "how long to train ($RB_RESOURCE_END)"},
        {w->checkpoint || w->logs || (f && f->checkpoint[0]) || w->save || w->s.style == RB_SCRIPT_HYDRA ||
             reads(w, "RB_CHECKPOINT_DIR") || !(w->resumes || w->s.style == RB_SCRIPT_CONSTANTS),
         "where to write checkpoints ($RB_CHECKPOINT_DIR)"},
    };
    const char *lacks = "";
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        if (!needs[i].is_there)
            lacks = rb_arena_printf(w->arena, "%s%s%s", lacks, *lacks ? "; " : "", needs[i].what);
    if (*lacks)
        remark(w, RB_DRAFT_RUN,
               rb_arena_printf(
                   w->arena,
                   "no option of %s was found for %s: the script must read what is missing from the environment",
                   w->path, lacks));
    if (w->habits.may_use_launcher && !w->habits.needs_launcher)
        remark(w, RB_DRAFT_RUN,
               "for several GPUs: trial.gpus: {min: 1, max: 4}, and torchrun --standalone "
               "--nproc_per_node=\"$RB_GPUS_PER_NODE\" in place of python3");
}

static void set_run(struct rb_drafting *w, const char *command)
{
    const bool block = strpbrk(command, "\"'{") != NULL;
    rb_job_draft_set(w->d, RB_DRAFT_RUN, NULL, block ? rb_arena_printf(w->arena, "|-\n  %s", command) : command, NULL,
                     NULL);
}

static void draft_without_options(struct rb_drafting *w)
{
    if (w->s.style == RB_SCRIPT_CONSTANTS && !reads(w, "RB_PARAM"))
        remark(w, RB_DRAFT_RUN,
               rb_arena_printf(
                   w->arena,
                   "%s takes no options. Give it some, then write $RB_ARGS behind its name; or let it read its "
                   "parameters from the environment, such as os.environ[\"RB_PARAM_LR\"]",
                   w->path));
    remark_lacks(w);
    set_run(w, rb_arena_printf(w->arena, "python3 %s%s", w->path, place_words(w)));
}

static void draft_run(struct rb_drafting *w)
{
    if (w->s.style == RB_SCRIPT_CONSTANTS || w->s.style == RB_SCRIPT_ARGV) {
        draft_without_options(w);
        return;
    }
    const char *args = args_block(w), *subcommand = by_arguments(w) ? w->framework->subcommand : NULL;
    const char *to_do = to_do_words(w);
    if (*args)
        rb_job_draft_set(w->d, RB_DRAFT_TRIAL, "args", args, NULL, NULL);
    remark_lacks(w);
    if (*to_do)
        remark(w, RB_DRAFT_RUN, rb_arena_printf(w->arena, "%s needs a value from you in place of%s", w->path, to_do));
    const char *given = *args ? "\"$@\"" : "$RB_ARGS";
    set_run(w, rb_arena_printf(w->arena, "%s %s%s%s%s %s", launcher(w), w->path, subcommand ? " " : "",
                               subcommand ? subcommand : "", to_do, given));
}

// Variables of SageMaker's containers: nothing sets them here.
static void draft_variables(struct rb_drafting *w)
{
    for (int i = 0; i < w->s.text.n; i++) {
        const char *name = rb_py_string(&w->s.text.tokens[i], w->arena);
        if (!name || strncmp(name, "SM_", 3) != 0 || name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ||
            rb_job_draft_find(w->d, RB_DRAFT_ENVS, name))
            continue;
        const bool given = w->checkpoint && w->checkpoint->default_value && strstr(w->checkpoint->default_value, name);
        if (given)
            remark(w, RB_DRAFT_ENVS,
                   rb_arena_printf(w->arena, "%s is not needed: --%s is given", name, w->checkpoint->name));
        else
            rb_job_draft_set(w->d, RB_DRAFT_ENVS, name, rb_arena_printf(w->arena, "TODO_%s", name), NULL, NULL);
    }
}

// --- trial, checkpoint

static void draft_trial(struct rb_drafting *w)
{
    const bool many =
        (w->framework && w->framework->uses_all_gpus) || w->habits.needs_launcher || w->habits.uses_accelerate;
    rb_job_draft_set(w->d, RB_DRAFT_TRIAL, "gpus", many ? "{min: 1, max: 4}" : "1",
                     many                        ? "what one trial may be given"
                     : w->habits.may_need_no_gpu ? "without GPUs, `cpus: 4` in its place: the CPUs of one trial"
                                                 : NULL,
                     NULL);
    if (w->needs_save)
        rb_job_draft_set(w->d, RB_DRAFT_TRIAL, "stop", "saved",
                         "the length is the horizon of the learning rate: each start is ended from outside", NULL);
}

static void draft_files(struct rb_drafting *w)
{
    struct words files = {0};
    if (w->framework)
        add_framework_words(w, w->framework->files, 3, &files);
    const bool names_all = w->framework && w->framework->resume;
    const bool by_name = w->checkpoint && file_of_default(w, w->checkpoint);
    const bool keeps = w->save || (w->resumes && w->resume);
    if (files.n == 0 && !names_all && !by_name && keeps && w->habits.saved_name)
        add(&files, w->habits.saved_name);
    if (files.n > 0)
        rb_job_draft_set(w->d, RB_DRAFT_CHECKPOINT, "files",
                         rb_arena_printf(w->arena, files.n == 1 ? "[%s]" : "%s", list_of(&files, w->arena)), NULL,
                         NULL);
}

static void draft_checkpoint(struct rb_drafting *w)
{
    if (w->s.style == RB_SCRIPT_CONSTANTS)
        return;
    if (!w->resumes)
        rb_job_draft_set(w->d, RB_DRAFT_CHECKPOINT, "resume", "false",
                         "no option to go on from a checkpoint was found: every start begins at 0", NULL);
    if (w->in_place)
        rb_job_draft_set(w->d, RB_DRAFT_CHECKPOINT, "in_place", "true", NULL, NULL);
    draft_files(w);
}

// --- the length of training

static int64_t whole_default(const struct rb_script_option *o)
{
    int64_t value;
    return o && o->default_value && rb_parse_int(o->default_value, &value) && value > 0 && value <= RB_LIMIT_RESOURCE
               ? value
               : 0;
}

static int64_t length_of(const struct rb_drafting *w)
{
    const struct rb_script_option *from = w->length;
    for (int i = 0; i < w->s.n_options && !from; i++) {
        const enum rb_option_role role = rb_option_role(&w->s.options[i]);
        if (role == RB_OPTION_EPOCHS || role == RB_OPTION_STEPS || role == RB_OPTION_ROUNDS)
            from = &w->s.options[i];
    }
    const bool rounds = from && rb_option_role(from) == RB_OPTION_ROUNDS;
    const int64_t length = whole_default(from);
    return length > 0 ? length : w->s.uses_hf_arguments ? 3 : rounds ? 100 : 27;
}

static void draft_scheduler(struct rb_drafting *w, const char *unit)
{
    enum { LONG = 100 }; // from there the first rung is not the first unit
    const int64_t length = length_of(w), interval = whole_default(w->interval);
    const bool steps = w->length && rb_option_role(w->length) == RB_OPTION_STEPS;
    const int64_t first = steps && interval > 0 && interval < length ? interval : length > LONG ? length / 27 : 1;
    const bool stops = !w->resumes && w->s.style != RB_SCRIPT_CONSTANTS;
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "type", "asha", NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "sampler", "tpe", NULL, NULL);
    if (stops)
        rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "rule", "stop", NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "num_trials", "27", NULL, NULL);
    if (first > 1)
        rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "min_resource", rb_arena_printf(w->arena, "%lld", (long long)first),
                         NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "max_resource", rb_arena_printf(w->arena, "%lld", (long long)length),
                     NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "eta", "3", NULL, NULL);
    rb_job_draft_set(w->d, RB_DRAFT_SCHEDULER, "unit", rb_yaml_text(unit, w->arena), NULL, NULL);
}

void rb_draft_from_script(const char *path, const char *source, struct rb_job_draft *d)
{
    struct rb_drafting w = {.path = path, .source = source, .d = d, .arena = d->arena};
    rb_script_read(source, d->arena, &w.s);
    if (w.s.style == RB_SCRIPT_HYDRA)
        rb_hydra_options(path, &w.s, d->arena);
    w.framework = rb_framework_of(&w.s);
    rb_script_habits(&w.s, source, d->arena, &w.habits);
    for (int i = 0; i < w.s.n_options; i++)
        take_role(&w, &w.s.options[i]);
    decide_resuming(&w);
    draft_parameters(&w, MOST_PARAMETERS - (w.s.uses_hf_arguments ? draft_hf_parameters(&w) : 0));
    draft_trial(&w);
    draft_scheduler(&w, rb_draft_metric(&w));
    draft_variables(&w);
    draft_run(&w);
    draft_checkpoint(&w);
}
