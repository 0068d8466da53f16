#include "profiles/guess/guess.h"

#include "base/text/buf.h"
#include "base/text/units.h"
#include "profiles/guess/gpu_speeds.h"
#include "profiles/guess/guess_library.h"
#include "profiles/job/keys.h"

#include <stdio.h>
#include <string.h>

#define MOST_SAMPLES 1e15
#define LONGEST_US   (1e6 * 1e6) // of one unit, as in rb-profile/1

static const char *const from_names[] = {"own", "published", "feeling", NULL};
static const char *const kind_names[] = {"any", "cnn", "transformer", "llm", NULL};

static bool read_unit(struct rb_map *m, struct rb_guess *g, struct rb_err *err)
{
    double throughput, samples;
    const struct rb_node *rate = rb_keys_given(m, "throughput"), *count = rb_keys_given(m, "samples");
    if (!rb_keys_duration(m, "unit", 0, &g->unit_us, err))
        return false;
    if ((g->unit_us > 0) == (rate != NULL) || (rate == NULL) != (count == NULL))
        return rb_node_refuse(m->node, err, RB_E_KEYS_TOGETHER,
                              "expected either `unit`, how long one unit takes, or `throughput` in samples a second "
                              "with `samples`, the samples of one unit");
    if (!rate)
        return true;
    if (!rb_node_double(rate, 1e-9, MOST_SAMPLES, &throughput, err) ||
        !rb_node_double(count, 1e-9, MOST_SAMPLES, &samples, err))
        return false;
    const double us = samples / throughput * 1e6;
    if (!(us >= 1 && us <= LONGEST_US))
        return rb_node_refuse(count, err, RB_E_OUT_OF_RANGE, "one unit would take %.3g s: check samples and throughput",
                              us / 1e6);
    g->unit_us = (int64_t)us;
    return true;
}

bool rb_guess_kind_parse(const char *text, enum rb_guess_kind *out)
{
    for (int i = 0; kind_names[i]; i++)
        if (strcmp(kind_names[i], text) == 0) {
            *out = (enum rb_guess_kind)i;
            return true;
        }
    return false;
}

// A model of the library brings everything but the size of a unit.
static bool read_like(struct rb_map *m, const struct rb_node *like, struct rb_arena *arena, struct rb_guess *g,
                      struct rb_err *err)
{
    static const char *const brought[] = {"unit", "throughput", "on", "gpus", "from", "kind"};
    const struct rb_node *samples = rb_keys_given(m, "samples");
    if (!rb_library_find(like, arena, &g->like, err))
        return false;
    for (size_t i = 0; i < sizeof brought / sizeof brought[0]; i++)
        if (rb_keys_given(m, brought[i]))
            return rb_node_refuse(rb_keys_given(m, brought[i]), err, RB_E_KEYS_TOGETHER,
                                  "`like: %s` brings its own figures: remove `%s`, or remove `like`%s", g->like->name,
                                  brought[i],
                                  strcmp(brought[i], "on") == 0 ? "; resources.accelerators chooses GPUs" : "");
    if (!samples)
        return rb_node_refuse(m->node, err, RB_E_KEYS_TOGETHER,
                              "expected `samples` beside `like: %s`: how many %s does one unit train on?",
                              g->like->name, g->like->of);
    return rb_node_double(samples, 1e-9, MOST_SAMPLES, &g->samples, err);
}

// A measured profile brings everything but the kind of model.
static bool read_measured(struct rb_map *m, struct rb_arena *arena, struct rb_guess *g, struct rb_err *err)
{
    static const char *const brought[] = {"like", "unit",    "throughput", "samples",    "on",
                                          "gpus", "scaling", "startup",    "checkpoint", "from"};
    int kind;
    for (size_t i = 0; i < sizeof brought / sizeof brought[0]; i++)
        if (rb_keys_given(m, brought[i]))
            return rb_node_refuse(rb_keys_given(m, brought[i]), err, RB_E_KEYS_TOGETHER,
                                  "`measured` takes the figures of the job's measured profile: remove `%s`, or remove "
                                  "`measured`",
                                  brought[i]);
    if (!rb_keys_need_text(m, "measured", arena, &g->measured, err) ||
        !rb_keys_choice(m, "kind", kind_names, rb_names_count(kind_names), RB_GUESS_ANY, &kind, err))
        return false;
    g->kind = (enum rb_guess_kind)kind;
    return true;
}

static bool read_own(struct rb_map *m, struct rb_arena *arena, struct rb_guess *g, struct rb_err *err)
{
    int from, kind;
    if (!read_unit(m, g, err) || !rb_keys_need_text(m, "on", arena, &g->on, err) ||
        !rb_keys_count(m, "gpus", 1, 8, 1, &g->gpus, err) ||
        !rb_keys_choice(m, "from", from_names, rb_names_count(from_names), RB_GUESS_FEELING, &from, err) ||
        !rb_keys_choice(m, "kind", kind_names, rb_names_count(kind_names), RB_GUESS_ANY, &kind, err))
        return false;
    g->from = (enum rb_guess_from)from;
    g->kind = (enum rb_guess_kind)kind;
    return true;
}

bool rb_guess_read(const struct rb_node *node, struct rb_arena *arena, struct rb_guess *out, struct rb_err *err)
{
    static const char *const keys[] = {"measured", "like", "unit",    "throughput", "samples",    "on", "gpus",
                                       "from",     "kind", "scaling", "startup",    "checkpoint", NULL};
    struct rb_guess g = {0};
    struct rb_map m;
    if (!rb_keys_begin(&m, node, keys, err))
        return false;
    const struct rb_node *like = rb_keys_given(&m, "like");
    if (!(rb_keys_given(&m, "measured") ? read_measured(&m, arena, &g, err)
          : like                        ? read_like(&m, like, arena, &g, err)
                                        : read_own(&m, arena, &g, err)) ||
        !rb_keys_double(&m, "scaling", 1, 8, 0, &g.scaling, err) ||
        !rb_keys_duration(&m, "startup", -1, &g.startup_us, err) ||
        !rb_keys_duration(&m, "checkpoint", -1, &g.checkpoint_us, err))
        return false;
    *out = g;
    return true;
}

static void write_duration(struct rb_json *j, const char *key, int64_t us)
{
    char text[32];
    rb_json_kstring(j, key, us >= 0 ? rb_format_duration_exact(us, text) : NULL);
}

void rb_guess_write(const struct rb_guess *g, struct rb_json *j)
{
    rb_json_begin_object(j);
    if (g->measured) {
        rb_json_kstring(j, "measured", g->measured);
        rb_json_kstring(j, "kind", kind_names[g->kind]);
    } else if (g->like) {
        rb_json_kstring(j, "like", g->like->name);
        rb_json_kdouble(j, "samples", g->samples);
    } else {
        write_duration(j, "unit", g->unit_us);
        rb_json_kstring(j, "on", g->on);
        rb_json_kint(j, "gpus", g->gpus);
        rb_json_kstring(j, "from", from_names[g->from]);
        rb_json_kstring(j, "kind", kind_names[g->kind]);
    }
    if (g->scaling > 0)
        rb_json_kdouble(j, "scaling", g->scaling);
    write_duration(j, "startup", g->startup_us);
    write_duration(j, "checkpoint", g->checkpoint_us);
    rb_json_end_object(j);
}

const char *rb_guess_yaml(const char *text, struct rb_arena *arena)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    bool in_key = true;
    rb_buf_putc(&out, '{');
    for (; *text; text++) {
        if (*text == '=' && in_key)
            rb_buf_puts(&out, ": ");
        else
            rb_buf_putc(&out, *text);
        in_key = *text == ',' || (in_key && *text != '=');
    }
    rb_buf_putc(&out, '}');
    return rb_arena_strdup(arena, rb_buf_str(&out));
}
