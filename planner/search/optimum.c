#include "planner/search/optimum.h"

#include "planner/request/plan_space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_NODE_LIMIT 200000 // about a second of search on the largest examples
#define CHECK_PART         4      // of the request's replicates: this many reveal most of a pilot's wrong acceptances
#define DOUBTS             16
#define SUMS_ERR           1e-3 // of a plan's cost and probability: late nodes and rounded bills couple its stages

static int n_check(const struct rb_plan_request *req)
{
    return req->samples / CHECK_PART;
}

static double limit_of(int64_t value)
{
    return value < 0 ? INFINITY : (double)value;
}

bool rb_optimum_init(struct rb_optimum *op, struct rb_search *search, struct rb_err *err)
{
    const struct rb_plan_request *req = search->req;
    size_t n = (size_t)req->samples;
    *op = (struct rb_optimum){
        .search = search,
        .nearest = rb_needs_none(),
        .node_limit = req->node_limit > 0 ? req->node_limit : DEFAULT_NODE_LIMIT,
    };
    if (!rb_plan_space_take_options(search, &op->options, err))
        return false;
    if (op->options.is_pilot && !op->options.all) {
        op->options.all = rb_stage_samples_create(search, req->samples, 0);
        if (n_check(req) > op->options.n_samples)
            op->options.check = rb_stage_samples_create(search, n_check(req), 0);
    }
    op->time_us = rb_xcalloc(n, sizeof *op->time_us);
    op->cost_uusd = rb_xcalloc(n, sizeof *op->cost_uusd);
    op->scratch = rb_xcalloc(n, sizeof *op->scratch);
    rb_optimum_aim(op, RB_AIM_OBJECTIVE);
    return true;
}

void rb_optimum_finish(struct rb_optimum *op)
{
    rb_plan_space_give_options(op->search, &op->options);
    free(op->time_us);
    free(op->cost_uusd);
    free(op->scratch);
}

void rb_optimum_aim(struct rb_optimum *op, enum rb_aim_kind kind)
{
    const struct rb_plan_request *req = op->search->req;
    op->aim = (struct rb_aim){
        .kind = kind,
        .time_limit_us = limit_of(req->deadline_us),
        .cost_limit_uusd = limit_of(req->budget_uusd),
        .need = op->options.need,
        .on_average = op->search->on_average,
        .best = INFINITY,
    };
    op->has_best = op->has_path = false;
    op->n_refused = 0;
    op->n_nodes = 0;
}

bool rb_optimum_out_of_time(struct rb_optimum *op)
{
    const struct rb_plan_request *req = op->search->req;
    if (!op->cut && req->out_of_time && req->out_of_time(req->out_of_time_ctx))
        op->cut = true;
    return op->cut;
}

// --- sums

double rb_sample_objective(const struct rb_optimum *op, const struct rb_stage_sample *sample)
{
    if (op->search->req->objective == RB_OBJECTIVE_MIN_COST)
        return sample->cost_mean_uusd + RB_TIE_WEIGHT * sample->time_mean_us;
    return sample->time_mean_us + RB_TIE_WEIGHT * sample->cost_mean_uusd;
}

static const struct rb_option_entry *entry_at(const struct rb_options *o, const struct rb_path *path, int stage)
{
    return stage < 0 ? NULL : &o->stages[stage].entries[path->entry[stage]];
}

// Sums over the stages, replicate by replicate, into op->time_us and op->cost_uusd. Returns the mean of the objective.
static double sum_samples(struct rb_optimum *op, const struct rb_stage_sample *const *samples, int n)
{
    double objective = 0;
    memset(op->time_us, 0, (size_t)n * sizeof *op->time_us);
    memset(op->cost_uusd, 0, (size_t)n * sizeof *op->cost_uusd);
    for (int stage = 0; stage < op->options.n_stages; stage++) {
        const struct rb_stage_sample *s = samples[stage];
        for (int r = 0; r < n; r++) {
            op->time_us[r] += s->time_us[r];
            op->cost_uusd[r] += s->cost_uusd[r];
        }
        objective += rb_sample_objective(op, s);
    }
    return objective;
}

static double sum_path(struct rb_optimum *op, const struct rb_path *path)
{
    const struct rb_stage_sample *samples[RB_LIMIT_STAGES];
    for (int i = 0; i < op->options.n_stages; i++)
        samples[i] = rb_option_sample(entry_at(&op->options, path, i - 1), entry_at(&op->options, path, i));
    return sum_samples(op, samples, op->options.n_samples);
}

static bool sum_candidate(struct rb_optimum *op, struct rb_stage_samples *from, const struct rb_candidate *c,
                          double *out_objective, struct rb_err *err)
{
    const struct rb_stage_sample *samples[RB_LIMIT_STAGES];
    for (int i = 0; i < c->n_stages; i++) {
        int kept = rb_choice_kept(i > 0 ? &c->stages[i - 1] : NULL, &c->stages[i]);
        samples[i] = rb_stage_samples_get(from, i, &c->stages[i], kept, err);
        if (!samples[i])
            return false;
    }
    *out_objective = sum_samples(op, samples, rb_stage_samples_n(from));
    return true;
}

// --- is it the new best?

static uint64_t path_key(const struct rb_candidate *c)
{
    uint64_t key = UINT64_C(14695981039346656037); // FNV-1a
    for (int i = 0; i < c->n_stages; i++) {
        const int parts[] = {c->stages[i].offer, c->stages[i].gpus, c->stages[i].nodes};
        for (int k = 0; k < 3; k++)
            key = (key ^ (uint64_t)(uint32_t)parts[k]) * UINT64_C(1099511628211);
    }
    return key;
}

static bool was_refused(const struct rb_optimum *op, uint64_t key)
{
    for (int i = 0; i < op->n_refused; i++) {
        if (op->refused[i] == key)
            return true;
    }
    return false;
}

static void refuse(struct rb_optimum *op, uint64_t key)
{
    if (op->n_refused < RB_OPTIMUM_REFUSED)
        op->refused[op->n_refused++] = key;
}

// Value on the tables; INFINITY: it does not beat the best there.
static double value_on_tables(struct rb_optimum *op, const struct rb_path *path)
{
    int n = op->options.n_samples;
    double objective = sum_path(op, path);
    if (!rb_aim_may_beat(&op->aim, op->time_us, op->cost_uusd, n, objective))
        return INFINITY;
    return rb_aim_value(&op->aim, op->time_us, op->cost_uusd, n, objective, op->scratch);
}

// A pilot accepts too many plans, and those are cheap: after this many rejections it requires one replicate more.
static void doubt(struct rb_optimum *op)
{
    if (op->options.is_pilot && ++op->n_doubts % DOUBTS == 0 && op->aim.need < op->options.n_samples)
        op->aim.need++;
}

// True if, by these replicates of its stages, the plan may be feasible and no more expensive than the best.
static bool may_win(struct rb_optimum *op, struct rb_stage_samples *by, const struct rb_candidate *c, double confidence,
                    bool *out, struct rb_err *err)
{
    const int n = rb_stage_samples_n(by);
    struct rb_aim aim = op->aim;
    double objective;
    if (!sum_candidate(op, by, c, &objective, err))
        return false;
    aim.need = rb_need_count(fmax(0, confidence), n);
    aim.best = op->has_best ? (1 + SUMS_ERR) * rb_search_objective(op->search, &op->best.estimate) : INFINITY;
    *out = rb_aim_may_beat(&aim, op->time_us, op->cost_uusd, n, objective);
    return true;
}

// If the tables are a pilot, more replicates are drawn, and then all of them. The evaluator has the same draws, so a
// plan's stages predict its result almost exactly, and samples of a stage serve every plan.
static bool check_likes(struct rb_optimum *op, const struct rb_candidate *c, bool *out, struct rb_err *err)
{
    const struct rb_plan_request *req = op->search->req;
    const double cautious = rb_cautious_confidence(rb_search_confidence(op->search), n_check(req), req->samples);
    *out = true;
    if (!op->options.all || op->aim.kind != RB_AIM_OBJECTIVE)
        return true;
    if (op->options.check && !may_win(op, op->options.check, c, cautious, out, err))
        return false;
    return !*out || may_win(op, op->options.all, c, rb_search_confidence(op->search) - SUMS_ERR, out, err);
}

// Runs all replicates of a candidate for an aim that looks for the nearest constraints. Nodes that are inherited while
// they still boot make it slower than in the tables, never faster. So the exact value is the one to beat, and plans
// that the tables put below it are run as well. A pilot's tables are on another scale and are trusted.
static bool exact_nearest(struct rb_optimum *op, const struct rb_candidate *c, double *value, bool *out_better,
                          struct rb_err *err)
{
    struct rb_needs needs;
    if (!rb_search_needs(op->search, c, &needs, err))
        return false;
    if (op->surest.n_stages == 0 || needs.confidence > op->nearest.confidence)
        op->surest = *c;
    rb_needs_merge(&op->nearest, &needs);
    if (!op->options.is_pilot) {
        int64_t limit = op->aim.kind == RB_AIM_DEADLINE ? needs.deadline_us : needs.budget_uusd;
        *value = limit < 0 ? INFINITY : (double)limit;
        if (op->aim.kind == RB_AIM_CONFIDENCE)
            *value = needs.confidence > 0 ? -round(needs.confidence * op->search->req->samples) : INFINITY;
    }
    *out_better = *value < op->aim.best;
    return true;
}

static bool exact_objective(struct rb_optimum *op, struct rb_candidate *c, bool *out_better, struct rb_err *err)
{
    struct rb_search *search = op->search;
    if (!rb_search_settle(search, c, op->has_best ? &op->best : NULL, out_better, err))
        return false;
    if (!*out_better)
        rb_search_explain_loss(search, "optimal", c, op->has_best ? &op->best : NULL);
    else if (op->has_best)
        rb_search_explain_loss(search, "optimal", &op->best, c);
    return true;
}

static void become_best(struct rb_optimum *op, const struct rb_candidate *c, const struct rb_path *path, double value)
{
    op->best = *c;
    op->has_best = true;
    op->has_path = path != NULL;
    if (path)
        op->path = *path;
    op->aim.best = value;
}

// Gives the reason why the tables reject a plan, as far as known. The sums of the plan are in op.
static void explain_tables(struct rb_optimum *op, const struct rb_candidate *c)
{
    struct rb_aim feasible = op->aim;
    char text[32], p[32], asked[32];
    int n = op->options.n_samples, within = 0;
    double mean = 0;
    bool by_time = op->search->req->objective == RB_OBJECTIVE_MIN_TIME;
    if (!rb_search_explains(op->search) || op->aim.kind != RB_AIM_OBJECTIVE)
        return;
    for (int r = 0; r < n; r++) {
        within += op->time_us[r] <= feasible.time_limit_us && op->cost_uusd[r] <= feasible.cost_limit_uusd;
        mean += (by_time ? op->time_us[r] : op->cost_uusd[r]) / n;
    }
    double more = mean - op->aim.best;
    rb_format_probabilities((double)within / n, rb_search_confidence(op->search), p, asked);
    if (within < op->aim.need)
        rb_search_explain(op->search, "optimal", c, "infeasible: P=%s < %s in %d runs of its stages", p, asked, n);
    else if (by_time)
        rb_search_explain(op->search, "optimal", c, "takes about %s longer",
                          rb_format_duration((int64_t)fmax(0, more), text));
    else
        rb_search_explain(op->search, "optimal", c, "costs about %s more",
                          rb_format_money((int64_t)fmax(0, more), text));
}

bool rb_optimum_offer(struct rb_optimum *op, const struct rb_path *path, bool *out_better, struct rb_err *err)
{
    struct rb_candidate c = rb_options_candidate(&op->options, path);
    uint64_t key = path_key(&c);
    double value = value_on_tables(op, path);
    bool like, better = false;
    *out_better = false;
    if (was_refused(op, key))
        return true;
    if (isinf(value)) {
        if (rb_search_explains(op->search))
            explain_tables(op, &c);
        return true;
    }
    if (!check_likes(op, &c, &like, err))
        return false;
    if (like && op->aim.kind == RB_AIM_OBJECTIVE && !exact_objective(op, &c, &better, err))
        return false;
    if (like && op->aim.kind != RB_AIM_OBJECTIVE && !exact_nearest(op, &c, &value, &better, err))
        return false;
    if (better) {
        become_best(op, &c, path, value);
    } else {
        refuse(op, key);
        doubt(op);
    }
    *out_better = better;
    return true;
}

// The path of a candidate, if all its choices are among the entries.
static bool find_path(const struct rb_options *o, const struct rb_candidate *c, struct rb_path *out)
{
    for (int stage = 0; stage < c->n_stages; stage++) {
        const struct rb_stage_options *list = &o->stages[stage];
        int found = -1;
        for (int i = 0; i < list->n && found < 0; i++) {
            const struct rb_choice *x = &list->entries[i].choice, *y = &c->stages[stage];
            if (x->offer == y->offer && x->gpus == y->gpus && x->nodes == y->nodes)
                found = i;
        }
        if (found < 0)
            return false;
        out->entry[stage] = found;
    }
    return true;
}

bool rb_optimum_offer_scored(struct rb_optimum *op, const struct rb_candidate *candidate, struct rb_err *err)
{
    struct rb_path path;
    double objective;
    if (op->has_best && rb_candidate_compare(candidate, &op->best, op->search->req->objective) >= 0)
        return true;
    if (!sum_candidate(op, op->options.samples, candidate, &objective, err))
        return false;
    bool has_path = find_path(&op->options, candidate, &path);
    become_best(op, candidate, has_path ? &path : NULL, objective);
    return true;
}
