#include "profiles/import/import_search.h"

#include "base/text/closest.h"
#include "profiles/job/job_names.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

// Without case, - and _, and without "search", "searcher" or "sampler" at the end. why: where theirs is another method.
static const struct {
    const char *theirs, *ours, *why;
} searches[] = {
    {"random", NULL, NULL},
    {"basicvariantgenerator", NULL, NULL},
    {"variantgenerator", NULL, NULL},
    {"tpe", "tpe", NULL},
    {"multivariatetpe", "tpe", NULL},
    {"hyperopt", "tpe", NULL},
    {"optuna", "tpe", NULL}, // OptunaSearch's default is its TPE
    {"gp", "gp", NULL},
    {"bayes", "gp", NULL},
    {"bayesian", "gp", NULL},
    {"bayesianoptimization", "gp", NULL},
    {"bayesopt", "gp", NULL},
    {"bohb", "bohb", NULL},
    {"tunebohb", "bohb", NULL},
    {"qmc", "sobol", NULL},
    {"sobol", "sobol", NULL},
    {"cmaes", "tpe", "there is no CMA-ES here: tpe takes its place"},
};

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static void plain_name(const char *name, char out[static 64])
{
    static const char *const ends[] = {"searcher", "search", "sampler"};
    size_t n = 0;
    for (; *name && n < 63; name++)
        if (*name != '-' && *name != '_')
            out[n++] = (char)tolower((unsigned char)*name);
    out[n] = '\0';
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_in(out, ends[i]))
            out[strlen(out) - strlen(ends[i])] = '\0';
}

void rb_import_set_sampler(struct rb_importer *im, const char *name, const struct rb_node *node)
{
    char plain[64];
    plain_name(name, plain);
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        if (strcmp(searches[i].theirs, plain) != 0)
            continue;
        if (searches[i].why)
            rb_import_warn(im, RB_DRAFT_SCHEDULER, node, "%s", searches[i].why);
        if (searches[i].ours)
            rb_import_set(im, RB_DRAFT_SCHEDULER, "sampler", searches[i].ours, node);
        return;
    }
    rb_import_warn(im, RB_DRAFT_SCHEDULER, node, "there is no search %.40s here: tpe takes its place", name);
    rb_import_set(im, RB_DRAFT_SCHEDULER, "sampler", "tpe", node);
}

void rb_import_set_type(struct rb_importer *im, bool is_grid, const struct rb_node *median, const struct rb_node *at)
{
    const bool stops = median && !is_grid;
    if (median && is_grid)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, median, "a grid trains each of its points in full; none is stopped early");
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", stops ? "median" : is_grid ? "grid" : "random", stops ? median : at);
}

bool rb_import_set_population(struct rb_importer *im, int64_t length, const char *unit, const struct rb_node *interval,
                              const struct rb_node *quantile, const struct rb_node *at, struct rb_err *err)
{
    const int64_t R = im->options->max_resource > 0 ? im->options->max_resource : length > 0 ? length : 1;
    double every = ceil((double)R / 10), share;
    if ((interval && !rb_node_double(interval, 1, INT32_MAX, &every, err)) ||
        (quantile && !rb_node_double(quantile, 0.01, 0.5, &share, err)))
        return false;
    if (!interval)
        rb_import_warn(im, RB_DRAFT_SCHEDULER, at,
                       "how often members of the population compare themselves is not given: a tenth of their training");
    rb_import_set(im, RB_DRAFT_SCHEDULER, "type", "pbt", at);
    rb_import_set_int(im, RB_DRAFT_SCHEDULER, "ready_every", (int64_t)ceil(every), interval ? interval : at);
    if (quantile)
        rb_import_set(im, RB_DRAFT_SCHEDULER, "quantile", quantile->text, quantile);
    rb_import_set_length(im, length, unit, at);
    return true;
}
