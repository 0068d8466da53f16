#include "executor/run/machine_keeper.h"

#include "base/arena.h"
#include "base/clock.h"
#include "executor/away/machine.h"
#include "executor/controller/lease.h"
#include "profiles/job/job_notify.h"
#include "providers/wire/child.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELPER_WORD "--keep-machine"
enum { HELPER_WORDS = 5, SPARE_S = 60 }; // program, word, root, run, length of a lease

// Until just before its end. One that lasted for more than two leases of a run would count as none.
static int64_t lease_until_us(const struct rb_machine_row *row, int64_t lease_us, int64_t now_us)
{
    const int64_t longest_us = now_us + (lease_us > 0 ? lease_us : (2 * RB_LEASE_S - SPARE_S) * RB_US_PER_S);
    const int64_t end_us = row->ends_unix_us - SPARE_S * RB_US_PER_S;
    return end_us < longest_us ? end_us : longest_us;
}

static bool renew(const struct rb_run_files *f, const struct rb_machine_row *row, int64_t until_us, struct rb_err *err)
{
    struct rb_machine m = {.port = 0};
    snprintf(m.infra, sizeof m.infra, "%s", row->infra);
    snprintf(m.instance_id, sizeof m.instance_id, "%s", row->instance_id);
    return rb_machine_renew(&m, &f->plan.job->resources, until_us, err);
}

// It is not ours to wait for: it outlives us.
static bool start_helper(const struct rb_run_files *f, int64_t lease_us, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_buf_finish) struct rb_buf length = RB_BUF_INIT;
    const struct rb_string_list hidden = rb_job_hidden_variables(f->plan.job, &arena);
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid;
    rb_buf_printf(&length, "%" PRId64, lease_us);
    const char *const argv[HELPER_WORDS + 1] = {"/proc/self/exe", HELPER_WORD, f->root, f->run_id, rb_buf_str(&length)};
    const int fds[3] = {nowhere, nowhere, nowhere};
    char **env = rb_child_cloud_env(hidden.items, hidden.n, &arena);
    const int why = nowhere < 0 ? errno : rb_child_start_session(argv, env, fds, &pid);
    if (nowhere >= 0)
        close(nowhere);
    return why == 0 || rb_err_set(err, RB_E_DETACH, "no process can be started that renews it: %s", strerror(why));
}

bool rb_machine_keeper_begin(const struct rb_run_files *f, const struct rb_machine_row *row, int64_t lease_us, struct rb_err *err)
{
    const int64_t until_us = lease_until_us(row, lease_us, rb_clock_unix_us());
    const struct rb_provider_ops *ops;
    char region[64];
    if (!rb_provider_find(row->infra, &ops, region, err))
        return false;
    if (!ops->renew)
        return true;
    return renew(f, row, until_us, err) &&
           (until_us >= row->ends_unix_us - SPARE_S * RB_US_PER_S || start_helper(f, lease_us, err));
}

static bool read_row(const struct rb_run_files *f, struct rb_machine_row *out, struct rb_err *err)
{
    struct rb_journal *j;
    if (!rb_journal_open_reader(f->journal, &j, err))
        return false;
    const bool ok = rb_machine_row_read(j, out, err);
    rb_journal_close(j);
    return ok;
}

// Until its end, or another process carries the run on and keeps all its leases.
static bool keep(const char *root, const char *run_id, int64_t lease_us)
{
    RB_AUTO(rb_run_files_finish) struct rb_run_files f = {0};
    struct rb_machine_row row;
    struct rb_err why;
    if (!rb_run_files_open(&f, root, run_id, &why) || !read_row(&f, &row, &why))
        return false;
    const int64_t pause_us = (lease_us > 0 ? lease_us : RB_LEASE_S * RB_US_PER_S) / RB_LEASE_RENEWALS;
    for (bool ok = true;;) {
        usleep((useconds_t)(ok || pause_us < RB_LEASE_RETRY_S * RB_US_PER_S ? pause_us : RB_LEASE_RETRY_S * RB_US_PER_S));
        const int64_t now_us = rb_clock_unix_us();
        if (rb_run_is_carried_out(root, run_id) || now_us >= row.ends_unix_us)
            return true;
        ok = renew(&f, &row, lease_until_us(&row, lease_us, now_us), &why);
    }
}

bool rb_machine_keeper_is(int argc, char **argv)
{
    if (argc != HELPER_WORDS || strcmp(argv[1], HELPER_WORD) != 0)
        return false;
    keep(argv[2], argv[3], strtoll(argv[4], NULL, 10));
    return true;
}
