#include "executor/run/own_machine.h"

#include "base/errors/log.h"
#include "executor/controller/lease.h"
#include "executor/controller/node.h"
#include "executor/run/machine_keeper.h"
#include "executor/transport/node_switch.h"
#include "executor/transport/transport.h"
#include "providers/wire/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static bool is_here(const struct rb_run_files *f, const struct rb_machine_row *row)
{
    RB_AUTO(rb_buf_finish) struct rb_buf dir = RB_BUF_INIT;
    struct rb_machine m;
    bool is = false;
    rb_buf_printf(&dir, "%s/../sent/%s", f->root, f->run_id);
    return row->instance_id[0] && rb_machine_read(rb_buf_str(&dir), &m, &is, NULL) && is &&
           strcmp(m.instance_id, row->instance_id) == 0;
}

// The switch that its user data has installed, or the deadline that an allocation's script watches, which ends us with it.
static bool move_switch(int64_t seconds, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf command = RB_BUF_INIT, by_file = RB_BUF_INIT, said = RB_BUF_INIT;
    struct rb_switch_report report;
    rb_transport_beat_by_file(seconds, &by_file, NULL);
    rb_buf_printf(&command,
                  "n=${RB_NODE_HOME:-${RB_POD_UID:+$HOME}}; if [ -e \"${n:-/nonexistent}/.expires\" ]; then "
                  "cd \"$n\" && mkdir -p rb && echo %d >controller && { %s; }; exit; fi; "
                  "d=${RB_RUN_DIR:-/run/rb}-switch; s=; [ \"$(id -u)\" = 0 ] || s='sudo -n'; "
                  "[ ! -e \"$d/switch\" ] || timeout 20 $s sh \"$d/switch\" beat %" PRId64,
                  (int)getpid(), rb_buf_str(&by_file), seconds);
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

static void write_row(struct rb_own_machine *m)
{
    struct rb_err why;
    if (!rb_machine_row_write(m->journal, &m->row, &why))
        rb_warn("the bill of the controller's machine is not in the journal as it is now: %s", why.message);
}

bool rb_own_machine_read(struct rb_own_machine *m, struct rb_journal *j, struct rb_err *err)
{
    m->journal = j;
    return rb_machine_row_read(j, &m->row, err);
}

bool rb_own_machine_begin(struct rb_own_machine *m, const struct rb_run_files *f, const struct rb_loop *loop,
                          struct rb_err *err)
{
    m->files = f;
    m->loop = loop;
    m->is_here = is_here(f, &m->row);
    if (!m->is_here)
        return true;
    m->row.ends_unix_us = -1;
    return move_switch(RB_CONTROLLER_DEAD_MAN_S, err) && rb_machine_row_write(m->journal, &m->row, err);
}

static void lease_renewed(void *arg, const struct rb_err *err)
{
    const struct rb_own_machine *m = arg;
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    if (!err)
        return;
    rb_buf_printf(&text, "the lease of the controller's machine could not be renewed: %s", err->message);
    m->warn(m->ctx, rb_buf_str(&text));
}

// Where the machine has a lease of its own.
static void renew_lease(struct rb_own_machine *m)
{
    const char *id = m->row.instance_id;
    char until[32];
    int i = 0;
    while (i < m->n_places && strcmp(m->places[i].infra, m->row.infra) != 0)
        i++;
    if (i == m->n_places || !m->places[i].provider->ops->groups_every_run)
        return;
    rb_lease_format(m->loop->unix_us(m->loop->ctx) + RB_LEASE_S * RB_US_PER_S, until);
    m->places[i].provider->ops->renew(m->places[i].provider, &id, 1, &(struct rb_tag){RB_LEASE_TAG, until}, lease_renewed, m);
}

static void wait_for_beat(struct rb_own_machine *m);

static void beat(void *arg)
{
    struct rb_own_machine *m = arg;
    struct rb_err why;
    wait_for_beat(m);
    if (!move_switch(RB_CONTROLLER_DEAD_MAN_S, &why))
        m->warn(m->ctx, why.message);
    renew_lease(m);
}

static void wait_for_beat(struct rb_own_machine *m)
{
    m->beat_timer = m->loop->timer_start(m->loop->ctx, RB_CONTROLLER_HEARTBEAT_S * RB_US_PER_S, beat, m);
}

void rb_own_machine_beat(struct rb_own_machine *m, const struct rb_run_place *places, int n_places,
                         void (*warn)(void *ctx, const char *text), void *ctx)
{
    m->places = places;
    m->n_places = n_places;
    m->warn = warn;
    m->ctx = ctx;
    if (m->is_here)
        wait_for_beat(m);
}

void rb_own_machine_ended(struct rb_own_machine *m, int64_t ended_unix_us)
{
    m->row.ended_unix_us = ended_unix_us;
    write_row(m);
}

void rb_own_machine_keep(struct rb_own_machine *m, int64_t lease_us)
{
    struct rb_err why;
    if (!m->is_here)
        return;
    rb_own_machine_stop(m);
    const int64_t keep_us = rb_machine_keep_us(&m->files->plan.job->resources);
    m->row.ends_unix_us = m->loop->unix_us(m->loop->ctx) + keep_us;
    if (!move_switch(keep_us / RB_US_PER_S, &why))
        rb_warn("%s", why.message);
    write_row(m);
    if (!rb_machine_keeper_begin(m->files, &m->row, lease_us, &why))
        rb_warn("the lease of the controller's machine could not be moved, so `rbrun gc` elsewhere may end it within half an "
                "hour, and the run's files with it: %s", why.message);
}

void rb_own_machine_stop(struct rb_own_machine *m)
{
    if (m->beat_timer)
        m->loop->timer_cancel(m->loop->ctx, m->beat_timer);
    m->beat_timer = 0;
}
