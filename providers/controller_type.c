#include "providers/controller_type.h"

#include <stddef.h>
#include <string.h>

#if defined(__aarch64__)
#define OF_THIS_ARCHITECTURE(x86, arm) arm
#else
#define OF_THIS_ARCHITECTURE(x86, arm) x86
#endif

const char *rb_controller_type(const char *infra)
{
    static const struct {
        const char *provider, *type;
    } all[] = {
        {"aws", OF_THIS_ARCHITECTURE("t3.small", "t4g.small")},
        {"gcp", OF_THIS_ARCHITECTURE("e2-small", "t2a-standard-1")},
        {"k8s", "cpu/1"},
        {"mock", OF_THIS_ARCHITECTURE("t3.small", "t4g.small")},
        {"slurm", "cpu:1"},
    };
    const size_t n = strcspn(infra, "/");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].provider) == n && strncmp(infra, all[i].provider, n) == 0)
            return all[i].type;
    return NULL;
}
