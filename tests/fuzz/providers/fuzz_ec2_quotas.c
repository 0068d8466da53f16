// Any bytes as Service Quotas' answer to ListServiceQuotas: refused, or limits that are numbers.
#include "providers/ec2/ec2_quotas.c" // NOLINT: decode is no one else's business

#include "fuzz.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct survey s = {0};
    struct rb_err err = {0};
    rb_arena_init(&s.arena);
    for (int i = 0; i < N_BUCKETS; i++)
        s.limits[i] = -1;
    if (!decode(&s, (const char *)bytes, n, &err))
        require(err.code != RB_ERR_NONE && err.message[0]);
    for (int i = 0; i < N_BUCKETS; i++)
        require(s.limits[i] == -1 || (s.limits[i] >= 0 && s.limits[i] <= 1e10));
    require(!s.next_page || s.next_page[0]);
    rb_arena_finish(&s.arena);
    return 0;
}
