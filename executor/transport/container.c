#include "executor/transport/container.h"

#include "base/arena.h"
#include "executor/container_script.h" // generated from container.sh: rb_container_script[]
#include "providers/wire/child.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

void rb_container_ready(const struct rb_container *c, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf script = RB_BUF_INIT;
    rb_buf_append(&script, (const char *)rb_container_script, rb_container_script_len);
    rb_buf_puts(out, "exec sh -c ");
    rb_buf_shell_quote(out, rb_buf_str(&script));
    rb_buf_printf(out, " container ready rb/%s rb-%s-%d ", c->run_id, c->run_id, c->node);
    rb_buf_shell_quote(out, c->image);
    rb_buf_printf(out, " %d ", c->gpus);
    rb_buf_shell_quote(out, c->data ? c->data : "");
    rb_buf_printf(out, " %s", c->engines);
}

void rb_container_enter(const char *run_id, const char *remote, struct rb_buf *out)
{
    rb_buf_printf(out, "exec sh rb/%s/enter ", run_id);
    rb_buf_shell_quote(out, remote);
}

static bool drop(const char *home, const char *run_id)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    const char *script = rb_arena_strndup(&arena, (const char *)rb_container_script, rb_container_script_len);
    const char *const argv[] = {"/bin/sh", "-c", script, "container", "drop",
                                rb_arena_printf(&arena, "%s/rb/%s", home, run_id), NULL};
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    pid_t pid;
    int status = -1;
    if (null >= 0 && rb_child_start(argv, rb_child_command_env(NULL, 0, &arena), (const int[]){null, null, 2}, &pid) == 0)
        waitpid(pid, &status, 0);
    if (null >= 0)
        close(null);
    return status == 0;
}

int rb_container_drop_here(const char *run_dir, const char *run_id)
{
    RB_AUTO(rb_buf_finish) struct rb_buf path = RB_BUF_INIT;
    int n = 0;
    rb_buf_printf(&path, "%s/local", run_dir);
    DIR *homes = opendir(rb_buf_str(&path));
    for (const struct dirent *e; homes && (e = readdir(homes));) {
        rb_buf_clear(&path);
        rb_buf_printf(&path, "%s/local/%s/rb/%s/container", run_dir, e->d_name, run_id);
        if (access(rb_buf_str(&path), F_OK) != 0)
            continue;
        rb_buf_clear(&path);
        rb_buf_printf(&path, "%s/local/%s", run_dir, e->d_name);
        n += drop(rb_buf_str(&path), run_id);
    }
    if (homes)
        closedir(homes);
    return n;
}
