// Draws random numbers from streams that are named by keys. A draw depends on its key (seed, purpose, stage, index, attempt, replicate) and on nothing
// else: not on call order, not on the plan, not on the number of threads. Counter-based generator (Philox 4x32-10,
// Salmon et al., SC'11, "Parallel random numbers: as easy as 1, 2, 3").
#ifndef RB_BASE_STREAM_H
#define RB_BASE_STREAM_H

#include <stdint.h>

// The purpose of a draw. The numbers are part of reproducibility: append, never renumber.
enum rb_purpose {
    RB_DRAW_QUEUE = 1,      // queueing delay of a node request
    RB_DRAW_INIT = 2,       // initialisation latency of a node
    RB_DRAW_CAPACITY = 3,   // does the request fail for lack of capacity
    RB_DRAW_PREEMPTION = 4, // time from running to preemption
    RB_DRAW_STARTUP = 5,    // start-up of a trial in a stage
    RB_DRAW_BETWEEN = 6,    // slow or fast for the whole stage
    RB_DRAW_WITHIN = 7,     // one unit of resource; consecutive draws of one stream
    RB_DRAW_CHECKPOINT = 8, // checkpoint at the end of a trial's stage
    RB_DRAW_PARAMETER = 9,  // sampling of hyperparameters: index = trial, stage = position of the parameter
    RB_DRAW_TRIAL_SEED = 10,
    RB_DRAW_CURVE = 11,     // synthetic learning curves
    RB_DRAW_MOCK = 12,      // the mock cloud's own delays
    RB_DRAW_SEARCH = 13,    // randomised search, tests
    RB_DRAW_MEASUREMENT = 14, // how far a measured mean is from the true one: one draw per replicate
    RB_DRAW_BLOCK = 15, // state of the generator of a block of sampled replicates: simulator/sampler/sampler_lanes.h
    RB_DRAW_SHARE = 16,       // which jobs get GPUs where a policy assigns them at random: replicate = decision
    // As RB_DRAW_MEASUREMENT, one draw per replicate; for the last two, index = entry of the profile's provisioning.
    RB_DRAW_STARTUP_ERROR = 17,
    RB_DRAW_CHECKPOINT_ERROR = 18,
    RB_DRAW_QUEUE_ERROR = 19,
    RB_DRAW_INIT_ERROR = 20,
    RB_DRAW_SUGGESTION = 21, // samplers/draws.h: index = trial, stage = what for
    RB_DRAW_PARENT = 22, // which trial a clone copies (engine/tuners/pbt.c): index = the clone
    RB_DRAW_QUALITY = 23,    // scores of imagined configurations: index = trial, stage = rung of its bracket
    RB_DRAW_CONFIGURATION = 24, // slow or fast configuration: index = trial
    RB_DRAW_POSTERIOR_SPEED = 25, // what a run has shown (simulator/posterior/): stage 0: index = accelerator, else = layout
    RB_DRAW_POSTERIOR_TRIAL = 26, // likewise: index = trial; stage 0: for the run, else for stage - 1
    RB_DRAW_SURVIVORS = 27,    // who survives in a run that goes on: index = trial
    RB_DRAW_STRIKES = 28, // what a node's strikes take, and when the next ones come: simulator/model/draws.h
    RB_DRAW_SPELLS = 29, // spells of a market (simulator/world/markets.c): index = offer, attempt = spell; stage 1: its state at first
    RB_DRAW_PAUSE = 30,  // pause of a request that found every offer sold out; as RB_DRAW_QUEUE
    RB_DRAW_MARKETS = 31, // spot markets by the tick: simulator/spot/market_mix.h
    RB_DRAW_SPOT_PACE = 33, // slow or fast stages in replays of a plan (simulator/spot/plan_replay.c): index 0: of all, else stage + 1
    RB_DRAW_READING = 35, // how long a node fetches the job's data; as RB_DRAW_INIT
    RB_DRAW_READING_ERROR = 36, // as RB_DRAW_INIT_ERROR: index = entry of the profile's readings
};

struct rb_stream_key {
    uint64_t seed;
    uint32_t purpose;   // enum rb_purpose, < 256
    uint32_t stage;     // < 65536
    uint32_t index;     // k of a trial in its stage, ordinal of a node within its request, ...
    uint32_t attempt;   // < 65536
    uint32_t replicate;
};

struct rb_stream {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t out[4];
    uint32_t n_used; // words of `out` used so far
};

void rb_stream_init(struct rb_stream *s, const struct rb_stream_key *key);
uint32_t rb_stream_u32(struct rb_stream *s);
uint64_t rb_stream_u64(struct rb_stream *s);
double rb_stream_uniform(struct rb_stream *s);                 // in (0, 1), 53 bits, never 0 or 1
double rb_stream_first_uniform(const struct rb_stream_key *key); // of a stream that is used for nothing else
uint64_t rb_stream_below(struct rb_stream *s, uint64_t n);     // 0..n-1, unbiased; n > 0

// The block function of all draws; public because known answers for it are published.
void rb_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
