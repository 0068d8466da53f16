// A Katib Experiment (kubeflow.org/v1beta1).
// Source: github.com/kubeflow/katib, pkg/apis/controller/experiments/v1beta1/experiment_types.go and common_types.go.
#include "profiles/import/import_job_format.h"
#include "profiles/import/import_search.h"

#include "base/text/number.h"
#include "profiles/script/trial_variables.h"

#include <string.h>

static bool text_of(const struct rb_node *map, const char *key, const char *hint, const char **out, struct rb_err *err)
{
    const struct rb_node *node;
    return rb_import_need(map, key, hint, &node, err) && rb_node_string(node, out, err);
}

// --- parameters

// {min, max, step, distribution} of a double or an int.
static bool read_range(struct rb_importer *im, const char *name, const struct rb_node *space, bool whole,
                       struct rb_err *err)
{
    const struct rb_node *law = rb_import_given(space, "distribution"), *step = rb_import_given(space, "step");
    double min, max, q;
    if (!rb_import_end(space, "min", &min, err) || !rb_import_end(space, "max", &max, err))
        return false;
    if (step)
        return rb_import_end(space, "step", &q, err) && rb_import_steps(im, name, min, max, q, whole, space, err);
    const bool is_log = rb_import_is(law, "logUniform");
    if (law && !is_log && !rb_import_is(law, "uniform"))
        rb_import_warn(im, RB_DRAFT_PARAMETERS, law, "there is no range of this distribution here; it is uniform");
    const struct rb_law_number numbers[] = {{"min", NULL, min, whole && !is_log}, {"max", NULL, max, whole && !is_log}};
    return rb_import_law(im, name, is_log ? "log_uniform" : whole ? "int_uniform" : "uniform", numbers, 2, space, err);
}

static bool read_parameter(struct rb_importer *im, const struct rb_node *node, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {{"feasibleSpace name parameterType", RB_KEY_READ, NULL}, {0}};
    const struct rb_node *space, *list;
    const char *name, *type;
    if (!rb_import_keys(im, node, rules, RB_DRAFT_PARAMETERS, err) || !text_of(node, "name", "name it", &name, err) ||
        !text_of(node, "parameterType", "double, int, discrete or categorical", &type, err) ||
        !rb_import_need(node, "feasibleSpace", "give its values", &space, err))
        return false;
    if (strcmp(type, "discrete") == 0 || strcmp(type, "categorical") == 0)
        return rb_import_need(space, "list", "give its values", &list, err) &&
               rb_import_choice(im, name, list, NULL, err);
    if (strcmp(type, "double") != 0 && strcmp(type, "int") != 0)
        return rb_node_refuse(node, err, RB_E_JOB_FOREIGN,
                              "expected parameterType double, int, discrete or categorical, got \"%.40s\"", type);
    return read_range(im, name, space, strcmp(type, "int") == 0, err);
}

static bool read_parameters(struct rb_importer *im, const struct rb_node *spec, struct rb_err *err)
{
    const struct rb_node *list = rb_import_given(spec, "parameters");
    if (!list)
        return true;
    if (!rb_node_list(list, err))
        return false;
    for (const struct rb_node *child = list->first; child; child = child->next)
        if (!read_parameter(im, child, err))
            return false;
    return true;
}

// --- search

static const char *setting(const struct rb_node *algorithm, const char *name)
{
    const struct rb_node *list = rb_import_given(algorithm, "algorithmSettings");
    for (const struct rb_node *child = list && list->kind == RB_NODE_LIST ? list->first : NULL; child;
         child = child->next) {
        const struct rb_node *value = rb_import_given(child, "value");
        if (rb_import_is(rb_import_given(child, "name"), name) && value && value->kind != RB_NODE_LIST &&
            value->kind != RB_NODE_MAP)
            return value->text;
    }
    return NULL;
}

static bool read_hyperband(struct rb_importer *im, const struct rb_node *algorithm, struct rb_err *err)
{
    int64_t length = 0, eta = 3;
    const char *limit = setting(algorithm, "r_l"), *factor = setting(algorithm, "eta"),
               *resource = setting(algorithm, "resource_name");
    double r = 0;
    if (limit && rb_parse_double(limit, &r) && r >= 1 && r <= 1e6)
        length = (int64_t)r;
    if (factor && !rb_parse_int(factor, &eta))
        return rb_node_refuse(algorithm, err, RB_E_TYPE_WRONG, "expected a whole number for eta, got \"%.40s\"",
                              factor);
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "hyperband", algorithm);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "eta", eta, algorithm);
    rb_import_set_length(im, length, "epoch", algorithm);
    if (resource)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, algorithm,
                       "$RB_RESOURCE_END says how long a trial trains, not by the parameter %s", resource);
    return true;
}

#define POPULATION 40 // Katib's default

static bool read_population(struct rb_importer *im, const struct rb_node *algorithm, struct rb_err *err)
{
    const char *given = setting(algorithm, "n_population");
    int64_t members = POPULATION;
    if (given && !rb_parse_int(given, &members))
        return rb_node_refuse(algorithm, err, RB_E_TYPE_WRONG, "expected a whole number for n_population, got \"%.40s\"",
                              given);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "num_trials", im->options->num_trials > 0 ? im->options->num_trials : members,
                      algorithm);
    return rb_import_set_population(im, 0, "epoch", NULL, NULL, algorithm, err);
}

static bool read_search(struct rb_importer *im, const struct rb_node *spec, struct rb_err *err)
{
    const struct rb_node *algorithm, *stopping = rb_import_given(spec, "earlyStopping");
    const char *name;
    if (!rb_import_need(spec, "algorithm", "give the search", &algorithm, err) ||
        !text_of(algorithm, "algorithmName", "give the search", &name, err))
        return false;
    if (strcmp(name, "enas") == 0 || strcmp(name, "darts") == 0)
        return rb_node_refuse(algorithm, err, RB_E_JOB_FOREIGN, "a search for an architecture has no equivalent here");
    if (strcmp(name, "hyperband") == 0)
        return read_hyperband(im, algorithm, err);
    const bool is_grid = strcmp(name, "grid") == 0;
    if (strcmp(name, "pbt") == 0)
        return read_population(im, algorithm, err);
    rb_import_set_type(im, is_grid, stopping, algorithm); // medianstop is the one rule that Katib has
    if (!is_grid)
        rb_import_set_sampler(im, name, algorithm);
    if (!is_grid && !rb_import_set_trials(im, rb_import_given(spec, "maxTrialCount"), spec, err))
        return false;
    rb_import_set_length(im, 0, "epoch", algorithm);
    return true;
}

static bool read_objective(struct rb_importer *im, const struct rb_node *spec, struct rb_err *err)
{
    static const struct rb_key_rule rules[] = {
        {"goal objectiveMetricName type", RB_KEY_READ, NULL},
        {"additionalMetricNames metricStrategies", RB_KEY_IGNORED, NULL},
        {0},
    };
    const struct rb_node *objective, *goal;
    if (!rb_import_need(spec, "objective", "give the metric", &objective, err) ||
        !rb_import_keys(im, objective, rules, RB_DRAFT_METRIC, err) ||
        !rb_import_objective(im, objective, "objectiveMetricName", "type", "maximize", "minimize", err))
        return false;
    goal = rb_import_given(objective, "goal");
    if (goal) {
        const char *value;
        if (!rb_import_scalar(im, goal, &value, err))
            return false;
        rb_import_set(im, RB_DRAFT_METRIC, "target", value, goal);
    }
    return true;
}

// --- the command

// ${trialParameters.NAME} -> the variable of the parameter that NAME stands for.
static const char *variable_of(struct rb_importer *im, const struct rb_node *list, const char *name, size_t n)
{
    for (const struct rb_node *child = list && list->kind == RB_NODE_LIST ? list->first : NULL; child;
         child = child->next) {
        const struct rb_node *own = rb_import_given(child, "name"), *reference = rb_import_given(child, "reference");
        if (own && own->kind == RB_NODE_STRING && strlen(own->text) == n && memcmp(own->text, name, n) == 0)
            return rb_param_variable(reference && reference->kind == RB_NODE_STRING ? reference->text : own->text,
                                     &im->made.arena);
    }
    return NULL;
}

// A word of the container's command, for a shell: references become variables, everything else stays as it is.
static bool put_word(struct rb_importer *im, const struct rb_node *parameters, const struct rb_node *word,
                     struct rb_buf *out, struct rb_err *err)
{
    static const char mark[] = "${trialParameters.";
    const char *p;
    if (!rb_node_string(word, &p, err))
        return false;
    rb_buf_puts(out, out->len > 0 ? " " : "");
    if (!strstr(p, mark)) {
        rb_import_put_word(p, out);
        return true;
    }
    rb_buf_putc(out, '"');
    for (; *p; p++) {
        const char *end = strncmp(p, mark, sizeof mark - 1) == 0 ? strchr(p, '}') : NULL;
        if (end) {
            const char *name = p + sizeof mark - 1, *variable = variable_of(im, parameters, name, (size_t)(end - name));
            if (!variable)
                return rb_node_refuse(word, err, RB_E_JOB_FOREIGN, "there is no trial parameter \"%.*s\"",
                                      (int)(end - name), name);
            rb_buf_printf(out, "$%s", variable);
            p = end;
        } else {
            if (strchr("\"\\$`", *p))
                rb_buf_putc(out, '\\');
            rb_buf_putc(out, *p);
        }
    }
    rb_buf_putc(out, '"');
    return true;
}

static bool put_words(struct rb_importer *im, const struct rb_node *parameters, const struct rb_node *list,
                      struct rb_buf *out, struct rb_err *err)
{
    if (!list)
        return true;
    if (!rb_node_list(list, err))
        return false;
    for (const struct rb_node *word = list->first; word; word = word->next)
        if (!put_word(im, parameters, word, out, err))
            return false;
    return true;
}

// The primary container, or the only one; NULL: none was found.
static const struct rb_node *container_of(const struct rb_node *template)
{
    static const char *const path[] = {"trialSpec", "spec", "template", "spec", "containers"};
    const struct rb_node *node = template, *primary = rb_import_given(template, "primaryContainerName");
    for (size_t i = 0; node && i < sizeof path / sizeof path[0]; i++)
        node = rb_import_given(node, path[i]);
    if (!node || node->kind != RB_NODE_LIST)
        return NULL;
    for (const struct rb_node *child = node->first; child; child = child->next) {
        const struct rb_node *name = rb_import_given(child, "name");
        if (!primary || (name && name->text && primary->text && strcmp(name->text, primary->text) == 0))
            return child;
    }
    return NULL;
}

static bool read_gpus(struct rb_importer *im, const struct rb_node *container, struct rb_err *err)
{
    const struct rb_node *limits = rb_import_given(rb_import_given(container, "resources"), "limits"),
                         *gpus = rb_import_given(limits, "nvidia.com/gpu");
    int64_t n = 0;
    if (!gpus)
        return true;
    if (gpus->kind == RB_NODE_STRING ? !rb_parse_int(gpus->text, &n) : !rb_node_int(gpus, 1, 4096, &n, err))
        return rb_node_refuse(gpus, err, RB_E_TYPE_WRONG, "expected a number of GPUs");
    rb_import_set_int(im, RB_DRAFT_TRIAL, "gpus", n, gpus);
    return true;
}

static bool read_trial(struct rb_importer *im, const struct rb_node *spec, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT;
    const struct rb_node *template = rb_import_given(spec, "trialTemplate"), *container = container_of(template),
                         *parameters = rb_import_given(template, "trialParameters");
    if (container && !read_gpus(im, container, err))
        return false;
    if (im->options->run)
        return true;
    if (!container)
        return rb_node_refuse(template ? template : spec, err, RB_E_JOB_LACKS,
                              "no container of a Job was found in trialTemplate: give --run COMMAND");
    if (!put_words(im, parameters, rb_import_given(container, "command"), &command, err) ||
        !put_words(im, parameters, rb_import_given(container, "args"), &command, err))
        return false;
    if (command.len == 0)
        return rb_node_refuse(container, err, RB_E_JOB_LACKS,
                              "the container's image holds the command: give --run COMMAND");
    rb_import_warn(im, RB_DRAFT_SETUP, container,
                   "name its image by `image`, or prepare nodes by `setup`; files of the image "
                   "belong into the job's folder");
    rb_import_set_run(im, rb_buf_str(&command), container);
    return true;
}

// --- the whole

static bool read_experiment(struct rb_importer *im, const struct rb_node *root, struct rb_err *err)
{
    static const struct rb_key_rule top[] = {
        {"apiVersion kind metadata spec", RB_KEY_READ, NULL}, {"status", RB_KEY_IGNORED, NULL}, {0}};
    static const struct rb_key_rule rules[] = {
        {"algorithm earlyStopping maxTrialCount objective parameters trialTemplate", RB_KEY_READ, NULL},
        {"maxFailedTrialCount parallelTrialCount resumePolicy", RB_KEY_IGNORED, NULL},
        {"metricsCollectorSpec", RB_KEY_DROPPED, "metric.format, metric.file and metric.pattern say where metrics are"},
        {"nasConfig", RB_KEY_REFUSED, "a search for an architecture has no equivalent here"},
        {0},
    };
    const struct rb_node *spec, *metadata = rb_import_given(root, "metadata");
    if (!rb_import_keys(im, root, top, RB_DRAFT_NAME, err) ||
        !rb_import_need(root, "spec", "give the experiment", &spec, err) ||
        !rb_import_keys(im, spec, rules, RB_DRAFT_RUN, err))
        return false;
    if (!rb_import_is(rb_import_given(root, "kind"), "Experiment"))
        return rb_node_refuse(root, err, RB_E_JOB_FOREIGN, "expected kind Experiment");
    rb_import_set_name(im, rb_import_given(metadata, "name"));
    return read_objective(im, spec, err) && read_parameters(im, spec, err) && read_search(im, spec, err) &&
           read_trial(im, spec, err);
}

const struct rb_job_format rb_job_format_katib = {
    .name = "katib",
    .title = "a Katib experiment",
    .marks = {"apiVersion", "spec"},
    .read = read_experiment,
};
