// Property: a resolved job, written and read back, is the same job, whatever the job; and nothing in it is
// left to a default.
#include "check.h"

#include "base/text/units.h"
#include "profiles/job/job.h"
#include "profiles/job/job_policy.h"
#include "profiles/job/job_scheduler.h"

struct maker {
    struct rb_stream s;
    struct rb_arena *arena;
};

static int64_t between(struct maker *m, int64_t low, int64_t high)
{
    return low + (int64_t)rb_stream_below(&m->s, (uint64_t)(high - low) + 1);
}

static bool coin(struct maker *m)
{
    return rb_stream_below(&m->s, 2) == 1;
}

static const char *pick(struct maker *m, const char *const *words, size_t n)
{
    return words[rb_stream_below(&m->s, n)];
}

static const char *any_text(struct maker *m)
{
    static const char *const texts[] = {"a",
                                        "true",
                                        "null",
                                        "1e-4",
                                        "no",
                                        "two\nlines",
                                        "quote \" and ' and \\",
                                        "\xc3\xa9t\xc3\xa9",
                                        "# not a comment",
                                        "- x: {y}",
                                        " spaces ",
                                        "\t"};
    return pick(m, texts, N_OF(texts));
}

static double any_double(struct maker *m)
{
    static const double special[] = {0, 1, -1, 0.1, 1e-5, 1e22, 1e-300, 123456789.123456789, -0.0};
    return coin(m) ? special[rb_stream_below(&m->s, N_OF(special))] : rb_stream_uniform(&m->s) * 1e3;
}

// --- a random job ---

static struct rb_string_list some(struct maker *m, const char *const *words, int n, int at_least)
{
    const char **items = rb_arena_array(m->arena, (size_t)n, sizeof *items);
    int kept = 0;
    for (int i = 0; i < n; i++)
        if (kept < at_least || coin(m))
            items[kept++] = words[i];
    return (struct rb_string_list){items, kept};
}

static struct rb_value any_value(struct maker *m)
{
    switch (rb_stream_below(&m->s, 4)) {
    case 0: {
        const int64_t v = between(m, -(INT64_C(1) << 53), INT64_C(1) << 53);
        return (struct rb_value){.kind = RB_VALUE_INT, .integer = v, .number = (double)v};
    }
    case 1:
        return (struct rb_value){.kind = RB_VALUE_FLOAT, .number = any_double(m)};
    case 2:
        return (struct rb_value){.kind = RB_VALUE_BOOL, .boolean = coin(m)};
    default:
        return (struct rb_value){.kind = RB_VALUE_STRING, .string = coin(m) ? any_text(m) : ""};
    }
}

static void any_values(struct maker *m, struct rb_param *p, int n)
{
    struct rb_value *values = rb_arena_array(m->arena, (size_t)n, sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = any_value(m);
    p->values = values;
    p->n_values = n;
    if (p->kind == RB_PARAM_CONSTANT || coin(m))
        return;
    double *probabilities = rb_arena_array(m->arena, (size_t)n, sizeof *probabilities), rest = 1;
    for (int i = 0; i + 1 < n; i++)
        rest -= probabilities[i] = rest * rb_stream_uniform(&m->s);
    probabilities[n - 1] = rest;
    p->probabilities = probabilities;
}

static struct rb_param any_param(struct maker *m, int i)
{
    struct rb_param p = {.name = rb_arena_printf(m->arena, "%s%d", coin(m) ? "p" : "opt.lr-", i),
                         .kind = (enum rb_param_kind)rb_stream_below(&m->s, RB_PARAM_Q_UNIFORM + 1)};
    switch (p.kind) {
    case RB_PARAM_CONSTANT:
        any_values(m, &p, 1);
        break;
    case RB_PARAM_CHOICE:
        any_values(m, &p, (int)between(m, 1, 5));
        break;
    case RB_PARAM_NORMAL:
    case RB_PARAM_LOG_NORMAL:
        p.mu = rb_stream_uniform(&m->s) - 0.5;
        p.sigma = rb_stream_uniform(&m->s);
        break;
    default:
        p.whole = p.kind == RB_PARAM_Q_UNIFORM && coin(m);
        p.min = p.kind == RB_PARAM_INT_UNIFORM || p.whole ? (double)between(m, -5, 5) : rb_stream_uniform(&m->s);
        p.max = p.min + (double)between(m, 2, 100);
        p.q = p.kind == RB_PARAM_Q_UNIFORM ? p.whole || coin(m) ? 2 : 0.3 : 0;
        break;
    }
    return p;
}

static struct rb_space any_space(struct maker *m)
{
    const int n = (int)between(m, 0, 8);
    struct rb_param *params = rb_arena_array(m->arena, (size_t)n, sizeof *params);
    for (int i = 0; i < n; i++)
        params[i] = any_param(m, i);
    return (struct rb_space){params, n};
}

static struct rb_scheduler any_scheduler(struct maker *m)
{
    static const char *const types[] = {"sha", "hyperband", "asha", "random", "grid"};
    struct rb_scheduler s = {.type = pick(m, types, N_OF(types)),
                             .max_resource = between(m, 1, 1000000),
                             .eta = (int)between(m, 2, 10),
                             .unit = any_text(m)};
    const bool hyperband = strcmp(s.type, "hyperband") == 0, asha = strcmp(s.type, "asha") == 0;
    s.num_trials = hyperband ? 0 : (int)between(m, strcmp(s.type, "grid") == 0 ? 0 : 1, 131072);
    s.min_resource = between(m, 1, s.max_resource);
    const int most = hyperband || asha ? rb_scheduler_s_max(s.min_resource, s.max_resource, s.eta) + 1 : 5;
    s.brackets = (int)between(m, 1, most);
    s.brackets_run = hyperband ? (enum rb_brackets_run)between(m, 0, 1) : RB_BRACKETS_IN_TURN;
    s.rule = asha ? (enum rb_rule)between(m, 0, 2) : RB_RULE_PROMOTE;
    if (!asha && s.brackets_run == RB_BRACKETS_IN_TURN)
        s.rungs = (enum rb_rungs)between(m, 0, 1);
    return s;
}

static struct rb_policy_options any_options(struct maker *m)
{
    struct rb_policy_options o = {.speculation = coin(m),
                                  .overhead = coin(m),
                                  .admission = coin(m),
                                  .scaling = (enum rb_scaling)between(m, 0, 1),
                                  .has_exploration = coin(m),
                                  .allocation = (enum rb_spare_gpus)between(m, 0, 4),
                                  .resize_interval = (int)between(m, 1, 100),
                                  .atom_gpus = (int)between(m, 1, 16)};
    o.exploration = o.has_exploration ? rb_stream_uniform(&m->s) : 0;
    return o;
}

static const int *ascending(struct maker *m, int low, int high, int n)
{
    int *values = rb_arena_array(m->arena, (size_t)n, sizeof *values);
    for (int i = 0; i < n; i++)
        values[i] = (int)between(m, i ? values[i - 1] + 1 : low, high - (n - 1 - i));
    return values;
}

static struct rb_trial_spec any_trial(struct maker *m)
{
    static const char *const scalings[] = {NULL, "adascale", "sqrt", "linear"};
    struct rb_trial_spec t = {.n_sizes = (int)between(m, 1, 6),
                              .n_shares = (int)between(m, 1, 3),
                              .max_nodes = (int)between(m, 1, 64),
                              .max_restarts = (int)between(m, 0, 9),
                              .stop = (enum rb_stop)between(m, 0, 1),
                              .timeout_us = between(m, 1, 366 * 86400 * RB_US_PER_S)};
    t.sizes = ascending(m, 1, 4000, t.n_sizes);
    t.shares = ascending(m, 1, 8, t.n_shares);
    t.min_gpus = (int)between(m, 1, t.sizes[0]);
    t.max_gpus = (int)between(m, t.sizes[t.n_sizes - 1], 4096);
    if (coin(m)) {
        t.batch_size = between(m, 1, 1000);
        t.batch_max = between(m, t.batch_size > t.max_gpus ? t.batch_size : t.max_gpus, 100000);
        t.batch_max_per_gpu = between(m, 1, t.batch_max);
        t.lr_scaling = pick(m, scalings, N_OF(scalings));
    }
    return t;
}

static const struct rb_key_value *some_pairs(struct maker *m, const char *const *keys, int n, bool may_be_empty,
                                             int *out_n)
{
    struct rb_key_value *pairs = rb_arena_array(m->arena, (size_t)n, sizeof *pairs);
    *out_n = (int)between(m, 0, n);
    for (int i = 0; i < *out_n; i++)
        pairs[i] = (struct rb_key_value){keys[i], may_be_empty && coin(m) ? "" : any_text(m)};
    return pairs;
}

static struct rb_slurm_spec some_slurm(struct maker *m)
{
    return (struct rb_slurm_spec){.shared_dir = coin(m) ? NULL : "/shared/a b",
                                  .url = coin(m) ? NULL : any_text(m),
                                  .account = coin(m) ? NULL : any_text(m),
                                  .cpus_per_gpu = (int)between(m, 0, 1024),
                                  .memory_per_gpu_bytes = coin(m) ? 0 : between(m, 1, INT64_C(1) << 50)};
}

static struct rb_kubernetes_spec some_kubernetes(struct maker *m)
{
    static const char *const secrets[] = {"reg", "other"};
    static const struct rb_toleration tolerations[] = {{.key = "a", .operator = "Exists"}, {.effect = "NoExecute", .value = "v"}};
    static const struct rb_key_value labels[] = {{"a/b", "c"}, {"d", ""}};
    const bool as_job = coin(m);
    return (struct rb_kubernetes_spec){.context = coin(m) ? NULL : any_text(m),
                                       .namespace = coin(m) ? NULL : "a-space",
                                       .as = as_job ? RB_KUBERNETES_AS_JOB : RB_KUBERNETES_AS_POD,
                                       .queue = as_job || coin(m) ? NULL : "q",
                                       .node_selector = labels,
                                       .n_node_selector = (int)between(m, 0, 2),
                                       .tolerations = tolerations,
                                       .n_tolerations = (int)between(m, 0, 2),
                                       .priority_class = coin(m) ? NULL : "low",
                                       .service_account = coin(m) ? NULL : "sa",
                                       .image_pull_secrets = some(m, secrets, (int)N_OF(secrets), 0),
                                       .cpus_per_gpu = (int)between(m, 0, 1024),
                                       .memory_per_gpu_bytes = coin(m) ? 0 : between(m, 1, INT64_C(1) << 50),
                                       .shm_bytes = coin(m) ? 0 : between(m, 1, INT64_C(1) << 50),
                                       .grace_us = coin(m) ? 0 : between(m, 1, INT64_C(3600000000)),
                                       .queue_timeout_us = coin(m) ? 0 : between(m, 1, INT64_C(3600000000)),
                                       .release_us = coin(m) ? 0 : between(m, 1, INT64_C(86400000000)),
                                       .has_price = coin(m)};
}

static struct rb_resources any_resources(struct maker *m)
{
    static const char *const infra[] = {"aws/us-east-1", "gcp", "local", "mock/us-east-1/us-east-1a", "slurm/gpu"};
    static const char *const types[] = {"g5.xlarge", "p4d.24xlarge", "a2-highgpu-1g"};
    static const char *const users[] = {"root", "ec2-user", "_x.y"};
    struct rb_resources r = {.infra = some(m, infra, (int)N_OF(infra), 1),
                             .instance_types = some(m, types, (int)N_OF(types), 0),
                             .accelerators = some(m, types, (int)N_OF(types), 0),
                             .spot = (enum rb_spot)between(m, 0, 3),
                             .max_nodes = (int)between(m, 1, 16384),
                             .disk_bytes = coin(m) ? 0 : between(m, 1, INT64_C(1) << 50),
                             .ssh_user = pick(m, users, N_OF(users)),
                             .ssh_port = (int)between(m, 1, 65535),
                             .subnets = some(m, types, (int)N_OF(types), 0),
                             .security_groups = some(m, types, (int)N_OF(types), 0),
                             .instance_profile = coin(m) ? NULL : any_text(m),
                             .controller = {coin(m) ? NULL : any_text(m), coin(m) ? NULL : any_text(m),
                                            coin(m) ? 0 : between(m, INT64_C(600000000), INT64_C(604800000000))},
                             .kubernetes = coin(m) ? (struct rb_kubernetes_spec){0} : some_kubernetes(m),
                             .slurm = coin(m) ? (struct rb_slurm_spec){0} : some_slurm(m)};
    r.image_ids = some_pairs(m, infra, (int)N_OF(infra), false, &r.n_image_ids);
    return r;
}

static struct rb_report_form any_form(struct maker *m)
{
    static const char *const patterns[] = {"step {resource}: val loss {val/acc@1}", "{val/acc@1} {{"};
    struct rb_report_form f = {.format = (enum rb_metric_format)between(m, RB_METRIC_AUTO, RB_METRIC_TENSORBOARD),
                               .base = between(m, RB_METRIC_BASE_OF_FORMAT, 1)};
    const struct rb_string_list some_of_them = some(m, patterns, (int)N_OF(patterns), 1);
    if (coin(m) || f.format == RB_METRIC_CSV || f.format == RB_METRIC_TENSORBOARD || f.format == RB_METRIC_LIGHTNING)
        f.file = coin(m) ? "/logs/{seed}" : "{checkpoint}/a";
    if (f.format == RB_METRIC_AUTO && coin(m)) {
        f.format = RB_METRIC_PATTERN;
        f.patterns.items = some_of_them.items;
        f.patterns.n = some_of_them.n;
    }
    return f;
}

static const struct rb_key_value *some_images(struct maker *m, int *out_n)
{
    static const struct rb_key_value rows[] = {{"*", "python:3.12"},
                                               {"aws", "registry.example.org:5000/a/b_c"},
                                               {"local", "localhost/mine:7"},
                                               {"slurm/gpu", "a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}};
    *out_n = (int)between(m, 0, 3);
    return coin(m) ? &rows[1] : (*out_n = 1, &rows[0]);
}

static struct rb_job any_job(struct maker *m)
{
    static const char *const names[] = {"cifar", "a", "0-9-z"};
    static const char *const policies[] = {"elastic", "static", "hypersched", "lookahead", "goodput"};
    static const char *const envs[] = {"A", "B_2", "_c"};
    static const char *const secrets[] = {"TOKEN", "KEY"};
    static const char *const files[] = {"last.ckpt", "checkpoint-*/**"};
    static const char *const uris[] = {NULL, "s3://bucket/a-b", "gs://b_1/x=y/z.w"};
    struct rb_job j = {.name = pick(m, names, N_OF(names)),
                       .workdir = any_text(m),
                       .seed = (uint64_t)between(m, 0, INT64_C(1) << 53),
                       .metric_name = "val/acc@1",
                       .goal = (enum rb_goal)between(m, 0, 1),
                       .has_target = coin(m),
                       .form = any_form(m),
                       .space = any_space(m),
                       .scheduler = any_scheduler(m),
                       .policy = pick(m, policies, N_OF(policies)),
                       .profile = any_text(m),
                       .trial = any_trial(m),
                       .secrets = some(m, secrets, (int)N_OF(secrets), 0),
                       .setup = coin(m) ? NULL : any_text(m),
                       .run = any_text(m),
                       .checkpoint_dir = "a/b..c",
                       .checkpoint_every_us =
                           coin(m) ? between(m, RB_CHECKPOINT_EVERY_UNSAID, 0) : between(m, 1, 366 * 86400 * RB_US_PER_S),
                       .in_place = coin(m),
                       .checkpoint_files = some(m, files, (int)N_OF(files), 0),
                       .starts_over = coin(m),
                       .checkpoint_uri = pick(m, uris, N_OF(uris)),
                       .checkpoint_bytes = coin(m) ? 0 : between(m, 1, INT64_C(1) << 50),
                       .data_bytes = coin(m) ? 0 : between(m, 1, INT64_C(1) << 50),
                       .data_mount = coin(m) ? NULL : "/mnt/it's data",
                       .data_stays = coin(m),
                       .resources = any_resources(m),
                       .deadline_us = coin(m) ? -1 : between(m, 1, 366 * 86400 * RB_US_PER_S),
                       .deadline_at_us = -1,
                       .budget_uusd = coin(m) ? -1 : between(m, 0, INT64_C(1) << 50),
                       .confidence = rb_stream_uniform(&m->s),
                       .objective = (enum rb_objective)between(m, 0, 1),
                       .on_drift = (enum rb_drift)between(m, 0, 3)};
    if (rb_policy_has_options(j.policy))
        j.policy_options = any_options(m);
    else
        rb_policy_options_read(NULL, j.policy, &j.policy_options, NULL);
    j.on_average = coin(m);
    if (j.on_average)
        j.confidence = 0.95;
    j.envs = some_pairs(m, envs, (int)N_OF(envs), true, &j.n_envs);
    j.images = some_images(m, &j.n_images);
    if (coin(m)) {
        j.image_user = "REGISTRY_USER";
        j.image_password = any_text(m);
    }
    j.target = j.has_target ? any_double(m) : 0;
    j.data_uusd_per_gb = j.data_bytes ? between(m, 0, 1000000) : 0;
    j.data_fetch = j.data_bytes && coin(m) ? any_text(m) : NULL;
    if (j.deadline_us < 0 && coin(m))
        j.deadline_at_us = between(m, 0, INT64_C(1) << 51);
    return j;
}

// --- equality, field by field ---

static void same_text(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void same_list(const struct rb_string_list *a, const struct rb_string_list *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++)
        assert_string_equal(a->items[i], b->items[i]);
}

static void same_pairs(const struct rb_key_value *a, int n_a, const struct rb_key_value *b, int n_b)
{
    assert_int_equal(n_a, n_b);
    for (int i = 0; i < n_a; i++) {
        assert_string_equal(a[i].key, b[i].key);
        assert_string_equal(a[i].value, b[i].value);
    }
}

static void same_double(double a, double b)
{
    assert_memory_equal(&a, &b, sizeof a); // bit for bit, -0.0 included
}

static void same_value(const struct rb_value *a, const struct rb_value *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_true(a->integer == b->integer && a->boolean == b->boolean);
    same_double(a->number, b->number);
    same_text(a->string, b->string);
}

static void same_space(const struct rb_space *a, const struct rb_space *b)
{
    assert_int_equal(a->n_params, b->n_params);
    for (int i = 0; i < a->n_params; i++) {
        const struct rb_param *p = &a->params[i], *q = &b->params[i];
        assert_string_equal(p->name, q->name);
        assert_true(p->kind == q->kind && p->whole == q->whole && p->n_values == q->n_values);
        same_double(p->min, q->min);
        same_double(p->max, q->max);
        same_double(p->q, q->q);
        same_double(p->mu, q->mu);
        same_double(p->sigma, q->sigma);
        assert_int_equal(p->probabilities == NULL, q->probabilities == NULL);
        for (int k = 0; k < p->n_values; k++) {
            same_value(&p->values[k], &q->values[k]);
            if (p->probabilities)
                same_double(p->probabilities[k], q->probabilities[k]);
        }
    }
}

static void same_scheduler(const struct rb_scheduler *a, const struct rb_scheduler *b)
{
    assert_string_equal(a->type, b->type);
    assert_string_equal(a->unit, b->unit);
    assert_true(a->num_trials == b->num_trials && a->min_resource == b->min_resource &&
                a->max_resource == b->max_resource && a->eta == b->eta && a->rungs == b->rungs &&
                a->brackets == b->brackets && a->brackets_run == b->brackets_run && a->rule == b->rule);
}

static void same_options(const struct rb_policy_options *a, const struct rb_policy_options *b)
{
    assert_true(a->speculation == b->speculation && a->overhead == b->overhead && a->admission == b->admission &&
                a->scaling == b->scaling && a->has_exploration == b->has_exploration &&
                a->allocation == b->allocation && a->resize_interval == b->resize_interval &&
                a->atom_gpus == b->atom_gpus);
    same_double(a->exploration, b->exploration);
}

static void same_trial(const struct rb_trial_spec *a, const struct rb_trial_spec *b)
{
    assert_true(a->min_gpus == b->min_gpus && a->max_gpus == b->max_gpus && a->n_sizes == b->n_sizes &&
                a->n_shares == b->n_shares);
    assert_memory_equal(a->sizes, b->sizes, (size_t)a->n_sizes * sizeof *a->sizes);
    assert_memory_equal(a->shares, b->shares, (size_t)a->n_shares * sizeof *a->shares);
    assert_true(a->batch_size == b->batch_size && a->batch_max == b->batch_max &&
                a->batch_max_per_gpu == b->batch_max_per_gpu);
    same_text(a->lr_scaling, b->lr_scaling);
    assert_true(a->stop == b->stop && a->args.given == b->args.given);
    assert_true(a->max_nodes == b->max_nodes && a->max_restarts == b->max_restarts && a->timeout_us == b->timeout_us);
}

static void same_kubernetes(const struct rb_kubernetes_spec *a, const struct rb_kubernetes_spec *b)
{
    same_text(a->context, b->context);
    same_text(a->namespace, b->namespace);
    same_text(a->queue, b->queue);
    same_pairs(a->node_selector, a->n_node_selector, b->node_selector, b->n_node_selector);
    assert_int_equal(a->n_tolerations, b->n_tolerations);
    for (int i = 0; i < a->n_tolerations; i++) {
        same_text(a->tolerations[i].key, b->tolerations[i].key);
        same_text(a->tolerations[i].operator, b->tolerations[i].operator);
        same_text(a->tolerations[i].value, b->tolerations[i].value);
        same_text(a->tolerations[i].effect, b->tolerations[i].effect);
    }
    same_text(a->priority_class, b->priority_class);
    same_text(a->service_account, b->service_account);
    same_list(&a->image_pull_secrets, &b->image_pull_secrets);
    assert_true(a->as == b->as && a->cpus_per_gpu == b->cpus_per_gpu && a->memory_per_gpu_bytes == b->memory_per_gpu_bytes &&
                a->shm_bytes == b->shm_bytes && a->grace_us == b->grace_us && a->queue_timeout_us == b->queue_timeout_us);
}

static void same_resources(const struct rb_resources *a, const struct rb_resources *b)
{
    same_list(&a->infra, &b->infra);
    same_list(&a->instance_types, &b->instance_types);
    same_list(&a->accelerators, &b->accelerators);
    assert_true(a->spot == b->spot && a->max_nodes == b->max_nodes && a->disk_bytes == b->disk_bytes &&
                a->ssh_port == b->ssh_port);
    same_pairs(a->image_ids, a->n_image_ids, b->image_ids, b->n_image_ids);
    assert_string_equal(a->ssh_user, b->ssh_user);
    same_list(&a->subnets, &b->subnets);
    same_list(&a->security_groups, &b->security_groups);
    same_text(a->instance_profile, b->instance_profile);
    same_text(a->controller.instance_type, b->controller.instance_type);
    same_text(a->controller.instance_profile, b->controller.instance_profile);
    assert_true(a->controller.keep_us == b->controller.keep_us);
    same_kubernetes(&a->kubernetes, &b->kubernetes);
    same_text(a->slurm.shared_dir, b->slurm.shared_dir);
    same_text(a->slurm.url, b->slurm.url);
    same_text(a->slurm.account, b->slurm.account);
    assert_true(a->slurm.cpus_per_gpu == b->slurm.cpus_per_gpu &&
                a->slurm.memory_per_gpu_bytes == b->slurm.memory_per_gpu_bytes);
}

static void same_job(const struct rb_job *a, const struct rb_job *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->workdir, b->workdir);
    assert_true(a->seed == b->seed && a->goal == b->goal && a->has_target == b->has_target);
    assert_string_equal(a->metric_name, b->metric_name);
    same_double(a->target, b->target);
    assert_true(a->form.format == b->form.format && a->form.base == b->form.base);
    same_text(a->form.file, b->form.file);
    same_list(&(struct rb_string_list){a->form.patterns.items, a->form.patterns.n},
              &(struct rb_string_list){b->form.patterns.items, b->form.patterns.n});
    same_space(&a->space, &b->space);
    same_scheduler(&a->scheduler, &b->scheduler);
    assert_string_equal(a->policy, b->policy);
    same_options(&a->policy_options, &b->policy_options);
    assert_string_equal(a->profile, b->profile);
    same_trial(&a->trial, &b->trial);
    same_pairs(a->envs, a->n_envs, b->envs, b->n_envs);
    same_pairs(a->images, a->n_images, b->images, b->n_images);
    same_text(a->image_user, b->image_user);
    same_text(a->image_password, b->image_password);
    same_list(&a->secrets, &b->secrets);
    same_text(a->setup, b->setup);
    assert_string_equal(a->run, b->run);
    assert_string_equal(a->checkpoint_dir, b->checkpoint_dir);
    same_text(a->checkpoint_uri, b->checkpoint_uri);
    assert_int_equal(a->checkpoint_every_us, b->checkpoint_every_us);
    assert_true(a->in_place == b->in_place && a->starts_over == b->starts_over);
    same_list(&a->checkpoint_files, &b->checkpoint_files);
    assert_true(a->checkpoint_bytes == b->checkpoint_bytes && a->data_bytes == b->data_bytes &&
                a->data_uusd_per_gb == b->data_uusd_per_gb && a->data_stays == b->data_stays);
    same_text(a->data_fetch, b->data_fetch);
    same_text(a->data_mount, b->data_mount);
    same_resources(&a->resources, &b->resources);
    assert_true(a->deadline_us == b->deadline_us && a->deadline_at_us == b->deadline_at_us &&
                a->budget_uusd == b->budget_uusd && a->objective == b->objective && a->on_drift == b->on_drift);
    same_double(a->confidence, b->confidence);
    assert_true(a->on_average == b->on_average);
}

// --- properties ---

static struct rb_buf written(const struct rb_job *job, bool pretty)
{
    struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, pretty);
    rb_job_write(job, &j);
    return out;
}

static struct rb_job read_back(const char *text, bool as_yaml, struct rb_arena *arena)
{
    struct rb_doc doc = as_yaml ? parse_yaml(text) : parse_json(text);
    struct rb_job job;
    struct rb_err err = {0};
    if (!rb_job_read(doc.root, NULL, 0, arena, &job, &err))
        fail_msg("%s: %s in %s", err.key, err.message, text);
    rb_doc_finish(&doc);
    return job;
}

static void test_random_jobs_read_back_equal(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2000; i++) {
        struct rb_arena arena;
        rb_arena_init(&arena);
        struct maker m = {test_stream(4, i), &arena};
        const struct rb_job job = any_job(&m);
        struct rb_buf text = written(&job, i % 2), again = RB_BUF_INIT;
        const struct rb_job back = read_back(rb_buf_str(&text), false, &arena);
        same_job(&job, &back);
        again = written(&back, i % 2);
        assert_string_equal(rb_buf_str(&text), rb_buf_str(&again)); // a fixed point
        rb_buf_finish(&text);
        rb_buf_finish(&again);
        rb_arena_finish(&arena);
    }
}

// The resolved job is a job.yaml too: JSON is YAML.
static void test_the_resolved_job_is_yaml(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 200; i++) {
        struct rb_arena arena;
        rb_arena_init(&arena);
        struct maker m = {test_stream(5, i), &arena};
        const struct rb_job job = any_job(&m);
        struct rb_buf text = written(&job, true);
        const struct rb_job back = read_back(rb_buf_str(&text), true, &arena);
        same_job(&job, &back);
        rb_buf_finish(&text);
        rb_arena_finish(&arena);
    }
}

static int count_keys(const struct rb_node *node)
{
    int n = 0;
    for (const struct rb_node *child = node->first; child; child = child->next)
        n += 1 + (child->kind == RB_NODE_MAP ? count_keys(child) : 0);
    return n;
}

// Every key of docs/formats/job.md is written even for the shortest job: none is left to the reader's
// default, but on_drift to the plan.
static void test_nothing_is_left_to_defaults(void **state)
{
    (void)state;
    static const char minimal[] = "{name: a, metric: {name: m, goal: minimize}, run: x,"
                                  " scheduler: {num_trials: 1, max_resource: 1}}";
    struct rb_arena arena;
    rb_arena_init(&arena);
    const struct rb_job job = read_back(minimal, true, &arena);
    struct rb_buf text = written(&job, false);
    struct rb_doc doc = parse_json(rb_buf_str(&text));
    // 21 at the top; metric 3, scheduler 8, trial 5 with gpus 4, checkpoint 3, resources 12 with ssh 2.
    assert_int_equal(count_keys(doc.root), 21 + 3 + 8 + 5 + 4 + 3 + 12 + 2);
    rb_doc_finish(&doc);
    rb_buf_finish(&text);
    rb_arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_jobs_read_back_equal),
        cmocka_unit_test(test_the_resolved_job_is_yaml),
        cmocka_unit_test(test_nothing_is_left_to_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
