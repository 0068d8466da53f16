// Does one hyperparameter decide how long a unit takes? A batch size or a width often does. Then the spread between
// runs is not noise: the profile is too coarse, and the user should know.
#include "profiles/store/samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CONFIGS     3    // two points lie on every line
#define MIN_BETWEEN_CV  0.02 // a smaller spread does not matter
#define DOMINANT_SHARE  0.5
#define LOG_SCALE_RATIO 10.0 // positive values spread wider than this are compared by their logarithms

// One configuration: the mean over its runs.
struct config {
    const char *json;
    double deviation;
    int n_runs;
    struct rb_doc doc;
};

struct configs {
    struct config *items;
    int n;
};

static void finish_configs(struct configs *c)
{
    for (int i = 0; i < c->n; i++)
        rb_doc_finish(&c->items[i].doc);
    free(c->items);
}

static struct config *config_of(struct configs *c, const char *json)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->items[i].json, json) == 0)
            return &c->items[i];
    c->items[c->n] = (struct config){.json = json};
    return &c->items[c->n++];
}

static bool gather_configs(const struct rb_samples *s, const double *log_deviation, struct configs *c,
                           struct rb_err *err)
{
    c->items = rb_xcalloc((size_t)s->n_runs + 1, sizeof(*c->items));
    for (int i = 0; i < s->n_runs; i++) {
        struct config *config = config_of(c, s->runs[i].config_json);
        config->deviation += log_deviation[i];
        config->n_runs++;
    }
    for (int i = 0; i < c->n; i++) {
        struct config *config = &c->items[i];
        config->deviation /= config->n_runs;
        if (!rb_doc_parse_json(&config->doc, "configuration of a measured run", config->json, strlen(config->json),
                               err))
            return false;
    }
    return true;
}

static const struct rb_node *value_of(const struct config *c, const char *param)
{
    const struct rb_node *root = c->doc.root;
    for (const struct rb_node *v = root->kind == RB_NODE_MAP ? root->first : NULL; v; v = v->next)
        if (strcmp(v->key, param) == 0)
            return v;
    return NULL;
}

static double total_sq(const struct configs *c)
{
    double mean = 0, sum_sq = 0;
    for (int i = 0; i < c->n; i++)
        mean += c->items[i].deviation / c->n;
    for (int i = 0; i < c->n; i++)
        sum_sq += (c->items[i].deviation - mean) * (c->items[i].deviation - mean);
    return sum_sq;
}

// Share of the variance that remains after spending df degrees of freedom, as in adjusted R^2: with few configurations
// some line or grouping always fits well, and that must not count.
static double adjusted(double residual_sq, double all_sq, int n, int df)
{
    return n > df && all_sq > 0 ? 1 - (residual_sq / (n - df)) / (all_sq / (n - 1)) : 0;
}

static double share_of_line(const struct configs *c, const double *x)
{
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (int i = 0; i < c->n; i++) {
        mean_x += x[i] / c->n;
        mean_y += c->items[i].deviation / c->n;
    }
    for (int i = 0; i < c->n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (c->items[i].deviation - mean_y);
    }
    const double all_sq = total_sq(c);
    return xx > 0 ? adjusted(all_sq - xy * xy / xx, all_sq, c->n, 2) : 0;
}

// false: some value is not a number.
static bool numbers_of(const struct configs *c, const char *param, double *x)
{
    double smallest = INFINITY, largest = 0;
    for (int i = 0; i < c->n; i++) {
        const struct rb_node *v = value_of(&c->items[i], param);
        if (!v || (v->kind != RB_NODE_INT && v->kind != RB_NODE_FLOAT))
            return false;
        x[i] = v->number;
        smallest = fmin(smallest, v->number);
        largest = fmax(largest, v->number);
    }
    for (int i = 0; i < c->n && smallest > 0 && largest / smallest >= LOG_SCALE_RATIO; i++)
        x[i] = log(x[i]);
    return true;
}

static const char *text_of(const struct config *c, const char *param)
{
    const struct rb_node *v = value_of(c, param);
    return v && v->text ? v->text : "";
}

static double share_of_groups(const struct configs *c, const char *param)
{
    double residual_sq = 0;
    int n_groups = 0;
    for (int i = 0; i < c->n; i++) {
        double mean = 0;
        int first = -1, size = 0;
        for (int k = 0; k < c->n; k++) {
            if (strcmp(text_of(&c->items[k], param), text_of(&c->items[i], param)) == 0) {
                first = first < 0 ? k : first;
                mean += c->items[k].deviation;
                size++;
            }
        }
        mean /= size;
        n_groups += first == i;
        residual_sq += (c->items[i].deviation - mean) * (c->items[i].deviation - mean);
    }
    return n_groups > 1 ? adjusted(residual_sq, total_sq(c), c->n, n_groups) : 0;
}

bool rb_dominant_fit(const struct rb_samples *s, const double *log_deviation, struct rb_arena *arena,
                     struct rb_fit_report *report, struct rb_err *err)
{
    RB_AUTO(finish_configs) struct configs c = {0};
    if (!gather_configs(s, log_deviation, &c, err))
        return false;
    if (c.n < MIN_CONFIGS || report->noise.between_cv < MIN_BETWEEN_CV || c.items[0].doc.root->kind != RB_NODE_MAP)
        return true;
    RB_AUTO(rb_auto_free) double *x = rb_xcalloc((size_t)c.n, sizeof(*x));
    for (const struct rb_node *v = c.items[0].doc.root->first; v; v = v->next) {
        const double share = numbers_of(&c, v->key, x) ? share_of_line(&c, x) : share_of_groups(&c, v->key);
        if (share > DOMINANT_SHARE && share > report->dominant_share) {
            report->dominant_param = rb_arena_strdup(arena, v->key);
            report->dominant_share = share;
        }
    }
    return true;
}
