// Any bytes as ~/.aws/config: refused with file and line, or settings that all lie in a named section. The reader takes
// a file, so the bytes go into one that exists in memory only.
#include "providers/aws/aws_config.h"

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static int memory_file(void)
{
    char path[64];
    const int fd = memfd_create("config", MFD_CLOEXEC);
    require(fd >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    setenv("AWS_CONFIG_FILE", path, 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent", 1);
    return fd;
}

static void check(const struct rb_aws_config *c)
{
    for (int i = 0; i < c->n_settings; i++) {
        const struct rb_aws_setting *s = &c->settings[i];
        require(s->file == &c->config && s->line > 0);
        require(*s->kind && *s->name && s->key && s->value);
        require(rb_aws_config_find(c, s->kind, s->name, s->group, s->key) == s); // no duplicates
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static int fd = -1;
    if (fd < 0)
        fd = memory_file();
    require(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, n, 0) == (ssize_t)n);
    struct rb_aws_config config;
    struct rb_err err = {0};
    if (rb_aws_config_load(&config, &err)) {
        check(&config);
        rb_aws_config_finish(&config);
    } else {
        require(err.code == RB_ERR_INVALID && err.file[0] && err.message[0]);
    }
    return 0;
}
