// Actions as one line of text, so that a test can say what it expects and see what it got:
//   request 3.1 small          node 3, attempt 1, instance type ("small/spot" on the spot market)
//   terminate 3
//   start 5.0 on 2:c 3:3       trial 5, attempt 0, node:GPUs in hexadecimal
//   kill 5.0
//   wake 60                    seconds
//   done
#ifndef RB_TESTS_ENGINE_ACTION_TEXT_H
#define RB_TESTS_ENGINE_ACTION_TEXT_H

#include "engine/core/action.h"
#include "engine/plan/plan.h"

void actions_text(const struct rb_actions *actions, const struct rb_plan *plan, struct rb_buf *out);

#endif
