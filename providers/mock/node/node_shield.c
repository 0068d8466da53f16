// Bind mounts over every place where a tool may be, and over the sockets through which one could ask the
// host's init.
#include "providers/mock/node/node_shield.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAP_SYS_BOOT 22 // linux/capability.h: reboot(2)

static const char *const folders[] = {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"};
static const char *const hidden[] = {"/run/systemd", "/run/dbus", "/run/initctl"};

static void cover_tools(const char *node_tool)
{
    for (size_t f = 0; f < sizeof folders / sizeof *folders; f++)
        for (int t = 0; rb_user_data_tools[t]; t++) {
            char path[256];
            struct stat st;
            snprintf(path, sizeof path, "%s/%s", folders[f], rb_user_data_tools[t]);
            // Through symbolic links: /sbin/shutdown is systemctl under another name.
            if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
                mount(node_tool, path, "none", MS_BIND, NULL);
        }
}

// The kernel executes what root writes there: reboot, power off.
static void cover_kernel(void)
{
    mount("/dev/null", "/proc/sysrq-trigger", "none", MS_BIND, NULL);
}

static void hide_init(void)
{
    for (size_t k = 0; k < sizeof hidden / sizeof *hidden; k++)
        mount("none", hidden[k], "tmpfs", MS_NOSUID | MS_NODEV, "size=4k");
}

void rb_node_shield_close(void)
{
    prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT);
    cover_kernel();
    hide_init();
}

void rb_node_shield_raise(const struct rb_node_dir *d)
{
    char node_tool[4096];
    if (getuid() != 0)
        return;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0) {
        prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT);
        rb_node_dir_log(d, "the host's tools cannot be covered here: %s", strerror(errno));
        return;
    }
    snprintf(node_tool, sizeof node_tool, "%s/node-tool", d->root);
    cover_tools(node_tool);
    rb_node_shield_close();
}
