#include "commands/rbplan/rbplan_infeasible.h"

#include "library/time_limit.h"
#include "planner/questions/nearest.h"
#include "planner/questions/way_out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LOOK_US (5 * RB_US_PER_S)

static bool print(const struct rb_plan_result *result, const struct rb_way_out *way_out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j = {.out = &out};
    rb_json_put(&j, "{format: 'rb-infeasible/1'");
    rb_nearest_write(result, &j);
    rb_way_out_write(way_out, &j);
    rb_json_key(&j, "best");
    rb_estimate_write(&result->best.estimate, &j);
    rb_json_end_object(&j);
    rb_buf_putc(&out, '\n');
    if (fwrite(rb_buf_str(&out), 1, out.len, stdout) == out.len && fflush(stdout) == 0)
        return true;
    return rb_err_set(err, RB_E_STDOUT, "cannot write to stdout: %s", strerror(errno));
}

bool rb_infeasible_explain(const struct rb_plan_request *req, const char *planner, const struct rb_plan_result *result,
                           bool json, struct rb_arena *arena, struct rb_err *err)
{
    struct rb_plan_request asked = *req, timed = *req;
    struct rb_time_limit limit;
    struct rb_way_out way_out;
    RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
    rb_time_limit_start(&limit, LOOK_US, &timed);
    if (!asked.out_of_time) { // this only limits the search: plans are not made any coarser
        asked.out_of_time = timed.out_of_time;
        asked.out_of_time_ctx = timed.out_of_time_ctx;
    }
    rb_way_out_find(&asked, planner, result, arena, &way_out);
    rb_buf_puts(&said, err->message);
    rb_way_out_say(&way_out, &said);
    rb_err_set(err, RB_E_NO_PLAN, "%s", rb_buf_str(&said));
    if (json)
        print(result, &way_out, err);
    return false;
}
