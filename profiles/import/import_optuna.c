// An Optuna study as JSON or YAML. Optuna itself has no file format of a study: search_space is written as `optuna ask
// --search-space` takes it, with distributions as optuna.distributions.distribution_to_json prints them; the other keys
// are the arguments of create_study and of Study.optimize. A sampler or pruner is the name of its class, or a map of
// its arguments with the name as `type`.
// Source: https://optuna.readthedocs.io/en/stable/reference/cli.html, optuna/distributions.py, and
// optuna/pruners/_successive_halving.py and _hyperband.py (defaults).
#include "profiles/import/import_job_format.h"
#include "profiles/import/import_search.h"

#include "base/text/closest.h"
#include "profiles/job/job_scheduler.h"

#include <math.h>
#include <string.h>

// ---- search_space

// {"name": "FloatDistribution", "attributes": {"low": 0.1, "high": 1, "log": false, "step": null}}; those before
// version 3 have a name for each law, and q for step.
static const struct {
    const char *name;
    bool whole, log;
} laws[] = {
    {"FloatDistribution", false, false},   {"UniformDistribution", false, false}, {"LogUniformDistribution", false, true},
    {"DiscreteUniformDistribution", false, false}, {"IntDistribution", true, false}, {"IntUniformDistribution", true, false},
    {"IntLogUniformDistribution", true, true},
};

static bool read_range(struct rb_importer *im, const char *name, const struct rb_node *attributes, bool whole, bool is_log,
                       struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {{"high log low q step", RB_KEY_READ, NULL}, {0}};
    const struct rb_node *log = rb_import_given(attributes, "log"), *step = rb_import_given(attributes, "step");
    double low, high, q;
    if (!rb_import_keys(im, attributes, rules, RB_DRAFT_PARAMETERS, err) ||
        !rb_import_number(attributes, "low", NAN, &low, err) || !rb_import_number(attributes, "high", NAN, &high, err) ||
        (log && !rb_node_bool(log, &is_log, err)) || !rb_import_number(attributes, step ? "step" : "q", 0, &q, err))
        return false;
    if (q > (whole ? 1 : 0) && !is_log)
        return rb_import_steps(im, name, low, low + q * floor((high - low) / q + 1e-9), q, whole, attributes, err);
    if (is_log && whole)
        rb_import_warn(im, RB_DRAFT_PARAMETERS, attributes, "whole numbers have no logarithmic range here; it is uniform");
    const struct rb_law_number numbers[] = {{"min", rb_import_given(attributes, "low"), low, whole},
                                            {"max", rb_import_given(attributes, "high"), high, whole}};
    return rb_import_law(im, name, whole ? "int_uniform" : is_log ? "log_uniform" : "uniform", numbers, 2, attributes, err);
}

static bool read_distribution(struct rb_importer *im, const struct rb_node *node, struct rb_err *err)
{
    const struct rb_node *name, *attributes, *choices;
    const char *law;
    if (node->kind != RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_JOB_FOREIGN, "expected a distribution: {name: ..., attributes: {...}}");
    if (!rb_import_need(node, "name", "give the distribution's class", &name, err) || !rb_node_string(name, &law, err) ||
        !rb_import_need(node, "attributes", "give its arguments", &attributes, err))
        return false;
    if (strcmp(law, "CategoricalDistribution") == 0)
        return rb_import_need(attributes, "choices", "give its values", &choices, err) &&
               rb_import_choice(im, node->key, choices, NULL, err);
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++)
        if (strcmp(laws[i].name, law) == 0)
            return read_range(im, node->key, attributes, laws[i].whole, laws[i].log, err);
    return rb_node_refuse(name, err, RB_E_JOB_FOREIGN,
                          "there is no %.40s here; use FloatDistribution, IntDistribution or CategoricalDistribution", law);
}

static bool read_space(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *space;
    struct rb_map m;
    if (!rb_import_need(root, "search_space", "give the distributions", &space, err) || !rb_map_begin(&m, space, err))
        return false;
    for (const struct rb_node *child = space->first; child; child = child->next)
        if (!read_distribution(im, child, err))
            return false;
    return true;
}

// ---- sampler and pruner

// A class by its name, or a map of its arguments with the name as `type`.
static bool read_class(const struct rb_node *node, const char **out, struct rb_err *err)
{
    const struct rb_node *type = node;
    if (node->kind == RB_NODE_MAP && !rb_import_need(node, "type", "give the name of the class", &type, err))
        return false;
    return rb_node_string(type, out, err);
}

// Its arguments, each with a warning.
static void drop_arguments(struct rb_importer *im, const struct rb_node *map)
{
    for (const struct rb_node *child = map && map->kind == RB_NODE_MAP ? map->first : NULL; child; child = child->next)
        if (child->kind != RB_NODE_NULL && strcmp(child->key, "type") != 0 && strcmp(child->key, "seed") != 0)
            rb_import_warn(im, RB_DRAFT_SCHEDULER, child, "an option of Optuna's: see docs/formats/job.md for those here");
}

static bool read_sampler(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *sampler = rb_import_given(root, "sampler"), *kwargs = rb_import_given(root, "sampler_kwargs"),
                         *seed = rb_import_given(kwargs ? kwargs : sampler, "seed");
    const char *name = "TPESampler"; // Optuna's default
    int64_t n;
    if (sampler && !read_class(sampler, &name, err))
        return false;
    drop_arguments(im, sampler);
    drop_arguments(im, kwargs);
    if (seed && !rb_node_int(seed, 0, INT32_MAX, &n, err))
        return false;
    if (seed)
        rb_import_set_int(im, RB_DRAFT_SEED, NULL, n, seed);
    rb_import_set_sampler(im, name, sampler ? sampler : root);
    return true;
}

static bool whole(const struct rb_node *map, const char *key, int64_t fallback, int64_t *out, struct rb_err *err)
{
    const struct rb_node *node = map->kind == RB_NODE_MAP ? rb_import_given(map, key) : NULL;
    *out = fallback;
    return !node || rb_import_is(node, "auto") || rb_node_int(node, 1, INT32_MAX, out, err);
}

// Both stop trials and never resume them. Hyperband's brackets are divided among the trials.
static bool read_halving(struct rb_importer *im, const struct rb_node *pruner, bool is_hyperband, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"max_resource min_resource reduction_factor type", RB_KEY_READ, NULL},
        {"bootstrap_count min_early_stopping_rate", RB_KEY_DROPPED, "an option of Optuna's pruner: trials are compared from min_resource on"},
        {0},
    };
    int64_t first, length, eta;
    if ((pruner->kind == RB_NODE_MAP && !rb_import_keys(im, pruner, rules, RB_DRAFT_SCHEDULER, err)) ||
        !whole(pruner, "min_resource", 1, &first, err) || !whole(pruner, "max_resource", 0, &length, err) ||
        !whole(pruner, "reduction_factor", is_hyperband ? 3 : 4, &eta, err))
        return false;
    if (im->options->max_resource > 0)
        length = im->options->max_resource;
    if (length <= 0 || eta < 2)
        return rb_node_refuse(pruner, err, RB_E_JOB_LACKS,
                              "how long a trial trains is not given: give --max-resource N, and reduction_factor of at least 2");
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "asha", pruner);
    rb_import_set(im, RB_DRAFT_SCHEDULER, "rule", "stop", pruner);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "min_resource", first, pruner);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "eta", eta, pruner);
    if (is_hyperband)
        rb_import_set_int(im, RB_DRAFT_SCHEDULER, "brackets", rb_scheduler_s_max(first, length, (int)eta) + 1, pruner);
    rb_import_set_length(im, length, "epoch", pruner);
    return true;
}

static bool read_pruner(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char *const none[] = {"NopPruner", NULL};
    const struct rb_node *pruner = rb_import_given(root, "pruner");
    const char *name = "NopPruner"; // for a study without one, Optuna has MedianPruner; a script may report nothing to it
    if (pruner && !read_class(pruner, &name, err))
        return false;
    const bool is_hyperband = strcmp(name, "HyperbandPruner") == 0, is_median = strcmp(name, "MedianPruner") == 0;
    if (is_hyperband || strcmp(name, "SuccessiveHalvingPruner") == 0)
        return read_halving(im, pruner, is_hyperband, err);
    if (!is_median && !rb_is_one_of(name, none))
        rb_import_warn(im, RB_DRAFT_SCHEDULER, pruner,
                       "there is no %.40s here, and no trial is stopped early; type asha with rule stop does that", name);
    if (is_median)
        drop_arguments(im, pruner);
    rb_import_set_type(im, false, is_median ? pruner : NULL, pruner ? pruner : root);
    rb_import_set_length(im, 0, "epoch", pruner ? pruner : root);
    return true;
}

// ---- the whole

// A study's value has no name unless it is given one.
static bool read_metric(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *names = rb_import_given(root, "metric_names"), *direction = rb_import_given(root, "direction");
    if (names && (names->kind != RB_NODE_LIST || names->n_children != 1 || names->first->kind != RB_NODE_STRING))
        return rb_node_refuse(names, err, RB_E_JOB_FOREIGN, "expected one name: a search has one metric here");
    if (direction && !rb_import_is(direction, "minimize") && !rb_import_is(direction, "maximize"))
        return rb_node_refuse(direction, err, RB_E_JOB_FOREIGN, "expected minimize or maximize");
    if (names) {
        rb_import_set_metric(im, names->first, direction ? direction->text : "minimize");
        return true;
    }
    rb_import_warn(im, RB_DRAFT_METRIC, root, "the metric has no name: write the one that the script prints");
    rb_import_set(im, RB_DRAFT_METRIC, "name", "value", root);
    rb_import_set(im, RB_DRAFT_METRIC, "goal", direction ? direction->text : "minimize", direction);
    return true;
}

static bool read_limits(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *timeout = rb_import_given(root, "timeout"), *command = rb_import_given(root, "command");
    int64_t seconds;
    if (timeout && !rb_node_int(timeout, 1, INT32_MAX, &seconds, err))
        return false;
    if (timeout)
        rb_job_draft_set(&im->draft, RB_DRAFT_DEADLINE, NULL, rb_arena_printf(&im->made.arena, "%llds", (long long)seconds),
                         "from the start, machines included", timeout);
    if (im->options->run)
        return true;
    if (!command || command->kind != RB_NODE_STRING)
        return rb_node_refuse(root, err, RB_E_JOB_LACKS, "an objective is Python code: give --run COMMAND");
    rb_import_set_run(im, rb_arena_printf(&im->made.arena, "%s $RB_ARGS", command->text), command);
    return true;
}

static bool read_study(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"command direction metric_names n_trials pruner sampler sampler_kwargs search_space study_name timeout", RB_KEY_READ,
         NULL},
        {"catch gc_after_trial load_if_exists show_progress_bar storage user_attrs", RB_KEY_IGNORED, NULL},
        {"n_jobs", RB_KEY_DROPPED, "the plan decides how many trials train at once"},
        {"directions", RB_KEY_REFUSED, "a search has one metric here: give `direction`"},
        {0},
    };
    if (!rb_import_keys(im, root, rules, RB_DRAFT_SCHEDULER, err))
        return false;
    rb_import_set_name(im, rb_import_given(root, "study_name"));
    return read_metric(im, root, err) && read_space(im, root, err) && read_pruner(im, root, err) &&
           read_sampler(im, root, err) && rb_import_set_trials(im, rb_import_given(root, "n_trials"), root, err) &&
           read_limits(im, root, err);
}

const struct rb_job_format rb_job_format_optuna = {
    .name = "optuna",
    .title = "an Optuna study",
    .marks = {"search_space"},
    .read = read_study,
};
