// One run of a seed's world, with as many controllers as it takes, and what must be true after it.
#ifndef RB_TESTS_SOAK_RUN_H
#define RB_TESTS_SOAK_RUN_H

#include "providers/mock/cloud/chaos.h"
#include "soak_cloud.h"

struct soak_options {
    uint64_t seed;
    bool is_gcp;
    const struct rb_mock_gcp_account *account;
    bool verbose; // what the controllers say, with the virtual time, on stderr
};

struct soak_outcome {
    // What must not be.
    int leaked;         // instances that go on after the run
    int launched_twice; // instances that no launch of the journal answers for
    int lost_reports;   // lines of trials whose work counted that do not stand exactly once in the journal
    int false_claims;   // controllers that said "no instance left" while there was one
    bool hangs;
    int blamed; // of a stop or a full host, and nothing else: trials started again, nodes lost, runs that did not go through
    int above_budget; // runs that cost more than their budget, although their controller was there all the time
    int wrongly_hung; // trials killed as hung where none hangs
    int64_t cloud_uusd, run_uusd; // the same, but for those that the cloud had forgotten:
    int64_t estimated_uusd;       // what the run says more than the cloud for these, so that all is the same
    int64_t idle_disk_uusd;       // of Compute Engine's machines that stopped themselves, until they were deleted: not in cloud_uusd
    // What happened.
    bool complete;      // else: stopped
    int n_stand_ins;    // launches that asked for another offer than the plan's, which was sold out
    int n_instances, n_lives, n_deaths, n_jumps, n_sleeps;
    int n_outages, n_full, n_rescued; // disks that were full, and how often all was known to have ended then
    int n_stops, n_long_stops; // of the controller's process; those that a node does not wait for
    int n_full_hosts, n_held_up; // and what they made the controller say
    bool is_quiet, whole_seconds;
    int n_replanned;    // changes of nodes for a limit
    int n_gang_nodes;   // nodes that were asked for together with others
    int n_forgotten;    // instances that the cloud no longer knew when the run could ask
    int n_unpriced;     // bills that differ because the cloud did not list the last prices, and the run said so
    int64_t n_faults[RB_CHAOS_N_FAULTS], n_wire_faults[SOAK_N_WIRE_FAULTS], n_requests;
    int64_t virtual_us;
    char how[256];      // how its last controller ended
};

void soak_run(const struct soak_options *options, struct soak_outcome *out);
bool soak_outcome_is_good(const struct soak_outcome *o);

#endif
