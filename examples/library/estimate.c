/* Asks librubberband for the cheapest plan of a tuning job, and what it would take on nodes of one's own choice.
 *
 *     make && ./estimate job.yaml profile.yaml prices.csv [OVERRIDE...]
 *
 * such as  ./estimate ../bert/job.yaml ../bert/profile.yaml ../prices/aws-us-east-1.csv deadline=2h budget=100 */
#include <inttypes.h>
#include <rubberband.h>
#include <stdio.h>

/* Inputs, all of them or none. */
struct inputs {
    struct rubberband_job *job;
    struct rubberband_profile *profile;
    struct rubberband_prices *prices;
};

static int complain(const struct rubberband_error *error)
{
    const char *file = rubberband_error_file(error), *key = rubberband_error_key(error);
    if (file[0])
        fprintf(stderr, "%s: ", file);
    if (rubberband_error_line(error) > 0)
        fprintf(stderr, "line %d, column %d: ", rubberband_error_line(error), rubberband_error_column(error));
    fprintf(stderr, "%s%s%s\n", key, key[0] ? ": " : "", rubberband_error_message(error));
    if (rubberband_error_status(error) == RUBBERBAND_INFEASIBLE)
        fprintf(stderr,
                "nearest deadline %" PRId64 " us, budget %" PRId64 " micro-dollars, confidence %.3f (-1: none)\n",
                rubberband_error_nearest_deadline_us(error), rubberband_error_nearest_budget_uusd(error),
                rubberband_error_nearest_confidence(error));
    return rubberband_error_status(error);
}

static void show(const char *what, const struct rubberband_estimate *e)
{
    printf("%s: %" PRId64 " us (p95 %" PRId64 "), %" PRId64 " micro-dollars (p95 %" PRId64 "), P(both) %.17g\n", what,
           rubberband_estimate_time_us(e, RUBBERBAND_MEAN), rubberband_estimate_time_us(e, RUBBERBAND_P95),
           rubberband_estimate_cost_uusd(e, RUBBERBAND_MEAN), rubberband_estimate_cost_uusd(e, RUBBERBAND_P95),
           rubberband_estimate_p_both(e));
}

static void show_stages(const struct rubberband_allocation *a, const struct rubberband_estimate *e)
{
    int i;
    for (i = 0; i < rubberband_allocation_n_stages(a); i++)
        printf("stage %d: %d trials x %d GPUs on %d x %s (%s, %s), %" PRId64 " us\n", i,
               rubberband_estimate_stage_trials(e, i), rubberband_allocation_gpus_per_trial(a, i),
               rubberband_allocation_nodes(a, i), rubberband_allocation_instance_type(a, i),
               rubberband_allocation_infra(a, i), rubberband_allocation_market(a, i),
               rubberband_estimate_stage_time_us(e, i, RUBBERBAND_MEAN));
}

/* The same nodes throughout: what the plan's largest stage owns. */
static int hold_nodes(const struct rubberband_allocation *plan, struct rubberband_allocation *out)
{
    const int n = rubberband_allocation_n_stages(plan);
    int i, largest = 0, status = RUBBERBAND_OK;
    for (i = 1; i < n; i++)
        if (rubberband_allocation_nodes(plan, i) > rubberband_allocation_nodes(plan, largest))
            largest = i;
    for (i = 0; i < n && status == RUBBERBAND_OK; i++)
        status = rubberband_allocation_add(
            out, rubberband_allocation_infra(plan, largest), rubberband_allocation_instance_type(plan, largest),
            rubberband_allocation_market(plan, largest), rubberband_allocation_nodes(plan, largest),
            rubberband_allocation_gpus_per_trial(plan, i));
    return status;
}

static int answer(const struct rubberband_request *request, struct rubberband_error *error)
{
    struct rubberband_plan *plan = NULL;
    struct rubberband_estimate *held = NULL;
    struct rubberband_allocation *nodes = rubberband_allocation_new();
    int status = rubberband_find_plan(request, &plan, error);
    if (status == RUBBERBAND_OK) {
        show("cheapest plan", rubberband_plan_estimate(plan));
        show_stages(rubberband_plan_allocation(plan), rubberband_plan_estimate(plan));
        status = hold_nodes(rubberband_plan_allocation(plan), nodes);
    }
    if (status == RUBBERBAND_OK)
        status = rubberband_estimate_plan(request, nodes, &held, error);
    if (status == RUBBERBAND_OK)
        show("with its most nodes throughout", held);
    rubberband_allocation_free(nodes);
    rubberband_estimate_free(held);
    rubberband_plan_free(plan);
    return status;
}

static int load(char **argv, int argc, struct inputs *in, struct rubberband_error *error)
{
    int status = rubberband_job_load(argv[1], (const char *const *)(argv + 4), argc - 4, &in->job, error);
    if (status == RUBBERBAND_OK)
        status = rubberband_profile_load(argv[2], &in->profile, error);
    if (status == RUBBERBAND_OK)
        status = rubberband_prices_load(in->prices, argv[3], error);
    return status;
}

int main(int argc, char **argv)
{
    struct inputs in = {NULL, NULL, NULL};
    struct rubberband_error *error;
    int status;
    if (argc < 4) {
        fprintf(stderr, "usage: %s job.yaml profile.yaml prices.csv [key=value...]\n", argv[0]);
        return RUBBERBAND_INVALID;
    }
    error = rubberband_error_new();
    in.prices = rubberband_prices_new();
    status = load(argv, argc, &in, error);
    if (status == RUBBERBAND_OK) {
        struct rubberband_request *request = rubberband_request_new(in.job, in.profile, in.prices);
        status = answer(request, error);
        rubberband_request_free(request);
    }
    if (status != RUBBERBAND_OK)
        complain(error);
    rubberband_prices_free(in.prices);
    rubberband_profile_free(in.profile);
    rubberband_job_free(in.job);
    rubberband_error_free(error);
    return status;
}
