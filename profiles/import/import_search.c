#include "profiles/import/import_search.h"

#include "base/text/closest.h"
#include "profiles/job/job_names.h"

#include <ctype.h>
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
