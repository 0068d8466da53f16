// Ways out of an infeasible request: constraints that a plan keeps when they are changed together, and the job's limit
// that binds. Every value offered was planned with, so asking again with it finds a plan.
#ifndef RB_PLANNER_WAY_OUT_H
#define RB_PLANNER_WAY_OUT_H

#include "planner/search/planner.h"

// Values to ask with. -1: that constraint was not asked for.
struct rb_way_out_pair {
    int64_t deadline_us; // rounded up to 1 s
    int64_t budget_uusd; // rounded up to 1 cent
};

struct rb_way_out_limit {
    const char *what;      // as --what-if takes it: "max_nodes=30", "spot=allow"; NULL: no such limit was found
    int64_t time_us;       // the plan's mean
    int64_t cost_uusd;     // likewise
};

struct rb_way_out {
    struct rb_way_out_pair fastest, cheapest; // [0..n_pairs): fastest first; without duplicate plans
    int n_pairs;                              // 0: changing one constraint alone suffices, or only one was asked for
    struct rb_way_out_limit limit;            // with the constraints unchanged
};

// `result` is the answer to the request. Plans with few samples and without the baselines, until req->out_of_time;
// values not found by then are not offered. *out lives in `arena`.
void rb_way_out_find(const struct rb_plan_request *req, const char *planner, const struct rb_plan_result *result,
                     struct rb_arena *arena, struct rb_way_out *out);

// Writes "together: --deadline 37m --budget 14.5, or ...; with max_nodes=30 they can be kept: 12 s, $3.20", or nothing
// if nothing was found.
void rb_way_out_say(const struct rb_way_out *out, struct rb_buf *text);
// Writes the members `together` (a list) and `limit` (null if none was found).
void rb_way_out_write(const struct rb_way_out *out, struct rb_json *j);

#endif
