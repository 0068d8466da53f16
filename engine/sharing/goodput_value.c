#include "engine/sharing/goodput_value.h"

#include <math.h>
#include <stdlib.h>

#define US_PER_S 1e6

void rb_goodput_rules_defaults(struct rb_goodput_rules *rules)
{
    *rules = (struct rb_goodput_rules){
        .fairness_p = 0,
        .least = 1e-3,
        .rank_power = 1,
        .rank_offset = 6,
        .declared = 1,
        .restart_count = 1,
        .restart_cost = 1,
        .urgency = 8,
    };
}

// A job that has not trained yet is assumed to scale perfectly.
static double rate(const struct rb_shared_job *job, int nodes, int gpus)
{
    return job->rate ? job->rate(job->arg, nodes, gpus) : gpus;
}

// On one node, however many GPUs that has: in the unit of Pollux's speed-ups. A model that refuses that number is asked
// for fewer.
static double fair_rate(const struct rb_shared_job *job, int fair_gpus)
{
    for (int gpus = fair_gpus; gpus >= 1; gpus /= 2) {
        const double r = rate(job, 1, gpus);
        if (r > 0)
            return r;
    }
    return 0;
}

// ---- weights

// Seconds on the fair share until it ends. If it declared nothing, as long as it has trained, which is the expectation
// for heavy-tailed work. Zero for a job without measurements: it should start soon.
static double left_s(const struct rb_job_values *v, const struct rb_job_value *of)
{
    const struct rb_shared_job *job = of->job;
    if (!job->rate || !(of->reference > 0))
        return 0;
    if (v->rules->declared > 0 && job->left > 0)
        return job->left / of->reference;
    return job->attained_gpu_s / v->fair_gpus;
}

static int descending(const void *pa, const void *pb)
{
    const double a = *(const double *)pa, b = *(const double *)pb;
    return (a < b) - (a > b);
}

// 1 + the number of the descending numbers greater than x.
static int rank_of(const double *sorted, int n, double x)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sorted[middle] > x)
            low = middle + 1;
        else
            high = middle;
    }
    return low + 1;
}

// For a deadline that can still be met: the necessary speed over that on its fair share.
static double urgency(const struct rb_job_values *v, const struct rb_job_value *of)
{
    const struct rb_shared_job *job = of->job;
    if (job->deadline_us == INT64_MAX || job->deadline_us <= job->age_us)
        return 1;
    const double needed = left_s(v, of) / ((double)(job->deadline_us - job->age_us) / US_PER_S);
    return fmin(fmax(needed * needed, 1), v->rules->urgency);
}

// For the shortest mean completion time the job with the least work left goes first, but it would use every further GPU
// less well: the optimum for equal, concave speed-ups weights by rank alone (heSRPT: Berg et al., SIGMETRICS'20).
static void weigh(struct rb_job_values *v, struct rb_arena *arena, int n_jobs)
{
    double *sorted = rb_arena_array(arena, (size_t)n_jobs, sizeof *sorted);
    for (int j = 0; j < n_jobs; j++)
        sorted[j] = left_s(v, &v->of[j]);
    qsort(sorted, (size_t)n_jobs, sizeof *sorted, descending);
    for (int j = 0; j < n_jobs; j++) {
        const double offset = v->rules->rank_offset, rank = rank_of(sorted, n_jobs, left_s(v, &v->of[j]));
        const double part = (rank + offset) / (n_jobs + offset);
        v->of[j].weight = v->of[j].job->weight * pow(part, v->rules->rank_power) * urgency(v, &v->of[j]);
    }
}

// As published for Pollux: the cost of a restart for a job of this age, and at most as many restarts as its age allows.
static double moved_factor(const struct rb_goodput_rules *rules, const struct rb_shared_job *job, int64_t restart_us)
{
    const double age_s = (double)job->age_us / US_PER_S, delay_s = (double)restart_us / US_PER_S;
    const int n_restarts = job->restarts > 0 ? job->restarts - 1 : 0; // the first start is none
    const double whole = age_s + rules->restart_cost * delay_s;
    return whole > 0 ? fmax(age_s - rules->restart_count * n_restarts * delay_s, 0) / whole : 1;
}

void rb_job_values_init(struct rb_job_values *v, struct rb_arena *arena, const struct rb_goodput_rules *rules,
                        const struct rb_sharing_options *options, int n_gpus, const struct rb_shared_job *jobs,
                        int n_jobs)
{
    *v = (struct rb_job_values){
        .rules = rules,
        .fairness_p = isnan(options->fairness_p) ? rules->fairness_p : options->fairness_p,
        .fair_gpus = (n_gpus + n_jobs - 1) / n_jobs,
        .of = rb_arena_array(arena, (size_t)n_jobs, sizeof *v->of),
    };
    for (int j = 0; j < n_jobs; j++)
        v->of[j] = (struct rb_job_value){
            .job = &jobs[j],
            .reference = fair_rate(&jobs[j], v->fair_gpus),
            .moved = moved_factor(rules, &jobs[j], options->restart_us),
        };
    weigh(v, arena, n_jobs);
}

// ---- values

static double utility(const struct rb_job_values *v, double speedup)
{
    const double p = v->fairness_p, x = speedup + v->rules->least;
    if (p == -1)
        return -1 / x;
    return p == 0 ? log(x) : pow(x, p) / p;
}

double rb_job_value_on(const struct rb_job_values *v, int job, int nodes, int gpus, bool moves)
{
    const struct rb_job_value *of = &v->of[job];
    const double r = of->reference > 0 ? rate(of->job, nodes, gpus) : 0;
    if (!(r > 0))
        return -INFINITY;
    return of->weight * utility(v, (moves ? of->moved : 1) * r / of->reference);
}

double rb_job_value_of_nothing(const struct rb_job_values *v, int job)
{
    return v->of[job].weight * utility(v, 0);
}
