#include "commands/rbmcp/sandbox.h"

#include "base/arena.h"
#include "executor/journal/run_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLAN_URI "rb://plans/"

static bool make_plans(struct rb_mcp_sandbox *s, struct rb_err *err)
{
    if (!rb_run_dir_root(NULL, s->plans, sizeof s->plans - 8, err))
        return false;
    strcpy(strrchr(s->plans, '/'), "/plans"); // beside "/runs"
    for (char *at = s->plans + 1;; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        const char was = *at;
        *at = '\0';
        if (mkdir(s->plans, 0700) != 0 && errno != EEXIST)
            return rb_err_set(err, RB_E_DIRECTORY, "%s: cannot create the directory: %s", s->plans, strerror(errno));
        if (was == '\0')
            return true;
        *at = was;
    }
}

bool rb_mcp_sandbox_open(struct rb_mcp_sandbox *s, const char *root, struct rb_err *err)
{
    struct stat st;
    if (!realpath(root, s->root) || stat(s->root, &st) != 0)
        return rb_err_set(err, RB_E_DIRECTORY, "--root %s: %s", root, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return rb_err_set(err, RB_E_DIRECTORY, "--root %s: expected a directory", root);
    return make_plans(s, err);
}

static bool is_within(const char *root, const char *path)
{
    const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    return strncmp(path, root, n) == 0 && path[n] == '/';
}

static bool outside(const char *path, struct rb_err *err)
{
    return rb_err_set(err, RB_E_MCP_PATH, "%.200s leads out of the folder that this server may read", path);
}

static bool is_plain_text(const char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < 0x20 || *path == 0x7f)
            return false;
    return true;
}

bool rb_mcp_sandbox_find(const struct rb_mcp_sandbox *s, const char *path, char out[static PATH_MAX],
                         struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf whole = RB_BUF_INIT;
    char real[PATH_MAX];
    struct stat st;
    if (!path[0] || strlen(path) >= PATH_MAX || !is_plain_text(path))
        return rb_err_set(err, RB_E_MCP_PATH, "expected the path of a file, without control characters");
    rb_buf_printf(&whole, "%s%s%s", path[0] == '/' ? "" : s->root, path[0] == '/' ? "" : "/", path);
    if (!realpath(rb_buf_str(&whole), real)) {
        // Whether a file exists outside is not reported.
        const bool gone = errno == ENOENT && is_within(s->root, rb_buf_str(&whole)) && !strstr(path, "..");
        return gone
                   ? rb_err_set(err, RB_E_FILE_MISSING, "there is no file %.200s below the folder of this server", path)
                   : outside(path, err);
    }
    if (!is_within(s->root, real) || stat(real, &st) != 0)
        return outside(path, err);
    if (!S_ISREG(st.st_mode))
        return rb_err_set(err, RB_E_MCP_PATH, "%.200s is no regular file", path);
    strcpy(out, real);
    return true;
}

// rbplan reads these beside a job without being asked, and quotes what is wrong with them.
bool rb_mcp_sandbox_job(const struct rb_mcp_sandbox *s, const char *path, char out[static PATH_MAX], struct rb_err *err)
{
    static const char *const beside[] = {"profile.yaml", "prices.csv", ".rbignore"};
    char job[PATH_MAX], real[PATH_MAX];
    if (!rb_mcp_sandbox_find(s, path, job, err))
        return false;
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf sibling = RB_BUF_INIT;
        rb_buf_printf(&sibling, "%.*s/%s", (int)(strrchr(job, '/') - job), job, beside[i]);
        if (realpath(rb_buf_str(&sibling), real) && !is_within(s->root, real))
            return outside(beside[i], err);
    }
    strcpy(out, job);
    return true;
}

bool rb_mcp_sandbox_plan(const struct rb_mcp_sandbox *s, const char *path, char out[static PATH_MAX],
                         struct rb_err *err)
{
    if (strncmp(path, PLAN_URI, strlen(PLAN_URI)) != 0)
        return rb_mcp_sandbox_find(s, path, out, err);
    const char *sha256 = path + strlen(PLAN_URI);
    if (strlen(sha256) != 64 || strspn(sha256, "0123456789abcdef") != 64)
        return rb_err_set(err, RB_E_MCP_PATH, "expected " PLAN_URI " and 64 hexadecimal digits");
    if (snprintf(out, PATH_MAX, "%s/%s.json", s->plans, sha256) >= PATH_MAX || access(out, R_OK) != 0)
        return rb_err_set(err, RB_E_FILE_MISSING, "there is no plan %s; estimate the job again", path);
    return true;
}
