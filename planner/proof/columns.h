// The space of plans as columns. A column is one choice of one stage with one number of nodes inherited; its sample is
// a set of runs of that stage, in the same worlds for every column. Every column has lower bounds on its mean cost and
// time, also before it is sampled, so shortest paths always bound every plan of the space from below. Samples are made
// only of columns that the bounds so far leave on some path that is cheap enough.
// Bounds on means: a theorem (nodes are billed for the work done on them); the sample, less its possible error; the
// sample of the same choice with more nodes inherited, because nodes that are requested later make no stage faster.
// Source: docs/MODEL.md, "What proved means".
#ifndef RB_PLANNER_COLUMNS_H
#define RB_PLANNER_COLUMNS_H

#include "planner/scores/stage_samples.h"

#define RB_COLUMNS_TILTS    3  // weights of worlds: equal, and more on those that are slow for the best plan
#define RB_COLUMNS_PRICES   7  // prices of time, the first is zero
#define RB_COLUMNS_BY_PARTS 12 // what a trial drawn part by part costs, in trials drawn from tables

struct rb_column {
    const struct rb_stage_sample *sample; // NULL: not made, or dropped
    double more_uusd;                     // lower bound on its mean cost less that of the best plan's column
    double least_us[RB_COLUMNS_TILTS]; // weighted means of the times that count; of plans in time their sums over the
                                       // stages are at most the deadline
    bool dropped;                      // it is on no plan that may be cheap enough
};

struct rb_column_choice {
    struct rb_choice choice;
    struct rb_column *columns;          // [nodes + 1], by nodes inherited; only [0] in the first stage
    int low, high;                      // those outside are dropped; low > high: all are
    const struct rb_stage_sample *last; // the last one made; columns without a sample are not faster. NULL: unknown
};

// The choices of one offer.
struct rb_column_group {
    int offer, first, end, most; // choices first..end-1; the most nodes of any
    double *some, *all;          // [most + 1], scratch of shortest paths, by nodes handed over
    double least;                // scratch
};

struct rb_column_stage {
    struct rb_column_choice *choices; // in the order of offer, nodes, GPUs
    int n;
    struct rb_column_group *groups;
    int n_groups;
    const struct rb_stage_sample *best; // the best plan's column
    double *part_us;                    // [n_worlds]: this stage's part of the deadline in a world
    double *least_us;                   // [n_worlds]: of all columns that remain, world by world
};

struct rb_columns {
    struct rb_search *search;
    struct rb_column_stage stages[RB_LIMIT_STAGES];
    int n_stages, n_columns;
    int n_worlds, need; // `need` of the worlds must be in time
    struct rb_stage_samples *samples;
    int n_sampled;
    double sigma;        // standard errors bounding the error of every mean
    double allowed_uusd; // a plan whose columns cost this much more is not cheaper
    struct {
        int tilt;
        double uusd_per_us;
    } prices[RB_COLUMNS_PRICES];
    double *weights[RB_COLUMNS_TILTS];                 // [n_worlds], of mean 1
    double *values;                                    // [n_worlds], scratch
    double *to_go[RB_COLUMNS_PRICES][RB_LIMIT_STAGES]; // [stage][choice]: lower bound on what the later stages add
    double effort, most_effort;                        // trials drawn, and the most that may be drawn
    bool cut;                                          // the time limit was reached
};

// Lower bound on the mean cost of every plan: the work of each stage on the cheapest offer, over all offers.
double rb_least_work_uusd(const struct rb_search *search);

void rb_columns_init(struct rb_columns *c, struct rb_search *search, double most_effort);
void rb_columns_finish(struct rb_columns *c);

// Begins samples of n worlds, relative to the plan `best`. Bounds from fewer worlds are kept, and sampled columns are
// sampled again when they are needed.
bool rb_columns_begin(struct rb_columns *c, const struct rb_candidate *best, int n, int need, struct rb_err *err);
// Drops columns, and samples those that remain, until all have samples or that is too much.
// *io_more_uusd: raised to a lower bound on what any plan in time costs more than the best plan's columns.
bool rb_columns_fill(struct rb_columns *c, double *io_more_uusd, bool *out_all, struct rb_err *err);
// Trials to draw for n worlds of all columns that remain.
double rb_columns_effort(const struct rb_columns *c, int n);
// True if n worlds of all columns that remain fit into the memory limit.
bool rb_columns_fit(const struct rb_columns *c, int n);

// The deadline, beyond which time has a price; 0: there is none.
double rb_columns_deadline_us(const struct rb_columns *c);
// The column of a choice after choice number `before` of the previous stage.
struct rb_column *rb_columns_after(const struct rb_columns *c, int stage, int before,
                                   const struct rb_column_choice *choice);
// Bound on the error of the mean of n values, less those of `minus` if given.
double rb_columns_slack(const double *values, const double *minus, int n, double sigma);

#endif
