// Any bytes as an answer of EC2 to every question we ask: refused, or values that are safe to act upon.
#include "providers/ec2/ec2_decode.h"
#include "providers/aws/aws_errors.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool is_plain(const char *s, const char *also)
{
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || strchr(also, *s)))
            return false;
    return true;
}

// Identifiers and addresses reach command lines: no blanks, no leading dash, no shell characters.
static void check_instance(const struct rb_instance *i)
{
    require(i->id && i->id[0] != '-' && is_plain(i->id, "-._"));
    require(!i->address || (i->address[0] != '-' && is_plain(i->address, ".:")));
    require(!i->private_address || (i->private_address[0] != '-' && is_plain(i->private_address, ".:")));
    require(i->state >= RB_INSTANCE_PENDING && i->state <= RB_INSTANCE_TERMINATED);
    require(i->state != RB_INSTANCE_PENDING || i->running_at_us == -1);
}

static void check_lists(const char *body, size_t n, struct rb_arena *arena)
{
    struct rb_err err = {0};
    struct rb_instance gang[2];
    struct rb_instance_page page;
    for (int count = 1; count <= 2; count++)
        if (rb_ec2_decode_run(body, n, count, "r", arena, gang, &err))
            for (int i = 0; i < count; i++)
                check_instance(&gang[i]);
    if (rb_ec2_decode_list(body, n, "r", arena, &page, &err))
        for (int i = 0; i < page.n; i++)
            check_instance(&page.instances[i]);
    rb_ec2_decode_terminate(body, n, "i-1", &(bool){false}, &err);
}

static void check_offers(const char *body, size_t n, struct rb_arena *arena)
{
    struct rb_err err = {0};
    struct rb_ec2_machines machines;
    struct rb_ec2_spot_prices prices;
    const char *device;
    if (rb_ec2_decode_machines(body, n, arena, &machines, &err))
        for (int i = 0; i < machines.n; i++)
            require(machines.machines[i].gpus >= 1 && machines.machines[i].gpus <= 64 &&
                    machines.machines[i].vcpus >= 0 && machines.machines[i].gpu_memory_gb >= 0);
    if (rb_ec2_decode_spot_prices(body, n, arena, &prices, &err))
        for (int i = 0; i < prices.n; i++)
            require(prices.prices[i].rate.uusd_per_hour > 0);
    if (rb_ec2_decode_image(body, n, "ami-1", arena, &device, &err))
        require(*device != '\0');
}

static void check_error(const char *body, size_t n)
{
    static const long statuses[] = {400, 403, 500, 503};
    for (size_t s = 0; s < sizeof statuses / sizeof statuses[0]; s++) {
        struct rb_err err = {0};
        rb_aws_query_judge(statuses[s], body, n, &err);
        require(err.code != RB_ERR_NONE && err.message[0] != '\0');
        for (const char *c = err.message; *c; c++)
            require((unsigned char)*c >= 0x20);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena = {0};
    check_lists((const char *)bytes, n, &arena);
    check_offers((const char *)bytes, n, &arena);
    check_error((const char *)bytes, n);
    rb_arena_finish(&arena);
    return 0;
}
