// What a seed means: a cloud with its moods, a job, a plan for it, and what befalls the controller.
#ifndef RB_TESTS_SOAK_WORLD_H
#define RB_TESTS_SOAK_WORLD_H

#include "base/text/buf.h"
#include "engine/plan/plan.h"
#include "fake_launcher.h"
#include "soak_cloud.h"

enum { SOAK_MAX_DEATHS = 4, SOAK_MAX_JUMPS = 5, SOAK_MAX_ACCIDENTS = SOAK_MAX_JUMPS + 6 };

struct soak_accident {
    int64_t at_us;
    int64_t jump_us;  // the host's wall clock is set; 0: not
    int64_t sleep_us; // the host sleeps; 0: not
    int64_t offline_us; // the host has no network; 0: not
    int64_t stop_us;    // the controller's process is stopped; 0: not
    int64_t full_us;    // the host has no room for another command; 0: it has
};

struct soak_world {
    bool is_gcp;
    const char *infras[2];        // [n_infras], "mock/us-east-1"; the second is for stand-ins only
    int n_infras;
    bool whole_seconds;           // all that the cloud shows and bills; EC2 never does otherwise
    bool is_quiet;                // nothing befalls it but stops of its controller and a full host
    int64_t catch_up_us;          // after a stop, until what was printed meanwhile is there
    bool has_gangs;               // every trial is spread over two nodes
    bool falls_back;              // the plan names offers that stand in, and its own are sold out at times
    struct rb_buf yaml, chaos;    // rb-mock/1, rb-chaos/1
    const char *prices;
    struct soak_wire_faults wire;
    struct fake_training training; // probabilities; times stay
    struct rb_plan *plan;          // one that replans has a deadline, a budget and a profile, else it has none of these
    bool replans;                 // on_drift: replan
    struct soak_accident accidents[SOAK_MAX_ACCIDENTS];
    int n_accidents;
    struct soak_death {
        int64_t write;    // the life ends at its write of that number
        bool at;          // not one side effect further
        bool full;        // it lives on, and there is no room for that write or any other
        int64_t pause_us; // no one is there before the next
    } deaths[SOAK_MAX_DEATHS];
    int n_deaths;
};

// Everything lives in the arena but the two texts.
void soak_world_init(struct soak_world *w, uint64_t seed, bool is_gcp, struct rb_arena *arena);
void soak_world_finish(struct soak_world *w);

#endif
