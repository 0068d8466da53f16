// A sweep configuration of Weights & Biases.
// Source: https://docs.wandb.ai/models/sweeps/sweep-config-keys (keys, distributions, macros of `command`) and
// https://docs.wandb.ai/models/sweeps/define-sweep-configuration (nested parameters); how hyperband's brackets are counted:
// github.com/wandb/sweeps, src/sweeps/hyperband_stopping.py.
#include "profiles/import/import_job_format.h"
#include "profiles/import/import_search.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

// --- parameters

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool is_whole(const struct rb_node *node)
{
    return !node || node->kind == RB_NODE_INT;
}

// The meaning of each name here. scale: of the bounds.
enum wandb_scale { AS_THEY_ARE, EXPONENTS, NEGATED_EXPONENTS };
struct wandb_law {
    const char *name, *ours;
    enum wandb_scale scale;
};
static const struct wandb_law bounded_laws[] = {
    {"int_uniform", "int_uniform", AS_THEY_ARE},
    {"inv_log_uniform", "log_uniform", NEGATED_EXPONENTS}, // log(1/x) between min and max
    {"inv_log_uniform_values", "log_uniform", AS_THEY_ARE},
    {"log_uniform", "log_uniform", EXPONENTS},
    {"log_uniform_values", "log_uniform", AS_THEY_ARE},
    {"uniform", "uniform", AS_THEY_ARE},
};

static bool read_bounded(struct rb_importer *im, const char *name, const struct rb_node *node,
                         const struct wandb_law *law, struct rb_err *err)
{
    const struct rb_node *low, *high;
    double min, max;
    if (!rb_import_need(node, "min", "give the least value", &low, err) ||
        !rb_import_need(node, "max", "give the greatest value", &high, err) ||
        !rb_import_number(node, "min", NAN, &min, err) || !rb_import_number(node, "max", NAN, &max, err))
        return false;
    if (law->scale == AS_THEY_ARE) {
        const struct rb_law_number numbers[] = {{"min", low, 0, false}, {"max", high, 0, false}};
        return rb_import_law(im, name, law->ours, numbers, 2, node, err);
    }
    const bool negated = law->scale == NEGATED_EXPONENTS;
    const struct rb_law_number numbers[] = {{"min", NULL, exp(negated ? -max : min), false},
                                            {"max", NULL, exp(negated ? -min : max), false}};
    if (!isfinite(numbers[0].value) || !isfinite(numbers[1].value))
        return rb_node_refuse(node, err, RB_E_JOB_FOREIGN,
                              "min and max of %s are exponents of e, and these are too large; for values write "
                              "log_uniform_values",
                              law->name);
    rb_import_warn(im, RB_DRAFT_PARAMETERS, node, "min and max of %s are exponents of e; here they are values",
                   law->name);
    return rb_import_law(im, name, law->ours, numbers, 2, node, err);
}

// round(x / q) * q of a uniform x: multiples of q for every min.
static bool read_steps(struct rb_importer *im, const char *name, const struct rb_node *node, struct rb_err *err)
{
    double min, max, q;
    if (!rb_import_number(node, "min", NAN, &min, err) || !rb_import_number(node, "max", NAN, &max, err) ||
        !rb_import_number(node, "q", 1, &q, err))
        return false;
    const bool whole = is_whole(rb_import_given(node, "q"));
    return rb_import_steps(im, name, nearbyint(min / q) * q, nearbyint(max / q) * q, q, whole, node, err);
}

static bool read_normal(struct rb_importer *im, const char *name, const struct rb_node *node, const char *law,
                        struct rb_err *err)
{
    double mu, sigma;
    if (!rb_import_number(node, "mu", 0, &mu, err) || !rb_import_number(node, "sigma", 1, &sigma, err))
        return false;
    const struct rb_law_number numbers[] = {{"mu", rb_import_given(node, "mu"), mu, false},
                                            {"sigma", rb_import_given(node, "sigma"), sigma, false}};
    return rb_import_law(im, name, law, numbers, 2, node, err);
}

static bool read_named(struct rb_importer *im, const char *name, const struct rb_node *node,
                       const struct rb_node *distribution, struct rb_err *err)
{
    const char *law = distribution->text;
    for (size_t i = 0; i < sizeof bounded_laws / sizeof bounded_laws[0]; i++) {
        if (is(bounded_laws[i].name, law))
            return read_bounded(im, name, node, &bounded_laws[i], err);
    }
    if (is(law, "q_uniform"))
        return read_steps(im, name, node, err);
    if (is(law, "normal") || is(law, "log_normal"))
        return read_normal(im, name, node, law, err);
    return rb_node_refuse(
        distribution, err, RB_E_JOB_FOREIGN,
        "there is no distribution \"%.40s\" here; known are constant, categorical, uniform, int_uniform, "
        "q_uniform, log_uniform, log_uniform_values, inv_log_uniform, inv_log_uniform_values, normal and "
        "log_normal; or give the values as a list",
        law);
}

static bool read_parameters(struct rb_importer *im, const char *outer, const struct rb_node *map, struct rb_err *err);

// Without a name: values, then bounds, whole ones as whole numbers.
static bool read_parameter(struct rb_importer *im, const char *name, const struct rb_node *node, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"distribution max min mu parameters probabilities q sigma value values", RB_KEY_READ, NULL},
        {0},
    };
    if (!rb_import_keys(im, node, rules, RB_DRAFT_PARAMETERS, err))
        return false;
    const struct rb_node *distribution = rb_import_given(node, "distribution"), *value = rb_import_given(node, "value"),
                         *values = rb_import_given(node, "values"), *inner = rb_import_given(node, "parameters");
    const char *law = distribution && distribution->kind == RB_NODE_STRING ? distribution->text : "";
    if (inner)
        return read_parameters(im, name, inner, err);
    if (value && (!distribution || is(law, "constant")))
        return rb_import_constant(im, name, value, err);
    if (values && (!distribution || is(law, "categorical") || is(law, "categorical_w_probabilities")))
        return rb_import_choice(im, name, values, rb_import_given(node, "probabilities"), err);
    if (distribution)
        return rb_node_string(distribution, &law, err) && read_named(im, name, node, distribution, err);
    const struct rb_node *min = rb_import_given(node, "min"), *max = rb_import_given(node, "max");
    if (!min || !max)
        return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected `value`, `values`, or `min` and `max`");
    if (rb_import_given(node, "q"))
        return read_steps(im, name, node, err);
    const struct wandb_law *inferred = &bounded_laws[is_whole(min) && is_whole(max) ? 0 : 5];
    return read_bounded(im, name, node, inferred, err);
}

static bool read_parameters(struct rb_importer *im, const char *outer, const struct rb_node *map, struct rb_err *err)
{
    struct rb_map m;
    if (!rb_map_begin(&m, map, err))
        return false;
    if (outer[0])
        rb_import_warn(im, RB_DRAFT_PARAMETERS, map, "nested: the script is given --%s.NAME=VALUE for each", outer);
    for (const struct rb_node *child = map->first; child; child = child->next) {
        if (!read_parameter(im, rb_import_inner_name(im, outer, child->key), child, err))
            return false;
    }
    return true;
}

// --- metric

static bool read_metric(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"goal name target", RB_KEY_READ, NULL},
        {0},
    };
    static const char *const goals[] = {"minimize", "maximize"};
    const struct rb_node *metric, *name, *goal, *target;
    const char *text;
    int choice = 0; // a sweep without a goal uses minimize
    if (!rb_import_need(root, "metric", "trials are compared by it: metric: {name: val_loss, goal: minimize}", &metric,
                        err) ||
        !rb_import_keys(im, metric, rules, RB_DRAFT_METRIC, err) ||
        !rb_import_need(metric, "name", "give the name that the script reports", &name, err) ||
        !rb_node_string(name, &text, err))
        return false;
    goal = rb_import_given(metric, "goal");
    target = rb_import_given(metric, "target");
    if (goal && !rb_node_choice(goal, goals, 2, &choice, err))
        return false;
    rb_import_set_metric(im, name, goals[choice]);
    if (target) {
        if (!rb_import_scalar(im, target, &text, err))
            return false;
        rb_import_set(im, RB_DRAFT_METRIC, "target", text, target);
    }
    return true;
}

// --- method, early_terminate, run_cap

// Brackets at max_iter / eta^i; the first of them, as there are s.
static bool first_bracket(const struct rb_node *early, int64_t max_iter, int64_t eta, int64_t *out, struct rb_err *err)
{
    const struct rb_node *brackets;
    int64_t s, first = max_iter;
    if (!rb_import_need(early, "s", "max_iter needs the number of brackets", &brackets, err) ||
        !rb_node_int(brackets, 1, 64, &s, err))
        return false;
    for (int64_t i = 0; i < s && first / eta >= 1; i++)
        first /= eta;
    *out = first;
    return true;
}

static bool read_hyperband(struct rb_importer *im, const struct rb_node *early, struct rb_err *err)
{
    const struct rb_node *type, *min_iter = rb_import_given(early, "min_iter"),
                                *max_iter = rb_import_given(early, "max_iter"),
                                *eta_node = rb_import_given(early, "eta");
    static const char *const types[] = {"hyperband"};
    int64_t eta = 3, length = 0, first = 1;
    int choice;
    if (!rb_import_need(early, "type", "hyperband is the one that exists", &type, err) ||
        !rb_node_choice(type, types, 1, &choice, err) || (eta_node && !rb_node_int(eta_node, 2, 1024, &eta, err)) ||
        (max_iter && !rb_node_int(max_iter, 1, INT32_MAX, &length, err)) ||
        (min_iter && !rb_node_int(min_iter, 1, INT32_MAX, &first, err)))
        return false;
    if (!max_iter && !min_iter)
        return rb_node_refuse(early, err, RB_E_TEXT_FORM, "expected `min_iter`, or `max_iter` and `s`");
    if (im->options->max_resource > 0)
        length = im->options->max_resource;
    if (length == 0)
        return rb_node_refuse(
            early, err, RB_E_JOB_LACKS,
            "min_iter is where trials are first compared, but the length of a trial is missing: give --max-resource N");
    if (!min_iter && !first_bracket(early, length, eta, &first, err))
        return false;
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "min_resource", first, min_iter ? min_iter : max_iter);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "eta", eta, eta_node ? eta_node : early);
    rb_import_set(im, RB_DRAFT_SCHEDULER, "rule", "stop", early);
    rb_import_warn(
        im, RB_DRAFT_SCHEDULER, early,
        "asha with rule stop: a trial ends at a bracket where it is not among the best 1/%lld so far, as soon as "
        "it reports there",
        (long long)eta);
    if (!min_iter)
        rb_import_warn_rungs(im, max_iter ? max_iter : early, first, length, eta);
    rb_import_set_length(im, length, "iteration", early);
    return true;
}

static bool read_search(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"eta max_iter min_iter s type", RB_KEY_READ, NULL},
        {"strict", RB_KEY_DROPPED, "trials are always stopped at the bracket itself"},
        {0},
    };
    static const char *const methods[] = {"bayes", "grid", "random"};
    const struct rb_node *method, *early = rb_import_given(root, "early_terminate"),
                                  *cap = rb_import_given(root, "run_cap");
    int choice;
    if (!rb_import_need(root, "method", "give bayes, grid or random", &method, err) ||
        !rb_node_choice(method, methods, 3, &choice, err) ||
        (early && !rb_import_keys(im, early, rules, RB_DRAFT_SCHEDULER, err)))
        return false;
    if (choice == 1) {
        if (early)
            rb_import_warn(im, RB_DRAFT_SCHEDULER, early,
                           "a grid trains each of its points in full; none is stopped early");
        rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "grid", method);
        rb_import_set_length(im, 0, "epoch", method);
        return !(cap || im->options->num_trials) || rb_import_set_trials(im, cap, method, err);
    }
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", early ? "asha" : "random", early ? early : method);
    rb_import_set_sampler(im, methods[choice], method);
    if (!rb_import_set_trials(im, cap, method, err))
        return false;
    if (early)
        return read_hyperband(im, early, err);
    rb_import_set_length(im, 0, "epoch", method);
    return true;
}

// --- command

// Is a parameter only true or false, judged by its source?
static bool is_switch(const struct rb_draft_line *param)
{
    const struct rb_node *source = param->source;
    if (source->kind != RB_NODE_LIST)
        return source->kind == RB_NODE_BOOL;
    for (const struct rb_node *child = source->first; child; child = child->next) {
        if (child->kind != RB_NODE_BOOL)
            return false;
    }
    return source->n_children > 0;
}

// RB_PARAM_<NAME>, docs/formats/trial.md.
static void put_variable(const char *name, struct rb_buf *out)
{
    rb_buf_puts(out, "$RB_PARAM_");
    for (; *name; name++)
        rb_buf_putc(out, isalnum((unsigned char)*name) ? (char)toupper((unsigned char)*name) : '_');
}

// ${args_no_hyphens}: name=value.
static void put_params(const struct rb_importer *im, struct rb_buf *out)
{
    const char *before = "";
    for (int i = 0; i < im->draft.n_lines; i++) {
        const struct rb_draft_line *param = &im->draft.lines[i];
        if (param->section != RB_DRAFT_PARAMETERS || !param->value)
            continue;
        rb_buf_printf(out, "%s%s=\"", before, param->key);
        put_variable(param->key, out);
        rb_buf_putc(out, '"');
        before = " ";
    }
}

// ${args_no_boolean_flags}: --name=value; for booleans --name or nothing.
static void make_flags(struct rb_importer *im)
{
    struct rb_arena *arena = im->draft.arena;
    for (int i = 0; i < im->draft.n_lines; i++) {
        struct rb_draft_line *param = &im->draft.lines[i];
        if (param->section != RB_DRAFT_PARAMETERS || !param->value || !is_switch(param))
            continue;
        const size_t n = strlen(param->value);
        if (param->value[0] == '{')
            param->value = rb_arena_printf(arena, "%.*s, flag: true}", (int)(n - 1), param->value);
        else
            param->value = rb_arena_printf(arena, "{values: [%s], flag: true}", param->value);
    }
}

static bool has_switch(const struct rb_importer *im)
{
    for (int i = 0; i < im->draft.n_lines; i++) {
        const struct rb_draft_line *param = &im->draft.lines[i];
        if (param->section == RB_DRAFT_PARAMETERS && param->value && is_switch(param))
            return true;
    }
    return false;
}

static void put_word(const char *word, struct rb_buf *out)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=:,@%+-";
    if (*word && strspn(word, plain) == strlen(word))
        rb_buf_puts(out, word);
    else
        rb_buf_shell_quote(out, word);
}

// "${envvar:NAME}" -> "$NAME", which a secret brings to the nodes.
static bool put_envvar(struct rb_importer *im, const struct rb_node *word, struct rb_buf *out, struct rb_err *err)
{
    const char *name = word->text + strlen("${envvar:");
    const size_t n = strcspn(name, "}");
    if (n == 0 || strcmp(name + n, "}") != 0)
        return rb_node_refuse(word, err, RB_E_JOB_FOREIGN, "expected ${envvar:NAME} as a word by itself");
    const char *copy = rb_arena_strndup(&im->made.arena, name, n);
    rb_buf_printf(out, "\"$%s\"", copy);
    rb_import_warn(im, RB_DRAFT_SECRETS, word, "$%s is taken from where rbrun is called, as a secret", copy);
    rb_import_add_secret(im, copy, word);
    return true;
}

static bool put_macro(struct rb_importer *im, const struct rb_node *root, const struct rb_node *word, bool *passed,
                      struct rb_buf *out, struct rb_err *err)
{
    const char *macro = word->text;
    const struct rb_node *program;
    *passed |= strncmp(macro, "${args", 6) == 0;
    if (is(macro, "${env}"))
        rb_buf_puts(out, "/usr/bin/env");
    else if (is(macro, "${interpreter}"))
        rb_buf_puts(out, "python");
    else if (is(macro, "${args_no_hyphens}"))
        put_params(im, out);
    else if (is(macro, "${args_json}"))
        rb_buf_puts(out, "\"$(cat \"$RB_PARAMS_FILE\")\"");
    else if (is(macro, "${args_json_file}"))
        rb_buf_puts(out, "\"$RB_PARAMS_FILE\"");
    else if (strncmp(macro, "${envvar:", 9) == 0)
        return put_envvar(im, word, out, err);
    else if (is(macro, "${program}")) {
        if (!rb_import_need(root, "program", "${program} refers to it", &program, err) ||
            !rb_node_string(program, &macro, err))
            return false;
        put_word(macro, out);
    } else if (is(macro, "${args_no_boolean_flags}")) {
        make_flags(im);
        rb_buf_puts(out, "$RB_ARGS");
    } else if (is(macro, "${args}")) {
        rb_buf_puts(out, "$RB_ARGS");
        if (has_switch(im))
            rb_import_warn(im, RB_DRAFT_RUN, word,
                           "the script is given =true and =false, where wandb writes True and False");
    } else
        return rb_node_refuse(word, err, RB_E_JOB_LACKS, "unknown macro %.60s; give the command with --run", macro);
    return true;
}

static bool read_words(struct rb_importer *im, const struct rb_node *root, const struct rb_node *command, bool *passed,
                       struct rb_buf *out, struct rb_err *err)
{
    if (!rb_node_list(command, err))
        return false;
    for (const struct rb_node *word = command->first; word; word = word->next) {
        const bool is_text = word->kind != RB_NODE_MAP && word->kind != RB_NODE_LIST && word->kind != RB_NODE_NULL;
        if (!is_text)
            return rb_node_refuse(word, err, RB_E_TEXT_FORM, "expected a word of the command");
        // env before the interpreter finds it as the shell would.
        if (is(word->text, "${env}") && word->next && is(word->next->text ? word->next->text : "", "${interpreter}"))
            continue;
        rb_buf_puts(out, out->len ? " " : "");
        if (strstr(word->text, "${")) {
            if (!put_macro(im, root, word, passed, out, err))
                return false;
        } else {
            put_word(word->text, out);
        }
    }
    return true;
}

// python PROGRAM $RB_ARGS, unless there is a command.
static bool read_command(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf run = RB_BUF_INIT;
    const struct rb_node *command = rb_import_given(root, "command"), *program = rb_import_given(root, "program");
    bool passed = !command;
    const char *text;
    if (im->options->run)
        return true;
    if (command) {
        if (!read_words(im, root, command, &passed, &run, err))
            return false;
    } else {
        if (!program)
            return rb_node_refuse(root, err, RB_E_JOB_LACKS,
                                  "neither `program` nor `command` is given: give --run COMMAND");
        if (!rb_node_string(program, &text, err))
            return false;
        rb_buf_puts(&run, "python ");
        put_word(text, &run);
        rb_buf_puts(&run, " $RB_ARGS");
        if (has_switch(im))
            rb_import_warn(im, RB_DRAFT_RUN, program,
                           "the script is given =true and =false, where wandb writes True and False");
    }
    if (!passed)
        rb_import_warn(im, RB_DRAFT_RUN, command,
                       "passes no parameters: where wandb.config had them, the script now finds "
                       "them in the JSON file $RB_PARAMS_FILE");
    rb_import_set_run(im, rb_buf_str(&run), command ? command : program);
    return true;
}

// --- the whole

static bool read_sweep(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"command early_terminate method metric name parameters program run_cap", RB_KEY_READ, NULL},
        {"apiVersion controller description entity kind project settings tags", RB_KEY_IGNORED, NULL},
        {"image_uri", RB_KEY_DROPPED, "name its image by `image`, or prepare nodes by `setup`"},
        {"job", RB_KEY_DROPPED, "a launch job is not looked up; the command is `run`"},
        {0},
    };
    const struct rb_node *parameters;
    if (!rb_import_keys(im, root, rules, RB_DRAFT_NAME, err) ||
        !rb_import_need(root, "parameters", "give the search space", &parameters, err))
        return false;
    rb_import_set_name(im, rb_import_given(root, "name"));
    return read_metric(im, root, err) && read_parameters(im, "", parameters, err) && read_search(im, root, err) &&
           read_command(im, root, err);
}

const struct rb_job_format rb_job_format_wandb = {
    .name = "wandb",
    .title = "a W&B sweep",
    .marks = {"method", "parameters"},
    .read = read_sweep,
};
