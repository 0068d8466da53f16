#include "engine/sharing/sharings.h"

#include <stddef.h>
#include <string.h>

const struct rb_sharing *const rb_sharings[] = {&rb_sharing_goodput, &rb_sharing_optimus, &rb_sharing_pollux,
                                                &rb_sharing_tiresias, NULL};

const struct rb_sharing *rb_sharing_find(const char *name)
{
    for (int i = 0; rb_sharings[i]; i++) {
        if (strcmp(rb_sharings[i]->name, name) == 0)
            return rb_sharings[i];
    }
    return NULL;
}
