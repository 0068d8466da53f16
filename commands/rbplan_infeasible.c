#include "commands/rbplan_infeasible.h"

#include "planner/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool rb_infeasible_print(const struct rb_plan_result *result, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-infeasible/1");
    rb_nearest_write(result, &j);
    rb_json_key(&j, "best");
    rb_estimate_write(&result->best.estimate, &j);
    rb_json_end_object(&j);
    rb_buf_putc(&out, '\n');
    if (fwrite(rb_buf_str(&out), 1, out.len, stdout) == out.len && fflush(stdout) == 0)
        return true;
    return rb_err_set(err, RB_E_STDOUT, "cannot write to stdout: %s", strerror(errno));
}
