// Jobs of other tools: what becomes of real-looking files, line by line; that nothing is dropped without a word; and the errors,
// each at the place in the file that was read.
#include "tests/base/check.h"

#include "base/file.h"
#include "base/text/closest.h"
#include "profiles/import/import_job.h"
#include "profiles/job/job_draft.h"
#include "profiles/job/job_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define CORPUS RB_SOURCE_ROOT "/tests/profiles/imports/"

struct imported {
    struct rb_doc doc;
    struct rb_job_import im;
};

static void finish(struct imported *i)
{
    rb_job_import_finish(&i->im);
    rb_doc_finish(&i->doc);
}

static char *read_text(const char *path)
{
    char *bytes;
    size_t n;
    struct rb_err err;
    if (!rb_read_file(path, 1 << 20, &bytes, &n, &err))
        fail_msg("%s: %s", path, err.message);
    return bytes;
}

static bool read_named(const char *name, const char *text, const struct rb_job_import_options *options,
                       struct imported *out, struct rb_err *err)
{
    const bool json = strstr(name, ".json") != NULL;
    *out = (struct imported){0};
    if (!(json ? rb_doc_parse_json(&out->doc, name, text, strlen(text), err)
               : rb_doc_parse_yaml(&out->doc, name, text, strlen(text), err)))
        return false;
    if (rb_job_import_read(&out->doc, options, &out->im, err))
        return true;
    rb_doc_finish(&out->doc);
    return false;
}

// --- the corpus

static const struct {
    const char *file, *from;
    struct rb_job_import_options options;
} corpus[] = {
    {"determined-asha.yaml", "determined", {0}},
    {"determined-grid.yaml", "determined", {0}},
    {"determined-stopping.yaml", "determined", {0}},
    {"katib-bayes.yaml", "katib", {0}},
    {"katib-random.yaml", "katib", {0}},
    {"optuna-hyperband.json", "optuna", {0}},
    {"ray-asha.json", "ray", {0}},
    {"ray-bohb.json", "ray", {0}},
    {"ray-grid.json", "ray", {0}},
    {"ray-hyperband.json", "ray", {.run = "python train.py $RB_ARGS"}},
    {"wandb-bayes.yaml", "wandb", {0}},
    {"wandb-exponents.yaml", "wandb", {.max_resource = 24}},
    {"wandb-grid.yaml", "wandb", {0}},
    {"sagemaker-bayes.json", "sagemaker", {0}},
    {"vertex-study.json", "vertex", {0}},
};

static void import_file(int i, struct imported *out)
{
    char path[512];
    struct rb_err err = {0};
    snprintf(path, sizeof path, CORPUS "%s", corpus[i].file);
    char *text = read_text(path);
    if (!read_named(corpus[i].file, text, &corpus[i].options, out, &err))
        fail_msg("%s:%d:%d: %s: %s", corpus[i].file, err.line, err.column, err.key, err.message);
    free(text);
}

static void files_become_the_jobs_beside_them(void **state)
{
    (void)state;
    for (int i = 0; i < (int)N_OF(corpus); i++) {
        struct imported made;
        char path[512];
        import_file(i, &made);
        assert_string_equal(made.im.from, corpus[i].from);
        snprintf(path, sizeof path, CORPUS "%.*s.job.yaml", (int)strcspn(corpus[i].file, "."), corpus[i].file);
        char *expected = read_text(path);
        assert_string_equal(made.im.text, expected);
        free(expected);
        finish(&made);
    }
}

// The text without its marks of comments and line ends, so that words broken over lines are found.
static char *without_breaks(const char *text)
{
    char *out = rb_xcalloc(strlen(text) + 1, 1), *end = out;
    for (; *text; text++) {
        if (isspace((unsigned char)*text) || *text == '#') {
            if (end > out && end[-1] != ' ')
                *end++ = ' ';
        } else {
            *end++ = *text;
        }
    }
    return out;
}

static void every_warning_stands_in_the_job_too(void **state)
{
    (void)state;
    int n = 0;
    for (int i = 0; i < (int)N_OF(corpus); i++) {
        struct imported made;
        import_file(i, &made);
        char *words = without_breaks(made.im.text);
        for (int k = 0; k < made.im.n_warnings; k++, n++) {
            const struct rb_job_warning *w = &made.im.warnings[k];
            assert_true(w->line > 0 && w->column > 0 && w->key[0]);
            assert_true(k == 0 || w[-1].line <= w->line);
            if (!strstr(words, w->text))
                fail_msg("%s: no comment says \"%s\"", corpus[i].file, w->text);
        }
        for (int k = 0; k < made.im.n_ignored; k++)
            assert_non_null(strstr(words, made.im.ignored[k]));
        free(words);
        finish(&made);
    }
    assert_true(n > 20);
}

// Every key at the top of a file is read, warned of, or named as left out.
static void no_key_is_lost(void **state)
{
    static const char *const read[] = {"checkpoint_storage",
                                       "command",
                                       "early_terminate",
                                       "entrypoint",
                                       "environment",
                                       "hyperparameters",
                                       "max_restarts",
                                       "method",
                                       "metric",
                                       "mode",
                                       "name",
                                       "param_space",
                                       "parameters",
                                       "program",
                                       "reproducibility",
                                       "resources",
                                       "resources_per_trial",
                                       "run_cap",
                                       "run_config",
                                       "searcher",
                                       "stop",
                                       "tune_config",
                                       "apiVersion",
                                       "kind",
                                       "metadata",
                                       "spec", // Katib
                                       "HyperParameterTuningJobConfig",
                                       "HyperParameterTuningJobName",
                                       "TrainingJobDefinition", // SageMaker
                                       "displayName",
                                       "maxTrialCount",
                                       "studySpec",
                                       "trialJobSpec", // Vertex AI
                                       "direction",
                                       "metric_names",
                                       "n_trials",
                                       "pruner",
                                       "sampler",
                                       "search_space",
                                       "study_name",
                                       "timeout"}; // Optuna
    (void)state;
    for (int i = 0; i < (int)N_OF(corpus); i++) {
        struct imported made;
        import_file(i, &made);
        for (const struct rb_node *key = made.doc.root->first; key; key = key->next) {
            bool found = false;
            for (int k = 0; k < (int)N_OF(read); k++)
                found |= strcmp(read[k], key->key) == 0;
            for (int k = 0; k < made.im.n_warnings; k++)
                found |= strcmp(made.im.warnings[k].key, key->key) == 0;
            for (int k = 0; k < made.im.n_ignored; k++)
                found |= strcmp(made.im.ignored[k], key->key) == 0;
            if (!found)
                fail_msg("%s: %s was dropped without a word", corpus[i].file, key->key);
        }
        finish(&made);
    }
}

static void secrets_are_never_copied(void **state)
{
    struct imported made;
    (void)state;
    import_file(0, &made);
    assert_non_null(strstr(made.im.text, "checkpoint_storage.secret_key"));
    assert_null(strstr(made.im.text, "not-to-be-copied"));
    assert_null(strstr(made.im.text, "AKIAEXAMPLE"));
    finish(&made);
}

// --- what draws mean

#define WANDB(params) "program: t.py\nmethod: random\nrun_cap: 4\nmetric: {name: loss}\nparameters: {" params "}\n"
#define DETERMINED(hp, search)                                                                                     \
    "entrypoint: ./t\nhyperparameters: {" hp "}\nsearcher: {name: " search ", metric: loss, max_length: {epochs: " \
                                                                           "9}}\n"
#define RAY(space)                                                                                             \
    "{\"entrypoint\": \"t\", \"metric\": \"loss\", \"mode\": \"min\", \"stop\": {\"training_iteration\": 9}, " \
    "\"param_space\": {" space "}}"

static void laws_are_carried_over(void **state)
{
    static const struct {
        const char *name, *text, *line;
    } cases[] = {
        {"a.yaml", WANDB("x: {value: 3}"), "\n  x: 3\n"},
        {"a.yaml", WANDB("x: {value: 'a: b'}"), "\n  x: \"a: b\"\n"},
        {"a.yaml", WANDB("x: {min: 1, max: 3}"), "x: {distribution: int_uniform, min: 1, max: 3}\n"},
        {"a.yaml", WANDB("x: {min: 1, max: 3.5}"), "x: {distribution: uniform, min: 1, max: 3.5}\n"},
        {"a.yaml", WANDB("x: {distribution: uniform, min: 1, max: 3}"), "x: {distribution: uniform, min: 1, max: 3}\n"},
        {"a.yaml", WANDB("x: {distribution: q_uniform, min: 0, max: 10, q: 4}"),
         "x: {distribution: q_uniform, min: 0, max: 8, q: 4}\n"}, // 10 / 4 is nearest to 2
        {"a.yaml", WANDB("x: {distribution: q_uniform, min: 1, max: 9}"),
         "x: {distribution: q_uniform, min: 1, max: 9, q: 1}\n"},
        {"a.yaml", WANDB("x: {distribution: log_uniform, min: 0, max: 1}"),
         "x: {distribution: log_uniform, min: 1.0, max: 2.718281828459045}\n"},
        {"a.yaml", WANDB("x: {distribution: inv_log_uniform, min: -1, max: 0}"),
         "x: {distribution: log_uniform, min: 1.0, max: 2.718281828459045}\n"},
        {"a.yaml", WANDB("x: {distribution: log_normal, mu: 1}"), "x: {distribution: log_normal, mu: 1, sigma: 1.0}\n"},
        {"a.yaml", WANDB("x: {distribution: categorical, values: [true, yes, 2, 0.5]}"),
         "x: {values: [true, yes, 2, 0.5]}\n"},
        {"a.yaml", DETERMINED("x: {type: int, minval: 2, maxval: 5}", "single"),
         "x: {distribution: int_uniform, min: 2, max: 5}\n"},
        {"a.yaml", DETERMINED("x: {type: log, base: 2, minval: 0, maxval: 4}", "single"),
         "x: {distribution: log_uniform, min: 1.0, max: 16.0}\n"},
        {"a.yaml", DETERMINED("x: {type: int, minval: 1, maxval: 10, count: 4}", "grid"),
         "x: {values: [1, 4, 7, 10]}\n"},
        {"a.yaml", DETERMINED("x: {type: int, minval: 1, maxval: 4, count: 1}", "grid"), "x: {values: [3]}\n"},
        {"a.yaml", DETERMINED("x: {type: object, vals: {y: 1, z: {type: categorical, vals: [1, b]}}}", "single"),
         "  x.y: 1\n  x.z: {values: [1, b]}\n"},
        {"a.json", RAY("\"x\": {\"randint\": [1, 4]}"), "x: {distribution: int_uniform, min: 1, max: 3}\n"},
        {"a.json", RAY("\"x\": {\"qrandint\": [1, 4]}"), "x: {distribution: int_uniform, min: 1, max: 4}\n"},
        {"a.json", RAY("\"x\": {\"quniform\": [1.5, 9.2, 2]}"),
         "x: {distribution: q_uniform, min: 2.0, max: 8.0, q: 2.0}\n"},
        {"a.json", RAY("\"x\": {\"randn\": {}}"), "x: {distribution: normal, mu: 0.0, sigma: 1.0}\n"},
        {"a.json", RAY("\"x\": {\"randn\": {\"sd\": 2}}"), "x: {distribution: normal, mu: 0.0, sigma: 2}\n"},
        {"a.json", RAY("\"x\": {\"y\": {\"choice\": [1, 2]}}"), "  x.y: {values: [1, 2]}\n"},
        {"a.json", RAY("\"x\": {\"lograndint\": [2, 4]}"), "values: [2, 3], probabilities: [0.58496250072115"},
    };
    (void)state;
    for (int i = 0; i < (int)N_OF(cases); i++) {
        const struct rb_job_import_options none = {0};
        struct imported made;
        struct rb_err err = {0};
        if (!read_named(cases[i].name, cases[i].text, &none, &made, &err))
            fail_msg("case %d: %d:%d: %s: %s", i, err.line, err.column, err.key, err.message);
        if (!strstr(made.im.text, cases[i].line))
            fail_msg("case %d: expected \"%s\" in\n%s", i, cases[i].line, made.im.text);
        finish(&made);
    }
}

// Where trials are compared first, as each tool counts it.
static void first_rungs_are_those_of_the_tool(void **state)
{
    static const struct {
        const char *text;
        int min_resource, max_resource, eta, brackets;
    } cases[] = {
        {WANDB("x: {value: 1}") "early_terminate: {type: hyperband, max_iter: 81, s: 2}", 9, 81, 3, 1},
        {WANDB("x: {value: 1}") "early_terminate: {type: hyperband, max_iter: 100, s: 3}", 3, 100, 3, 1},
        {WANDB("x: {value: 1}") "early_terminate: {type: hyperband, max_iter: 5, eta: 2, s: 9}", 1, 5, 2, 1},
        {DETERMINED("x: 1", "adaptive_asha, max_trials: 1000"), 2, 9, 4, 2},
        {DETERMINED("x: 1", "adaptive_asha, max_trials: 1000, divisor: 3, mode: conservative"), 1, 9, 3, 3},
        {DETERMINED("x: 1", "adaptive_asha, max_trials: 1000, divisor: 3, max_rungs: 2, mode: aggressive"), 3, 9, 3, 1},
        {DETERMINED("x: 1", "adaptive_asha, max_trials: 3, divisor: 3, mode: conservative"), 3, 9, 3, 2},
    };
    (void)state;
    for (int i = 0; i < (int)N_OF(cases); i++) {
        const struct rb_job_import_options none = {0};
        struct imported made;
        struct rb_err err = {0};
        if (!read_named("a.yaml", cases[i].text, &none, &made, &err))
            fail_msg("case %d: %d:%d: %s: %s", i, err.line, err.column, err.key, err.message);
        const struct rb_scheduler *s = &made.im.job.scheduler;
        assert_string_equal(s->type, "asha");
        assert_int_equal(s->min_resource, cases[i].min_resource);
        assert_int_equal(s->max_resource, cases[i].max_resource);
        assert_int_equal(s->eta, cases[i].eta);
        assert_int_equal(s->brackets, cases[i].brackets);
        finish(&made);
    }
}

#define KATIB(algorithm) \
    "apiVersion: kubeflow.org/v1beta1\nkind: Experiment\nspec:\n" \
    "  objective: {type: minimize, objectiveMetricName: a}\n  maxTrialCount: 9\n  algorithm: {algorithmName: " algorithm "}\n"
#define TUNE(rest) "{\"param_space\": {}, \"metric\": \"a\", \"mode\": \"min\", \"num_samples\": 9, " rest "}"
#define OPTUNA(rest) \
    "{\"search_space\": {}, \"metric_names\": [\"a\"], \"n_trials\": 9, " rest "}"
#define SAGEMAKER(strategy) \
    "{\"HyperParameterTuningJobConfig\": {\"Strategy\": \"" strategy "\", \"ResourceLimits\": {\"MaxNumberOfTrainingJobs\": 9}, " \
    "\"HyperParameterTuningJobObjective\": {\"MetricName\": \"a\", \"Type\": \"Minimize\"}}, \"TrainingJobDefinition\": {}}"
#define VERTEX(rest) \
    "{\"maxTrialCount\": 9, \"studySpec\": {" rest "\"metrics\": [{\"metricId\": \"a\", \"goal\": \"MINIMIZE\"}]}}"

// A search that exists here comes without a warning of it; of any other a warning says what takes its place.
static void searches_become_ours(void **state)
{
    static const struct {
        const char *name, *text, *type, *sampler, *warning; // NULL: no sampler; no warning of the scheduler
    } cases[] = {
        {"a.yaml", "method: bayes\nmetric: {name: a}\nparameters: {x: {value: 1}}\nrun_cap: 9\n", "random", "gp", NULL},
        {"a.yaml", WANDB("x: {value: 1}"), "random", NULL, NULL},
        {"a.yaml", KATIB("random"), "random", NULL, NULL},
        {"a.yaml", KATIB("tpe"), "random", "tpe", NULL},
        {"a.yaml", KATIB("multivariate-tpe"), "random", "tpe", NULL},
        {"a.yaml", KATIB("bayesianoptimization"), "random", "gp", NULL},
        {"a.yaml", KATIB("sobol"), "random", "sobol", NULL},
        {"a.yaml", KATIB("cmaes"), "random", "tpe", "there is no CMA-ES here: tpe takes its place"},
        {"a.yaml", KATIB("grid"), "grid", NULL, NULL},
        {"a.yaml", KATIB("hyperband"), "hyperband", NULL, NULL},
        {"a.json", TUNE("\"search_alg\": \"HyperOptSearch\""), "random", "tpe", NULL},
        {"a.json", TUNE("\"search_alg\": \"hyperopt\", \"scheduler\": \"ASHAScheduler\""), "asha", "tpe", NULL},
        {"a.json", TUNE("\"search_alg\": {\"type\": \"OptunaSearch\", \"metric\": \"a\"}"), "random", "tpe", NULL},
        {"a.json", TUNE("\"search_alg\": {\"type\": \"optuna\", \"sampler\": \"QMCSampler\"}"), "random", "sobol", NULL},
        {"a.json", TUNE("\"search_alg\": \"BayesOptSearch\""), "random", "gp", NULL},
        {"a.json", TUNE("\"search_alg\": \"bohb\", \"scheduler\": \"hb_bohb\""), "hyperband", "bohb",
         "brackets determine the number of trials"},
        {"a.json", TUNE("\"search_alg\": \"BasicVariantGenerator\""), "random", NULL, NULL},
        {"a.json", TUNE("\"search_alg\": \"nevergrad\""), "random", "tpe", "there is no search nevergrad here"},
        {"a.json", TUNE("\"search_alg\": {\"type\": \"hyperopt\", \"gamma\": 0.2}"), "random", "tpe", "an option of this search"},
        {"a.json", OPTUNA("\"direction\": \"minimize\""), "random", "tpe", NULL},
        {"a.json", OPTUNA("\"sampler\": \"GPSampler\""), "random", "gp", NULL},
        {"a.json", OPTUNA("\"sampler\": \"RandomSampler\""), "random", NULL, NULL},
        {"a.json", OPTUNA("\"sampler\": \"QMCSampler\""), "random", "sobol", NULL},
        {"a.json", OPTUNA("\"sampler\": \"CmaEsSampler\""), "random", "tpe", "there is no CMA-ES here"},
        {"a.json", OPTUNA("\"sampler\": \"NSGAIISampler\""), "random", "tpe", "there is no search NSGAIISampler here"},
        {"a.json", OPTUNA("\"pruner\": \"NopPruner\""), "random", "tpe", NULL},
        {"a.json", OPTUNA("\"pruner\": \"PatientPruner\""), "random", "tpe", "there is no PatientPruner here"},
        {"a.json", OPTUNA("\"pruner\": {\"type\": \"SuccessiveHalvingPruner\", \"reduction_factor\": 3}"), "asha", "tpe", NULL},
        {"a.json", SAGEMAKER("Bayesian"), "random", "gp", NULL},
        {"a.json", SAGEMAKER("Random"), "random", NULL, NULL},
        {"a.json", VERTEX(""), "random", "gp", NULL},
        {"a.json", VERTEX("\"algorithm\": \"RANDOM_SEARCH\", "), "random", NULL, NULL},
    };
    const struct rb_job_import_options given = {.run = "sh t.sh", .max_resource = 27};
    (void)state;
    for (int i = 0; i < (int)N_OF(cases); i++) {
        struct imported made;
        struct rb_err err = {0};
        if (!read_named(cases[i].name, cases[i].text, &given, &made, &err))
            fail_msg("case %d: %d:%d: %s: %s", i, err.line, err.column, err.key, err.message);
        const char *sampler = made.im.job.scheduler.sampler.type;
        bool warned = false;
        for (int k = 0; k < made.im.n_warnings; k++)
            warned = warned || (cases[i].warning && strstr(made.im.warnings[k].text, cases[i].warning));
        if (strcmp(made.im.job.scheduler.type, cases[i].type) != 0 || !sampler != !cases[i].sampler ||
            (sampler && strcmp(sampler, cases[i].sampler) != 0) || warned != (cases[i].warning != NULL))
            fail_msg("case %d: %s\n%s", i, cases[i].text, made.im.text);
        if (!cases[i].warning && strstr(made.im.text, "takes its place"))
            fail_msg("case %d warns: %s", i, made.im.text);
        finish(&made);
    }
}

// Rules that stop by the median, and populations.
static void other_schedulers_come_over(void **state)
{
    static const struct {
        const char *ours, *name, *text;
    } cases[] = {
        {"median", "a.json", TUNE("\"search_alg\": \"hyperopt\", \"scheduler\": \"MedianStoppingRule\"")},
        {"pbt", "a.json", TUNE("\"scheduler\": {\"type\": \"PopulationBasedTraining\"}")},
        {"median", "a.json", OPTUNA("\"pruner\": \"MedianPruner\"")},
        {"median", "a.yaml", KATIB("random") "  earlyStopping: {algorithmName: medianstop}\n"},
        {"median", "a.json", VERTEX("\"medianAutomatedStoppingSpec\": {}, ")},
        {"pbt", "a.yaml", KATIB("pbt")},
    };
    const struct rb_job_import_options given = {.run = "sh t.sh", .max_resource = 27};
    (void)state;
    for (int i = 0; i < (int)N_OF(cases); i++) {
        struct imported made;
        struct rb_err err = {0};
        if (!read_named(cases[i].name, cases[i].text, &given, &made, &err))
            fail_msg("case %d: %s: %s", i, err.key, err.message);
        assert_string_equal(made.im.job.scheduler.type, cases[i].ours);
        finish(&made);
    }
}

static void options_say_what_the_file_does_not(void **state)
{
    const struct rb_job_import_options given = {.run = "sh -c 'exit 0'", .num_trials = 7, .max_resource = 12};
    struct imported made;
    struct rb_err err = {0};
    (void)state;
    assert_true(read_named("dir/My.Sweep.yaml", "method: random\nmetric: {name: a}\nparameters: {x: {value: 1}}\n",
                           &given, &made, &err));
    assert_string_equal(made.im.job.run, "sh -c 'exit 0'");
    assert_string_equal(made.im.job.name, "my");
    assert_int_equal(made.im.job.scheduler.num_trials, 7);
    assert_int_equal(made.im.job.scheduler.max_resource, 12);
    assert_int_equal(made.im.n_warnings, 0);
    finish(&made);
}

// --- errors

static void errors_name_the_place_and_what_to_do(void **state)
{
    static const struct {
        const char *name, *from, *text;
        int line;
        const char *key, *words;
    } cases[] = {
        {"a.yaml", NULL, "- 1\n", 1, "", "expected a map"},
        {"a.yaml", NULL, "lr: 1\n", 1, "", "a W&B sweep has `method` and `parameters`; give --from"},
        {"a.yaml", NULL, "searcher: {}\nparam_space: {}\n", 1, "", "more than one tool"},
        {"a.yaml", "keras", "searcher: {}\n", 0, "",
         "--from: expected determined, katib, optuna, ray, sagemaker, vertex or wandb"},
        {"a.yaml", "ray", WANDB("x: {value: 1}"), 1, "program", "unknown key"},
        {"a.yaml", NULL, WANDB("x: {value: 1}") "run_kap: 4\n", 6, "run_kap", "did you mean \"run_cap\"?"},
        {"a.yaml", NULL, WANDB("x: {distribution: beta, a: 1}"), 5, "parameters.x.a", "unknown key"},
        {"a.yaml", NULL, WANDB("x: {distribution: q_log_uniform, min: 1, max: 2}"), 5, "parameters.x.distribution",
         "there is no distribution \"q_log_uniform\" here"},
        {"a.yaml", NULL, WANDB("x: {values: [[1, 2], [3]]}"), 5, "parameters.x.values[0]", "got a list"},
        {"a.yaml", NULL, WANDB("x: {values: [{y: 1}]}"), 5, "parameters.x.values[0]", "depend on each other"},
        {"a.yaml", NULL, WANDB("x: {values: []}"), 5, "parameters.x.values", "expected 1..4096 values, got 0"},
        {"a.yaml", NULL, WANDB("x: {min: 3, max: 3}"), 5, "parameters.x",
         "as `parameters.x.max` of job.yaml: expected max"},
        {"a.yaml", NULL, WANDB("x: {min: 3}"), 5, "parameters.x", "expected `value`, `values`, or `min` and `max`"},
        {"a.yaml", NULL, WANDB("x: {value: null}"), 5, "parameters.x", "expected `value`"},
        {"a.yaml", NULL, WANDB("1x: {value: 1}"), 5, "parameters.1x.value", "as `parameters.1x` of job.yaml"},
        {"a.yaml", NULL, WANDB("a.b: {value: 1}, a: {parameters: {b: {value: 2}}}"), 5,
         "parameters.a.parameters.b.value", "was given before"},
        {"a.yaml", NULL, WANDB("x: {distribution: log_uniform, min: 0, max: 999}"), 5, "parameters.x",
         "exponents of e"},
        {"a.yaml", NULL, "method: tpe\nparameters: {}\nmetric: {name: a}\nprogram: a\n", 1, "method",
         "expected bayes, grid or random"},
        {"a.yaml", NULL, "method: random\nparameters: {}\nprogram: a\n", 1, "", "`metric` is required"},
        {"a.yaml", NULL, "method: random\nparameters: {}\nprogram: a\nmetric: {name: a}\n", 1, "method",
         "--num-trials N"},
        {"a.yaml", NULL, "method: grid\nparameters: {}\nmetric: {name: a b}\nprogram: a\n", 3, "metric.name",
         "as `metric.name` of job.yaml"},
        {"a.yaml", NULL, "method: grid\nparameters: {}\nmetric: {name: a}\n", 1, "", "--run COMMAND"},
        {"a.yaml", NULL, "method: grid\nparameters: {}\nmetric: {name: a}\ncommand: [x, '${args_xml}']\n", 4,
         "command[1]", "unknown macro"},
        {"a.yaml", NULL, WANDB("x: {value: 1}") "early_terminate: {type: hyperband, min_iter: 3}\n", 6,
         "early_terminate", "give --max-resource N"},
        {"a.yaml", NULL, WANDB("x: {value: 1}") "early_terminate: {type: hyperband, max_iter: 9, s: 2, eta: 1.5}\n", 6,
         "early_terminate.eta", "expected a whole number"},
        {"a.yaml", NULL, DETERMINED("x: {type: normal, mean: 1}", "single"), 2, "hyperparameters.x.mean",
         "unknown key"},
        {"a.yaml", NULL, DETERMINED("x: {type: normal}", "single"), 2, "hyperparameters.x.type",
         "there is no type \"normal\""},
        {"a.yaml", NULL, DETERMINED("x: {type: int, minval: 1, maxval: 3}", "grid"), 2, "hyperparameters.x",
         "give `count`"},
        {"a.yaml", NULL, DETERMINED("x: 1", "pbt"), 3, "searcher.name", "there is no searcher \"pbt\""},
        {"a.yaml", NULL, DETERMINED("x: 1", "single, source_trial_id: 3"), 3, "searcher.source_trial_id",
         "let the script read"},
        {"a.yaml", NULL, "entrypoint: model_def:Trial\nsearcher: {name: single, metric: a}\n", 1, "entrypoint",
         "runs only within Determined"},
        {"a.yaml", NULL, "entrypoint: ./a\nsearcher: {name: adaptive_asha, metric: a, max_trials: 9}\n", 2, "searcher",
         "--max-resource N"},
        {"a.yaml", NULL, "entrypoint: ./a\nsearcher: {name: single, metric: a, max_length: {hours: 2}}\n", 2,
         "searcher.max_length", "expected one of batches"},
        {"a.json", NULL, RAY("\"x\": {\"qloguniform\": [1, 2, 1]}"), 1, "param_space.x",
         "qloguniform has no equivalent"},
        {"a.json", NULL, RAY("\"x\": {\"sample_from\": \"lambda\"}"), 1, "param_space.x", "depend on others"},
        {"a.json", NULL, RAY("\"x\": {\"uniform\": [1]}"), 1, "param_space.x.uniform", "uniform needs `upper`"},
        {"a.json", NULL, RAY("\"x\": {\"uniform\": {\"low\": 1}}"), 1, "param_space.x.uniform.low", "unknown key"},
        {"a.json", NULL, RAY("\"x\": {\"lograndint\": [1, 1000]}"), 1, "param_space.x", "let the script round"},
        {"a.json", NULL, RAY("\"x\": {\"grid_search\": [1, 2]}, \"y\": {\"uniform\": [1, 2]}"), 1, "param_space.y",
         "write every grid_search as a choice"},
        {"a.json", NULL, "{\"param_space\": {}, \"metric\": \"a\"}", 1, "", "`mode` is required"},
        {"a.json", NULL,
         "{\"param_space\": {}, \"metric\": \"a\", \"mode\": \"min\", \"tune_config\": {\"mode\": \"max\"}}", 1,
         "tune_config.mode", "keep one of the two"},
        {"a.json", NULL, "{\"param_space\": {}, \"metric\": \"a\", \"mode\": \"min\", \"scheduler\": \"pb2\"}", 1,
         "scheduler", "there is no scheduler \"pb2\""},
        {"a.json", NULL, "{\"param_space\": {}, \"metric\": \"a\", \"mode\": \"min\", \"num_samples\": -1}", 1, "",
         "--num-trials"},
        {"a.json", NULL, "{\"param_space\": {}, \"metric\": \"a\", \"mode\": \"min\"}", 1, "", "--run COMMAND"},
        {"a.json", NULL, "{\"search_space\": {\"x\": {\"name\": \"F\", \"attributes\": {}}}}", 1, "search_space.x.name",
         "use FloatDistribution"},
        {"a.json", NULL, "{\"search_space\": {}, \"directions\": [\"minimize\", \"maximize\"]}", 1, "directions", "one metric"},
        {"a.json", NULL, "{\"search_space\": {}, \"pruner\": \"SuccessiveHalvingPruner\"}", 1, "pruner", "--max-resource N"},
        {"a.json", NULL, "{\"search_space\": {}, \"n_trials\": 9}", 1, "", "an objective is Python code: give --run COMMAND"},
        {"a.json", NULL,
         "{\"param_space\": {}, \"metric\": \"a\", \"mode\": \"min\", \"scheduler\": {\"type\": \"asha\", "
         "\"time_attr\": "
         "\"time_total_s\"}}",
         1, "scheduler.time_attr", "never in seconds"},
    };
    (void)state;
    for (int i = 0; i < (int)N_OF(cases); i++) {
        const struct rb_job_import_options options = {.from = cases[i].from};
        struct imported made;
        struct rb_err err = {0};
        if (read_named(cases[i].name, cases[i].text, &options, &made, &err))
            fail_msg("case %d was accepted:\n%s", i, cases[i].text);
        if (!strstr(err.message, cases[i].words) || strcmp(err.key, cases[i].key) != 0 || err.line != cases[i].line)
            fail_msg("case %d: expected %d: %s: %s, got %d: %s: %s", i, cases[i].line, cases[i].key, cases[i].words,
                     err.line, err.key, err.message);
        assert_int_equal(err.code, RB_ERR_INVALID);
    }
}

// --- the draft

static void texts_read_back_as_they_were(void **state)
{
    static const char *const texts[] = {"a",    "true", "null", "1",    "1e-4", "-x",  "a: b",   "a #b", "#",
                                        "'",    "\"",   "a\\b", "",     " a",   "a ",  "[1]",    "{",    "*a",
                                        "&a",   "!t",   "|",    ">",    "%",    "@",   "a,b",    "~",    "\xc3\xa9",
                                        "a\nb", "./a",  ".5",   ".nan", "0x1",  "yes", "$HOME/x"};
    struct rb_arena arena;
    (void)state;
    rb_arena_init(&arena);
    for (int i = 0; i < (int)N_OF(texts); i++) {
        const char *yaml = rb_arena_printf(&arena, "{k: %s}", rb_yaml_text(texts[i], &arena));
        struct rb_doc doc;
        struct rb_err err = {0};
        if (!rb_doc_parse_yaml(&doc, "t", yaml, strlen(yaml), &err))
            fail_msg("%s: %s", yaml, err.message);
        assert_int_equal(doc.root->first->kind, RB_NODE_STRING);
        assert_string_equal(doc.root->first->text, texts[i]);
        rb_doc_finish(&doc);
    }
    rb_arena_finish(&arena);
}

// Bytes of a file cannot end a comment and begin a key.
static void comments_stay_comments(void **state)
{
    const struct rb_job_import_options none = {0};
    struct imported made;
    struct rb_err err = {0};
    (void)state;
    assert_true(read_named("a\nrun: rm.yaml", WANDB("x: {value: 1}") "name: \"b\\nrun: rm\"\n", &none, &made, &err));
    assert_string_equal(made.im.job.run, "python t.py $RB_ARGS");
    assert_string_equal(made.im.job.name, "b-run--rm");
    finish(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_become_the_jobs_beside_them),
        cmocka_unit_test(every_warning_stands_in_the_job_too),
        cmocka_unit_test(no_key_is_lost),
        cmocka_unit_test(secrets_are_never_copied),
        cmocka_unit_test(laws_are_carried_over),
        cmocka_unit_test(first_rungs_are_those_of_the_tool),
        cmocka_unit_test(searches_become_ours),
        cmocka_unit_test(other_schedulers_come_over),
        cmocka_unit_test(options_say_what_the_file_does_not),
        cmocka_unit_test(errors_name_the_place_and_what_to_do),
        cmocka_unit_test(texts_read_back_as_they_were),
        cmocka_unit_test(comments_stay_comments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
