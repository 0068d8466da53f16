// A hyperparameter tuning job of SageMaker, as create-hyper-parameter-tuning-job takes it (JSON or YAML).
// Source: botocore's service model of sagemaker 2017-07-24, shapes CreateHyperParameterTuningJobRequest and below.
#include "profiles/import/import_job_format.h"
#include "profiles/import/import_search.h"

#include <string.h>

// --- parameters

static bool read_range(struct rb_importer *im, const struct rb_node *range, bool whole, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {{"MaxValue MinValue Name ScalingType", RB_KEY_READ, NULL}, {0}};
    const struct rb_node *name, *scaling = rb_import_given(range, "ScalingType");
    double min, max;
    if (!rb_import_keys(im, range, rules, RB_DRAFT_PARAMETERS, err) ||
        !rb_import_need(range, "Name", "name it", &name, err) || !rb_import_end(range, "MinValue", &min, err) ||
        !rb_import_end(range, "MaxValue", &max, err))
        return false;
    return rb_import_scaled(im, name->text ? name->text : "", min, max, whole, scaling, "Logarithmic",
                            "ReverseLogarithmic", range, err);
}

static bool read_category(struct rb_importer *im, const struct rb_node *range, struct rb_err *err)
{
    const struct rb_node *name, *values;
    return rb_import_need(range, "Name", "name it", &name, err) &&
           rb_import_need(range, "Values", "give its values", &values, err) &&
           rb_import_choice(im, name->text ? name->text : "", values, NULL, err);
}

static bool read_list(struct rb_importer *im, const struct rb_node *ranges, const char *key, struct rb_err *err)
{
    const struct rb_node *list = rb_import_given(ranges, key);
    if (!list)
        return true;
    if (!rb_node_list(list, err))
        return false;
    for (const struct rb_node *child = list->first; child; child = child->next) {
        const bool ok = strcmp(key, "CategoricalParameterRanges") == 0
                            ? read_category(im, child, err)
                            : read_range(im, child, strcmp(key, "IntegerParameterRanges") == 0, err);
        if (!ok)
            return false;
    }
    return true;
}

static bool read_ranges(struct rb_importer *im, const struct rb_node *config, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"CategoricalParameterRanges ContinuousParameterRanges IntegerParameterRanges", RB_KEY_READ, NULL},
        {"AutoParameters", RB_KEY_REFUSED, "SageMaker chooses the ranges of these itself: give ranges"},
        {0},
    };
    const struct rb_node *ranges = rb_import_given(config, "ParameterRanges");
    return !ranges || (rb_import_keys(im, ranges, rules, RB_DRAFT_PARAMETERS, err) &&
                       read_list(im, ranges, "ContinuousParameterRanges", err) &&
                       read_list(im, ranges, "IntegerParameterRanges", err) &&
                       read_list(im, ranges, "CategoricalParameterRanges", err));
}

// --- search

static bool read_strategy(struct rb_importer *im, const struct rb_node *config, struct rb_err *err)
{
    const struct rb_node *strategy,
        *stopping = rb_import_given(config, "TrainingJobEarlyStoppingType"),
        *most = rb_import_given(rb_import_given(config, "ResourceLimits"), "MaxNumberOfTrainingJobs"),
        *band = rb_import_given(rb_import_given(config, "StrategyConfig"), "HyperbandStrategyConfig"),
        *least = rb_import_given(band, "MinResource"), *longest = rb_import_given(band, "MaxResource");
    int64_t first = 1, length = 0;
    if (!rb_import_need(config, "Strategy", "Bayesian, Random, Grid or Hyperband", &strategy, err) ||
        (least && !rb_node_int(least, 1, 1000000, &first, err)) ||
        (longest && !rb_node_int(longest, 1, 1000000, &length, err)))
        return false;
    if (rb_import_is(strategy, "Hyperband")) {
        rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "asha", strategy);
        rb_import_warn(im, RB_DRAFT_SCHEDULER, strategy,
                       "SageMaker's Hyperband is asynchronous; here asha with rule stop takes its place, eta 3");
        rb_import_set(im, RB_DRAFT_SCHEDULER, "rule", "stop", strategy);
        rb_import_set_int(im, RB_DRAFT_SCHEDULER, "min_resource", first, strategy);
    } else {
        const bool is_grid = rb_import_is(strategy, "Grid");
        if (!is_grid && !rb_import_is(strategy, "Bayesian") && !rb_import_is(strategy, "Random"))
            return rb_node_refuse(strategy, err, RB_E_JOB_FOREIGN, "expected Bayesian, Random, Grid or Hyperband");
        rb_import_set_type(im, is_grid, rb_import_is(stopping, "Auto") ? stopping : NULL, strategy);
        if (!is_grid)
            rb_import_set_sampler(im, strategy->text, strategy);
    }
    if (!rb_import_is(strategy, "Grid") && !rb_import_set_trials(im, most, config, err))
        return false;
    rb_import_set_length(im, length, "epoch", strategy);
    return true;
}

static bool read_objective(struct rb_importer *im, const struct rb_node *config, struct rb_err *err)
{
    const struct rb_node *objective;
    return rb_import_need(config, "HyperParameterTuningJobObjective", "give the metric", &objective, err) &&
           rb_import_objective(im, objective, "MetricName", "Type", "Maximize", "Minimize", err);
}

// --- trials

static bool read_static(struct rb_importer *im, const struct rb_node *definition, const char **out_program,
                        struct rb_err *err)
{
    const struct rb_node *given = rb_import_given(definition, "StaticHyperParameters");
    struct rb_map m;
    if (!given)
        return true;
    if (!rb_map_begin(&m, given, err))
        return false;
    for (const struct rb_node *child = given->first; child; child = child->next) {
        if (strcmp(child->key, "sagemaker_program") == 0 && child->kind == RB_NODE_STRING)
            *out_program = child->text;
        else if (strncmp(child->key, "sagemaker_", 10) != 0 && !rb_import_constant(im, child->key, child, err))
            return false;
    }
    return true;
}

// "ml.g5.xlarge" is the machine g5.xlarge.
static void read_machine(struct rb_importer *im, const struct rb_node *definition)
{
    const struct rb_node *resources = rb_import_given(definition, "ResourceConfig"),
                         *type = rb_import_given(resources, "InstanceType"),
                         *count = rb_import_given(resources, "InstanceCount");
    if (type && type->kind == RB_NODE_STRING && strncmp(type->text, "ml.", 3) == 0)
        rb_import_set(im, RB_DRAFT_RESOURCES, "instance_types",
                      rb_arena_printf(&im->made.arena, "[%s]", rb_yaml_text(type->text + 3, &im->made.arena)), type);
    if (count && count->kind == RB_NODE_INT && count->integer > 1)
        rb_import_warn(im, RB_DRAFT_TRIAL, count,
                       "a trial has as many GPUs as trial.gpus says; for several nodes, trial.max_nodes");
    if (rb_import_is(rb_import_given(definition, "EnableManagedSpotTraining"), "true"))
        rb_import_set(im, RB_DRAFT_RESOURCES, "spot", "allow", definition);
}

static bool read_definition(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *definition;
    const char *program = NULL;
    if (!rb_import_need(root, "TrainingJobDefinition", "give what a trial runs; several definitions are not supported",
                        &definition, err) ||
        !read_static(im, definition, &program, err))
        return false;
    read_machine(im, definition);
    rb_import_warn(im, RB_DRAFT_SETUP, definition,
                   "roles, channels, images and outputs are not carried over: `setup` prepares a node, `data` and "
                   "`checkpoint` say "
                   "what is read and kept");
    if (im->options->run)
        return true;
    if (!program)
        return rb_node_refuse(definition, err, RB_E_JOB_LACKS,
                              "the training image holds the command: give --run COMMAND");
    rb_import_set_run(im, rb_arena_printf(&im->made.arena, "python3 %s $RB_ARGS", program), definition);
    return true;
}

static bool read_tuning_job(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule top[] = {
        {"HyperParameterTuningJobConfig HyperParameterTuningJobName TrainingJobDefinition", RB_KEY_READ, NULL},
        {"Autotune Tags", RB_KEY_IGNORED, NULL},
        {"WarmStartConfig", RB_KEY_DROPPED, "a search does not begin with the results of another here"},
        {"TrainingJobDefinitions", RB_KEY_REFUSED,
         "several kinds of trials in one search have no equivalent: import them one by one"},
        {0},
    };
    static const struct rb_key_rule rules[] = {
        {"HyperParameterTuningJobObjective ParameterRanges ResourceLimits Strategy StrategyConfig "
         "TrainingJobEarlyStoppingType "
         "RandomSeed",
         RB_KEY_READ, NULL},
        {"TuningJobCompletionCriteria", RB_KEY_DROPPED,
         "the search ends after its trials, at its deadline, or at metric.target"},
        {0},
    };
    const struct rb_node *config, *seed;
    int64_t n;
    if (!rb_import_keys(im, root, top, RB_DRAFT_NAME, err) ||
        !rb_import_need(root, "HyperParameterTuningJobConfig", "give the search", &config, err) ||
        !rb_import_keys(im, config, rules, RB_DRAFT_SCHEDULER, err))
        return false;
    rb_import_set_name(im, rb_import_given(root, "HyperParameterTuningJobName"));
    seed = rb_import_given(config, "RandomSeed");
    if (seed && !rb_node_int(seed, 0, INT32_MAX, &n, err))
        return false;
    if (seed)
        rb_import_set_int(im, RB_DRAFT_SEED, NULL, n, seed);
    return read_objective(im, config, err) && read_ranges(im, config, err) && read_strategy(im, config, err) &&
           read_definition(im, root, err);
}

const struct rb_job_format rb_job_format_sagemaker = {
    .name = "sagemaker",
    .title = "a SageMaker tuning job",
    .marks = {"HyperParameterTuningJobConfig"},
    .read = read_tuning_job,
};
