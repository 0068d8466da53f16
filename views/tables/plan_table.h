// What rbplan prints: a plan's stages as a table, one sentence that says what it costs and when it is done, the
// reasons behind its stages, and two plans side by side.
#ifndef RB_VIEWS_PLAN_TABLE_H
#define RB_VIEWS_PLAN_TABLE_H

#include "engine/plan/plan.h"
#include "planner/questions/measuring.h"
#include "views/tables/text_table.h"

// What a little more time would save, where somebody has found out.
struct rb_plan_slack {
    int64_t step_us;     // that much more
    int64_t saved_uusd;  // 0: nothing
};

// A part of the plan's cost: cents where the whole costs dollars, so that the points of a column stand below each other.
const char *rb_plan_money(const struct rb_plan *plan, int64_t uusd, char out[static 32]);

// A probability of the plan's with so many digits; "not known" where nothing is known of how far times vary.
const char *rb_plan_probability(const struct rb_estimate *e, double p, int digits, char out[static 32]);
// What its probabilities rest on beyond measurements: " on made-up learning curves" for asynchronous
// jobs, " from a guess", "" for others.
const char *rb_plan_on_what(const struct rb_plan *plan);

// The stages alone. Owns: finish *out with rb_text_table_finish.
void rb_plan_stages_table(const struct rb_plan *plan, struct rb_text_table *out);

// Heading, stages, verdict, warnings. slack NULL: not known.
void rb_plan_table_write(const struct rb_plan *plan, const struct rb_plan_slack *slack, const struct rb_text_style *style,
                         struct rb_buf *out);

// "cheapest plan: $18.40 (95 % <= $19.90), 1 h 41 m (95 % <= 1 h 57 m), P(on time) 0.970; static needs $31.05; 10 minutes more
// would save $3.20"
void rb_plan_verdict_write(const struct rb_plan *plan, const struct rb_plan_slack *slack, struct rb_buf *out);
// "cheapest plan on aws/us-east-1; static needs $31.05": what it is, without its own figures.
void rb_plan_headline_write(const struct rb_plan *plan, struct rb_buf *out);
void rb_plan_step_write(int64_t step_us, struct rb_buf *out); // "10 minutes", "1 second"

// What the search can vouch for: "proved: no other choice ...", "not proved ..."; nothing of a planner that searches nothing.
void rb_plan_certificate_write(const struct rb_plan *plan, struct rb_buf *out);

// "measured: 3 configurations, 6 units, load 5.8 on 2 processors": what the profile rests on; nothing of one that was written by
// hand.
void rb_plan_basis_write(const struct rb_plan *plan, struct rb_buf *out);

// Of a plan from a guess: what it rests on, its range, and what measuring buys (measuring->exists). Nothing of others.
void rb_plan_guess_write(const struct rb_plan *plan, const struct rb_measuring *measuring, struct rb_buf *out);

// Stage by stage: what changes at the barrier, why nodes are kept, requested or released; then the baselines.
void rb_plan_explain_write(const struct rb_plan *plan, const struct rb_text_style *style, struct rb_buf *out);

// Stages of both side by side, then what differs in the estimates. Names head the columns.
void rb_plan_diff_write(const struct rb_plan *a, const char *name_a, const struct rb_plan *b, const char *name_b,
                        const struct rb_text_style *style, struct rb_buf *out);

#endif
