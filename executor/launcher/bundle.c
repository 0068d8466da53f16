#include "executor/launcher/bundle.h"

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/doc.h"
#include "executor/node_script.h" // generated from node_script.sh: rb_node_script[]
#include "providers/wire/child.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUNDLE_LIMIT_BYTES = 1 << 30 }; // a work directory is code; data goes through job.data or the bucket

static bool pack(const char *run_dir, const char *workdir, const char *path, struct rb_err *err)
{
    struct rb_buf script RB_AUTO(rb_buf_finish) = RB_BUF_INIT, tmp RB_AUTO(rb_buf_finish) = RB_BUF_INIT,
                         ignore RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    rb_buf_printf(&script, "%s/node", run_dir);
    rb_buf_printf(&tmp, "%s.tmp", path);
    rb_buf_printf(&ignore, "--exclude-from=%s/.rbignore", workdir);
    if (!rb_write_file(script.data, (const char *)rb_node_script, rb_node_script_len, err))
        return false;
    // Reproducible: the same files give the same bytes, so they are not sent again to a node that has them.
    // Exclusions concern what comes after them: never our own script.
    const char *argv[20] = {"tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
                            "--transform=s,^\\.$,work,;s,^\\./,work/,", "-cf", tmp.data, "-C", run_dir, "node",
                            "--exclude-vcs"};
    int n = 12;
    if (access(ignore.data + strlen("--exclude-from="), R_OK) == 0)
        argv[n++] = ignore.data;
    // A state directory inside the work directory must not pack itself.
    struct rb_buf self RB_AUTO(rb_buf_finish) = RB_BUF_INIT;
    const size_t len = strlen(workdir);
    if (strncmp(run_dir, workdir, len) == 0 && run_dir[len] == '/') {
        const char *state = strstr(run_dir + len, "/rubberband/");
        rb_buf_printf(&self, "--exclude=.%.*s", (int)(state ? state + strlen("/rubberband") - (run_dir + len) : 4096),
                      run_dir + len);
        argv[n++] = self.data;
    }
    struct rb_buf results RB_AUTO(rb_buf_finish) = RB_BUF_INIT; // what the run itself writes there (executor/sinks/sink_place.h)
    rb_buf_printf(&results, "--exclude-from=%s/sinks/not-sent", run_dir);
    if (access(results.data + strlen("--exclude-from="), R_OK) == 0)
        argv[n++] = results.data;
    argv[n++] = "-C";
    argv[n++] = workdir;
    argv[n++] = ".";
    if (!rb_child_run(argv, &(struct rb_child_options){0}, err))
        return rb_err_prefix(err, "%s could not be packed for the nodes", workdir);
    if (rename(tmp.data, path) != 0)
        return rb_err_set(err, RB_E_FILE_WRITE, "cannot rename %s: %s", tmp.data, strerror(errno));
    return true;
}

bool rb_bundle_make(const char *run_dir, const char *workdir, char *out_path, size_t path_size, char out_digest[65],
                    struct rb_err *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/bundle.tar", run_dir) >= (int)sizeof path || strlen(path) >= path_size)
        return rb_err_set(err, RB_E_PATH_TOO_LONG,
                          "this path is too long; name a shorter one with --state-dir: %.80s...", run_dir);
    if (access(path, R_OK) != 0 && !pack(run_dir, workdir, path, err))
        return false;
    struct stat st;
    if (stat(path, &st) != 0)
        return rb_err_set(err, RB_E_FILE_READ, "cannot read %s: %s", path, strerror(errno));
    if (st.st_size > BUNDLE_LIMIT_BYTES)
        return rb_err_set(err, RB_E_WORKDIR_LARGE,
                          "%s packs to %lld MB, more than 1 GB: list what nodes do not need in .rbignore", workdir,
                          (long long)(st.st_size / 1000000));
    char *bytes RB_AUTO(rb_auto_free) = NULL;
    size_t len;
    if (!rb_read_file(path, BUNDLE_LIMIT_BYTES, &bytes, &len, err))
        return false;
    rb_digest_sha256(bytes, len, out_digest);
    strcpy(out_path, path);
    return true;
}
