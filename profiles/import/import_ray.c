// A Ray Tune experiment as JSON. Ray itself has no file format: param_space is written with each distribution as a map
// from its function's name to the arguments, as tune.grid_search([1, 2]) is {"grid_search": [1, 2]} in Ray, too; the
// other keys are those of TuneConfig, RunConfig and the scheduler's class.
// Source: https://docs.ray.io/en/latest/tune/api/search_space.html and python/ray/tune/search/sample.py (distributions),
// https://docs.ray.io/en/latest/tune/api/doc/ray.tune.TuneConfig.html,
// https://docs.ray.io/en/latest/tune/api/doc/ray.tune.schedulers.AsyncHyperBandScheduler.html and HyperBandScheduler.html
// (defaults of the schedulers).
#include "profiles/import/import_job_format.h"
#include "profiles/import/import_search.h"

#include "base/text/closest.h"
#include "base/text/number.h"

#include <math.h>
#include <string.h>

#define MAX_LISTED_INTS 64 // of lograndint: a longer list is no help to a reader

// --- distributions

// Arguments by position, or by name: [0.1, 1] or {"lower": 0.1, "upper": 1}.
struct arguments {
    const struct rb_node *node;  // the map that has the distribution as its key
    const struct rb_node *at[3]; // NULL: not given
    double value[3];
};

struct ray_law {
    const char *name;
    const char *arguments[4]; // their names; ends with NULL
    int n_required;
    bool (*read)(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err);
};

static bool both_whole(const struct arguments *a)
{
    return a->at[0]->kind == RB_NODE_INT && a->at[1]->kind == RB_NODE_INT;
}

static bool need_whole(const struct arguments *a, struct rb_err *err)
{
    return both_whole(a) || rb_node_refuse(a->node, err, RB_E_TEXT_FORM, "expected whole numbers");
}

static bool read_bounds(struct rb_importer *im, const char *name, const struct arguments *a, const char *law,
                        struct rb_err *err)
{
    const struct rb_law_number numbers[] = {{"min", a->at[0], 0, false}, {"max", a->at[1], 0, false}};
    return rb_import_law(im, name, law, numbers, 2, a->node, err);
}

static bool read_uniform(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err)
{
    return read_bounds(im, name, a, "uniform", err);
}

static bool read_loguniform(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err)
{
    return read_bounds(im, name, a, "log_uniform", err);
}

// The upper end is excluded.
static bool read_randint(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err)
{
    const struct rb_law_number numbers[] = {{"min", a->at[0], 0, false}, {"max", NULL, a->value[1] - 1, true}};
    return need_whole(a, err) && rb_import_law(im, name, "int_uniform", numbers, 2, a->node, err);
}

// Multiples of q, both ends moved inwards to one.
static bool read_quantised(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err)
{
    const double q = a->value[2];
    const bool whole = both_whole(a) && a->at[2] && a->at[2]->kind == RB_NODE_INT;
    if (!(q > 0))
        return rb_node_refuse(a->node, err, RB_E_TEXT_FORM, "expected q above 0");
    return rb_import_steps(im, name, ceil(a->value[0] / q) * q, floor(a->value[1] / q) * q, q, whole, a->node, err);
}

static bool read_qrandint(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err)
{
    struct arguments copy = *a;
    if (!a->at[2])
        copy.value[2] = 1;
    if (!need_whole(a, err))
        return false;
    return a->at[2] ? read_quantised(im, name, &copy, err) : read_bounds(im, name, a, "int_uniform", err);
}

static bool read_randn(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err)
{
    const struct rb_law_number numbers[] = {{"mu", a->at[0], 0, false}, {"sigma", a->at[1], 1, false}};
    return rb_import_law(im, name, "normal", numbers, 2, a->node, err);
}

// The whole part of a log-uniform number: k with probability log((k + 1) / k) / log(upper / lower).
static bool read_lograndint(struct rb_importer *im, const char *name, const struct arguments *a, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf values = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf odds = RB_BUF_INIT;
    const double lower = a->value[0], upper = a->value[1];
    if (!need_whole(a, err))
        return false;
    if (!(lower > 0 && lower < upper))
        return rb_node_refuse(a->node, err, RB_E_TEXT_FORM, "expected 0 < lower < upper");
    if (upper - lower > MAX_LISTED_INTS)
        return rb_node_refuse(a->node, err, RB_E_JOB_FOREIGN,
                              "whole numbers on a logarithmic scale have an equivalent only as a list of at most "
                              "%d values: write a choice, or loguniform and let the script round",
                              MAX_LISTED_INTS);
    for (double k = lower; k < upper; k++) {
        char text[32];
        const char *comma = k > lower ? ", " : "";
        rb_buf_printf(&values, "%s%.0f", comma, k);
        rb_buf_printf(&odds, "%s%s", comma, rb_format_double(log((k + 1) / k) / log(upper / lower), text));
    }
    return rb_import_param(
        im, name,
        rb_arena_printf(&im->made.arena, "{values: [%s], probabilities: [%s]}", rb_buf_str(&values), rb_buf_str(&odds)),
        a->node, err);
}

static const struct ray_law laws[] = {
    {"lograndint", {"lower", "upper", "base"}, 2, read_lograndint},
    {"loguniform", {"lower", "upper", "base"}, 2, read_loguniform}, // base is deprecated, and changes nothing
    {"qrandint", {"lower", "upper", "q"}, 2, read_qrandint},
    {"quniform", {"lower", "upper", "q"}, 3, read_quantised},
    {"randint", {"lower", "upper"}, 2, read_randint},
    {"randn", {"mean", "sd"}, 0, read_randn},
    {"uniform", {"lower", "upper"}, 2, read_uniform},
};

// --- param_space

static bool read_arguments(const struct rb_node *node, const struct ray_law *law, struct arguments *out,
                           struct rb_err *err)
{
    const struct rb_node *given = node->first;
    int n = 0;
    *out = (struct arguments){.node = node};
    for (; law->arguments[n]; n++)
        ;
    if (given->kind == RB_NODE_MAP) {
        struct rb_map m;
        if (!rb_map_begin(&m, given, err))
            return false;
        for (int i = 0; i < n; i++)
            out->at[i] = rb_map_get(&m, law->arguments[i]);
        if (!rb_map_end(&m, err))
            return false;
    } else {
        int i = 0;
        if (!rb_node_list(given, err))
            return false;
        for (const struct rb_node *child = given->first; child && i < n; child = child->next)
            out->at[i++] = child;
        if (given->n_children > n)
            return rb_node_refuse(given, err, RB_E_TEXT_FORM, "%s has at most %d arguments, got %d", law->name, n,
                                  given->n_children);
    }
    for (int i = 0; i < n; i++) {
        if (!out->at[i] && i < law->n_required)
            return rb_node_refuse(given, err, RB_E_TEXT_FORM, "%s needs `%s`", law->name, law->arguments[i]);
        if (out->at[i] && !rb_node_double(out->at[i], -1e300, 1e300, &out->value[i], err))
            return false;
    }
    return true;
}

// What a parameter's map can be: {"uniform": [0, 1]}. A choice and a grid are lists.
enum space_kind { SPACE_NESTED, SPACE_LAW, SPACE_CHOICE, SPACE_GRID, SPACE_REFUSED };
static enum space_kind kind_of(const struct rb_node *node, const struct ray_law **law)
{
    static const char *const refused[] = {"qlograndint", "qloguniform", "qrandn", "sample_from", NULL};
    if (node->n_children != 1)
        return SPACE_NESTED;
    const char *key = node->first->key;
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++) {
        if (strcmp(laws[i].name, key) == 0) {
            *law = &laws[i];
            return SPACE_LAW;
        }
    }
    if (strcmp(key, "choice") == 0)
        return SPACE_CHOICE;
    if (strcmp(key, "grid_search") == 0)
        return SPACE_GRID;
    return rb_is_one_of(key, refused) ? SPACE_REFUSED : SPACE_NESTED;
}

// The kinds of search that the space needs.
struct demand {
    const struct rb_node *grid, *random; // one of each, NULL: none
};

static bool read_space(struct rb_importer *im, const char *outer, const struct rb_node *map, struct demand *demand,
                       struct rb_err *err)
{
    struct rb_map m;
    if (!rb_map_begin(&m, map, err))
        return false;
    for (const struct rb_node *child = map->first; child; child = child->next) {
        const char *name = rb_import_inner_name(im, outer, child->key);
        const struct ray_law *law = NULL;
        const enum space_kind kind = child->kind == RB_NODE_MAP ? kind_of(child, &law) : SPACE_NESTED;
        struct arguments arguments;
        bool ok;
        if (child->kind != RB_NODE_MAP)
            ok = rb_import_constant(im, name, child, err);
        else if (kind == SPACE_REFUSED)
            ok = rb_node_refuse(child, err, RB_E_JOB_FOREIGN, "%s has no equivalent: %s", child->first->key,
                                strcmp(child->first->key, "sample_from") == 0
                                    ? "parameters that depend on others, or on code, cannot be drawn here"
                                    : "give the values as a choice, or leave the rounding to the script");
        else if (kind == SPACE_LAW)
            ok = read_arguments(child, law, &arguments, err) && law->read(im, name, &arguments, err);
        else if (kind == SPACE_CHOICE || kind == SPACE_GRID)
            ok = rb_import_choice(im, name, child->first, NULL, err);
        else
            ok = read_space(im, name, child, demand, err);
        if (!ok)
            return false;
        if (kind == SPACE_GRID)
            demand->grid = child;
        else if (child->kind == RB_NODE_MAP && kind != SPACE_NESTED)
            demand->random = child;
    }
    return true;
}

// --- settings: in tune_config or run_config, or beside param_space as tune.run had them

static bool check_once(const struct rb_node *root, const char *group, struct rb_err *err)
{
    const struct rb_node *inside = rb_import_given(root, group);
    for (const struct rb_node *child = inside ? inside->first : NULL; child; child = child->next) {
        if (child->key && child->kind != RB_NODE_NULL && rb_import_given(root, child->key))
            return rb_node_refuse(child, err, RB_E_KEYS_TOGETHER, "is given together with %s; keep one of the two",
                                  group);
    }
    return true;
}

static const struct rb_node *setting(const struct rb_node *root, const char *group, const char *key)
{
    const struct rb_node *inside = rb_import_given(rb_import_given(root, group), key);
    return inside ? inside : rb_import_given(root, key);
}

static bool read_metric(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char *const modes[] = {"min", "max"};
    const struct rb_node *scheduler = setting(root, "tune_config", "scheduler");
    const struct rb_node *metric = setting(root, "tune_config", "metric"), *mode = setting(root, "tune_config", "mode");
    metric = metric ? metric : rb_import_given(scheduler, "metric");
    mode = mode ? mode : rb_import_given(scheduler, "mode");
    const char *text;
    int choice;
    if (!metric || !mode)
        return rb_node_refuse(root, err, RB_E_KEY_MISSING,
                              "`%s` is required and missing; trials are compared by metric and mode",
                              metric ? "mode" : "metric");
    if (!rb_node_string(metric, &text, err) || !rb_node_choice(mode, modes, 2, &choice, err))
        return false;
    rb_import_set_metric(im, metric, choice == 0 ? "minimize" : "maximize");
    return true;
}

// "training_iteration" counts reports; seconds are no resource here.
static bool read_unit(const struct rb_node *time_attr, const char **out, struct rb_err *err)
{
    *out = "iteration";
    if (!time_attr)
        return true;
    if (!rb_node_string(time_attr, out, err))
        return false;
    if (strncmp(*out, "time_", 5) == 0)
        return rb_node_refuse(time_attr, err, RB_E_JOB_FOREIGN,
                              "trials are counted in units of training, never in seconds: give "
                              "training_iteration, and max_t in that");
    if (strcmp(*out, "training_iteration") == 0)
        *out = "iteration";
    return true;
}

// {"training_iteration": 50} of RunConfig's stop. 0: none.
static bool read_stop(struct rb_importer *im, const struct rb_node *root, int64_t *out, struct rb_err *err)
{
    const struct rb_node *stop = setting(root, "run_config", "stop");
    struct rb_map m;
    *out = 0;
    if (!stop)
        return true;
    if (!rb_map_begin(&m, stop, err))
        return false;
    for (const struct rb_node *child = stop->first; child; child = child->next) {
        if (strcmp(child->key, "training_iteration") != 0)
            rb_import_warn(im, RB_DRAFT_SCHEDULER, child,
                           "only training_iteration ends a trial here; metric.target ends the job");
        else if (!rb_node_int(child, 1, INT32_MAX, out, err))
            return false;
    }
    return true;
}

// --- scheduler

static bool whole_factor(const struct rb_node *node, int64_t fallback, int64_t *out, struct rb_err *err)
{
    *out = fallback;
    if (!node)
        return true;
    if (node->kind == RB_NODE_FLOAT &&
        !(node->number > 1 && node->number == floor(node->number) && node->number < 1024))
        return rb_node_refuse(node, err, RB_E_TEXT_FORM,
                              "expected a whole number N of at least 2, as one in N trials survives a rung");
    *out = (int64_t)node->number;
    return node->kind == RB_NODE_FLOAT || rb_node_int(node, 2, 1024, out, err);
}

static bool read_asha(struct rb_importer *im, const struct rb_node *s, struct rb_err *err)
{
    const struct rb_node *max_t = rb_import_given(s, "max_t"), *grace = rb_import_given(s, "grace_period"),
                         *factor = rb_import_given(s, "reduction_factor"), *brackets = rb_import_given(s, "brackets");
    int64_t length = 100, first = 1, eta, n_brackets = 1;
    const char *unit;
    if ((max_t && !rb_node_int(max_t, 1, INT32_MAX, &length, err)) ||
        (grace && !rb_node_int(grace, 1, INT32_MAX, &first, err)) || !whole_factor(factor, 4, &eta, err) ||
        (brackets && !rb_node_int(brackets, 1, 64, &n_brackets, err)) ||
        !read_unit(rb_import_given(s, "time_attr"), &unit, err))
        return false;
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "asha", s);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "min_resource", first, grace ? grace : s);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "eta", eta, factor ? factor : s);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "brackets", n_brackets, brackets ? brackets : s);
    rb_import_set(im, RB_DRAFT_SCHEDULER, "rule", "stop", s);
    if (n_brackets > 1)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, brackets,
                       "trials are divided among brackets in Hyperband's proportions, not drawn");
    rb_import_set_length(im, length, unit, max_t ? max_t : s);
    return true;
}

static bool read_hyperband(struct rb_importer *im, const struct rb_node *s, struct rb_err *err)
{
    const struct rb_node *max_t = rb_import_given(s, "max_t"), *factor = rb_import_given(s, "reduction_factor");
    int64_t length = 81, eta;
    const char *unit;
    if ((max_t && !rb_node_int(max_t, 1, INT32_MAX, &length, err)) || !whole_factor(factor, 3, &eta, err) ||
        !read_unit(rb_import_given(s, "time_attr"), &unit, err))
        return false;
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "hyperband", s);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "eta", eta, factor ? factor : s);
    rb_import_warn(im, RB_DRAFT_SCHEDULER, s,
                   "hyperband's brackets determine the number of trials; num_samples is ignored");
    rb_import_set_length(im, length, unit, max_t ? max_t : s);
    return true;
}

static bool read_samples(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *samples = setting(root, "tune_config", "num_samples");
    if (!samples && im->options->num_trials == 0) {
        rb_import_set_int(im, RB_DRAFT_SCHEDULER, "num_trials", 1, root); // as TuneConfig has it
        return true;
    }
    if (samples && samples->kind == RB_NODE_INT && samples->integer == -1)
        samples = NULL; // without an end
    return rb_import_set_trials(im, samples, root, err);
}

// No tuner here repeats a grid or mixes it with random draws.
static bool read_grid(struct rb_importer *im, const struct rb_node *root, const struct demand *demand,
                      const struct rb_node *scheduler, struct rb_err *err)
{
    const struct rb_node *samples = setting(root, "tune_config", "num_samples");
    int64_t length;
    if (demand->random)
        return rb_node_refuse(demand->random, err, RB_E_JOB_FOREIGN,
                              "drawn at random beside a grid_search, which is one or the other here: write "
                              "every grid_search as a choice, or this as a grid_search");
    if (samples && !(samples->kind == RB_NODE_INT && samples->integer == 1))
        return rb_node_refuse(samples, err, RB_E_JOB_FOREIGN,
                              "a grid is trained once: give 1, and a parameter such as repeat: {\"grid_search\": "
                              "[1, 2, 3]} to train each of its points more often");
    const struct rb_node *search = setting(root, "tune_config", "search_alg");
    if (search)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, search, "a grid proposes its own points");
    if (scheduler)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, scheduler,
                       "a grid trains each of its points in full; none is stopped early");
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "grid", demand->grid);
    if (!read_stop(im, root, &length, err))
        return false;
    const struct rb_node *max_t = rb_import_given(scheduler, "max_t");
    if (length == 0 && max_t && !rb_node_int(max_t, 1, INT32_MAX, &length, err))
        return false;
    rb_import_set_length(im, length, "iteration", root);
    return true;
}

static bool read_random(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    int64_t length;
    if (!read_stop(im, root, &length, err))
        return false;
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "random", root);
    rb_import_set_length(im, length, "iteration", root);
    return read_samples(im, root, err);
}

// A searcher by its name, as create_searcher takes it, or a map of its class's arguments with the name as `type`. That of
// Optuna may name a sampler.
static bool read_search_alg(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char why[] = "an option of this search in Ray: see docs/formats/job.md for those here";
    static const struct rb_key_rule rules[] = {
        {"metric mode sampler space type", RB_KEY_READ, NULL},
        {"random_state random_state_seed seed", RB_KEY_IGNORED, NULL},
        {"bohb_config evaluated_rewards gamma max_concurrent n_initial_points patience points_to_evaluate "
         "random_search_steps skip_duplicate utility_kwargs verbose",
         RB_KEY_DROPPED, why},
        {0},
    };
    const struct rb_node *search = setting(root, "tune_config", "search_alg"), *type = search, *sampler = NULL;
    const char *name;
    if (!search)
        return true;
    if (search->kind == RB_NODE_MAP) {
        if (!rb_import_keys(im, search, rules, RB_DRAFT_SCHEDULER, err) ||
            !rb_import_need(search, "type", "give the name of the search", &type, err))
            return false;
        sampler = rb_import_given(search, "sampler");
    }
    if (!rb_node_string(sampler ? sampler : type, &name, err))
        return false;
    rb_import_set_sampler(im, name, search);
    return true;
}

static bool read_median(struct rb_importer *im, const struct rb_node *root, const struct rb_node *s, struct rb_err *err)
{
    const struct rb_node *grace = rb_import_given(s, "grace_period");
    const char *unit;
    int64_t length, first = 1;
    if (!read_stop(im, root, &length, err) || (grace && !rb_node_int(grace, 1, INT32_MAX, &first, err)) ||
        !read_unit(rb_import_given(s, "time_attr"), &unit, err))
        return false;
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "median", s);
    if (grace)
        rb_import_set_int(im, RB_DRAFT_SCHEDULER, "min_resource", first, grace);
    rb_import_set_length(im, length, unit, root);
    return read_samples(im, root, err);
}

static bool read_population(struct rb_importer *im, const struct rb_node *root, const struct rb_node *s, struct rb_err *err)
{
    const struct rb_node *search = setting(root, "tune_config", "search_alg");
    const char *unit;
    int64_t length;
    if (search)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, search, "a population has its own search");
    return read_stop(im, root, &length, err) && read_unit(rb_import_given(s, "time_attr"), &unit, err) &&
           rb_import_set_population(im, length, unit, rb_import_given(s, "perturbation_interval"),
                                    rb_import_given(s, "quantile_fraction"), s, err) &&
           read_samples(im, root, err);
}

static const char *const asha[] = {"asha", "ASHAScheduler", "AsyncHyperBandScheduler", "async_hyperband", "asynchyperband", NULL};
static const char *const hyperband[] = {"hyperband", "HyperBandScheduler", "hb_bohb", "HyperBandForBOHB", NULL};
static const char *const median[] = {"median_stopping_rule", "medianstopping", "MedianStoppingRule", NULL};
static const char *const pbt[] = {"pbt", "PopulationBasedTraining", NULL};
static const char *const fifo[] = {"fifo", "FIFOScheduler", NULL};

// A scheduler that leaves the choice of configurations to the search.
static bool read_sampled(struct rb_importer *im, const struct rb_node *root, const struct rb_node *s, const char *type,
                         struct rb_err *err)
{
    if (rb_is_one_of(type, fifo))
        return read_random(im, root, err);
    if (rb_is_one_of(type, median))
        return read_median(im, root, s, err);
    if (rb_is_one_of(type, hyperband))
        return read_hyperband(im, s, err);
    return read_asha(im, s, err) && read_samples(im, root, err);
}

static bool read_scheduler(struct rb_importer *im, const struct rb_node *root, const struct demand *demand,
                           struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"brackets grace_period max_t metric mode perturbation_interval quantile_fraction reduction_factor time_attr type", RB_KEY_READ, NULL},
        {"stop_last_trials", RB_KEY_DROPPED, "every trial ends at max_t"},
        {"burn_in_period custom_explore_fn hard_stop hyperparam_mutations log_config min_samples_required min_time_slice "
         "require_attrs resample_probability synch",
         RB_KEY_DROPPED, "an option of this scheduler in Ray: see docs/formats/job.md for those here"},
        {0},
    };
    const struct rb_node *s = setting(root, "tune_config", "scheduler"), *type = s;
    if (s && s->kind == RB_NODE_MAP &&
        (!rb_import_keys(im, s, rules, RB_DRAFT_SCHEDULER, err) ||
         !rb_import_need(s, "type", "give asha, hyperband or fifo", &type, err)))
        return false;
    if (type && type->kind != RB_NODE_STRING)
        return rb_node_refuse(type, err, RB_E_TEXT_FORM, "expected asha, hyperband or fifo");
    const bool is_fifo = !type || rb_is_one_of(type->text, fifo);
    const bool is_known = is_fifo || rb_is_one_of(type->text, asha) || rb_is_one_of(type->text, hyperband) ||
                          rb_is_one_of(type->text, median) || rb_is_one_of(type->text, pbt);
    if (!is_known)
        return rb_node_refuse(type, err, RB_E_JOB_FOREIGN,
                              "there is no scheduler \"%.40s\" here; use asha, hyperband or fifo", type->text);
    if (demand->grid)
        return read_grid(im, root, demand, is_fifo ? NULL : s, err);
    if (rb_is_one_of(is_fifo ? "fifo" : type->text, pbt)) // it has its own search
        return read_population(im, root, s, err);
    return read_sampled(im, root, is_fifo ? NULL : s, is_fifo ? "fifo" : type->text, err) && read_search_alg(im, root, err);
}

// --- resources, restarts, checkpoints, time

static bool read_gpus(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"gpu", RB_KEY_READ, NULL},
        {"cpu", RB_KEY_DROPPED, "the instance type determines the CPUs for each GPU"},
        {"memory", RB_KEY_DROPPED, "the instance type determines the memory"},
        {0},
    };
    const struct rb_node *resources = rb_import_given(root, "resources_per_trial"),
                         *gpu = rb_import_given(resources, "gpu");
    double n = 0;
    if (!resources)
        return true;
    if (!rb_import_keys(im, resources, rules, RB_DRAFT_TRIAL, err) || (gpu && !rb_node_double(gpu, 0, 4096, &n, err)))
        return false;
    if (n > 1 && n != floor(n))
        return rb_node_refuse(gpu, err, RB_E_TEXT_FORM, "expected a whole number of GPUs above 1");
    if (n == 0)
        rb_import_warn(im, RB_DRAFT_TRIAL, gpu ? gpu : resources,
                       "a trial has at least one GPU here; on `infra: local` a CPU slot may take its place");
    else if (n < 1)
        rb_import_warn(im, RB_DRAFT_TRIAL, gpu,
                       "a trial has a GPU of its own; trial.gpus.share and policy packing share one");
    rb_job_draft_set(&im->draft, RB_DRAFT_TRIAL, "gpus", rb_arena_printf(&im->made.arena, "%.0f", n < 1 ? 1 : n),
                     "{min: 1, max: 8} lets the plan choose", gpu);
    return true;
}

static bool read_run_config(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"failure_config name stop storage_path", RB_KEY_READ, NULL},
        {"callbacks log_to_file verbose", RB_KEY_IGNORED, NULL},
        {"checkpoint_config", RB_KEY_DROPPED, "the script decides when it saves; a checkpoint is needed at every rung"},
        {0},
    };
    const struct rb_node *run = rb_import_given(root, "run_config"),
                         *path = setting(root, "run_config", "storage_path"),
                         *failing = rb_import_given(run, "failure_config"),
                         *failures = rb_import_given(failing, "max_failures");
    static const struct rb_key_rule failing_rules[] = {
        {"max_failures", RB_KEY_READ, NULL},
        {"fail_fast", RB_KEY_DROPPED, "a trial that fails for good never ends the others"},
        {0},
    };
    int64_t n;
    const char *text;
    if ((run && !rb_import_keys(im, run, rules, RB_DRAFT_TRIAL, err)) ||
        (failing && !rb_import_keys(im, failing, failing_rules, RB_DRAFT_TRIAL, err)))
        return false;
    if (failures) {
        if (!rb_node_int(failures, -1, INT32_MAX, &n, err))
            return false;
        if (n < 0)
            rb_import_warn(im, RB_DRAFT_TRIAL, failures, "1000 restarts are the most there are");
        rb_import_set_int(im, RB_DRAFT_TRIAL, "max_restarts", n < 0 ? 1000 : n, failures);
    }
    if (!path)
        return true;
    if (!rb_node_string(path, &text, err))
        return false;
    if (strncmp(text, "s3://", 5) == 0 || strncmp(text, "gs://", 5) == 0)
        rb_import_set_text(im, RB_DRAFT_CHECKPOINT, "uri", text, path);
    else
        rb_import_warn(im, RB_DRAFT_CHECKPOINT, path,
                       "only s3:// and gs:// can be kept; the controller keeps checkpoints");
    return true;
}

static bool read_tune_config(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"metric mode num_samples scheduler search_alg time_budget_s", RB_KEY_READ, NULL},
        {"reuse_actors trial_dirname_creator trial_name_creator", RB_KEY_IGNORED, NULL},
        {"max_concurrent_trials", RB_KEY_DROPPED, "the plan decides how many trials train at once"},
        {0},
    };
    const struct rb_node *tune = rb_import_given(root, "tune_config"),
                         *budget = setting(root, "tune_config", "time_budget_s");
    int64_t seconds;
    if (tune && !rb_import_keys(im, tune, rules, RB_DRAFT_SCHEDULER, err))
        return false;
    if (!budget)
        return true;
    if (!rb_node_int(budget, 1, INT32_MAX, &seconds, err))
        return false;
    rb_job_draft_set(&im->draft, RB_DRAFT_DEADLINE, NULL, rb_arena_printf(&im->made.arena, "%llds", (long long)seconds),
                     "from the start, machines included", budget);
    return true;
}

// --- the whole

static bool read_entrypoint(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *entry = rb_import_given(root, "entrypoint");
    const char *text;
    if (im->options->run)
        return true;
    if (!entry)
        return rb_node_refuse(root, err, RB_E_JOB_LACKS,
                              "the command is missing: a trainable is Python code, so give the command of a script "
                              "as `entrypoint` or as --run COMMAND");
    if (!rb_node_string(entry, &text, err))
        return false;
    rb_import_warn(
        im, RB_DRAFT_RUN, entry,
        "parameters are arguments and in the JSON file $RB_PARAMS_FILE, where a trainable had its config; metrics "
        "are printed lines, where it had tune.report");
    rb_import_set_run(im, rb_arena_printf(&im->made.arena, "%s $RB_ARGS", text), entry);
    return true;
}

static bool read_experiment(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"entrypoint metric mode name num_samples param_space resources_per_trial run_config scheduler "
         "search_alg stop storage_path time_budget_s tune_config",
         RB_KEY_READ, NULL},
        {"verbose", RB_KEY_IGNORED, NULL},
        {"max_concurrent_trials", RB_KEY_DROPPED, "the plan decides how many trials train at once"},
        {0},
    };
    const struct rb_node *space;
    struct demand demand = {0};
    if (!rb_import_keys(im, root, rules, RB_DRAFT_SCHEDULER, err) || !check_once(root, "tune_config", err) ||
        !check_once(root, "run_config", err) ||
        !rb_import_need(root, "param_space", "give the search space", &space, err))
        return false;
    rb_import_set_name(im, setting(root, "run_config", "name"));
    return read_metric(im, root, err) && read_space(im, "", space, &demand, err) && read_tune_config(im, root, err) &&
           read_scheduler(im, root, &demand, err) && read_gpus(im, root, err) && read_run_config(im, root, err) &&
           read_entrypoint(im, root, err);
}

const struct rb_job_format rb_job_format_ray = {
    .name = "ray",
    .title = "a Ray Tune experiment",
    .marks = {"param_space"},
    .read = read_experiment,
};
