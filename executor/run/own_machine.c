#include "executor/run/own_machine.h"

#include "executor/transport/node_switch.h"
#include "providers/wire/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool rb_own_machine_record(const struct rb_machine *m, struct rb_journal *j, struct rb_err *err)
{
    struct rb_machine_row row = {.uusd_per_hour = m->uusd_per_hour,
                                 .running_unix_us = m->running_unix_us,
                                 .ends_unix_us = -1,
                                 .ended_unix_us = -1};
    snprintf(row.infra, sizeof row.infra, "%s", m->infra);
    snprintf(row.instance_type, sizeof row.instance_type, "%s", m->instance_type);
    snprintf(row.instance_id, sizeof row.instance_id, "%s", m->instance_id);
    return rb_machine_row_write(j, &row, err);
}

bool rb_own_machine_is_here(const struct rb_run_files *f, const struct rb_machine_row *row)
{
    RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
    struct rb_machine m;
    bool is = false;
    rb_buf_printf(&dir, "%s/../sent/%s", f->root, f->run_id);
    return row->instance_id[0] && rb_machine_read(rb_buf_str(&dir), &m, &is, NULL) && is &&
           strcmp(m.instance_id, row->instance_id) == 0;
}

// The switch that its user data has installed: where there is none, nothing is.
bool rb_own_machine_beat(int64_t seconds, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, said = RB_BUF_INIT;
    struct rb_switch_report report;
    rb_buf_printf(&command,
                  "d=${RB_RUN_DIR:-/run/rb}-switch; s=; [ \"$(id -u)\" = 0 ] || s='sudo -n'; "
                  "[ ! -e \"$d/switch\" ] || timeout 20 $s sh \"$d/switch\" beat %" PRId64,
                  seconds);
    const char *const argv[] = {"sh", "-c", rb_buf_str(&command), NULL};
    const bool ran =
        rb_child_run(argv, &(struct rb_child_options){.out = &said, .max_output_bytes = 4096, .quiet = true}, err);
    rb_node_switch_read(rb_buf_str(&said), said.len, "", &report);
    if (ran && report.state == RB_SWITCH_ARMED && report.left_s <= seconds && report.left_s > seconds - 60)
        return true;
    return rb_err_set(err, RB_E_SWITCH_NOT_ARMED,
                      "the controller's machine cannot move its own dead man's switch%s%s: it would end before the run does, or "
                      "never; may its login user run `sudo -n`?",
                      report.why[0] ? ": " : "", report.why);
}
