// Owner and mode are read from the open file, so that the path may name something else a moment later.
#include "providers/wire/private_file.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// Written by hand and by the clouds' tools: real ones are a few KiB.
enum { MAX_FILE_BYTES = 1 << 20 };

static const char *home(void)
{
    const char *dir = getenv("HOME");
    if (dir && *dir)
        return dir;
    const struct passwd *user = getpwuid(getuid());
    return user ? user->pw_dir : "/";
}

static char *join(const char *dir, const char *rest)
{
    const size_t size = strlen(dir) + 1 + strlen(rest) + 1;
    char *path = rb_xcalloc(size, 1);
    snprintf(path, size, "%s/%s", dir, rest);
    return path;
}

char *rb_private_file_path(const char *variable, const char *below_home)
{
    const char *set = variable ? getenv(variable) : NULL;
    if (!set || !*set)
        return join(home(), below_home);
    return strncmp(set, "~/", 2) == 0 ? join(home(), set + 2) : rb_xstrdup(set);
}

static bool io_error(const struct rb_private_file *file, const char *what, struct rb_err *err)
{
    return rb_err_set_at(err, RB_E_CREDENTIALS_FILE, (struct rb_place){.file = file->path}, NULL, "%s: %s", what,
                         strerror(errno));
}

static bool read_all(struct rb_private_file *file, int fd, struct rb_err *err)
{
    file->text = rb_xcalloc(MAX_FILE_BYTES + 1, 1);
    while (file->len < MAX_FILE_BYTES) {
        const ssize_t n = read(fd, file->text + file->len, MAX_FILE_BYTES - file->len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return io_error(file, "cannot be read", err);
        if (n == 0)
            return true;
        file->len += (size_t)n;
    }
    return rb_err_set_at(err, RB_E_CREDENTIALS_SETTING, (struct rb_place){.file = file->path}, NULL,
                         "expected less than 1 MiB");
}

// People use AWS_CONFIG_FILE=/dev/null for "no such file": it is empty, holds no secret and belongs to no one.
static bool is_null_device(const struct stat *st)
{
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

bool rb_private_file_read(struct rb_private_file *file, struct rb_err *err)
{
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR || io_error(file, "cannot be opened", err);
    struct stat st;
    bool ok = fstat(fd, &st) == 0 || io_error(file, "cannot be examined", err);
    if (ok && is_null_device(&st)) {
        st.st_uid = geteuid();
        st.st_mode = S_IFREG | S_IRUSR;
    }
    if (ok && !S_ISREG(st.st_mode))
        ok = rb_err_set_at(err, RB_E_CREDENTIALS_SETTING, (struct rb_place){.file = file->path}, NULL,
                           "expected a regular file");
    ok = ok && read_all(file, fd, err);
    close(fd);
    if (!ok)
        return false;
    file->present = true;
    file->owner = st.st_uid;
    file->mode = st.st_mode;
    return true;
}

bool rb_private_file_check(const struct rb_private_file *file, struct rb_err *err)
{
    const struct rb_place place = {.file = file->path};
    if (file->owner != geteuid())
        return rb_err_set_at(err, RB_E_CREDENTIALS_OPEN, place, NULL,
                             "belongs to another user; expected a file of your own");
    if (file->mode & (S_IRWXG | S_IRWXO))
        return rb_err_set_at(err, RB_E_CREDENTIALS_OPEN, place, NULL,
                             "other users may read or change the secrets in it; run: chmod 600 %s", file->path);
    return true;
}

void rb_private_file_finish(struct rb_private_file *file)
{
    if (file->text)
        explicit_bzero(file->text, file->len);
    free(file->text);
    free(file->path);
    *file = (struct rb_private_file){0};
}

// Texts are in the document's own arena, ours to overwrite; the words true, false and null are not.
static void wipe(const struct rb_node *node)
{
    if (node->kind == RB_NODE_STRING || node->kind == RB_NODE_INT || node->kind == RB_NODE_FLOAT)
        explicit_bzero((char *)node->text, node->text_len);
    for (const struct rb_node *child = node->first; child; child = child->next)
        wipe(child);
}

void rb_private_doc_finish(struct rb_doc *doc)
{
    if (doc->root)
        wipe(doc->root);
    rb_doc_finish(doc);
}
