#include "profiles/draft/job_of_script.h"

#include "base/file.h"
#include "profiles/draft/script_draft.h"

#include <string.h>
#include <unistd.h>

static const char head[] =
    "A job to begin with: change it, check it with `rbplan --check`, then measure it with `rbprofile train`.";

static const char unmodified[] =
    "The script gets trial.args and its parameters as \"$@\", and reports as metric says: docs/formats/job.md.\n"
    "What is a guess is called so; TODO_ words are yours to fill in.";

#define SCRIPT_MAX_BYTES ((size_t)1 << 20) // longer ones are no scripts that people read

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static const char *run_line(const char *script, struct rb_arena *arena)
{
    if (ends_in(script, ".py"))
        return rb_arena_printf(arena, "python3 %s $RB_ARGS", script);
    return rb_arena_printf(arena, "%s%s $RB_ARGS", strchr(script, '/') ? "" : "./", script);
}

// "src/Train_Cifar.py" -> "train-cifar".
static const char *name_of(const char *script, struct rb_arena *arena)
{
    const char *slash = strrchr(script, '/'), *stem = slash ? slash + 1 : script;
    return rb_yaml_text(rb_job_draft_name(stem, strcspn(stem, "."), arena), arena);
}

static void set_example(struct rb_job_draft *d, enum rb_draft_section section, const char *key, const char *value,
                        const char *comment)
{
    rb_job_draft_set(d, section, key, value, comment, NULL);
}

// NULL for a folder or an unreadable file: the script need not exist yet.
static char *read_python(const char *script)
{
    char *text = NULL;
    size_t n;
    return rb_has_ending(script, ".py") && rb_read_file(script, SCRIPT_MAX_BYTES, &text, &n, NULL) ? text : NULL;
}

// A missing script gets an example; for an unreadable one nothing is invented.
static void draft_without_source(const char *script, struct rb_job_draft *d)
{
    const bool exists = access(script, F_OK) == 0;
    if (exists)
        rb_job_draft_remark(
            d, RB_DRAFT_METRIC,
            rb_arena_printf(d->arena, "only Python scripts are read: yours must print e.g. epoch=3 val_acc=0.81"));
    rb_job_draft_set(d, RB_DRAFT_METRIC, "name", "val_acc", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_METRIC, "goal", "maximize", NULL, NULL);
    void (*const put)(struct rb_job_draft *, enum rb_draft_section, const char *, const char *, const char *) =
        exists ? rb_job_draft_suggest : set_example;
    put(d, RB_DRAFT_PARAMETERS, "lr", "{distribution: log_uniform, min: 1.0e-4, max: 1.0e-1}", NULL);
    put(d, RB_DRAFT_PARAMETERS, "batch_size", "{values: [64, 128, 256]}", NULL);
    rb_job_draft_remark(
        d, RB_DRAFT_PARAMETERS,
        rb_arena_printf(d->arena, exists ? "examples: what %s takes was not read" : "examples: there is no %s yet",
                        script));
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "type", "asha", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "sampler", "tpe", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "num_trials", "27", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "max_resource", "27", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "eta", "3", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_SCHEDULER, "unit", "epoch", NULL, NULL);
    rb_job_draft_set(d, RB_DRAFT_TRIAL, "gpus", "{min: 1, max: 4}", "what one trial may be given", NULL);
    rb_job_draft_set(d, RB_DRAFT_RUN, NULL, run_line(script, d->arena), NULL, NULL);
}

void rb_draft_job(const char *script, struct rb_arena *arena, struct rb_job_draft *d)
{
    RB_AUTO(rb_auto_free) char *source = read_python(script);
    rb_job_draft_init(d, arena);
    rb_job_draft_set(d, RB_DRAFT_NAME, NULL, name_of(script, arena), NULL, NULL);
    if (source)
        rb_draft_from_script(script, source, d);
    else
        draft_without_source(script, d);
    const bool own_words = rb_job_draft_find(d, RB_DRAFT_TRIAL, "args") != NULL;
    d->head = rb_arena_printf(arena, "%s\n%s", head, own_words ? unmodified : rb_job_draft_contract);
    rb_job_draft_where(d, "2h");
}
