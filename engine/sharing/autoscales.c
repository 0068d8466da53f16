#include "engine/sharing/autoscales.h"

#include <string.h>

const struct rb_autoscale *const rb_autoscales[] = {&rb_autoscale_marginal, &rb_autoscale_throughput,
                                                    &rb_autoscale_utility, NULL};

const struct rb_autoscale *rb_autoscale_find(const char *name)
{
    for (int i = 0; rb_autoscales[i]; i++) {
        if (strcmp(rb_autoscales[i]->name, name) == 0)
            return rb_autoscales[i];
    }
    return NULL;
}
