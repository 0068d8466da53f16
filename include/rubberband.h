/* librubberband predicts how long a hyperparameter tuning job takes and what it costs on a cloud, and finds the cheapest plan
 * that keeps its deadline and budget. It gives programs what the command rbplan gives people.
 *
 *     load job, profile, prices  ->  request  ->  rubberband_find_plan       the cheapest plan
 *                                             ->  rubberband_estimate_plan   time and cost of your own plan
 *
 * Units      Time is whole microseconds (_us), money whole micro-dollars (_uusd), probabilities 0..1.
 * Handles    All structs are opaque. `..._free` accepts NULL. A function's `const` result is borrowed from the handle
 *            it was called with, and lives as long. The caller frees what it stores through `out_...`.
 * Errors     Functions that can fail return a status, RUBBERBAND_OK or the exit code that rbplan would end with; outputs are
 *            untouched on failure. `error` may be NULL; else it states the problem, its place, and what to do next. Messages
 *            name settings as rbplan's options: --planner is rubberband_request_set_planner. Passing NULL for a required
 *            handle, or an index out of range, is a programming error and aborts, as does running out of memory.
 * Threads    There is no global state. Different handles may be used by different threads at once. A job, a profile and
 *            prices that are no longer changed may be shared by requests of several threads. A request, like an error,
 *            is used by one thread at a time; it starts threads of its own if rubberband_request_set_threads allows it.
 * Same bytes The same inputs and seed give the same answer, whatever the number of threads, unless a time limit cut the
 *            search.
 * Output     Nothing is printed and no environment variable is read, except RB_TRACE=planner, which prints the planner's
 *            decisions on stderr. It opens only the files that you name.
 *
 * These declarations stay source and binary compatible until the library's major version changes (soname). */
#ifndef RUBBERBAND_H
#define RUBBERBAND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RUBBERBAND_VERSION_MAJOR 0
#define RUBBERBAND_VERSION_MINOR 1
#define RUBBERBAND_VERSION_PATCH 0

/* The version of the library at run time, "0.1.0"; the macros are those at compile time. */
const char *rubberband_version(void);

/* ---- Errors */

enum rubberband_status {
    RUBBERBAND_OK = 0,
    RUBBERBAND_FAILED = 1,     /* the system failed: a file cannot be read, for example */
    RUBBERBAND_INVALID = 2,    /* bad input: the message says what was expected and where */
    RUBBERBAND_INFEASIBLE = 3, /* no plan keeps the constraints: see rubberband_error_nearest_... */
    RUBBERBAND_PRICE = 7       /* a price is missing */
    /* Other values are errors, too, with the meaning of rbplan's exit codes in later versions. */
};

struct rubberband_error;

/* An empty error. Every function that fails overwrites the error passed to it; success leaves it as it is. */
struct rubberband_error *rubberband_error_new(void);
void rubberband_error_free(struct rubberband_error *error);

int rubberband_error_status(const struct rubberband_error *error);          /* RUBBERBAND_OK while empty */
const char *rubberband_error_message(const struct rubberband_error *error); /* one sentence, no newline; "" while empty */
const char *rubberband_error_name(const struct rubberband_error *error);    /* kind of error: "invalid", "io", ... */
int rubberband_error_number(const struct rubberband_error *error); /* permanent: 1112 is RB1112 (docs/errors); 0 while empty */
const char *rubberband_error_remedy(const struct rubberband_error *error);  /* for all errors of the number; "" while empty */
const char *rubberband_error_file(const struct rubberband_error *error);    /* "": no place is known */
int rubberband_error_line(const struct rubberband_error *error);            /* from 1; 0: unknown */
int rubberband_error_column(const struct rubberband_error *error);
const char *rubberband_error_key(const struct rubberband_error *error);     /* "resources.infra[0]"; "": none */

/* After RUBBERBAND_INFEASIBLE: the nearest value of each constraint that, changed alone, would make a plan possible.
 * -1: no value of this one alone would, or it was not requested. */
int64_t rubberband_error_nearest_deadline_us(const struct rubberband_error *error);
int64_t rubberband_error_nearest_budget_uusd(const struct rubberband_error *error);
double rubberband_error_nearest_confidence(const struct rubberband_error *error);

/* ---- Inputs. Bytes need no terminating 0; errors refer to them by `name`. The calls read files and bytes and do not
 * keep them. */

struct rubberband_job;
struct rubberband_profile;
struct rubberband_prices;

/* job.yaml (man rb-job); JSON where `path` or `name` ends in .json. overrides: texts such as "scheduler.eta=4",
 * "deadline=2h" or "budget=40", applied to the file first, [n_overrides]; the array may be NULL where that is 0. A
 * deadline that is an instant counts from this call on. A path "-" is the standard input. */
int rubberband_job_load(const char *path, const char *const *overrides, int n_overrides, struct rubberband_job **out_job,
                        struct rubberband_error *error);
int rubberband_job_parse(const char *name, const char *bytes, size_t n_bytes, const char *const *overrides,
                         int n_overrides, struct rubberband_job **out_job, struct rubberband_error *error);
void rubberband_job_free(struct rubberband_job *job);
const char *rubberband_job_name(const struct rubberband_job *job);
const char *rubberband_job_json(const struct rubberband_job *job); /* every key resolved, in canonical order */

/* rb-profile/1 (man rb-profile), likewise: how training scales, how long nodes take to arrive. */
int rubberband_profile_load(const char *path, struct rubberband_profile **out_profile, struct rubberband_error *error);
int rubberband_profile_parse(const char *name, const char *bytes, size_t n_bytes,
                             struct rubberband_profile **out_profile, struct rubberband_error *error);
void rubberband_profile_free(struct rubberband_profile *profile);
const char *rubberband_profile_name(const struct rubberband_profile *profile);

/* A profile from the job's `guess`, for the machines of `prices`: nothing in it is measured, and its spread says so. The
 * job and the prices must outlive it. Errors: the job has no guess; none of the machines has a GPU of known speed. */
int rubberband_profile_guess(const struct rubberband_job *job, const struct rubberband_prices *prices,
                             struct rubberband_profile **out_profile, struct rubberband_error *error);

/* Price lists as CSV (man rb-prices), added one after the other; a price that is already there stays. While a request
 * with these prices exists, none may be added. */
struct rubberband_prices *rubberband_prices_new(void);
int rubberband_prices_load(struct rubberband_prices *prices, const char *path, struct rubberband_error *error);
int rubberband_prices_parse(struct rubberband_prices *prices, const char *name, const char *bytes, size_t n_bytes,
                            struct rubberband_error *error);
/* This machine, for jobs whose `resources.infra` names local: `gpus` GPUs of that kind ("CPU": slots), price 0.
 * RUBBERBAND_INVALID: not 1..64. */
int rubberband_prices_add_local(struct rubberband_prices *prices, const char *accelerator, int gpus);
void rubberband_prices_free(struct rubberband_prices *prices);
int rubberband_prices_count(const struct rubberband_prices *prices); /* machines that have a price */

/* ---- A request: the question and its inputs. */

struct rubberband_request;

/* A request with the constraints, the confidence and the seed of the job; one thread, no limits. The three handles
 * are borrowed and must outlive it. */
struct rubberband_request *rubberband_request_new(const struct rubberband_job *job,
                                                  const struct rubberband_profile *profile,
                                                  const struct rubberband_prices *prices);
void rubberband_request_free(struct rubberband_request *request);

/* Each returns RUBBERBAND_INVALID for a value outside its range, and then changes nothing. Deadline, budget,
 * confidence and seed belong to the job: pass them as overrides when you load it. */
int rubberband_request_set_samples(struct rubberband_request *request, int samples);             /* 32..1000000 */
int rubberband_request_set_threads(struct rubberband_request *request, int threads);             /* 1..256 */
/* "optimal", "mean", "greedy", "static", "naive"; NULL: the one that suits the job. */
int rubberband_request_set_planner(struct rubberband_request *request, const char *planner);
/* An answer by then, counted from the call that asks for it, in time that the calling thread computes; it may differ between runs.
 * 0: none. */
int rubberband_request_set_time_limit_us(struct rubberband_request *request, int64_t time_limit_us);
/* A limit that gives the same plan on every machine: the number of nodes of the search. 0: the planner's own. */
int rubberband_request_set_node_limit(struct rubberband_request *request, int64_t node_limit);

/* ---- Allocations: the nodes of each stage of the job (one per rung), and the GPUs of each trial. */

struct rubberband_allocation;

struct rubberband_allocation *rubberband_allocation_new(void);
void rubberband_allocation_free(struct rubberband_allocation *allocation);

/* The next stage. infra, instance_type and market ("on_demand", "spot") as in the price list. RUBBERBAND_INVALID: a
 * number below 1, an unknown market, more stages than any job has. */
int rubberband_allocation_add(struct rubberband_allocation *allocation, const char *infra, const char *instance_type,
                              const char *market, int nodes, int gpus_per_trial);

int rubberband_allocation_n_stages(const struct rubberband_allocation *allocation);
const char *rubberband_allocation_infra(const struct rubberband_allocation *allocation, int stage);
const char *rubberband_allocation_instance_type(const struct rubberband_allocation *allocation, int stage);
const char *rubberband_allocation_market(const struct rubberband_allocation *allocation, int stage);
int rubberband_allocation_nodes(const struct rubberband_allocation *allocation, int stage);
int rubberband_allocation_gpus_per_trial(const struct rubberband_allocation *allocation, int stage);

/* ---- Estimates */

enum rubberband_figure { RUBBERBAND_MEAN, RUBBERBAND_P5, RUBBERBAND_P50, RUBBERBAND_P95, RUBBERBAND_P99 };

struct rubberband_estimate;

/* Predicts time and cost of the allocation, and the probability that it keeps the request's deadline and budget;
 * these do not make it infeasible here. Errors: the number of stages is not that of the job's rungs; nodes without a
 * price, or that the job does not allow; a size or a number of nodes on which it cannot train; RUBBERBAND_INFEASIBLE:
 * spot nodes that are preempted before a trial can end. */
int rubberband_estimate_plan(const struct rubberband_request *request, const struct rubberband_allocation *allocation,
                             struct rubberband_estimate **out_estimate, struct rubberband_error *error);
void rubberband_estimate_free(struct rubberband_estimate *estimate);

int64_t rubberband_estimate_time_us(const struct rubberband_estimate *estimate, enum rubberband_figure figure);
int64_t rubberband_estimate_cost_uusd(const struct rubberband_estimate *estimate, enum rubberband_figure figure);
/* Probabilities are NaN where every time in the profile is a constant and it does not say `exact: true`: it is then
 * unknown by how much times vary. */
double rubberband_estimate_p_deadline(const struct rubberband_estimate *estimate); /* 1 without a deadline */
double rubberband_estimate_p_budget(const struct rubberband_estimate *estimate);   /* 1 without a budget */
double rubberband_estimate_p_both(const struct rubberband_estimate *estimate);
const char *rubberband_estimate_json(const struct rubberband_estimate *estimate);  /* the `estimate` of rb-plan/1 */

/* Stage by stage, in order. A stage trains `trials` trials from resource_start to resource_end. */
int rubberband_estimate_n_stages(const struct rubberband_estimate *estimate);
int rubberband_estimate_stage_trials(const struct rubberband_estimate *estimate, int stage);
int64_t rubberband_estimate_stage_resource_start(const struct rubberband_estimate *estimate, int stage);
int64_t rubberband_estimate_stage_resource_end(const struct rubberband_estimate *estimate, int stage);
int64_t rubberband_estimate_stage_time_us(const struct rubberband_estimate *estimate, int stage,
                                          enum rubberband_figure figure);
int64_t rubberband_estimate_stage_cost_uusd(const struct rubberband_estimate *estimate, int stage,
                                            enum rubberband_figure figure);

/* ---- Plans */

struct rubberband_plan;

/* The best plan that keeps the request's constraints with its confidence. RUBBERBAND_INFEASIBLE: there is none, and
 * `error` has the nearest constraints. */
int rubberband_find_plan(const struct rubberband_request *request, struct rubberband_plan **out_plan,
                         struct rubberband_error *error);
void rubberband_plan_free(struct rubberband_plan *plan);

const struct rubberband_estimate *rubberband_plan_estimate(const struct rubberband_plan *plan);
/* rubberband_estimate_plan for this allocation agrees with the plan's own estimate, within the `error` that its JSON
 * states, except for two things that no allocation does: it may request nodes before a stage needs them, and stop
 * starting configurations of an asynchronous job after a while. */
const struct rubberband_allocation *rubberband_plan_allocation(const struct rubberband_plan *plan);
/* A proven lower bound of the mean cost over all plans; -1: none is claimed. */
int64_t rubberband_plan_bound_uusd(const struct rubberband_plan *plan);
int rubberband_plan_n_warnings(const struct rubberband_plan *plan);
const char *rubberband_plan_warning(const struct rubberband_plan *plan, int i);
/* rb-plan/1 (man rb-plan), as `rbplan --json` prints it and rbrun executes it, on one line. The job's path in it is
 * that given to rubberband_job_load, made absolute; rbrun looks for the job's `workdir` beside it. "" after
 * rubberband_job_parse: then beside the plan. */
const char *rubberband_plan_json(const struct rubberband_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
