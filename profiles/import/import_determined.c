// An experiment configuration of Determined.
// Source: https://docs.determined.ai/latest/reference/training/experiment-config-reference.html; what the words mean exactly:
// github.com/determined-ai/determined, master/pkg/searcher/grid.go (points of a grid), adaptive_asha.go (rungs, brackets),
// and the release notes of 0.38 (time_metric and max_time in place of max_length).
#include "profiles/import/import_job_format.h"

#include <math.h>
#include <string.h>

#define MAX_GRID_COUNT   4096
#define DEFAULT_DIVISOR  4
#define DEFAULT_RUNGS    5
#define DEFAULT_RESTARTS "5"

// --- hyperparameters

// A range. Bounds of `log` are exponents of `base`.
struct range {
    const struct rb_node *node, *low, *high;
    enum { RANGE_INT, RANGE_DOUBLE, RANGE_LOG } kind;
    double min, max, base;
    int64_t count; // 0: not given
};

static bool read_range(const struct rb_node *node, const char *type, struct range *r, struct rb_err *err)
{
    const struct rb_node *count = rb_import_given(node, "count");
    *r = (struct range){.node = node, .kind = RANGE_DOUBLE};
    if (strcmp(type, "int") == 0)
        r->kind = RANGE_INT;
    else if (strcmp(type, "log") == 0)
        r->kind = RANGE_LOG;
    return rb_import_need(node, "minval", "give the lower end", &r->low, err) &&
           rb_import_need(node, "maxval", "give the upper end", &r->high, err) &&
           rb_import_number(node, "minval", NAN, &r->min, err) && rb_import_number(node, "maxval", NAN, &r->max, err) &&
           rb_import_number(node, "base", 10, &r->base, err) &&
           (!count || rb_node_int(count, 1, MAX_GRID_COUNT, &r->count, err));
}

// Point i of n, evenly spaced from end to end; a single one in the middle.
static double grid_point(const struct range *r, int64_t i, int64_t n)
{
    const double at = n == 1 ? (r->min + r->max) / 2 : r->min + (double)i * (r->max - r->min) / (double)(n - 1);
    return r->kind == RANGE_INT ? round(at) : r->kind == RANGE_LOG ? pow(r->base, at) : at;
}

// With a count, as grid search asks for: the points one by one.
static bool read_grid(struct rb_importer *im, const char *name, const struct range *r, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf values = RB_BUF_INIT;
    int64_t n = r->count;
    if (n == 0)
        return rb_node_refuse(r->node, err, RB_E_JOB_FOREIGN,
                              "a grid needs the number of points of each range: give `count`");
    if (r->kind == RANGE_INT && (double)n > r->max - r->min + 1)
        n = (int64_t)(r->max - r->min) + 1;
    rb_buf_puts(&values, "{values: [");
    for (int64_t i = 0; i < n; i++) {
        const double point = grid_point(r, i, n);
        if (!isfinite(point))
            return rb_node_refuse(r->node, err, RB_E_JOB_FOREIGN, "base to the power of maxval is too large");
        rb_buf_puts(&values, i ? ", " : "");
        if (r->kind == RANGE_INT)
            rb_buf_printf(&values, "%.0f", point);
        else
            rb_import_put_float(point, &values);
    }
    rb_buf_puts(&values, "]}");
    return rb_import_param(im, name, rb_buf_str(&values), r->node, err);
}

static bool read_law(struct rb_importer *im, const char *name, const struct range *r, struct rb_err *err)
{
    if (r->kind == RANGE_LOG) {
        const struct rb_law_number numbers[] = {{"min", NULL, pow(r->base, r->min), false},
                                                {"max", NULL, pow(r->base, r->max), false}};
        if (!isfinite(numbers[0].value) || !isfinite(numbers[1].value))
            return rb_node_refuse(r->node, err, RB_E_JOB_FOREIGN, "base to the power of minval or maxval is too large");
        rb_import_warn(im, RB_DRAFT_PARAMETERS, r->node, "minval and maxval are exponents of %g; here they are values",
                       r->base);
        return rb_import_law(im, name, "log_uniform", numbers, 2, r->node, err);
    }
    const struct rb_law_number numbers[] = {{"min", r->low, 0, false}, {"max", r->high, 0, false}};
    return rb_import_law(im, name, r->kind == RANGE_INT ? "int_uniform" : "uniform", numbers, 2, r->node, err);
}

static bool read_hyperparameters(struct rb_importer *im, const char *outer, const struct rb_node *map, bool grid,
                                 struct rb_err *err);

static bool read_typed(struct rb_importer *im, const char *name, const struct rb_node *node, const struct rb_node *type,
                       bool grid, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"base count maxval minval type val vals", RB_KEY_READ, NULL},
        {0},
    };
    const struct rb_node *value;
    struct range range;
    if (rb_import_is(type, "object"))
        return rb_import_need(node, "vals", "give what the object holds", &value, err) &&
               read_hyperparameters(im, name, value, grid, err);
    if (!rb_import_keys(im, node, rules, RB_DRAFT_PARAMETERS, err))
        return false;
    if (rb_import_is(type, "const"))
        return rb_import_need(node, "val", "give the value", &value, err) && rb_import_constant(im, name, value, err);
    if (rb_import_is(type, "categorical"))
        return rb_import_need(node, "vals", "give the values", &value, err) &&
               rb_import_choice(im, name, value, NULL, err);
    if (!rb_import_is(type, "int") && !rb_import_is(type, "double") && !rb_import_is(type, "log"))
        return rb_node_refuse(type, err, RB_E_JOB_FOREIGN,
                              "there is no type \"%.40s\" of hyperparameters here; known are const, categorical, "
                              "int, double, log and object",
                              type->text ? type->text : "?");
    return read_range(node, type->text, &range, err) &&
           (grid ? read_grid(im, name, &range, err) : read_law(im, name, &range, err));
}

// A scalar is a constant, a map with `type` a range, any other map contains more parameters.
static bool read_hyperparameters(struct rb_importer *im, const char *outer, const struct rb_node *map, bool grid,
                                 struct rb_err *err)
{
    struct rb_map m;
    if (!rb_map_begin(&m, map, err))
        return false;
    for (const struct rb_node *child = map->first; child; child = child->next) {
        const char *name = rb_import_inner_name(im, outer, child->key);
        const struct rb_node *type = child->kind == RB_NODE_MAP ? rb_import_given(child, "type") : NULL;
        bool ok;
        if (type && type->kind == RB_NODE_STRING)
            ok = read_typed(im, name, child, type, grid, err);
        else if (child->kind == RB_NODE_MAP)
            ok = read_hyperparameters(im, name, child, grid, err);
        else
            ok = rb_import_constant(im, name, child, err);
        if (!ok)
            return false;
    }
    return true;
}

// --- searcher

// How long a trial trains. 0: not given.
struct length {
    int64_t n;
    const char *unit;
    const struct rb_node *node;
    bool is_metric; // of time_metric
};

// "batches" -> "batch".
static const char *singular(const char *plural)
{
    static const char *const units[][2] = {{"batches", "batch"}, {"epochs", "epoch"}, {"records", "record"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(plural, units[i][0]) == 0)
            return units[i][1];
    }
    return plural;
}

// max_length: {batches: 900}, or a bare number; or time_metric: batches, max_time: 900.
static bool read_length(const struct rb_node *searcher, struct length *out, struct rb_err *err)
{
    static const char *const units[] = {"batches", "epochs", "records"};
    const struct rb_node *node = rb_import_given(searcher, "max_length"), *time = rb_import_given(searcher, "max_time"),
                         *metric = rb_import_given(searcher, "time_metric");
    *out = (struct length){.unit = "epoch", .node = searcher};
    if (node && time)
        return rb_node_refuse(time, err, RB_E_KEYS_TOGETHER, "beside max_length; keep one of the two");
    if (time) {
        out->node = time;
        out->is_metric = true;
        if (!rb_import_need(searcher, "time_metric", "max_time is counted by it", &metric, err) ||
            !rb_node_string(metric, &out->unit, err))
            return false;
        out->unit = singular(out->unit);
        return rb_node_int(time, 1, INT32_MAX, &out->n, err);
    }
    if (!node)
        return true;
    out->node = node;
    if (node->kind != RB_NODE_MAP)
        return rb_node_int(node, 1, INT32_MAX, &out->n, err);
    int choice = 0;
    for (; choice < 3 && !rb_import_given(node, units[choice]); choice++)
        ;
    if (choice == 3 || node->n_children != 1)
        return rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected one of batches, epochs and records");
    out->unit = singular(units[choice]);
    return rb_node_int(rb_import_given(node, units[choice]), 1, INT32_MAX, &out->n, err);
}

// floor(log_divisor(n)) + 1, by multiplication.
static int64_t most_rungs(int64_t n, int64_t divisor)
{
    int64_t rungs = 1;
    for (int64_t step = 1; step <= n / divisor; rungs++)
        step *= divisor;
    return rungs;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// For k rungs, one bracket each: aggressive takes the one with all of them, conservative every one, standard the upper
// half.
static bool read_mode(const struct rb_node *searcher, int64_t rungs, int64_t *out_brackets, struct rb_err *err)
{
    static const char *const modes[] = {"aggressive", "conservative", "standard"};
    const struct rb_node *node = rb_import_given(searcher, "mode");
    int mode = 2;
    if (node && !rb_node_choice(node, modes, 3, &mode, err))
        return false;
    *out_brackets = mode == 0 ? 1 : mode == 1 ? rungs : rungs - (rungs - 1) / 2;
    return true;
}

static bool read_asha(struct rb_importer *im, const struct rb_node *searcher, const struct length *length,
                      struct rb_err *err)
{
    const struct rb_node *divisor_node = rb_import_given(searcher, "divisor"),
                         *rungs_node = rb_import_given(searcher, "max_rungs"),
                         *trials_node = rb_import_given(searcher, "max_trials"),
                         *once = rb_import_given(searcher, "stop_once");
    const int64_t most = im->options->max_resource > 0 ? im->options->max_resource : length->n;
    int64_t divisor = DEFAULT_DIVISOR, rungs = DEFAULT_RUNGS, trials = im->options->num_trials, brackets, first = most;
    bool stops = length->is_metric;
    if (most == 0)
        return rb_node_refuse(searcher, err, RB_E_JOB_LACKS,
                              "adaptive_asha needs `max_length`, or `time_metric` and `max_time`: give them, or "
                              "--max-resource N");
    if ((divisor_node && !rb_node_int(divisor_node, 2, 1024, &divisor, err)) ||
        (rungs_node && !rb_node_int(rungs_node, 1, 64, &rungs, err)) || (once && !rb_node_bool(once, &stops, err)) ||
        (trials == 0 && trials_node && !rb_node_int(trials_node, 1, INT32_MAX, &trials, err)))
        return false;
    rungs = smaller(rungs, smaller(most_rungs(most, divisor), most_rungs(trials, divisor)));
    if (!read_mode(searcher, rungs, &brackets, err))
        return false;
    for (int64_t i = 1; i < rungs; i++)
        first /= divisor;
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "min_resource", first, length->node);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "eta", divisor, divisor_node ? divisor_node : searcher);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "brackets", brackets, searcher);
    rb_import_set(im, RB_DRAFT_SCHEDULER, "rule", stops ? "stop" : "promote", searcher);
    rb_import_warn_rungs(im, length->node, first, most, divisor);
    if (brackets > 1)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, searcher,
                       "%lld brackets: trials are divided among them in Hyperband's proportions", (long long)brackets);
    return true;
}

static bool read_searcher(struct rb_importer *im, const struct rb_node *searcher, struct rb_err *err)
{
    const struct rb_node *name, *trials = rb_import_given(searcher, "max_trials");
    struct length length;
    if (!rb_import_need(searcher, "name", "give adaptive_asha, grid, random or single", &name, err) ||
        !read_length(searcher, &length, err))
        return false;
    if (rb_import_is(name, "grid")) {
        rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "grid", name);
    } else if (rb_import_is(name, "random") || rb_import_is(name, "single")) {
        rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "random", name);
        if (rb_import_is(name, "single"))
            rb_import_set_int(im, RB_DRAFT_SCHEDULER, "num_trials", 1, name);
        else if (!rb_import_set_trials(im, trials, searcher, err))
            return false;
    } else if (rb_import_is(name, "adaptive_asha")) {
        rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "asha", name);
        if (!rb_import_set_trials(im, trials, searcher, err) || !read_asha(im, searcher, &length, err))
            return false;
    } else {
        return rb_node_refuse(name, err, RB_E_JOB_FOREIGN,
                              "there is no searcher \"%.40s\" here; use adaptive_asha, grid, random or single",
                              name->text ? name->text : "?");
    }
    rb_import_set_length(im, length.n, length.unit, length.node);
    return true;
}

static bool read_metric(struct rb_importer *im, const struct rb_node *searcher, struct rb_err *err)
{
    const struct rb_node *metric, *smaller_node = rb_import_given(searcher, "smaller_is_better");
    const char *text;
    bool smaller_is_better = true;
    if (!rb_import_need(searcher, "metric", "trials are compared by it", &metric, err) ||
        !rb_node_string(metric, &text, err) || (smaller_node && !rb_node_bool(smaller_node, &smaller_is_better, err)))
        return false;
    rb_import_set_metric(im, metric, smaller_is_better ? "minimize" : "maximize");
    return true;
}

static bool read_search(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char warm[] =
        "trials would start from a checkpoint of another experiment: let the script read it, and "
        "remove this key";
    static const struct rb_key_rule rules[] = {
        {"divisor max_length max_rungs max_time max_trials metric mode name smaller_is_better stop_once "
         "time_metric",
         RB_KEY_READ, NULL},
        {"max_concurrent_trials", RB_KEY_DROPPED, "the plan decides how many trials train at once"},
        {"bracket_rungs", RB_KEY_REFUSED, "a list of brackets has no equivalent; remove it, and `mode` chooses them"},
        {"source_checkpoint_uuid source_trial_id", RB_KEY_REFUSED, warm},
        {0},
    };
    const struct rb_node *searcher, *space = rb_import_given(root, "hyperparameters");
    if (!rb_import_need(root, "searcher", "give how to search", &searcher, err) ||
        !rb_import_keys(im, searcher, rules, RB_DRAFT_SCHEDULER, err) || !read_metric(im, searcher, err))
        return false;
    const bool grid = rb_import_is(rb_import_given(searcher, "name"), "grid");
    return (!space || read_hyperparameters(im, "", space, grid, err)) && read_searcher(im, searcher, err);
}

// --- resources, environment, checkpoints

static bool read_resources(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"slots_per_trial", RB_KEY_READ, NULL},
        {"agent_label priority resource_pool weight", RB_KEY_IGNORED, NULL},
        {"devices", RB_KEY_DROPPED, "a trial sees the GPUs of its node alone"},
        {"is_single_node", RB_KEY_DROPPED, "a trial stays on one node unless trial.max_nodes is larger"},
        {"max_slots", RB_KEY_DROPPED, "resources.max_nodes bounds the nodes rented at once"},
        {"shm_size", RB_KEY_DROPPED, "trials have the node's /dev/shm"},
        {0},
    };
    const struct rb_node *resources = rb_import_given(root, "resources"),
                         *restarts = rb_import_given(root, "max_restarts"),
                         *slots = rb_import_given(resources, "slots_per_trial");
    int64_t n = 1;
    if ((resources && !rb_import_keys(im, resources, rules, RB_DRAFT_TRIAL, err)) ||
        (slots && !rb_node_int(slots, 0, INT32_MAX, &n, err)))
        return false;
    if (n == 0)
        rb_import_warn(im, RB_DRAFT_TRIAL, slots,
                       "a trial has at least one GPU here; on `infra: local` a CPU slot may take its place");
    rb_job_draft_set(&im->draft, RB_DRAFT_TRIAL, "gpus",
                     rb_arena_printf(&im->made.arena, "%lld", (long long)(n ? n : 1)),
                     "{min: 1, max: 8} lets the plan choose", slots);
    if (!restarts)
        rb_job_draft_set(&im->draft, RB_DRAFT_TRIAL, "max_restarts", DEFAULT_RESTARTS, "what Determined has by default",
                         NULL);
    else if (!rb_node_int(restarts, 0, INT32_MAX, &n, err))
        return false;
    else
        rb_import_set_int(im, RB_DRAFT_TRIAL, "max_restarts", n, restarts);
    return true;
}

// [NAME=VALUE, ...], or such a list for each kind of device.
static bool read_variables(struct rb_importer *im, const struct rb_node *list, struct rb_err *err)
{
    if (list->kind == RB_NODE_MAP) {
        const struct rb_node *cuda = rb_import_given(list, "cuda");
        cuda = cuda ? cuda : rb_import_given(list, "gpu");
        for (const struct rb_node *child = list->first; child; child = child->next) {
            if (child != cuda)
                rb_import_warn(im, RB_DRAFT_ENVS, child, "only the variables of `cuda` are set");
        }
        return !cuda || read_variables(im, cuda, err);
    }
    if (!rb_node_list(list, err))
        return false;
    for (const struct rb_node *child = list->first; child; child = child->next) {
        const char *text, *equals;
        if (!rb_node_string(child, &text, err))
            return false;
        equals = strchr(text, '=');
        if (!equals)
            return rb_node_refuse(child, err, RB_E_TEXT_FORM, "expected NAME=VALUE, got \"%.60s\"", text);
        rb_import_set_text(im, RB_DRAFT_ENVS, rb_arena_strndup(&im->made.arena, text, (size_t)(equals - text)),
                           equals + 1, child);
    }
    return true;
}

static bool read_environment(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char containers[] = "name its image by `image`, or prepare nodes by `setup`";
    static const struct rb_key_rule rules[] = {
        {"environment_variables", RB_KEY_READ, NULL},
        {"add_capabilities drop_capabilities force_pull_image image pod_spec ports proxy_ports "
         "registry_auth",
         RB_KEY_DROPPED, containers},
        {0},
    };
    const struct rb_node *environment = rb_import_given(root, "environment"),
                         *variables = rb_import_given(environment, "environment_variables");
    return (!environment || rb_import_keys(im, environment, rules, RB_DRAFT_SETUP, err)) &&
           (!variables || read_variables(im, variables, err));
}

// s3 and gcs have an equivalent. Access keys are never copied.
static bool read_storage(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char access[] = "not copied: nodes need access of their own, such as resources.instance_profile";
    static const char kept[] = "which checkpoints are kept cannot be chosen here";
    static const struct rb_key_rule rules[] = {
        {"bucket prefix type", RB_KEY_READ, NULL},
        {"access_key endpoint_url secret_key", RB_KEY_DROPPED, access},
        {"save_experiment_best save_trial_best save_trial_latest", RB_KEY_DROPPED, kept},
        {0},
    };
    const struct rb_node *storage = rb_import_given(root, "checkpoint_storage"),
                         *type = rb_import_given(storage, "type"), *bucket,
                         *prefix = rb_import_given(storage, "prefix");
    const char *name, *path = "";
    if (!storage)
        return true;
    if (!rb_import_is(type, "s3") && !rb_import_is(type, "gcs")) {
        rb_import_warn(im, RB_DRAFT_CHECKPOINT, storage,
                       "only s3 and gcs can be kept; the controller keeps checkpoints");
        return true;
    }
    if (!rb_import_keys(im, storage, rules, RB_DRAFT_CHECKPOINT, err) ||
        !rb_import_need(storage, "bucket", "give the bucket", &bucket, err) || !rb_node_string(bucket, &name, err) ||
        (prefix && !rb_node_string(prefix, &path, err)))
        return false;
    rb_import_set_text(im, RB_DRAFT_CHECKPOINT, "uri",
                       rb_arena_printf(&im->made.arena, "%s://%s%s%s", rb_import_is(type, "s3") ? "s3" : "gs", name,
                                       path[0] && path[0] != '/' ? "/" : "", path),
                       storage);
    return true;
}

static bool read_seed(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"experiment_seed", RB_KEY_READ, NULL},
        {0},
    };
    const struct rb_node *group = rb_import_given(root, "reproducibility"),
                         *seed = rb_import_given(group, "experiment_seed");
    int64_t n;
    if (group && !rb_import_keys(im, group, rules, RB_DRAFT_SEED, err))
        return false;
    if (!seed)
        return true;
    if (!rb_node_int(seed, 0, INT32_MAX, &n, err))
        return false;
    rb_import_set_int(im, RB_DRAFT_SEED, NULL, n, seed);
    return true;
}

// --- entrypoint

#define TORCH_LAUNCHER "python3 -m determined.launch.torch_distributed"

static bool is_trial_class(const char *text)
{
    return (strchr(text, ':') && !strchr(text, ' ') && !strchr(text, '/')) || strstr(text, "--trial");
}

// The launcher starts `python3 SCRIPT` once a GPU; torchrun takes the script.
static const char *without_launcher(struct rb_importer *im, const struct rb_node *entry, const char *command)
{
    static const char *const words[] = {" --", " python3", " python"};
    const char *rest = command + strlen(TORCH_LAUNCHER);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t n = strlen(words[i]);
        if (strncmp(rest, words[i], n) == 0 && rest[n] == ' ')
            rest += n;
    }
    rb_import_warn(im, RB_DRAFT_RUN, entry, "torchrun replaces determined.launch.torch_distributed");
    return rb_arena_printf(&im->made.arena, "torchrun --nproc-per-node $RB_GPUS_PER_NODE%s", rest);
}

static bool read_entrypoint(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf words = RB_BUF_INIT;
    const struct rb_node *entry;
    const char *command;
    if (im->options->run)
        return true;
    if (!rb_import_need(root, "entrypoint", "or give --run COMMAND", &entry, err))
        return false;
    const bool is_list = entry->kind == RB_NODE_LIST;
    if (is_list ? !rb_import_words(entry, &words, err) : !rb_node_string(entry, &command, err))
        return false;
    command = is_list ? rb_buf_str(&words) : command;
    if (is_trial_class(command))
        return rb_node_refuse(entry, err, RB_E_JOB_LACKS,
                              "a trial class runs only within Determined: write a script around it, and give "
                              "--run COMMAND");
    if (strncmp(command, TORCH_LAUNCHER " ", strlen(TORCH_LAUNCHER) + 1) == 0)
        command = without_launcher(im, entry, command);
    else if (strstr(command, "determined."))
        return rb_node_refuse(entry, err, RB_E_JOB_LACKS,
                              "this launcher is a part of Determined: give --run COMMAND without it");
    rb_import_warn(
        im, RB_DRAFT_RUN, entry,
        "hyperparameters are arguments and in the JSON file $RB_PARAMS_FILE, where det.get_cluster_info() had them; "
        "metrics are printed lines");
    rb_import_set_run(im, rb_arena_printf(&im->made.arena, "%s $RB_ARGS", command), entry);
    return true;
}

// --- the whole

static bool read_experiment(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char own_pace[] =
        "the script itself decides when it validates and saves; a checkpoint is needed at every rung";
    static const struct rb_key_rule rules[] = {
        {"checkpoint_storage entrypoint environment hyperparameters max_restarts name reproducibility "
         "resources searcher",
         RB_KEY_READ, NULL},
        {"debug description labels log_retention_days preemption_timeout profiling project "
         "retention_policy scheduling_unit tensorboard_storage workspace",
         RB_KEY_IGNORED, NULL},
        {"bind_mounts", RB_KEY_DROPPED, "of a node's disk a container sees only the run: `setup` may fetch what trials need"},
        {"checkpoint_policy min_checkpoint_period min_validation_period perform_initial_validation", RB_KEY_DROPPED,
         own_pace},
        {"data", RB_KEY_DROPPED, "pass what the script reads from it in another way: by `envs`, or by constants"},
        {"integrations", RB_KEY_DROPPED, "no equivalent"},
        {"log_policies", RB_KEY_DROPPED, "logs are not searched; a trial that fails is restarted up to max_restarts"},
        {"optimizations", RB_KEY_DROPPED, "options of Determined's own trainers"},
        {"pbs", RB_KEY_DROPPED, "PBS is not supported"},
        {"records_per_epoch", RB_KEY_DROPPED, "units are not converted; the script counts its own"},
        {"slurm", RB_KEY_DROPPED, "use infra: [slurm/PARTITION] and resources.slurm"},
        {0},
    };
    if (!rb_import_keys(im, root, rules, RB_DRAFT_RUN, err))
        return false;
    rb_import_set_name(im, rb_import_given(root, "name"));
    return read_seed(im, root, err) && read_search(im, root, err) && read_resources(im, root, err) &&
           read_environment(im, root, err) && read_entrypoint(im, root, err) && read_storage(im, root, err);
}

const struct rb_job_format rb_job_format_determined = {
    .name = "determined",
    .title = "a Determined experiment",
    .marks = {"searcher"},
    .read = read_experiment,
};
