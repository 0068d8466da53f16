// job.yaml: defaults, every kind of bad input with its line and key, --set, and what is not carried out yet.
#include "check.h"

#include "base/text/units.h"
#include "profiles/catalog/reservation.h"
#include "profiles/job/job.h"

// Line 1 to 6; a case replaces one of them or adds to the end.
static const char *const minimal[] = {
    "name: cifar",
    "metric: {name: val_acc, goal: maximize}",
    "parameters: {lr: {distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}}",
    "scheduler: {type: sha, num_trials: 64, max_resource: 50}",
    "run: python train.py $RB_ARGS",
    "deadline: 2h",
};
#define N_LINES ((int)N_OF(minimal))

// replace 1..6: that line becomes `text`; 0: `text` is added, as line 7.
static char *job_text(int replace, const char *text)
{
    struct rb_buf b = RB_BUF_INIT;
    for (int i = 0; i < N_LINES; i++)
        rb_buf_printf(&b, "%s\n", replace == i + 1 ? text : minimal[i]);
    if (replace == 0)
        rb_buf_printf(&b, "%s\n", text);
    return b.data;
}

struct fixture {
    struct rb_arena arena;
    struct rb_job job;
};

static bool load(struct fixture *f, const char *yaml, const char *const *overrides, int n, struct rb_err *err)
{
    struct rb_doc doc;
    rb_arena_init(&f->arena);
    if (!rb_doc_parse_yaml(&doc, "job.yaml", yaml, strlen(yaml), err))
        return false;
    const bool ok = rb_job_read(doc.root, overrides, n, &f->arena, &f->job, err);
    rb_doc_finish(&doc); // the job may not point into it
    return ok;
}

static struct fixture loaded(int replace, const char *text)
{
    struct fixture f;
    struct rb_err err = {0};
    char *yaml = job_text(replace, text);
    if (!load(&f, yaml, NULL, 0, &err))
        fail_msg("%s\n%s:%d: %s: %s", yaml, err.file, err.line, err.key, err.message);
    free(yaml);
    return f;
}

// --- what is read ---

static void test_defaults_of_the_minimal_job(void **state)
{
    (void)state;
    struct fixture f = loaded(0, "");
    const struct rb_job *j = &f.job;
    assert_string_equal(j->name, "cifar");
    assert_string_equal(j->profile, "cifar");
    assert_string_equal(j->workdir, ".");
    assert_int_equal(j->seed, 42);
    assert_false(j->has_target);
    assert_string_equal(j->scheduler.type, "sha");
    assert_int_equal(j->scheduler.min_resource, 1);
    assert_int_equal(j->scheduler.eta, 3);
    assert_string_equal(j->scheduler.unit, "epoch");
    assert_int_equal(j->scheduler.rungs, RB_RUNGS_CUMULATIVE);
    assert_int_equal(j->scheduler.brackets, 1);
    assert_string_equal(j->policy, "elastic");
    assert_true(j->policy_options.speculation && j->policy_options.overhead && j->policy_options.admission);
    assert_int_equal(j->policy_options.scaling, RB_SCALING_MEASURED);
    assert_false(j->policy_options.has_exploration);
    assert_int_equal(j->policy_options.allocation, RB_SPARE_UNIFORM);
    assert_int_equal(j->policy_options.resize_interval, 6);
    assert_int_equal(j->policy_options.atom_gpus, 1);
    assert_int_equal(j->trial.n_sizes, 1);
    assert_int_equal(j->trial.sizes[0], 1);
    assert_int_equal(j->trial.n_shares, 1);
    assert_int_equal(j->trial.shares[0], 1);
    assert_int_equal(j->trial.batch_size, 0);
    assert_int_equal(j->trial.max_nodes, 1);
    assert_int_equal(j->trial.max_restarts, 3);
    assert_int_equal(j->trial.timeout_us, 1800 * RB_US_PER_S);
    assert_null(j->setup);
    assert_string_equal(j->checkpoint_dir, "ckpt");
    assert_null(j->checkpoint_uri);
    assert_int_equal(j->data_bytes, 0);
    assert_int_equal(j->resources.infra.n, 1);
    assert_string_equal(j->resources.infra.items[0], "local");
    assert_int_equal(j->resources.spot, RB_SPOT_NEVER);
    assert_int_equal(j->resources.max_nodes, 16);
    assert_string_equal(j->resources.ssh_user, "ubuntu");
    assert_int_equal(j->resources.ssh_port, 22);
    assert_int_equal(j->deadline_us, 7200 * RB_US_PER_S);
    assert_int_equal(j->deadline_at_us, -1);
    assert_int_equal(j->budget_uusd, -1);
    assert_near(j->confidence, 0.95, 0);
    assert_int_equal(j->objective, RB_OBJECTIVE_MIN_COST);
    assert_int_equal(j->on_drift, RB_DRIFT_UNSET);
    rb_arena_finish(&f.arena);
}

static void test_every_key_is_read(void **state)
{
    (void)state;
    static const char yaml[] =
        "version: 1\n"
        "name: every-key-9\n"
        "workdir: src\n"
        "seed: 9007199254740992\n"
        "metric: {name: loss, goal: minimize, target: 0.05}\n"
        "parameters: {epochs: 100}\n"
        "scheduler: {type: hyperband, num_trials: 0, min_resource: 2, max_resource: 81, eta: 4,\n"
        "            unit: step, rungs: additional, brackets: 3, brackets_run: in_turn, rule: null}\n"
        "policy: hypersched\n"
        "policy_options: {speculation: false, overhead: false, admission: false, scaling: linear, exploration: 0.3,\n"
        "                 allocation: softmax, resize_interval: 9, atom: 2}\n"
        "profile: other\n"
        "trial:\n"
        "  gpus: {min: 1, max: 8, sizes: [8, 2, 4], share: [2, 1]}\n"
        "  batch: {size: 128, max: 4096, max_per_gpu: 512, lr_scaling: adascale}\n"
        "  max_nodes: 2\n"
        "  max_restarts: 0\n"
        "  timeout: 90s\n"
        "envs: {DATA: s3://bucket/cifar, N: 007, EMPTY: ''}\n"
        "secrets: [WANDB_API_KEY]\n"
        "setup: pip install -r requirements.txt\n"
        "run: |\n  torchrun train.py \\\n    $RB_ARGS\n"
        "checkpoint: {dir: out/ckpt, uri: s3://bucket/cifar-ckpt, size: 400MB}\n"
        "data: {size: 150GB, price_per_gb: 0.02, bandwidth: 1GB/s}\n"
        "resources:\n"
        "  infra: [aws/us-east-1, gcp/us-central1]\n"
        "  instance_types: [g5.12xlarge, g5.48xlarge]\n"
        "  accelerators: A10G\n"
        "  spot: allow\n"
        "  max_nodes: 32\n"
        "  image_id: {aws/us-east-1: ami-123}\n"
        "  disk_size: 200GB\n"
        "  ssh: {user: ec2-user, port: 2222}\n"
        "  subnets: [subnet-1]\n"
        "  security_groups: [sg-1, sg-2]\n"
        "  instance_profile: rb\n"
        "  controller: {instance_type: t3.medium, instance_profile: rb-controller, keep: 12h}\n"
        "  slurm: {shared_dir: /shared, url: unix:/run/s, account: ml, cpus_per_gpu: 8, memory_per_gpu: 64GB}\n"
        "deadline: 2026-08-01T12:00:00Z\n"
        "budget: 40\n"
        "confidence: 0.9\n"
        "objective: min_time\n"
        "on_drift: replan\n";
    struct fixture f;
    struct rb_err err = {0};
    if (!load(&f, yaml, NULL, 0, &err))
        fail_msg("%d: %s: %s", err.line, err.key, err.message);
    const struct rb_job *j = &f.job;
    assert_true(j->seed == UINT64_C(9007199254740992));
    assert_true(j->has_target && j->goal == RB_GOAL_MINIMIZE);
    assert_near(j->target, 0.05, 0);
    assert_int_equal(j->scheduler.rungs, RB_RUNGS_ADDITIONAL);
    assert_int_equal(j->scheduler.brackets, 3);
    assert_false(j->policy_options.speculation || j->policy_options.overhead || j->policy_options.admission);
    assert_int_equal(j->policy_options.scaling, RB_SCALING_LINEAR);
    assert_true(j->policy_options.has_exploration);
    assert_near(j->policy_options.exploration, 0.3, 0);
    assert_int_equal(j->policy_options.allocation, RB_SPARE_SOFTMAX);
    assert_int_equal(j->policy_options.resize_interval, 9);
    assert_int_equal(j->policy_options.atom_gpus, 2);
    assert_int_equal(j->trial.n_sizes, 3);
    assert_int_equal(j->trial.sizes[0], 2);
    assert_int_equal(j->trial.sizes[2], 8);
    assert_int_equal(j->trial.min_gpus, 1);
    assert_int_equal(j->trial.shares[1], 2);
    assert_int_equal(j->trial.batch_max_per_gpu, 512);
    assert_string_equal(j->trial.lr_scaling, "adascale");
    assert_int_equal(j->n_envs, 3);
    assert_string_equal(j->envs[1].value, "007");
    assert_string_equal(j->envs[2].value, "");
    assert_string_equal(j->secrets.items[0], "WANDB_API_KEY");
    assert_string_equal(j->run, "torchrun train.py \\\n  $RB_ARGS\n");
    assert_int_equal(j->checkpoint_bytes, 400000000);
    assert_int_equal(j->data_uusd_per_gb, 20000);
    assert_int_equal(rb_job_data_us(j), 150 * RB_US_PER_S);
    assert_int_equal(j->resources.infra.n, 2);
    assert_int_equal(j->resources.accelerators.n, 1);
    assert_string_equal(j->resources.image_ids[0].key, "aws/us-east-1");
    assert_int_equal(j->resources.disk_bytes, INT64_C(200000000000));
    assert_string_equal(j->resources.security_groups.items[1], "sg-2");
    assert_string_equal(j->resources.instance_profile, "rb");
    assert_string_equal(j->resources.controller.instance_type, "t3.medium");
    assert_string_equal(j->resources.controller.instance_profile, "rb-controller");
    assert_int_equal(j->resources.controller.keep_us, 12 * 3600 * RB_US_PER_S);
    assert_string_equal(j->resources.slurm.shared_dir, "/shared");
    assert_string_equal(j->resources.slurm.url, "unix:/run/s");
    assert_string_equal(j->resources.slurm.account, "ml");
    assert_int_equal(j->resources.slurm.cpus_per_gpu, 8);
    assert_true(j->resources.slurm.memory_per_gpu_bytes == INT64_C(64000000000));
    assert_int_equal(j->deadline_us, -1);
    assert_int_equal(j->deadline_at_us, INT64_C(1785585600000000));
    assert_int_equal(j->budget_uusd, 40000000);
    assert_int_equal(j->on_drift, RB_DRIFT_REPLAN);
    rb_arena_finish(&f.arena);
}

static void test_gpu_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *gpus;
        int min, max, n, sizes[6];
    } cases[] = {
        {"1", 1, 1, 1, {1}},
        {"4", 4, 4, 1, {4}},
        {"{max: 8}", 1, 8, 4, {1, 2, 4, 8}},
        {"{min: 2, max: 8}", 2, 8, 3, {2, 4, 8}},
        {"{min: 3, max: 12}", 3, 12, 4, {3, 4, 8, 12}},
        {"{sizes: [6, 3]}", 3, 6, 2, {3, 6}},
        {"{min: 1, sizes: [2, 4]}", 1, 4, 2, {2, 4}},
        {"{max: 16, sizes: [2, 4]}", 2, 16, 2, {2, 4}},
        {"{min: 5, max: 5}", 5, 5, 1, {5}},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[100];
        snprintf(text, sizeof text, "trial: {gpus: %s}", cases[i].gpus);
        struct fixture f = loaded(0, text);
        assert_int_equal(f.job.trial.min_gpus, cases[i].min);
        assert_int_equal(f.job.trial.max_gpus, cases[i].max);
        assert_int_equal(f.job.trial.n_sizes, cases[i].n);
        assert_memory_equal(f.job.trial.sizes, cases[i].sizes, (size_t)cases[i].n * sizeof(int));
        rb_arena_finish(&f.arena);
    }
}

// --- bad input ---

struct bad_case {
    int replace;
    const char *text;
    int line;
    const char *key, *says;
};

static void check_bad(const struct bad_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct fixture f = {.job = {.seed = 77}};
        struct rb_err err = {0};
        char *yaml = job_text(cases[i].replace, cases[i].text);
        if (load(&f, yaml, NULL, 0, &err))
            fail_msg("accepted: %s", cases[i].text);
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_string_equal(err.file, "job.yaml");
        if (err.line != cases[i].line || err.column < 1 || strcmp(err.key, cases[i].key) != 0)
            fail_msg("%s: expected line %d key %s, got line %d column %d key %s: %s", cases[i].text, cases[i].line,
                     cases[i].key, err.line, err.column, err.key, err.message);
        assert_says(&err, cases[i].says);
        assert_int_equal(f.job.seed, 77); // untouched
        rb_arena_finish(&f.arena);
        free(yaml);
    }
}

static void test_bad_identity(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {1, "nmae: cifar", 1, "nmae", "did you mean \"name\""},
        {1, "seed: 1", 1, "name", "required and missing"},
        {1, "name: Cifar", 1, "name", "a-z, 0-9 and -"},
        {1, "name: ''", 1, "name", "1..40 characters"},
        {1, "name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1, "name", "1..40 characters"},
        {1, "name: 12", 1, "name", "in quotes"},
        {0, "name: again", 7, "name", ""},
        {0, "version: 2", 7, "version", "1..1"},
        {0, "seed: -1", 7, "seed", "whole number"},
        {0, "seed: 1.5", 7, "seed", "whole number"},
        {0, "seed: 9007199254740993", 7, "seed", "whole number"},
        {0, "workdir: ''", 7, "workdir", "expected text"},
        {0, "profile: [a]", 7, "profile", "expected text"},
        {2, "seed: 1", 1, "metric", "required and missing"},
        {2, "metric: val_acc", 2, "metric", "expected a map"},
        {2, "metric: {goal: maximize}", 2, "metric.name", "required and missing"},
        {2, "metric: {name: val_acc}", 2, "metric.goal", "required and missing"},
        {2, "metric: {name: val_acc, goal: max}", 2, "metric.goal", "expected maximize or minimize"},
        {2, "metric: {name: val acc, goal: maximize}", 2, "metric.name", "name=value"},
        {2, "metric: {name: val_acc, goal: maximize, target: .nan}", 2, "metric.target", "NaN and infinity"},
        {2, "metric: {name: val_acc, goal: maximize, targte: 1}", 2, "metric.targte", "did you mean \"target\""},
        {3, "parameters: {lr: {min: 1}}", 3, "parameters.lr", "RB1203 expected `values`"},
        {3, "parameters: 3", 3, "parameters", "expected a map"},
    };
    check_bad(cases, N_OF(cases));
}

static void test_bad_scheduler(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {4, "schedular: {type: sha}", 4, "schedular", "did you mean \"scheduler\""},
        {4, "seed: 1", 1, "scheduler", "required and missing"},
        {4, "scheduler: {type: hyperbnad, num_trials: 1, max_resource: 1}", 4, "scheduler.type",
         "did you mean \"hyperband\""},
        {4, "scheduler: {type: sha, max_resource: 50}", 4, "scheduler.num_trials", "required and missing"},
        {4, "scheduler: {type: sha, num_trials: 0, max_resource: 50}", 4, "scheduler.num_trials", "in 1..131072"},
        {4, "scheduler: {type: sha, num_trials: 131073, max_resource: 50}", 4, "scheduler.num_trials", "in 1..131072"},
        {4, "scheduler: {type: sha, num_trials: 8}", 4, "scheduler.max_resource", "required and missing"},
        {4, "scheduler: {num_trials: 8, max_resource: 0}", 4, "scheduler.max_resource", "in 1..1000000"},
        {4, "scheduler: {num_trials: 8, max_resource: 5, min_resource: 6}", 4, "scheduler.min_resource", "in 1..5"},
        {4, "scheduler: {num_trials: 8, max_resource: 5, eta: 1}", 4, "scheduler.eta", "in 2..1024"},
        {4, "scheduler: {num_trials: 8, max_resource: 5, eta: 3.0}", 4, "scheduler.eta", "whole number"},
        {4, "scheduler: {num_trials: 8, max_resource: 5, rungs: cumulativ}", 4, "scheduler.rungs", "did you mean"},
        {4, "scheduler: {num_trials: 8, max_resource: 5, brackets: 0}", 4, "scheduler.brackets", "in 1..64"},
        {4, "scheduler: {num_trials: 8, max_resource: 1e3}", 4, "scheduler.max_resource", "whole number"},
        {4, "scheduler: {type: hyperband, num_trials: 143, max_resource: 81}", 4, "scheduler.num_trials",
         "follows from min_resource, max_resource, eta"},
        {4, "scheduler: {type: hyperband, max_resource: 81, brackets: 6}", 4, "scheduler.brackets",
         "RB1206 at most 5, got 6"},
        {4, "scheduler: {type: asha, num_trials: 9, max_resource: 80, brackets: 5}", 4, "scheduler.brackets",
         "at most 4, got 5"},
        {4, "scheduler: {num_trials: 8, max_resource: 5, rule: stop}", 4, "scheduler.rule",
         "only scheduler.type: asha"},
        {4, "scheduler: {type: asha, num_trials: 8, max_resource: 5, rule: stpo}", 4, "scheduler.rule",
         "did you mean \"stop\""},
        {4, "scheduler: {type: asha, num_trials: 8, max_resource: 5, brackets_run: in_turn}", 4,
         "scheduler.brackets_run", "only scheduler.type: hyperband"},
        {4, "scheduler: {type: asha, num_trials: 8, max_resource: 5, rungs: additional}", 4, "scheduler.rungs",
         "expected cumulative"},
        {4, "scheduler: {type: hyperband, max_resource: 5, brackets_run: side_by_side, rungs: additional}", 4,
         "scheduler.rungs", "expected cumulative"},
        {4, "scheduler: {type: dehb, max_resource: 5, sampler: tpe}", 4, "scheduler.sampler",
         "dehb chooses configurations itself, by the sampler de"},
        {4, "scheduler: {type: sha, num_trials: 8, max_resource: none}", 4, "scheduler.max_resource",
         "only scheduler.type: asha goes on without"},
        {4, "scheduler: {type: asha, num_trials: 100000, eta: 2, min_resource: 100, max_resource: none}", 4,
         "scheduler.max_resource", "beyond 1000000 units"},
        {0, "policy_options: {atom: 2}", 7, "policy_options", "leave them out of policy: elastic"},
        {0, "policy: elastik", 7, "policy", "did you mean \"elastic\""},
        {0, "policy:", 7, "policy", "expected"},
    };
    check_bad(cases, N_OF(cases));
}

static void test_bad_trial(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {0, "trial: 4", 7, "trial", "expected a map"},
        {0, "trial: {gpu: 4}", 7, "trial.gpu", "did you mean \"gpus\""},
        {0, "trial: {gpus: 0}", 7, "trial.gpus", "in 1..4096"},
        {0, "trial: {gpus: 2.0}", 7, "trial.gpus", "a map {min, max, sizes, share}"},
        {0, "trial: {gpus: [1, 2]}", 7, "trial.gpus", "a map {min, max, sizes, share}"},
        {0, "trial: {gpus: {min: 1}}", 7, "trial.gpus", "RB1208 expected `max` or `sizes`"},
        {0, "trial: {gpus: {min: 4, max: 2}}", 7, "trial.gpus.max", "in 4..4096"},
        {0, "trial: {gpus: {max: 4, sizes: [2, 8]}}", 7, "trial.gpus.sizes", "within min..max, which is 2..4"},
        {0, "trial: {gpus: {min: 4, sizes: [2, 8]}}", 7, "trial.gpus.min", "in 1..2"},
        {0, "trial: {gpus: {sizes: []}}", 7, "trial.gpus.sizes", "1..64 entries"},
        {0, "trial: {gpus: {sizes: [2, 2]}}", 7, "trial.gpus.sizes[1]", "RB1124 listed twice"},
        {0, "trial: {gpus: {sizes: [2, x]}}", 7, "trial.gpus.sizes[1]", "whole number"},
        {0, "trial: {gpus: {sizes: 2}}", 7, "trial.gpus.sizes", "expected a list"},
        {0, "trial: {gpus: {max: 2, share: [0]}}", 7, "trial.gpus.share[0]", "in 1..10"},
        {0, "trial: {batch: {size: 128}}", 7, "trial.batch.max", "required and missing"},
        {0, "trial: {batch: {size: 128, max: 64}}", 7, "trial.batch.max", "in 128..1073741824, got 64"},
        {0, "trial: {gpus: 8, batch: {size: 1, max: 4}}", 7, "trial.batch.max", "expected 8 or more"},
        {0, "trial: {batch: {size: 1, max: 4, max_per_gpu: 5}}", 7, "trial.batch.max_per_gpu", "in 1..4"},
        {0, "trial: {batch: {size: 1, max: 4, lr_scaling: squareroot}}", 7, "trial.batch.lr_scaling",
         "adascale, sqrt or linear"},
        {0, "trial: {max_nodes: 0}", 7, "trial.max_nodes", "in 1..64"},
        {0, "trial: {max_restarts: -1}", 7, "trial.max_restarts", "in 0..1000"},
        {0, "trial: {timeout: 30}", 7, "trial.timeout", "has no unit"},
        {0, "trial: {timeout: 0s}", 7, "trial.timeout", "above 0"},
        {0, "trial: {timeout: -5m}", 7, "trial.timeout", "expected a duration"},
        {0, "trial: {timeout: 367d}", 7, "trial.timeout", "at most 366d"},
        {0, "trial:\n  gpus:\n    max: many", 9, "trial.gpus.max", "whole number"},
    };
    check_bad(cases, N_OF(cases));
}

static void test_bad_command_and_files(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {5, "setup: true", 5, "setup", "in quotes"},
        {5, "setup: pip", 1, "run", "required and missing"},
        {5, "run: ''", 5, "run", "expected text"},
        {5, "run: [python]", 5, "run", "expected text"},
        {0, "envs: {1X: a}", 7, "envs.1X", "RB1201 variable name"},
        {0, "envs: {\"A B\": a}", 7, "envs.A B", "variable name"},
        {0, "envs: {RB_ARGS: a}", 7, "envs.RB_ARGS", "begin with RB_"},
        {0, "envs: {A: [1]}", 7, "envs.A", "expected text"},
        {0, "envs: {A: ~}", 7, "envs.A", "write \"\""},
        {0, "envs: [A]", 7, "envs", "expected a map"},
        {0, "image: my image", 7, "image", "RB4440 as podman and docker write an image"},
        {0, "image: -v/:/host", 7, "image", "as podman and docker"},
        {0, "image: a@sha256:12", 7, "image", "as podman and docker"},
        {0, "image: 'a:'", 7, "image", "as podman and docker"},
        {0, "image: {local: a/b:1, moon: c}", 7, "image.moon", "expected provider"},
        {0, "image: {local: [a]}", 7, "image.local", "expected text"},
        {0, "image: a\nresources: {infra: [local, k8s/lab], image_id: {k8s: b}}", 7, "image",
         "RB4441 the pods of k8s/lab have one image"},
        {0, "image_credentials: {user: A}", 7, "image_credentials.password", "required and missing"},
        {0, "secrets: [A, A]", 7, "secrets[1]", "listed twice"},
        {0, "secrets: [RB_TOKEN]", 7, "secrets[0]", "begin with RB_"},
        {0, "secrets: [A=B]", 7, "secrets[0]", "variable name"},
        {0, "secrets: A-B", 7, "secrets", "variable name"},
        {0, "secrets: {A: secret}", 7, "secrets", "expected a list"},
        {0, "envs: {A: b}\nsecrets: [A]", 8, "secrets[0]", "also in envs"},
        {0, "checkpoint: {dir: /abs}", 7, "checkpoint.dir", "inside the trial's directory"},
        {0, "checkpoint: {dir: ..}", 7, "checkpoint.dir", "inside the trial's directory"},
        {0, "checkpoint: {dir: a/../../b}", 7, "checkpoint.dir", "inside the trial's directory"},
        {0, "checkpoint: {uri: /mnt/x}", 7, "checkpoint.uri", "expected s3://"},
        {0, "checkpoint: {uri: 's3://b/$(reboot)'}", 7, "checkpoint.uri", "expected s3://"},
        {0, "checkpoint: {uri: s3://}", 7, "checkpoint.uri", "expected s3://"},
        {0, "checkpoint: {size: 400}", 7, "checkpoint.size", "no unit"},
        {0, "checkpoint: {size: 0GB}", 7, "checkpoint.size", "above 0"},
        {0, "data: {price_per_gb: 1}", 7, "data.size", "required and missing"},
        {0, "data: {size: 1GB, bandwidth: 1GB}", 7, "data.bandwidth", "a size a second, such as 1GB/s"},
        {0, "data: {size: 1GB, bandwidth: 0GB/s}", 7, "data.bandwidth", "a size a second"},
        {0, "data: {size: 5TB, bandwidth: 1KB/s}", 7, "data.bandwidth", "for more than a year"},
        {0, "data: {size: 1GB, price_per_gb: -1}", 7, "data.price_per_gb", "negative"},
        {0, "data: {fetch: aws s3 sync s3://b .}", 7, "data.size", "required and missing"},
        {0, "data: {mount: /mnt, bandwidth: 1GB/s}", 7, "data.size", "required and missing"},
        {0, "data: {size: 1GB, mount: mnt/data}", 7, "data.mount", "expected an absolute path, such as /mnt/data"},
        {0, "data: {stay: region}", 7, "data.stay", "true or false"},
        {0, "data: {size: 1GX}", 7, "data.size", "RB1120 expected a size"},
    };
    check_bad(cases, N_OF(cases));
}

static void test_bad_resources_and_constraints(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {0, "resources: {infra: []}", 7, "resources.infra", "at least one"},
        {0, "resources: {infra: [aws/us-east-1, awz]}", 7, "resources.infra[1]", "did you mean \"aws\""},
        {0, "resources: {infra: aws/moon-1}", 7, "resources.infra", "not a region of aws"},
        {0, "resources: {infra: [aws, aws]}", 7, "resources.infra[1]", "listed twice"},
        {0, "resources: {infra: {aws: 1}}", 7, "resources.infra", "expected a list"},
        {0, "resources: {instance_type: [x]}", 7, "resources.instance_type", "did you mean \"instance_types\""},
        {0, "resources: {instance_types: [4]}", 7, "resources.instance_types[0]", "in quotes"},
        {0, "resources: {accelerators: ['']}", 7, "resources.accelerators[0]", "expected text"},
        {0, "resources: {spot: always}", 7, "resources.spot", "never, allow, only or safe"},
        {0, "resources: {spot: true}", 7, "resources.spot", "never, allow, only or safe"},
        {0, "resources: {max_nodes: 0}", 7, "resources.max_nodes", "in 1..16384"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2, match: open}]}", 7,
         "resources.reservations[0].match", "unknown key"},
        {0, "resources: {infra: [gcp/us-central1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2}]}", 7,
         "resources.reservations[0]", "RB4410 aws/us-east-1/us-east-1a is in none of resources.infra"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2}]}", 7,
         "resources.reservations[0].infra", "expected a zone of aws or gcp"},
        {0, "resources: {infra: [local], reservations: [{infra: local, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2}]}", 7,
         "resources.reservations[0].infra", "expected a zone of aws or gcp"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: mine, count: 2}]}", 7,
         "resources.reservations[0].id", "such as cr-0123456789abcdef0"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 0}]}", 7,
         "resources.reservations[0].count", "in 1..16384"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2, end: soon}]}", 7,
         "resources.reservations[0].end", "expected an instant"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2, start: '2026-01-01T10:00:00Z', end: '2026-01-01T10:05:00Z'}]}", 7,
         "resources.reservations[0].end", "no more time than the notice"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2, capacity_block: true, start: '2026-01-01T10:00:00Z', end: '2026-01-01T10:35:00Z'}]}", 7,
         "resources.reservations[0].end", "half hour in which EC2"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2, price: free}]}", 7,
         "resources.reservations[0].price", "expected"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2, notice: 0s}]}", 7,
         "resources.reservations[0].notice", "above 0"},
        {0, "resources: {infra: [gcp/us-central1], reservations: [{infra: gcp/us-central1/us-central1-a, instance_type: g2-standard-4, id: mine, count: 2, capacity_block: true}]}", 7,
         "resources.reservations[0].capacity_block", "only EC2 has Capacity Blocks"},
        {0, "resources: {infra: [aws/us-east-1], reservations: [{infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2}, {infra: aws/us-east-1/us-east-1a, instance_type: g5.xlarge, id: cr-0123456789abcdef0, count: 2}]}", 7,
         "resources.reservations[1]", "listed twice"},
        {0, "resources: {reservations: {}}", 7, "resources.reservations", "expected a list"},
        {0, "resources: {image_id: {azure: x}}", 7, "resources.image_id.azure", "provider"},
        {0, "resources: {image_id: ami-1}", 7, "resources.image_id", "expected a map"},
        {0, "resources: {disk_size: 100}", 7, "resources.disk_size", "no unit"},
        {0, "resources: {ssh: {user: -oProxyCommand=x}}", 7, "resources.ssh.user", "login name"},
        {0, "resources: {ssh: {port: 65536}}", 7, "resources.ssh.port", "in 1..65535"},
        {0, "resources: {kubernetes: {as: deployment}}", 7, "resources.kubernetes.as", "pod or job"},
        {0, "resources: {kubernetes: {as: job, queue: team}}", 7, "resources.kubernetes.as", "RB4480 remove one of the two"},
        {0, "resources: {kubernetes: {namespace: My_Space}}", 7, "resources.kubernetes.namespace", "name of a Kubernetes object"},
        {0, "resources: {kubernetes: {node_selector: {a: 'b c'}}}", 7, "resources.kubernetes.node_selector.a", "node's label"},
        {0, "resources: {kubernetes: {tolerations: [{operator: Has}]}}", 7, "resources.kubernetes.tolerations[0].operator",
         "Exists or Equal"},
        {0, "resources: {kubernetes: {tolerations: [{effect: No}]}}", 7, "resources.kubernetes.tolerations[0].effect",
         "NoExecute"},
        {0, "resources: {kubernetes: {grace: 2h}}", 7, "resources.kubernetes.grace", "at most 1h"},
        {0, "resources: {kubernetes: {price_per_gpu_hour: 10001}}", 7, "resources.kubernetes.price_per_gpu_hour", "at most 10000"},
        {0, "resources: {controller: {keep: 1m}}", 7, "resources.controller.keep", "10m..7d"},
        {0, "resources: {controller: {keep: 8d}}", 7, "resources.controller.keep", "10m..7d"},
        {0, "resources: {kubernetes: {release: 2d}}", 7, "resources.kubernetes.release", "at most 1d"},
        {0, "resources: {kubernetes: {shm_size: 3}}", 7, "resources.kubernetes.shm_size", "no unit"},
        {0, "resources: {kubernetes: {namespac: x}}", 7, "resources.kubernetes.namespac", "did you mean \"namespace\""},
        {6, "deadline: 2", 6, "deadline", "has no unit"},
        {6, "deadline: 0s", 6, "deadline", "above 0"},
        {6, "deadline: tomorrow", 6, "deadline", "expected a duration"},
        {6, "deadline: 2026-13-01T12:00:00Z", 6, "deadline", "RB1121"},
        {6, "deadline: 2026-08-01T12:00:00", 6, "deadline", ""},
        {6, "deadline: 1000000h", 6, "deadline", "at most 366d"},
        {0, "budget: -1", 7, "budget", "negative"},
        {0, "budget: cheap", 7, "budget", "dollars"},
        {0, "budget: [1]", 7, "budget", "dollars"},
        {0, "confidence: 1", 7, "confidence", "above 0 and below 1"},
        {0, "confidence: 0.0", 7, "confidence", "above 0 and below 1"},
        {0, "confidence: 95", 7, "confidence", "above 0 and below 1, or mean, got 95"},
        {0, "confidence: median", 7, "confidence", "or mean, got \"median\""},
        {0, "confidence: .nan", 7, "confidence", "NaN and infinity"},
        {0, "objective: min_costs", 7, "objective", "did you mean \"min_cost\""},
        {0, "on_drift: halt", 7, "on_drift", "replan, warn or stop"},
        {0, "deadlines: 2h", 7, "deadlines", "did you mean \"deadline\""},
    };
    check_bad(cases, N_OF(cases));
}

// --- --set ---

static struct fixture overridden(const char *const *overrides, int n)
{
    struct fixture f;
    struct rb_err err = {0};
    char *yaml = job_text(0, "envs: {A: b}");
    if (!load(&f, yaml, overrides, n, &err))
        fail_msg("%s: %s: %s", err.file, err.key, err.message);
    free(yaml);
    return f;
}

static void test_overrides_win_over_the_file(void **state)
{
    (void)state;
    static const char *const overrides[] = {
        "scheduler.eta=4",
        "trial.gpus.max=8",
        "resources.infra=[aws/us-east-1, local]",
        "parameters.lr.max=1.0",
        "budget=18.40",
        "deadline=",
        "seed=1",
        "seed=2",
        "parameters.momentum=0.9",
        "envs={X: '1'}",
        "resources.image_id.aws/us-east-1=ami-9",
    };
    struct fixture f = overridden(overrides, (int)N_OF(overrides));
    assert_int_equal(f.job.scheduler.eta, 4);
    assert_int_equal(f.job.scheduler.num_trials, 64); // neighbours are kept
    assert_int_equal(f.job.trial.n_sizes, 4);         // the map was made
    assert_int_equal(f.job.resources.infra.n, 2);
    assert_near(f.job.space.params[0].max, 1.0, 0);
    assert_int_equal(f.job.space.n_params, 2);
    assert_string_equal(f.job.space.params[1].name, "momentum");
    assert_int_equal(f.job.budget_uusd, 18400000);
    assert_int_equal(f.job.deadline_us, -1);
    assert_int_equal(f.job.seed, 2); // the last one
    assert_int_equal(f.job.n_envs, 1);
    assert_string_equal(f.job.envs[0].key, "X");
    assert_string_equal(f.job.resources.image_ids[0].value, "ami-9");
    rb_arena_finish(&f.arena);
}

static void test_an_override_finds_keys_with_dots(void **state)
{
    (void)state;
    struct fixture f;
    struct rb_err err = {0};
    char *yaml = job_text(3, "parameters: {opt.lr: {min: 0.0, max: 1.0}}");
    const char *const overrides[] = {"parameters.opt.lr.max=2.0"};
    assert_true(load(&f, yaml, overrides, 1, &err));
    assert_int_equal(f.job.space.n_params, 1);
    assert_near(f.job.space.params[0].max, 2.0, 0);
    rb_arena_finish(&f.arena);
    free(yaml);
}

static void test_bad_overrides_name_the_flag(void **state)
{
    (void)state;
    static const struct {
        const char *override, *file, *key, *says;
    } cases[] = {
        {"scheduler.eta=1", "--set scheduler.eta", "scheduler.eta", "in 2..1024, got 1"},
        {"scheduler.etta=4", "--set scheduler.etta", "scheduler.etta", "did you mean \"eta\""},
        {"scheduler.eta", "--set scheduler.eta", "", "expected key=value"},
        {"=4", "--set ", "", "no key"},
        {"scheduler..eta=4", "--set scheduler..eta", "", "empty key"},
        {"name.x=4", "--set name.x", "name", "set it as a whole: --set 'name=...'"},
        {"resources={infra: [aws/mars-1]}", "--set resources", "resources.infra[0]", "not a region of aws"},
        {"confidence=[0.9", "--set confidence", "", ""},
        {"confidence=&a 0.9", "--set confidence", "", ""},
        {"trial={}\nseed: 3", "--set trial", "", ""},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fixture f;
        struct rb_err err = {0};
        char *yaml = job_text(0, "");
        if (load(&f, yaml, &cases[i].override, 1, &err))
            fail_msg("--set %s was accepted", cases[i].override);
        assert_int_equal(err.code, RB_ERR_INVALID);
        assert_string_equal(err.file, cases[i].file);
        assert_string_equal(err.key, cases[i].key);
        assert_says(&err, cases[i].says);
        rb_arena_finish(&f.arena);
        free(yaml);
    }
}

static void test_a_deep_override_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct rb_err err = {0};
    struct rb_buf path = RB_BUF_INIT, value = RB_BUF_INIT;
    char *yaml = job_text(0, "");
    for (int i = 0; i < 5000; i++)
        rb_buf_puts(&path, "a.");
    rb_buf_puts(&path, "b=1");
    const char *text = rb_buf_str(&path);
    assert_false(load(&f, yaml, &text, 1, &err));
    assert_says(&err, "too deep");
    rb_arena_finish(&f.arena);
    rb_buf_puts(&value, "envs.a.b.c.d.e=");
    for (int i = 0; i < 60; i++)
        rb_buf_putc(&value, '[');
    for (int i = 0; i < 60; i++)
        rb_buf_putc(&value, ']');
    text = rb_buf_str(&value);
    assert_false(load(&f, yaml, &text, 1, &err));
    assert_says(&err, "nested too deep");
    rb_arena_finish(&f.arena);
    rb_buf_finish(&path);
    rb_buf_finish(&value);
    free(yaml);
}

static void test_bad_policy_options(void **state)
{
    (void)state;
    static const struct bad_case cases[] = {
        {0, "policy: hypersched\npolicy_options: 3", 8, "policy_options", "expected a map"},
        {0, "policy: hypersched\npolicy_options: {speculate: true}", 8, "policy_options.speculate",
         "did you mean \"speculation\""},
        {0, "policy: hypersched\npolicy_options: {overhead: 1}", 8, "policy_options.overhead", "true or false"},
        {0, "policy: hypersched\npolicy_options: {scaling: lineal}", 8, "policy_options.scaling",
         "did you mean \"linear\""},
        {0, "policy: hypersched\npolicy_options: {exploration: 1.1}", 8, "policy_options.exploration", ""},
        {0, "policy: lookahead\npolicy_options: {allocation: all}", 8, "policy_options.allocation",
         "uniform, best, softmax, random or none"},
        {0, "policy: lookahead\npolicy_options: {resize_interval: 0}", 8, "policy_options.resize_interval",
         "in 1..1000000"},
        {0, "policy: lookahead\npolicy_options: {atom: 0}", 8, "policy_options.atom", "in 1..4096"},
    };
    check_bad(cases, N_OF(cases));
}

// --- what follows from other keys ---

static void test_scheduler_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *scheduler, *policy;
        int brackets;
        enum rb_rule rule;
    } cases[] = {
        {"scheduler: {type: hyperband, max_resource: 81}", "", 5, RB_RULE_PROMOTE},
        {"scheduler: {type: hyperband, max_resource: 80, num_trials: null}", "", 4, RB_RULE_PROMOTE},
        {"scheduler: {type: hyperband, max_resource: 81, num_trials: 0, brackets: 2}", "", 2, RB_RULE_PROMOTE},
        {"scheduler: {type: hyperband, min_resource: 7, max_resource: 20}", "", 1, RB_RULE_PROMOTE},
        {"scheduler: {type: asha, num_trials: 5, max_resource: 81}", "", 1, RB_RULE_PROMOTE},
        {"scheduler: {type: asha, num_trials: 5, max_resource: 81, rule: stop, brackets: 5}", "", 5, RB_RULE_STOP},
        {"scheduler: {type: asha, num_trials: 5, max_resource: 81}", "policy: hypersched", 1, RB_RULE_SPECULATE},
        {"scheduler: {type: asha, num_trials: 5, max_resource: 81}", "policy: lookahead", 1, RB_RULE_SPECULATE},
        {"scheduler: {type: asha, num_trials: 5, max_resource: 81}",
         "policy: hypersched\npolicy_options: {speculation: false}", 1, RB_RULE_STOP},
        {"scheduler: {type: asha, num_trials: 5, max_resource: 81, rule: stop}", "policy: hypersched", 1, RB_RULE_STOP},
        {"scheduler: {type: sha, num_trials: 5, max_resource: 81}", "policy: hypersched", 1, RB_RULE_PROMOTE},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char text[300];
        snprintf(text, sizeof text, "%s\n%s", cases[i].scheduler, cases[i].policy);
        struct fixture f = loaded(4, text);
        assert_int_equal(f.job.scheduler.brackets, cases[i].brackets);
        assert_int_equal(f.job.scheduler.rule, cases[i].rule);
        rb_arena_finish(&f.arena);
    }
}

// A promotion needs eta results: of 26 trials at eta 3 none is promoted more than twice.
static void test_no_upper_resource(void **state)
{
    (void)state;
    struct fixture f = loaded(4, "scheduler: {type: asha, num_trials: 26, min_resource: 2, max_resource: none}");
    assert_int_equal(f.job.scheduler.max_resource, 18);
    rb_arena_finish(&f.arena);
    f = loaded(4, "scheduler: {type: asha, num_trials: 27, min_resource: 2, max_resource: none}");
    assert_int_equal(f.job.scheduler.max_resource, 54);
    rb_arena_finish(&f.arena);
}

// --- reservations ---

#define UNIX(hour) (INT64_C(1767225600) + (hour)*3600) * RB_US_PER_S // of 2026-01-01

static void test_reservations(void **state)
{
    (void)state;
    struct fixture f = loaded(
        0, "resources:\n  infra: [aws/us-east-1, gcp/us-central1]\n  reservations:\n"
           "    - {infra: aws/us-east-1/us-east-1a, instance_type: p5.48xlarge, id: cr-0123456789abcdef0, count: 2,\n"
           "       start: '2026-01-01T10:00:00Z', end: '2026-01-02T11:30:00Z', price: 31.464, notice: 10m,\n"
           "       capacity_block: true}\n"
           "    - {infra: gcp/us-central1/us-central1-a, instance_type: g2-standard-4, count: 3,\n"
           "       id: projects/my-project/reservations/mine}");
    struct rb_reservation *all = f.job.resources.reservations;
    assert_int_equal(f.job.resources.n_reservations, 2);
    assert_int_equal(all[0].uusd_per_hour, 31464000);
    assert_int_equal(all[0].ends_at_us, UNIX(35) + 1800 * RB_US_PER_S);
    assert_int_equal(all[1].uusd_per_hour, 0);
    assert_int_equal(all[1].notice_us, RB_RESERVATION_NOTICE_US);
    assert_false(rb_reservation_is_open(&all[0], 0)); // not settled yet
    assert_true(rb_reservation_is_open(&all[1], INT64_C(1) << 50));

    static const struct {
        int64_t start_us, opens_us, closes_us; // in hours
    } rows[] = {{8, 2, 27}, {10, 0, 25}, {34, 0, 1}, {36, 0, 0}};
    for (size_t i = 0; i < N_OF(rows); i++) {
        rb_job_settle_reservations(&f.job, UNIX(rows[i].start_us));
        assert_int_equal(all[0].opens_us, rows[i].opens_us * 3600 * RB_US_PER_S);
        assert_int_equal(all[0].closes_us, rows[i].closes_us * 3600 * RB_US_PER_S);
        assert_int_equal(all[1].closes_us, -1);
    }
    rb_job_settle_reservations(&f.job, UNIX(34));
    assert_true(rb_reservation_is_open(&all[0], 0));
    assert_true(rb_reservation_is_open(&all[0], 3000 * RB_US_PER_S - 1)); // its notice comes at 50 minutes
    assert_false(rb_reservation_is_open(&all[0], 3000 * RB_US_PER_S));
    rb_arena_finish(&f.arena);
}

// --- not carried out yet ---

static void test_what_is_supported(void **state)
{
    (void)state;
    static const struct {
        int replace;
        const char *text, *key; // key NULL: supported
    } cases[] = {
        {0, "", NULL},
        {0, "policy: static", NULL},
        {0, "trial: {max_nodes: 4, gpus: {max: 32}}", NULL},
        {0, "resources: {infra: [aws, gcp/us-central1, mock/us-east-1, local], spot: only}", NULL},
        {4, "scheduler: {type: grid, max_resource: 5}", NULL},
        {4, "scheduler: {type: random, num_trials: 5, max_resource: 5}", NULL},
        {4, "scheduler: {type: asha, num_trials: 5, max_resource: 5}", NULL},
        {4, "scheduler: {type: asha, num_trials: 5, max_resource: 5, brackets: 2}", NULL},
        {4, "scheduler: {type: asha, num_trials: 5, max_resource: 5}\npolicy: hypersched", NULL},
        {4, "scheduler: {type: asha, num_trials: 5, max_resource: 5}\npolicy: lookahead", NULL},
        {4, "scheduler: {type: hyperband, max_resource: 5}", NULL},
        {4, "scheduler: {type: hyperband, max_resource: 5}\npolicy: hypersched", "policy"},
        {0, "policy: lookahead", "policy"},
        {4, "scheduler: {num_trials: 5, max_resource: 5, brackets: 2}", "scheduler.brackets"},
        {0, "policy: pollux", "policy"},
        {0, "trial: {gpus: {max: 4, share: [1, 2]}}", "trial.gpus.share"},
        {0, "trial: {gpus: {max: 4, share: [2]}}", "trial.gpus.share"},
        {0, "policy: fluid\ntrial: {gpus: {max: 4, share: [1, 2]}}", NULL},
        {0, "policy: packing\ntrial: {gpus: {max: 4, share: [1, 2]}}", NULL},
        {0, "resources: {infra: [local, slurm/gpu], slurm: {shared_dir: /shared}}", NULL},
        {0, "resources: {infra: slurm, slurm: {shared_dir: /shared}}", NULL},
        {0, "resources: {infra: [k8s/a, aws/us-east-1]}", NULL},
        {0, "resources: {infra: [k8s/a, slurm], slurm: {shared_dir: /shared}}", NULL},
        {0, "resources: {infra: [k8s/a, k8s/b]}", NULL},
        {0, "on_drift: replan", NULL},
        {0, "on_drift: stop", NULL},
        {0, "policy: static\non_drift: replan", "on_drift"},
        {4, "scheduler: {type: asha, num_trials: 5, max_resource: 5}\non_drift: stop", NULL},
        {4, "scheduler: {type: asha, num_trials: 5, max_resource: 5}\npolicy: hypersched\non_drift: stop", "on_drift"},
        {4, "scheduler: {type: asha, num_trials: 5, max_resource: 5}\npolicy: lookahead\non_drift: replan", "on_drift"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct fixture f = loaded(cases[i].replace, cases[i].text);
        struct rb_err err = {0};
        const bool supported = rb_job_check_supported(&f.job, &err);
        if (supported != !cases[i].key)
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_string_equal(err.key, cases[i].key ? cases[i].key : "");
        if (cases[i].key)
            assert_says(&err, "not supported yet: ");
        rb_arena_finish(&f.arena);
    }
}

static void test_kubernetes(void **state)
{
    (void)state;
    struct fixture f = loaded(0, "resources: {infra: k8s/lab, kubernetes: {context: 'arn:aws:eks:1/lab', namespace: ml, queue: q, "
                                 "node_selector: {a/b: c}, tolerations: [{key: team, operator: Equal, value: ml, effect: "
                                 "NoSchedule}, {operator: Exists}], priority_class: low, service_account: sa, image_pull_secrets: "
                                 "reg, cpus_per_gpu: 8, memory_per_gpu: 60GB, shm_size: 8GB, grace: 15s, queue_timeout: 1h, release: 10m, "
                                 "price_per_gpu_hour: 0}}");
    const struct rb_kubernetes_spec *k = &f.job.resources.kubernetes;
    assert_string_equal(k->context, "arn:aws:eks:1/lab");
    assert_string_equal(k->namespace, "ml");
    assert_string_equal(k->queue, "q");
    assert_string_equal(k->node_selector[0].key, "a/b");
    assert_int_equal(k->n_tolerations, 2);
    assert_string_equal(k->tolerations[0].effect, "NoSchedule");
    assert_null(k->tolerations[1].key);
    assert_string_equal(k->image_pull_secrets.items[0], "reg");
    assert_true(k->cpus_per_gpu == 8 && k->memory_per_gpu_bytes == INT64_C(60000000000) && k->shm_bytes == INT64_C(8000000000));
    assert_true(k->grace_us == 15 * RB_US_PER_S && k->queue_timeout_us == 3600 * RB_US_PER_S);
    assert_true(k->release_us == 600 * RB_US_PER_S && k->has_price && k->uusd_per_gpu_hour == 0);
    assert_int_equal(k->as, RB_KUBERNETES_AS_POD);
    rb_arena_finish(&f.arena);
    f = loaded(0, "resources: {infra: k8s/lab, kubernetes: {as: job}}");
    assert_int_equal(f.job.resources.kubernetes.as, RB_KUBERNETES_AS_JOB);
    rb_arena_finish(&f.arena);
}

static void test_slurm_needs_a_shared_directory(void **state)
{
    (void)state;
    struct fixture f = loaded(0, "resources: {infra: slurm/gpu, slurm: {account: ml}}");
    struct rb_err err = {0};
    assert_false(rb_job_check_supported(&f.job, &err));
    assert_string_equal(err.key, "resources.slurm.shared_dir");
    rb_arena_finish(&f.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_of_the_minimal_job),
        cmocka_unit_test(test_every_key_is_read),
        cmocka_unit_test(test_gpu_sizes),
        cmocka_unit_test(test_bad_identity),
        cmocka_unit_test(test_bad_scheduler),
        cmocka_unit_test(test_bad_policy_options),
        cmocka_unit_test(test_scheduler_defaults),
        cmocka_unit_test(test_no_upper_resource),
        cmocka_unit_test(test_bad_trial),
        cmocka_unit_test(test_bad_command_and_files),
        cmocka_unit_test(test_bad_resources_and_constraints),
        cmocka_unit_test(test_overrides_win_over_the_file),
        cmocka_unit_test(test_an_override_finds_keys_with_dots),
        cmocka_unit_test(test_bad_overrides_name_the_flag),
        cmocka_unit_test(test_a_deep_override_is_refused),
        cmocka_unit_test(test_reservations),
        cmocka_unit_test(test_what_is_supported),
        cmocka_unit_test(test_slurm_needs_a_shared_directory),
        cmocka_unit_test(test_kubernetes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
