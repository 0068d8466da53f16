// What rbplan prints: a plan's stages as a table, one sentence about its cost and its end, the reasons for its stages,
// and two plans side by side.
#ifndef RB_VIEWS_PLAN_TABLE_H
#define RB_VIEWS_PLAN_TABLE_H

#include "engine/plan/plan.h"
#include "planner/questions/measuring.h"
#include "views/tables/text_table.h"

// The saving from a little more time, where it was computed.
struct rb_plan_slack {
    int64_t step_us;     // the additional time
    int64_t saved_uusd;  // 0: nothing
};

// A part of the plan's cost: with cents where the whole costs dollars, so that the decimal points of a column are
// aligned.
const char *rb_plan_money(const struct rb_plan *plan, int64_t uusd, char out[static 32]);

// One of the plan's probabilities with this many digits; "not known" where it is unknown how far times vary.
const char *rb_plan_probability(const struct rb_estimate *e, double p, int digits, char out[static 32]);
// What its probabilities rest on besides measurements: " on made-up learning curves" for asynchronous jobs, " from a
// guess", "" for others.
const char *rb_plan_on_what(const struct rb_plan *plan);

// The stages alone. Owns: finish *out with rb_text_table_finish.
void rb_plan_stages_table(const struct rb_plan *plan, struct rb_text_table *out);

// Heading, stages, verdict, warnings. slack NULL: not known.
void rb_plan_table_write(const struct rb_plan *plan, const struct rb_plan_slack *slack, const struct rb_text_style *style,
                         struct rb_buf *out);

// "cheapest plan: $18.40 (95 % <= $19.90), 1 h 41 m (95 % <= 1 h 57 m), P(on time) 0.970; static needs $31.05; 10 minutes more
// would save $3.20"
void rb_plan_verdict_write(const struct rb_plan *plan, const struct rb_plan_slack *slack, struct rb_buf *out);
// "cheapest plan on aws/us-east-1; static needs $31.05": the headline without the plan's own figures.
void rb_plan_headline_write(const struct rb_plan *plan, struct rb_buf *out);
void rb_plan_step_write(int64_t step_us, struct rb_buf *out); // "10 minutes", "1 second"

// What the search guarantees: "proved: no other choice ...", "not proved ..."; nothing for a planner that does not
// search.
void rb_plan_certificate_write(const struct rb_plan *plan, struct rb_buf *out);

// "measured: 3 configurations, 6 units, load 5.8 on 2 processors": the basis of the profile; nothing for a profile
// written by hand. Then rb_plan_transfers_write.
void rb_plan_basis_write(const struct rb_plan *plan, struct rb_buf *out);

// "where the run leaves the plan: other nodes for the stages to come (on_drift: replan)", and the reason where it is not
// that. In the table of a plan only where there is a limit and it is not that.
void rb_plan_drift_write(const struct rb_plan *plan, struct rb_buf *out);

// Where the controller is, and what its machine costs; nothing for a plan made without --at.
void rb_plan_controller_write(const struct rb_plan *plan, struct rb_buf *out);

// Under resources.spot: safe: what spot machines change, or why that is unknown. Nothing for other plans.
void rb_plan_spot_write(const struct rb_plan *plan, struct rb_buf *out);

// For a plan from a guess: "measured on V100, not on H100", "no one has measured this job".
void rb_plan_measured_write(const struct rb_plan *plan, struct rb_buf *out);
// A line for each GPU of the plan that was not measured, where another was: how much faster it is taken to be. Nothing for other plans.
void rb_plan_transfers_write(const struct rb_plan *plan, struct rb_buf *out);

// For a plan from a guess: its basis, its range, and what measuring buys (measuring->exists). Nothing for other plans.
void rb_plan_guess_write(const struct rb_plan *plan, const struct rb_measuring *measuring, struct rb_buf *out);

// Stage by stage: what changes at the barrier, and why nodes are kept, requested or released; then the baselines.
void rb_plan_explain_write(const struct rb_plan *plan, const struct rb_text_style *style, struct rb_buf *out);

// Stages of both side by side, then the differences of the estimates. Names head the columns.
void rb_plan_diff_write(const struct rb_plan *a, const char *name_a, const struct rb_plan *b, const char *name_b,
                        const struct rb_text_style *style, struct rb_buf *out);

#endif
