// A campaign's file `infra` holds its cloud. A lock on it (flock, which the kernel releases when the process ends)
// shows whether the campaign is at work.
#include "executor/campaign/campaign_dir.h"

#include "base/arena.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void rb_campaign_dir_root(const char *runs_root, char *out, size_t size)
{
    snprintf(out, size, "%s/campaigns", runs_root);
}

bool rb_campaign_dir_claim(const char *dir, const char *infra, int *out_fd, struct rb_err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/infra", dir);
    if (!rb_write_file(path, infra, strlen(infra), err))
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !rb_file_lock(fd)) {
        const int why = errno;
        if (fd >= 0)
            close(fd);
        return rb_err_set(err, RB_E_FILE_WRITE, "cannot lock %s: %s", path, strerror(why));
    }
    *out_fd = fd;
    return true;
}

bool rb_campaign_dir_infra(const char *dir, char out[static RB_CAMPAIGN_INFRA_BYTES])
{
    char path[PATH_MAX];
    RB_AUTO(rb_auto_free) char *text = NULL;
    struct rb_err ignored;
    size_t n;
    snprintf(path, sizeof path, "%s/infra", dir);
    if (!rb_read_file(path, RB_CAMPAIGN_INFRA_BYTES - 1, &text, &n, &ignored) || n == 0)
        return false;
    memcpy(out, text, n + 1);
    return true;
}

bool rb_campaign_dir_at_work(const char *runs_root, const char *run_id)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/campaigns/%s/infra", runs_root, run_id);
    const int fd = strchr(run_id, '/') ? -1 : open(path, O_RDONLY | O_CLOEXEC); // the id comes from a cloud's tag
    const bool held = fd >= 0 && rb_file_is_locked(fd);
    if (fd >= 0)
        close(fd);
    return held;
}
