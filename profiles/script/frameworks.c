#include "profiles/script/frameworks.h"

#include "base/text/buf.h"
#include "base/text/closest.h"

#include <string.h>

// Sources: docs of transformers TrainingArguments, Lightning CLI and CSVLogger, timm's train.py, detectron2's engine/defaults.py,
// Keras' progress bar, xgboost's, lightgbm's and fastai's callbacks.
static const struct rb_framework frameworks[] = {
    {
        .name = "transformers",
        .modules = {"transformers", "trl"},
        .names = {"HfArgumentParser", "TrlParser"},
        .by_its_arguments = true,
        .format = "hf",
        .metric = "eval_loss",
        .minimize = true,
        .end = "num_train_epochs",
        .is_horizon = true,
        .resume = "--resume_from_checkpoint={resume:checkpoint-*}",
        .checkpoint = {"--output_dir={checkpoint}"},
        .fixed = {"--do_train", "--do_eval", "--eval_strategy=epoch", "--save_strategy=epoch", "--save_total_limit=1",
                  "--disable_tqdm=True", "--report_to=none"},
        .uses_all_gpus = true,
    },
    {
        .name = "Lightning",
        .modules = {"lightning", "pytorch_lightning"},
        .names = {"LightningCLI"},
        .by_its_arguments = true,
        .format = "lightning",
        .end = "trainer.max_epochs",
        .resume = "--ckpt_path={resume:lightning_logs/version_*/checkpoints/*.ckpt}",
        .checkpoint = {"--trainer.default_root_dir={checkpoint}", "--trainer.logger=CSVLogger",
                       "--trainer.logger.save_dir={checkpoint}"},
        .uses_all_gpus = true,
        .subcommand = "fit",
    },
    {
        .name = "timm",
        .modules = {"timm"},
        .names = {"update_summary", "CheckpointSaver"},
        .format = "csv",
        .metric = "eval_top1",
        .file = "{checkpoint}/t/summary.csv",
        .base = "0",
        .is_horizon = true,
        .resume = "?--resume={resume}/t/last.pth.tar",
        .checkpoint = {"?--output={checkpoint}", "?--experiment=t"},
        .fixed = {"?--checkpoint-hist=1"},
        .files = {"t/last.pth.tar"},
    },
    {
        .name = "detectron2",
        .modules = {"detectron2"},
        .names = {"default_argument_parser"},
        .by_its_arguments = true,
        .format = "json",
        .metric = "bbox/AP",
        .file = "{checkpoint}/metrics.json",
        .unit = "iteration",
        .end = "SOLVER.MAX_ITER",
        .checkpoint = {"OUTPUT_DIR", "{checkpoint}"},
        .fixed = {"--config-file=TODO_config_file", "--resume"},
        .resumes_in_place = true,
        .style = "pairs",
    },
    {
        .name = "transformers",
        .modules = {"transformers", "trl"},
        .names = {"Trainer", "Seq2SeqTrainer", "SFTTrainer"},
        .format = "hf",
        .metric = "eval_loss",
        .minimize = true,
        .is_horizon = true,
        .resume = "?--resume_from_checkpoint={resume:checkpoint-*}",
        .uses_all_gpus = true,
    },
    {
        .name = "Lightning",
        .modules = {"lightning", "pytorch_lightning"},
        .names = {"Trainer"},
        .format = "lightning",
        .uses_all_gpus = true,
    },
    {.name = "XGBoost",
     .modules = {"xgboost"},
     .names = {"train", "fit", "cv"},
     .format = "xgboost",
     .base = "0",
     .unit = "round"},
    {.name = "LightGBM", .modules = {"lightgbm"}, .names = {"train", "fit"}, .format = "lightgbm", .unit = "round"},
    {.name = "fastai", .modules = {"fastai"}, .format = "fastai", .metric = "valid_loss", .minimize = true},
    {.name = "Keras",
     .modules = {"keras", "tensorflow", "tf_keras"},
     .names = {"fit", "fit_generator"},
     .format = "keras"},
};

static bool imports_one(const struct rb_script *s, const struct rb_framework *f)
{
    for (int i = 0; i < 4 && f->modules[i]; i++)
        if (rb_script_imports(s, f->modules[i]))
            return true;
    return false;
}

static bool names_one(const struct rb_script *s, const struct rb_framework *f)
{
    for (int i = 0; i < 6 && f->names[i]; i++)
        if (rb_script_names(s, f->names[i]))
            return true;
    return !f->names[0];
}

const struct rb_framework *rb_framework_of(const struct rb_script *s)
{
    for (size_t i = 0; i < sizeof frameworks / sizeof frameworks[0]; i++)
        if (imports_one(s, &frameworks[i]) && names_one(s, &frameworks[i]))
            return &frameworks[i];
    return NULL;
}

// --- habits

// Of tokens first..end - 1: is the length of the training among them?
static bool names_length(const struct rb_script *s, int first, int end, struct rb_arena *arena)
{
    for (int i = first; i < end; i++) {
        const struct rb_py_token *t = &s->text.tokens[i];
        const char *name = t->kind == RB_PY_NAME ? rb_arena_strndup(arena, t->at, t->n) : "";
        const char *value = rb_py_is(t + 1, "=") && t[2].kind == RB_PY_NUMBER ? NULL : name; // T_max=10
        if (value && (strcasestr(value, "epoch") || strcasestr(value, "iter") || strcasestr(value, "total") ||
                      strcasestr(value, "max_steps") || strcasestr(value, "training_steps")))
            return true;
    }
    return false;
}

static bool names_pi(const struct rb_script *s, int first, int end)
{
    for (int i = first; i < end; i++)
        if (rb_py_is(&s->text.tokens[i], "pi"))
            return true;
    return false;
}

// A schedule over the length of the training, also as cos(pi * epoch / epochs), or an option whose default is "cosine".
static bool has_schedule(const struct rb_script *s, struct rb_arena *arena)
{
    static const char *const calls[] = {"CosineAnnealingLR",
                                        "OneCycleLR",
                                        "PolynomialLR",
                                        "LinearLR",
                                        "CosineDecay",
                                        "PolynomialDecay",
                                        "get_scheduler",
                                        "get_linear_schedule_with_warmup",
                                        "get_cosine_schedule_with_warmup",
                                        "get_polynomial_decay_schedule_with_warmup",
                                        "cosine_decay_schedule",
                                        "warmup_cosine_decay_schedule",
                                        "linear_schedule",
                                        NULL};
    for (int i = 0; i + 1 < s->text.n; i++) {
        const struct rb_py_token *t = &s->text.tokens[i];
        const bool calls_it = t->kind == RB_PY_NAME && rb_py_is(t + 1, "(") && !(i > 0 && rb_py_is(t - 1, "def"));
        const bool by_hand = calls_it && rb_py_is(t, "cos") && names_pi(s, i + 2, t[1].match);
        if (calls_it && (by_hand || rb_is_one_of(rb_arena_strndup(arena, t->at, t->n), calls)) &&
            names_length(s, i + 2, t[1].match, arena))
            return true;
    }
    for (int i = 0; i < s->n_options; i++) {
        const char *value = s->options[i].default_value;
        if (value && (strcmp(value, "'cosine'") == 0 || strcmp(value, "\"cosine\"") == 0) &&
            (strstr(s->options[i].name, "sched") || strstr(s->options[i].name, "lr")))
            return true;
    }
    return false;
}

// os.environ["LOCAL_RANK"]: without a rank that is an error.
static bool reads_rank(const struct rb_script *s, bool with_default, struct rb_arena *arena)
{
    static const char *const ranks[] = {"RANK", "LOCAL_RANK", "WORLD_SIZE", NULL};
    for (int i = 1; i < s->text.n; i++) {
        const char *text = rb_py_string(&s->text.tokens[i], arena);
        if (text && rb_is_one_of(text, ranks) && rb_py_is(&s->text.tokens[i - 1], "[") != with_default)
            return true;
    }
    return false;
}

// Does a call of open have a mode that writes?
static bool opens_to_write(const struct rb_script *s, int open, struct rb_arena *arena)
{
    const struct rb_py_argument *a;
    const int n = rb_py_arguments(&s->text, open, arena, &a);
    const char *mode = n > 1 ? rb_py_string(&s->text.tokens[a[1].value.first], arena) : NULL;
    return mode && mode[0] == 'w';
}

// torch.save(x, "a.pt"), os.path.join(dir, "a.pt"), model.save(f"a-{n}.h5") and their like: what a string that ends in a name of
// a checkpoint says, where a call of `save` is.
static const char *saved_name(const struct rb_script *s, struct rb_arena *arena)
{
    static const char *const endings[] = {".pt",  ".pth", ".ckpt",   ".tar", ".h5",     ".keras", ".safetensors",
                                          ".bin", ".pkl", ".pickle", ".npz", ".joblib", NULL};
    for (int i = 0; i + 1 < s->text.n; i++) {
        const bool is_call = rb_py_is(&s->text.tokens[i + 1], "(");
        const bool saves = rb_py_is(&s->text.tokens[i], "save") || rb_py_is(&s->text.tokens[i], "save_checkpoint") ||
                           (is_call && rb_py_is(&s->text.tokens[i], "open") && opens_to_write(s, i + 1, arena));
        const int end = saves && is_call ? s->text.tokens[i + 1].match : 0;
        for (int k = i + 1; k < end; k++) {
            const char *text = rb_py_string(&s->text.tokens[k], arena), *dot = text ? strrchr(text, '.') : NULL;
            if (!dot || !rb_is_one_of(dot, endings))
                continue;
            const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text;
            RB_AUTO(rb_buf_finish) struct rb_buf glob = RB_BUF_INIT;
            if (name == dot)
                rb_buf_putc(&glob, '*'); // dir + ".pt"
            for (const char *p = name; *p; p++) {
                if (*p == '{' || *p == '%') {
                    rb_buf_putc(&glob, '*');
                    p += *p == '{' ? strcspn(p, "}") : 1 + strspn(p + 1, "0123456789.");
                    if (!*p)
                        break;
                } else {
                    rb_buf_putc(&glob, *p);
                }
            }
            return rb_arena_strndup(arena, rb_buf_str(&glob), glob.len);
        }
    }
    return NULL;
}

static bool may_need_no_gpu(const struct rb_script *s, const char *source)
{
    static const char *const on_cpus[] = {"sklearn", "xgboost", "lightgbm", "catboost", "statsmodels"};
    static const char *const on_gpus[] = {"torch", "tensorflow", "keras", "jax", "cupy", "cuml"};
    bool may = false;
    for (size_t i = 0; i < sizeof on_cpus / sizeof on_cpus[0]; i++)
        may = may || rb_script_imports(s, on_cpus[i]);
    for (size_t i = 0; i < sizeof on_gpus / sizeof on_gpus[0]; i++)
        may = may && !rb_script_imports(s, on_gpus[i]);
    return may && !strcasestr(source, "cuda") && !strcasestr(source, "gpu");
}

void rb_script_habits(const struct rb_script *s, const char *source, struct rb_arena *arena,
                      struct rb_script_habits *out)
{
    const bool looks = reads_rank(s, true, arena);
    *out = (struct rb_script_habits){
        .has_schedule = has_schedule(s, arena),
        .needs_launcher = reads_rank(s, false, arena) && !looks,
        .may_use_launcher = looks || strstr(source, "torchrun"),
        .uses_accelerate = rb_script_names(s, "Accelerator"),
        .may_need_no_gpu = may_need_no_gpu(s, source),
        .saved_name = saved_name(s, arena),
    };
}
