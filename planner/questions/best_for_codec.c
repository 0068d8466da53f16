// rb-best-for/1, docs/formats/json.md.
#include "planner/questions/best_for.h"

#include "profiles/job/job_names.h"


static void write_band(const char *key, const struct rb_band *b, struct rb_json *j)
{
    rb_json_put(j, "%s: {mean: %g|null low: %g|null median: %g|null high: %g|null}", key, b->mean, b->low, b->median,
                b->high);
}

static void write_best(const struct rb_best *best, struct rb_json *j)
{
    rb_json_put(j, "expected: {");
    write_band("normal_score", &best->z, j);
    write_band("better_than", &best->better_than, j);
    write_band("metric", &best->metric, j);
    rb_json_put(j, "}");
}

static void write_choice(const struct rb_search_choice *c, struct rb_json *j)
{
    rb_json_put(j, "search: {eta: %d min_resource: %jd brackets: %d num_trials: %d}", c->eta, c->min_resource,
                c->brackets, c->num_trials);
}

static void write_answer(const struct rb_best_for_answer *a, struct rb_json *j)
{
    if (!a->asked) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{budget_uusd: %jd deadline_us: %jd|null feasible: %i", a->budget_uusd, a->deadline_us, a->feasible);
    if (a->feasible) {
        write_choice(&a->choice, j);
        rb_json_put(j, "trials: %d", a->trials);
        write_best(&a->best, j);
        rb_json_key(j, "estimate");
        rb_estimate_write(&a->estimate, j);
    } else
        rb_json_put(j, "search: null trials: null expected: null estimate: null");
    rb_json_put(j, "}");
}

static void write_law(const struct rb_best_for *b, struct rb_json *j)
{
    const struct rb_quality_law *law = b->law;
    rb_json_put(j, "law: {source: %s runs: %d metric_known: %i correlations: [", law->source, law->n_runs,
                rb_quality_knows_metrics(law));
    for (int i = 0; i < law->n; i++)
        rb_json_put(j, "{share: %g rho: %g}", law->share[i], law->rho[i]);
    rb_json_put(j, "] sampler: %s|null gain: %g gain_source: %s|null}", b->asked->scheduler.sampler.type, b->gain,
                b->gain_source);
}

// num_trials of one that does not fit: not affordable, and not better than the chosen search.
static void write_rows(const struct rb_search_choices *choices, struct rb_json *j)
{
    rb_json_karray(j, "tried");
    for (int i = 0; i < choices->n; i++) {
        const struct rb_choice_row *row = &choices->rows[i];
        rb_json_put(j, "{fits: %i", row->fits);
        write_choice(&row->choice, j);
        write_best(&row->best, j);
        rb_json_put(j, "}");
    }
    rb_json_end_array(j);
}

static void write_target(const struct rb_best_for *b, struct rb_json *j)
{
    rb_json_key(j, "to_target");
    if (!b->has_target) {
        rb_json_null(j);
        return;
    }
    rb_json_put(j, "{target: %g reached: %g cost_uusd:", b->job->target, b->to_target.reached);
    if (b->to_target.reached > 0)
        rb_quantiles_write(&b->to_target.cost_uusd, j);
    else
        rb_json_null(j);
    rb_json_put(j, "}");
}

void rb_best_for_write(const struct rb_best_for *b, struct rb_json *j)
{
    rb_json_put(j, "{format: 'rb-best-for/1' job: %s metric: %s goal: %s tuner: %s max_resource: %jd confidence: %g",
                b->asked->name, b->asked->metric_name, rb_goal_names[b->asked->goal], b->asked->scheduler.type,
                b->asked->scheduler.max_resource, b->plan.confidence);
    write_law(b, j);
    rb_json_key(j, "chosen");
    write_answer(&b->chosen, j);
    rb_json_key(j, "more_money");
    write_answer(&b->more_money, j);
    rb_json_key(j, "less_time");
    write_answer(&b->less_time, j);
    write_target(b, j);
    rb_json_karray(j, "frontier");
    for (int i = 0; i < b->n_frontier; i++)
        write_answer(&b->frontier[i], j);
    rb_json_end_array(j);
    write_rows(&b->choices, j);
    rb_json_put(j, "plans: %d cut: %i}", b->n_plans, b->cut);
}
