// Any bytes as Compute Engine's answers about quotas and machine types: refused, or limits that are numbers.
#include "providers/gcp/gcp_quotas.c" // NOLINT: decode is no one else's business

#include "fuzz.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct survey s; // large
    struct rb_err err = {0};
    static const struct rb_gcp gcp = {.region = "us-central1"};
    s = (struct survey){.gcp = &gcp};
    if (!decode_region(&s, (const char *)bytes, n, &err))
        require(err.code != RB_ERR_NONE && err.message[0]);
    else
        for (int i = 0; i < s.of_region.n; i++)
            require(s.of_region.list[i].limit >= -1 && s.of_region.list[i].usage >= -1);
    if (decode_machine(&s, (const char *)bytes, n, &err))
        require(s.found_vcpus == -1 || s.found_vcpus >= 1);
    return 0;
}
