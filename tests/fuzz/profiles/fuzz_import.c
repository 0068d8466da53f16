// Any bytes as a file that a user imports: refused with a message, or samples that every fit takes.
#include "profiles/import/import.h"

#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_FITTED 6 // a fit of more takes too long to be repeated a million times

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void fit_iterations(const struct rb_import *i)
{
    struct rb_throughput t;
    double error;
    require(rb_throughput_fit(i->throughputs, i->n_rows, &t, &error, NULL));
    require(isfinite(error) && isfinite(t.alpha_c) && isfinite(t.beta_n) && t.gamma >= 1 && t.gamma <= 10);
}

static void fit_delays(struct rb_import *i)
{
    double queue_s[MAX_FITTED];
    int n = 0;
    for (int k = 0; k < i->n_rows; k++) {
        if (i->provisions[k].queue_s >= 0) {
            queue_s[n++] = i->provisions[k].queue_s;
        }
    }
    struct rb_dist_fit fit;
    if (n > 0) {
        require(rb_dist_fit_latency(queue_s, n, &i->arena, &fit, NULL));
        require(isfinite(rb_dist_mean(&fit.dist)) && isfinite(rb_dist_quantile(&fit.dist, 0.999)));
    }
}

static void check_import(struct rb_import *i)
{
    require(i->n_rows > 0 && i->format != RB_IMPORT_DETECT);
    if (i->format == RB_IMPORT_THROUGHPUT && i->n_rows <= MAX_FITTED) {
        fit_iterations(i);
    }
    if (i->format == RB_IMPORT_PROVISION && i->n_rows <= MAX_FITTED) {
        fit_delays(i);
    }
    for (int k = 0; i->format == RB_IMPORT_CAPACITY && k < i->n_markets; k++)
        require(rb_hazard_seconds(&i->markets[k].spells.hazard, 0, 1) > 0);
    for (int k = 0; i->format == RB_IMPORT_SPOT && k < i->n_rows; k++) {
        require(i->spots[k].rate.uusd_per_hour > 0);
    }
}

// The first byte chooses the format, the rest is the file.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const enum rb_import_format formats[] = {RB_IMPORT_PROFILE,   RB_IMPORT_THROUGHPUT, RB_IMPORT_PRICES,
                                                    RB_IMPORT_PROVISION, RB_IMPORT_SPOT,       RB_IMPORT_CAPACITY};
    const struct rb_import_options options = {.format = n > 0 ? formats[bytes[0] % 6] : RB_IMPORT_DETECT,
                                              .name = "p",
                                              .accelerator = "A",
                                              .batch = 8,
                                              .units_per_epoch = 10,
                                              .capacity = {.sampled_s = 60, .has_together = true, .together = 0.5}};
    struct rb_import import;
    struct rb_err err = {0};
    char path[40];
    const int fd = memfd_create("import", 0);
    require(fd >= 0 && (n < 2 || write(fd, bytes + 1, n - 1) == (ssize_t)(n - 1)));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (rb_import_read(path, &options, &import, &err)) {
        check_import(&import);
        rb_import_finish(&import);
    } else {
        require(err.code == RB_ERR_INVALID && err.message[0] != '\0');
    }
    close(fd);
    return 0;
}
