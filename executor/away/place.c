#include "executor/away/place.h"

#include "base/errors/log.h"
#include "executor/journal/machine_row.h"
#include "executor/journal/run_files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool rb_place_reach(const char *text, const char *root, const char *run_id, struct rb_host *out, struct rb_err *err)
{
    struct rb_controller_place place;
    struct rb_elsewhere e;
    struct rb_machine m;
    bool known = false;
    if (!rb_place_parse(text, &place, err))
        return false;
    if (!place.machine_type)
        return rb_host_parse(text, out, err);
    if (rb_elsewhere_find(root, run_id, &e) && !rb_machine_read(e.dir, &m, &known, err))
        return false;
    if (!known || !m.address[0])
        return rb_err_set(err, RB_E_MACHINE_UNKNOWN,
                          "run %s: nothing here says how its machine in %s is reached; only the machine where it was "
                          "started has the key",
                          run_id, text);
    rb_machine_host(e.dir, run_id, &m, out);
    return true;
}

static bool write_end(const struct rb_run_files *f, int64_t ended_unix_us, struct rb_err *err)
{
    struct rb_machine_row row;
    struct rb_journal *j;
    if (!rb_journal_open(f->journal, &j, err))
        return false;
    row.instance_id[0] = '\0';
    bool ok = rb_machine_row_read(j, &row, err);
    if (ok && row.instance_id[0]) {
        row.ended_unix_us = ended_unix_us;
        ok = rb_machine_row_write(j, &row, err);
    }
    rb_journal_close(j);
    return ok;
}

bool rb_place_leave(const char *root, const char *run_id, struct rb_err *err)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct rb_elsewhere e;
    struct rb_machine m;
    bool known = false;
    int64_t ended_unix_us;
    if (!rb_elsewhere_find(root, run_id, &e))
        return true;
    if (!rb_machine_read(e.dir, &m, &known, err))
        return false;
    if (!known)
        return true;
    if (!rb_run_files_open(&f, root, run_id, err) ||
        !rb_machine_end(&m, &f.plan.job->resources, run_id, &ended_unix_us, err))
        return rb_err_prefix(err, "run %s is here, and its controller's machine may be there yet", run_id);
    rb_info("%s in %s, the controller's machine, has ended", m.instance_id, m.infra);
    rb_buf_printf(&path, "%s/" RB_MACHINE_FILE, e.dir);
    struct rb_err why;
    if (!rb_run_is_carried_out(root, run_id) && // else its process sees that
        !write_end(&f, ended_unix_us, &why))
        rb_warn("its end is not in the run's journal, so its bill is the most that it may be: %s", why.message);
    unlink(rb_buf_str(&path));
    return true;
}
