// A HyperparameterTuningJob of Vertex AI, as its REST API takes it (JSON or YAML).
// Source: google/cloud/aiplatform/v1/hyperparameter_tuning_job.proto, study.proto and custom_job.proto of googleapis.
#include "profiles/import/import_job_format.h"
#include "profiles/import/import_search.h"

#include <string.h>

// --- parameters

static bool read_range(struct rb_importer *im, const char *name, const struct rb_node *spec,
                       const struct rb_node *scale, bool whole, struct rb_err *err)
{
    double min, max;
    return rb_import_end(spec, "minValue", &min, err) && rb_import_end(spec, "maxValue", &max, err) &&
           rb_import_scaled(im, name, min, max, whole, scale, "UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE", spec, err);
}

static bool read_parameter(struct rb_importer *im, const struct rb_node *node, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"categoricalValueSpec discreteValueSpec doubleValueSpec integerValueSpec parameterId scaleType", RB_KEY_READ,
         NULL},
        {"conditionalParameterSpecs", RB_KEY_REFUSED,
         "parameters that depend on each other are not carried over: give each by itself, then add `if:` in job.yaml"},
        {0},
    };
    const struct rb_node *id, *spec, *values, *scale = rb_import_given(node, "scaleType");
    const char *name;
    if (!rb_import_keys(im, node, rules, RB_DRAFT_PARAMETERS, err) ||
        !rb_import_need(node, "parameterId", "name it", &id, err) || !rb_node_string(id, &name, err))
        return false;
    if ((spec = rb_import_given(node, "doubleValueSpec")))
        return read_range(im, name, spec, scale, false, err);
    if ((spec = rb_import_given(node, "integerValueSpec")))
        return read_range(im, name, spec, scale, true, err);
    if (!(spec = rb_import_given(node, "categoricalValueSpec")) && !(spec = rb_import_given(node, "discreteValueSpec")))
        return rb_node_refuse(
            node, err, RB_E_JOB_FOREIGN,
            "expected a doubleValueSpec, integerValueSpec, categoricalValueSpec or discreteValueSpec");
    return rb_import_need(spec, "values", "give its values", &values, err) &&
           rb_import_choice(im, name, values, NULL, err);
}

// --- the study

static bool read_metric(struct rb_importer *im, const struct rb_node *study, struct rb_err *err)
{
    const struct rb_node *list;
    if (!rb_import_need(study, "metrics", "give the metric", &list, err) || !rb_node_list(list, err))
        return false;
    if (list->n_children != 1)
        return rb_node_refuse(list, err, RB_E_JOB_FOREIGN, "expected one metric, got %d: a search has one here",
                              list->n_children);
    return rb_import_objective(im, list->first, "metricId", "goal", "MAXIMIZE", "MINIMIZE", err);
}

static bool read_algorithm(struct rb_importer *im, const struct rb_node *root, const struct rb_node *study,
                           struct rb_err *err)
{
    const struct rb_node *algorithm = rb_import_given(study, "algorithm");
    const struct rb_node *median = rb_import_given(study, "medianAutomatedStoppingSpec");
    const bool is_grid = rb_import_is(algorithm, "GRID_SEARCH");
    rb_import_set_type(im, is_grid, median, study);
    if (!is_grid) // without a name Vertex optimises with Gaussian processes
        rb_import_set_sampler(im, rb_import_is(algorithm, "RANDOM_SEARCH") ? "random" : "bayesian", algorithm ? algorithm : study);
    if (!is_grid && !rb_import_set_trials(im, rb_import_given(root, "maxTrialCount"), root, err))
        return false;
    rb_import_set_length(im, 0, "epoch", study);
    return true;
}

static bool read_study(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const char stopping[] =
        "no trial is stopped early; type asha with rule stop does that, with --max-resource N";
    static const struct rb_key_rule rules[] = {
        {"algorithm medianAutomatedStoppingSpec metrics parameters", RB_KEY_READ, NULL},
        {"measurementSelectionType observationNoise", RB_KEY_IGNORED, NULL},
        {"convexAutomatedStoppingSpec decayCurveStoppingSpec", RB_KEY_DROPPED, stopping},
        {"studyStoppingConfig", RB_KEY_DROPPED,
         "the search ends after its trials, at its deadline, or at metric.target"},
        {0},
    };
    const struct rb_node *study, *list;
    if (!rb_import_need(root, "studySpec", "give the search", &study, err) ||
        !rb_import_keys(im, study, rules, RB_DRAFT_SCHEDULER, err) || !read_metric(im, study, err))
        return false;
    list = rb_import_given(study, "parameters");
    if (list && !rb_node_list(list, err))
        return false;
    for (const struct rb_node *child = list ? list->first : NULL; child; child = child->next)
        if (!read_parameter(im, child, err))
            return false;
    return read_algorithm(im, root, study, err);
}

// --- trials

static bool read_machine(struct rb_importer *im, const struct rb_node *pool, struct rb_err *err)
{
    const struct rb_node *machine = rb_import_given(pool, "machineSpec"),
                         *gpus = rb_import_given(machine, "acceleratorCount");
    int64_t n;
    if (gpus && !rb_node_int(gpus, 1, 64, &n, err))
        return false;
    if (gpus)
        rb_import_set_int(im, RB_DRAFT_TRIAL, "gpus", n, gpus);
    if (machine)
        rb_import_warn(im, RB_DRAFT_RESOURCES, machine,
                       "the plan chooses machines: resources.instance_types restricts them");
    return true;
}

static bool read_command(struct rb_importer *im, const struct rb_node *pool, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    const struct rb_node *container = rb_import_given(pool, "containerSpec"),
                         *package = rb_import_given(pool, "pythonPackageSpec"),
                         *module = rb_import_given(package, "pythonModule");
    if (module && module->kind == RB_NODE_STRING)
        rb_buf_printf(&command, "python3 -m %s", module->text);
    if (!rb_import_words(rb_import_given(container, "command"), &command, err) ||
        !rb_import_words(rb_import_given(container ? container : package, "args"), &command, err))
        return false;
    if (command.len == 0)
        return rb_node_refuse(pool, err, RB_E_JOB_LACKS, "the image holds the command: give --run COMMAND");
    rb_buf_puts(&command, " $RB_ARGS");
    rb_import_warn(im, RB_DRAFT_SETUP, pool,
                   "name its image by `image`, or prepare nodes by `setup`; files of the image or package "
                   "belong into the job's folder");
    rb_import_set_run(im, rb_buf_str(&command), pool);
    return true;
}

static bool read_trial(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *job = rb_import_given(root, "trialJobSpec"), *pools = rb_import_given(job, "workerPoolSpecs");
    if (pools && !rb_node_list(pools, err))
        return false;
    const struct rb_node *pool = pools ? pools->first : NULL;
    if (pool && pool->next)
        rb_import_warn(im, RB_DRAFT_TRIAL, pool->next,
                       "only the first worker pool is read; for several nodes, trial.max_nodes");
    if (pool && !read_machine(im, pool, err))
        return false;
    if (im->options->run)
        return true;
    if (!pool)
        return rb_node_refuse(job ? job : root, err, RB_E_JOB_LACKS,
                              "trialJobSpec has no worker pool: give --run COMMAND");
    return read_command(im, pool, err);
}

static bool read_tuning_job(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"displayName maxTrialCount studySpec trialJobSpec", RB_KEY_READ, NULL},
        {"createTime encryptionSpec endTime error labels maxFailedTrialCount name parallelTrialCount startTime state "
         "trials updateTime",
         RB_KEY_IGNORED, NULL},
        {0},
    };
    if (!rb_import_keys(im, root, rules, RB_DRAFT_NAME, err))
        return false;
    rb_import_set_name(im, rb_import_given(root, "displayName"));
    return read_study(im, root, err) && read_trial(im, root, err);
}

const struct rb_job_format rb_job_format_vertex = {
    .name = "vertex",
    .title = "a Vertex AI tuning job",
    .marks = {"studySpec"},
    .read = read_tuning_job,
};
