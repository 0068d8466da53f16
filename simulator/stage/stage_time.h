// Stage-time objects: what one stage takes, as a law, made once for everything it depends on and shared by every plan,
// deadline, price and what-if. Closed form where the model allows, the exact dynamic schedule where not, pilot samples of
// the schedule elsewhere; the choice is made here and told.
#ifndef RB_SIMULATOR_STAGE_TIME_H
#define RB_SIMULATOR_STAGE_TIME_H

#include "simulator/model/scenario.h"
#include "simulator/one_wave/law.h"

enum rb_stage_method {
    RB_STAGE_ONE_WAVE, // every trial has a slot of its own: the largest of n ends; if on new nodes, simulator/one_wave/one_wave.h
    RB_STAGE_SCHEDULE, // simulator/list_schedule/list_schedule.h
    RB_STAGE_PILOT,    // sampled: very many gangs that wait for new nodes, or that these come too late for; laws with atoms
};
const char *rb_stage_method_name(enum rb_stage_method method); // "one wave", "dynamic schedule", "pilot samples"

// Gangs on new nodes open dependently. Taken as independent, they err where the law's mass is and little beyond. Tested.
#define RB_BODY_FALLS 6.0

#define RB_STAGE_ROUGH 1e-3

struct rb_stage_time {
    struct rb_law law;           // from the stage's start to its last trial's end
    enum rb_stage_method method;
    const char *why;             // not a closed form because ...; NULL
    double body_error;           // part of law.error: of it, P(end <= t) errs by min(1, RB_BODY_FALLS P(end > t)) at most
    double unready;              // bound on P(a requested node is still not ready when the stage ends): there, and only
                                 // there, stages depend on each other
    double late_mean_s;          // bound on the mean time by which the latest requested node comes after the stage has ended,
    double late_node_mean_s;     // ... and by which any one of them does; but for what the law errs by
    double short_lived;          // bound on P(a node requested for this stage and ended with it lives less than 60 s): there
                                 // the billing minimum, and only it, keeps mean cost from being linear in mean time
    double queue_mean_s;         // of one new node, from request to running
};

// What a stage time depends on, and nothing else: not on prices, deadlines or the stage's number.
struct rb_stage_work {
    int stage;          // of the scenario: trials and units come from its rung
    int offer, gpus;    // GPUs per trial
    int nodes, kept;    // owned; of these ready at the start. The others are requested then
    bool finely;        // sampled four times as often if it has to be, and even if there is a law that errs by more than
                        // RB_STAGE_ROUGH: a plan's P errs by a quarter or a half
};

struct rb_stage_times;
struct rb_sampler_tables; // simulator/sampler/sampler_tables.h

// `pilot` samples where samples are needed. May outlive a scenario and serve others with the same profile object
// (compared by address: training and provisioning entries). Not thread-safe.
struct rb_stage_times *rb_stage_times_create(int pilot);
void rb_stage_times_destroy(struct rb_stage_times *times); // NULL is fine
int64_t rb_stage_times_made(const struct rb_stage_times *times, enum rb_stage_method method); // objects so far

size_t rb_stage_times_bytes(const struct rb_stage_times *times); // of what is kept of them

// Another user begins, such as a changed request: what it asks for and an earlier one has made is counted, each object once.
void rb_stage_times_begin_user(struct rb_stage_times *times);
int64_t rb_stage_times_reused(const struct rb_stage_times *times); // by the present user

// The law of one trial of so many units, made once. Borrowed.
const struct rb_law *rb_stage_times_trial(struct rb_stage_times *times, const struct rb_profile *profile, int64_t units,
                                          double unit_s);
// The longest of so many of them, likewise.
const struct rb_law *rb_stage_times_longest(struct rb_stage_times *times, const struct rb_profile *profile,
                                            int64_t units, double unit_s, int trials);
// What such trials share at all speeds, made once: the work of so many units at one second each, and what each trial adds to it.
// Borrowed.
const struct rb_law *rb_stage_times_work(struct rb_stage_times *times, const struct rb_profile *profile, int64_t units);
const struct rb_law *rb_stage_times_overhead(struct rb_stage_times *times, const struct rb_profile *profile);
// From the request of one node to its running, which is where the bill begins, and to its being ready; made once. Borrowed.
const struct rb_law *rb_stage_times_queue(struct rb_stage_times *times, const struct rb_provisioning *p);
const struct rb_law *rb_stage_times_arrival(struct rb_stage_times *times, const struct rb_provisioning *p);
// Tables of these laws for the sampler. Borrowed.
struct rb_sampler_tables *rb_stage_times_tables(struct rb_stage_times *times);

// Borrowed until destroy; made at the first request. NULL on error (a layout that may not be asked, no room for one
// trial). The offer must not lose nodes (preemption) and must have no measurement error: rb_stage_times_apply.
const struct rb_stage_time *rb_stage_times_get(struct rb_stage_times *times, const struct rb_scenario *s,
                                               const struct rb_stage_work *work, double accuracy, struct rb_err *err);

// The law of a stage if it is made already, else one that is made and that its time is nowhere below: of the fewest more nodes,
// up to `most`, of which as many are kept or as many are new. NULL: there is none. Samples do not count.
const struct rb_law *rb_stage_times_known(const struct rb_stage_times *times, const struct rb_scenario *s,
                                          const struct rb_stage_work *work, int most, bool *out_exact);

// A law that is stochastically not above the stage's time for any number of kept nodes, in microseconds of computing:
// the largest of n, and the work shared by all slots, whichever is larger in the mean. For bounds.
const struct rb_law *rb_stage_times_floor(struct rb_stage_times *times, const struct rb_scenario *s,
                                          const struct rb_stage_work *work, struct rb_err *err);

// Do stage times of this offer exist as independent laws? else *out_why ("nodes may be taken back", "the measured speed is
// uncertain: all stages share its error").
bool rb_stage_times_apply(const struct rb_scenario *s, int offer, const char **out_why);

#endif
