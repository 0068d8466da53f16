#include "executor/away/program.h"

#include "base/arena.h"
#include "providers/wire/child.h"
#include "providers/wire/digest.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILES = 128, MAX_BYTES = 256 << 20 };

struct files {
    const char *words[3 * MAX_FILES + 16];
    int n;
    struct rb_arena arena;
};

// tar takes the file by its name alone, from its own directory.
static void add(struct files *f, const char *path)
{
    const char *slash = strrchr(path, '/');
    RB_AUTO(rb_buf_finish) struct rb_buf directory = RB_BUF_INIT;
    if (!slash || f->n + 4 >= (int)(sizeof f->words / sizeof *f->words))
        return;
    rb_buf_append(&directory, path, (size_t)(slash - path) + 1);
    f->words[f->n++] = "-C";
    f->words[f->n++] = rb_arena_strdup(&f->arena, rb_buf_str(&directory));
    f->words[f->n++] = rb_arena_strdup(&f->arena, slash + 1);
}

// They belong to the system that they run on.
static bool is_of_glibc(const char *name)
{
    static const char *const names[] = {"ld-linux",   "libc.so",       "libm.so",      "libdl.so",
                                        "librt.so",   "libpthread.so", "libresolv.so", "libutil.so",
                                        "libmvec.so", "libanl.so",     "linux-vdso",   "libnss_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int take_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (slash && !is_of_glibc(slash + 1))
        add(ctx, info->dlpi_name);
    return 0;
}

bool rb_program_pack(struct rb_buf *out, char out_digest[static 65], struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct files *f = rb_arena_array(&arena, 1, sizeof *f);
    char program[4096];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0)
        return rb_err_set(err, RB_E_HOST_FAILED, "/proc/self/exe: %s; mount /proc", strerror(errno));
    program[n] = '\0';
    static const char *const tar[] = {"tar",
                                      "-chf",
                                      "-",
                                      "--format=gnu",
                                      "--mtime=@0",
                                      "--owner=0",
                                      "--group=0",
                                      "--numeric-owner",
                                      "--mode=u+rwX,go+rX,go-w",
                                      "--transform=s,^[^/]*[.]so[^/]*$,lib/&,;s,^[^/]*$,bin/rbrun,"};
    *f = (struct files){.n = sizeof tar / sizeof *tar};
    memcpy(f->words, tar, sizeof tar);
    add(f, program);
    dl_iterate_phdr(take_library, f);
    f->words[f->n] = NULL;
    const bool ok = rb_child_run(f->words, &(struct rb_child_options){.out = out, .max_output_bytes = MAX_BYTES}, err);
    rb_arena_finish(&f->arena);
    if (!ok)
        return rb_err_prefix(err, "%s and its libraries could not be packed", program);
    rb_digest_sha256(out->data, out->len, out_digest);
    return true;
}
