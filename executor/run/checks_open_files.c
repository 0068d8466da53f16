// Compares the plan's largest stage with the limit of open files.
#include "executor/run/checks.h"

#include "engine/core/placement.h"
#include "engine/core/rungs.h"
#include "executor/launcher/launcher.h"

#include <inttypes.h>
#include <sys/resource.h>

static int64_t most_on_a_gpu(const struct rb_job *job)
{
    int64_t most = 1;
    for (int i = 0; i < job->trial.n_shares; i++)
        most = job->trial.shares[i] > most ? job->trial.shares[i] : most;
    return most;
}

// The number of processes followed at once: one for every node of every running trial.
static int64_t ranks_of(const struct rb_plan *plan, const struct rb_plan_stage *stage, bool any_sizes)
{
    const int n_nodes = rb_plan_stage_node_count(stage), gpus = rb_plan_stage_gpus_per_node(plan, stage);
    if (any_sizes || stage->trials_per_gpu > 1)
        return n_nodes * gpus * most_on_a_gpu(plan->job); // each has a GPU of its node, or a share of it
    const int capacity = rb_placement_capacity(n_nodes, gpus, stage->gpus_per_trial);
    const int64_t n_trials = stage->trials < capacity ? stage->trials : capacity;
    return n_trials * ((stage->gpus_per_trial + gpus - 1) / gpus);
}

bool rb_run_check_open_files(const struct rb_plan *plan, int n_jobs, struct rb_err *err)
{
    const bool any_sizes = n_jobs > 1 || rb_job_is_asynchronous(plan->job);
    struct rlimit limit;
    int64_t most = 0, ranks = 0, nodes = 0;
    for (int i = 0; i < plan->n_stages; i++) {
        const int64_t n_ranks = ranks_of(plan, &plan->stages[i], any_sizes);
        const int64_t n_nodes = rb_plan_stage_node_count(&plan->stages[i]) * (int64_t)n_jobs;
        const int64_t need = rb_launcher_open_files(n_ranks, n_nodes) + (n_jobs - 1) * RB_LAUNCHER_FILES_OF_RUN;
        if (need > most) {
            most = need;
            ranks = n_ranks;
            nodes = rb_plan_stage_node_count(&plan->stages[i]);
        }
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || most <= (int64_t)limit.rlim_cur)
        return true;
    return rb_err_set(err, RB_E_OPEN_FILES,
                      "this plan follows %" PRId64 " processes of trials at once, on %" PRId64
                      " nodes, and needs %" PRId64 " open files for that; this process may have %" PRIu64
                      ": raise the hard limit (`ulimit -Hn %" PRId64 "` as root, LimitNOFILE=%" PRId64
                      " of a systemd unit, `--ulimit nofile=%" PRId64
                      "` of docker run), or plan with a smaller resources.max_nodes",
                      ranks, nodes, most, (uint64_t)limit.rlim_cur, most, most, most);
}
