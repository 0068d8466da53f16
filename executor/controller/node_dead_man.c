// Dead man's switches: what heartbeats found, and the reports about it.
#include "executor/controller/controller_private.h"

#include <stdio.h>
#include <string.h>

static void warn(struct rb_run_node *n, const struct rb_err *err)
{
    if (rb_controller_says_first(&n->said, RB_SAID_SWITCH))
        rb_controller_note(n->c, "warning", "%s [RB%d]", err->message, (int)rb_err_number(err));
}

static void warn_not_armed(struct rb_run_node *n, const struct rb_switch_report *report)
{
    struct rb_err err = {0};
    char end[300];
    if (rb_run_node_is_local(n))
        snprintf(end, sizeof end, "its trials train on, until `rbrun stop %s`", n->c->config.run_id);
    else
        strcpy(end, "`rbrun gc` has to end it, and without this machine you, in the cloud's console");
    rb_err_set(&err, RB_E_SWITCH_NOT_ARMED, "node %d (%s): %s (%s): if rbrun dies, %s", n->id, n->row.instance_id,
               report->state == RB_SWITCH_NOT_ARMED ? "its dead man's switch is not armed, and could not be"
                                                    : "whether its dead man's switch is armed cannot be found out",
               report->why[0] ? report->why : "it gave no reason", end);
    warn(n, &err);
}

static void warn_not_moved(struct rb_run_node *n, int64_t left_s)
{
    struct rb_err err = {0};
    char left[32];
    rb_err_set(&err, RB_E_SWITCH_NOT_MOVED,
               "node %d (%s) ends itself in %s although rbrun is here: heartbeats cannot move its dead man's switch; "
               "may %s run `sudo -n` there?",
               n->id, n->row.instance_id, rb_format_duration(left_s > 0 ? left_s * RB_US_PER_S : 0, left),
               n->c->config.ssh_user ? n->c->config.ssh_user : "the login user");
    warn(n, &err);
}

void rb_run_node_switched(void *ctx, int node, const struct rb_switch_report *report)
{
    struct rb_controller *c = ctx;
    struct rb_run_node *n = rb_run_node_at(c, node);
    if (c->dead || !rb_run_node_exists(n) || n->let_go)
        return;
    if (n->armed_attempt != n->row.attempt)
        n->said &= ~(unsigned)RB_SAID_SWITCH;
    n->armed_attempt = n->row.attempt;
    n->armed = report->state;
    if (report->state != RB_SWITCH_ARMED)
        warn_not_armed(n, report);
    else if (report->left_s < RB_CONTROLLER_DEAD_MAN_S - RB_CONTROLLER_BEAT_SLACK_S ||
             report->left_s > RB_CONTROLLER_DEAD_MAN_S + RB_CONTROLLER_BEAT_SLACK_S)
        warn_not_moved(n, report->left_s);
    else
        n->said &= ~(unsigned)RB_SAID_SWITCH;
}

static bool may_exist(const struct rb_run_node *n)
{
    return rb_run_node_has_row(n) && n->row.state != RB_LAUNCH_INTENT && !rb_run_node_has_ended(n) &&
           !rb_run_node_is_local(n);
}

void rb_controller_describe_switches(struct rb_controller *c, struct rb_buf *out)
{
    const int minutes = RB_CONTROLLER_DEAD_MAN_S / 60;
    int all = 0, armed = 0;
    for (int i = 0; i < rb_controller_n_launches(c); i++) {
        const struct rb_run_node *n = rb_controller_launch_at(c, i);
        all += may_exist(n);
        armed += may_exist(n) && n->armed == RB_SWITCH_ARMED && n->armed_attempt == n->row.attempt;
    }
    if (armed == 0)
        rb_buf_puts(out, "no node is known to end itself when it hears nothing");
    else if (armed == all)
        rb_buf_printf(out, "nodes that hear nothing for %d minutes end themselves", minutes);
    else
        rb_buf_printf(out,
                      "%d of %d nodes are known to end themselves when they hear nothing for %d minutes, the others "
                      "are not",
                      armed, all, minutes);
}
