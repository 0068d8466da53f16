// The distance of an estimate from unseen runs, in standard errors.
#ifndef RB_VIEWS_VERIFICATION_TABLE_H
#define RB_VIEWS_VERIFICATION_TABLE_H

#include "engine/plan/plan.h"
#include "planner/questions/verification.h"

void rb_verification_write(const struct rb_verification *v, const struct rb_plan *plan, struct rb_buf *out);
// What follows it for a plan whose run uses spot machines; v NULL: nothing is known of such runs.
void rb_verified_spot_write(const struct rb_verified_spot *v, struct rb_buf *out);

#endif
