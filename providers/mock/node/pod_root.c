// The root is a small file system in memory with this machine's directories mounted into it, so that a mount path such
// as /rb appears in no other process's root.
#include "providers/mock/node/pod_root.h"
#include "providers/mock/node/node_shield.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

// A user who may not mount may do so in a user namespace, as the same user, where the system allows those.
static bool become_mounter(void)
{
    char uids[64], gids[64];
    snprintf(uids, sizeof uids, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(gids, sizeof gids, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    return geteuid() == 0 || (unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") &&
                              write_file("/proc/self/uid_map", uids) && write_file("/proc/self/gid_map", gids));
}

bool rb_pod_root_unshare(void)
{
    return become_mounter() && unshare(CLONE_NEWNS | CLONE_NEWPID) == 0 &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
}

static bool mirror_entry(const char *root, const char *name)
{
    char from[PATH_MAX], to[PATH_MAX], link[PATH_MAX];
    struct stat st;
    snprintf(from, sizeof from, "/%.255s", name);
    snprintf(to, sizeof to, "%.3000s/%.255s", root, name);
    if (lstat(from, &st) != 0)
        return true; // it is gone again
    if (S_ISLNK(st.st_mode)) {
        const ssize_t n = readlink(from, link, sizeof link - 1);
        link[n < 0 ? 0 : n] = '\0';
        return n < 0 || symlink(link, to) == 0;
    }
    if (!S_ISDIR(st.st_mode))
        return true;
    return mkdir(to, 0755) == 0 && mount(from, to, "none", MS_BIND | MS_REC, NULL) == 0;
}

static bool mirror(const char *root)
{
    DIR *top = opendir("/");
    bool ok = top != NULL;
    for (struct dirent *e; ok && (e = readdir(top));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            ok = mirror_entry(root, e->d_name);
    const int saved = errno;
    if (top)
        closedir(top);
    errno = saved;
    return ok;
}

// Directories are made in the new root's own part only: a directory of this machine gets no new ones.
static bool make_path(const char *root, const char *path, char *out, size_t size)
{
    struct stat top, above, st;
    snprintf(out, size, "%s", root);
    if (stat(root, &top) != 0)
        return false;
    for (const char *part = path + 1; *part; part += strspn(part, "/")) {
        const size_t length = strlen(out), n = strcspn(part, "/");
        if (stat(out, &above) != 0)
            return false;
        snprintf(out + length, size - length, "/%.*s", (int)n, part);
        part += n;
        if (stat(out, &st) == 0)
            continue;
        if (above.st_dev != top.st_dev) {
            errno = EROFS;
            return false;
        }
        if (mkdir(out, 0777) != 0)
            return false;
    }
    return true;
}

bool rb_pod_root_enter(const char *root, const struct rb_pod_volume *volumes, int n, const char **why)
{
    char at[PATH_MAX];
    *why = "the root cannot be built";
    rb_node_shield_close();
    if (mount("none", root, "tmpfs", MS_NOSUID | MS_NODEV, "size=64m,mode=0755") != 0 || !mirror(root))
        return false;
    *why = "a volume cannot be mounted: its mountPath must exist, or have no directory of this machine above it";
    for (int k = 0; k < n; k++)
        if (!make_path(root, volumes[k].path, at, sizeof at) ||
            mount(volumes[k].directory, at, "none", MS_BIND, NULL) != 0)
            return false;
    *why = "the root cannot be entered";
    return chroot(root) == 0 && chdir("/") == 0;
}

void rb_pod_root_mount_proc(void)
{
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
}
