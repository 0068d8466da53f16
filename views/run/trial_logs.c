#include "views/run/trial_logs.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/json.h"
#include "base/limits.h"
#include "base/errors/log.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_LOGS = 4096, FOLLOW_US = 200000, BUFFER_BYTES = 4 * RB_LIMIT_METRIC_LINE };

// The output of one process of a start, and how much of it was shown.
struct log_file {
    char *name;
    int trial, stage, start, rank;
    off_t printed;
};

struct logs {
    const char *run_id;
    char dir[4400];
    int trial; // -1: all
    bool json;
    struct log_file *files;
    int n, last; // last: the file printed last, -1: none yet
    char *bytes; // [BUFFER_BYTES]
};

static int by_start(const void *a, const void *b)
{
    const struct log_file *x = a, *y = b;
    if (x->trial != y->trial)
        return x->trial - y->trial;
    return x->start != y->start ? x->start - y->start : x->rank - y->rank;
}

// The launcher chooses the names.
static bool parse_name(const char *name, struct log_file *out)
{
    *out = (struct log_file){0};
    return sscanf(name, "trial-%d.stage-%d.attempt-%d.rank-%d", &out->trial, &out->stage, &out->start, &out->rank) >= 3;
}

static bool is_known(const struct logs *l, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(l->files[i].name, name) == 0)
            return true;
    return false;
}

static bool find_logs(struct logs *l, struct rb_err *err)
{
    DIR *dir = opendir(l->dir);
    if (!dir)
        return rb_err_set(err, RB_E_DIRECTORY, "cannot list the outputs in %s: %s", l->dir, strerror(errno));
    const int before = l->n;
    for (const struct dirent *e; (e = readdir(dir)) && l->n < MAX_LOGS;) {
        struct log_file file;
        if (!parse_name(e->d_name, &file) || (l->trial >= 0 && file.trial != l->trial) ||
            is_known(l, before, e->d_name))
            continue;
        file.name = rb_xstrdup(e->d_name);
        l->files = rb_xrealloc(l->files, (size_t)l->n + 1, sizeof *l->files);
        l->files[l->n++] = file;
    }
    closedir(dir);
    if (l->n > before)
        qsort(l->files + before, (size_t)(l->n - before), sizeof *l->files, by_start);
    return true;
}

static void print_line(const struct logs *l, const struct log_file *f, const char *line)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_json j;
    rb_json_init(&j, &out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-log/1");
    rb_json_kstring(&j, "run", l->run_id);
    rb_json_kint(&j, "trial", f->trial);
    rb_json_kint(&j, "stage", f->stage);
    rb_json_kint(&j, "start", f->start);
    rb_json_kint(&j, "rank", f->rank);
    rb_json_kstring(&j, "line", line);
    rb_json_end_object(&j);
    puts(rb_buf_str(&out));
}

// Only whole lines: the rest is still being written. Returns the bytes that were printed.
static size_t print_lines(struct logs *l, const struct log_file *f, size_t n)
{
    static_assert(BUFFER_BYTES > RB_LIMIT_METRIC_LINE + 1, "the launcher cuts lines at that");
    char line[RB_LIMIT_METRIC_LINE + 1];
    size_t at = 0;
    for (const char *end; (end = memchr(l->bytes + at, '\n', n - at)); at = (size_t)(end - l->bytes) + 1) {
        rb_log_sanitise(l->bytes + at, (size_t)(end - l->bytes) - at, line, sizeof line);
        if (l->json)
            print_line(l, f, line);
        else
            puts(line); // the bytes come from nodes: nothing in them reaches the terminal as a control sequence
    }
    return at;
}

static bool print_more(struct logs *l, int i, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    struct log_file *f = &l->files[i];
    size_t printed_now = 1;
    rb_buf_printf(&path, "%s/%s", l->dir, f->name);
    const int fd = open(rb_buf_str(&path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return rb_err_set(err, RB_E_FILE_READ, "cannot read %s: %s", rb_buf_str(&path), strerror(errno));
    for (ssize_t n; printed_now > 0 && (n = pread(fd, l->bytes, BUFFER_BYTES, f->printed)) > 0;
         f->printed += (off_t)printed_now) {
        if (!l->json && l->last != i && memchr(l->bytes, '\n', (size_t)n))
            printf("== %s\n", f->name);
        printed_now = print_lines(l, f, (size_t)n);
        l->last = printed_now > 0 ? i : l->last;
    }
    close(fd);
    return fflush(stdout) == 0 || rb_err_set(err, RB_E_STDOUT, "cannot write to stdout: %s", strerror(errno));
}

static bool print_logs(struct logs *l, bool follow, struct rb_err *err)
{
    do {
        if (!find_logs(l, err))
            return false;
        for (int i = 0; i < l->n; i++)
            if (!print_more(l, i, err))
                return false;
        if (follow)
            usleep(FOLLOW_US);
    } while (follow);
    return l->n > 0 || rb_err_set(err, RB_E_TRIAL_UNKNOWN,
                                  "%s: no such output yet; `rbrun status` shows which trials have begun", l->dir);
}

bool rb_trial_logs_print(const char *run_dir, const char *run_id, int trial, bool follow, bool json, struct rb_err *err)
{
    RB_AUTO(rb_auto_free) char *bytes = rb_xcalloc(BUFFER_BYTES, 1);
    struct logs l = {.run_id = run_id, .trial = trial, .json = json, .last = -1, .bytes = bytes};
    snprintf(l.dir, sizeof l.dir, "%s/logs", run_dir);
    const bool ok = print_logs(&l, follow, err);
    for (int i = 0; i < l.n; i++)
        free(l.files[i].name);
    free(l.files);
    return ok;
}
