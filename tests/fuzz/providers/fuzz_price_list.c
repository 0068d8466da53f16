// Any bytes as a page of AWS's or Google's price list: refused, or prices above nothing.
#include "providers/aws/aws_price_list.h"
#include "providers/gcp/gcp_prices.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_aws(const char *body, size_t n)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_aws_prices page;
    struct rb_err err;
    if (!rb_aws_price_list_decode(body, n, "us-east-1", &arena, &page, &err))
        return;
    for (int i = 0; i < page.n; i++) {
        require(page.prices[i].rate.uusd_per_hour > 0 && page.prices[i].instance_type[0] != '-');
        for (int k = 0; k < i; k++)
            require(strcmp(page.prices[i].instance_type, page.prices[k].instance_type) != 0);
    }
}

static void check_gcp(const char *body, size_t n)
{
    struct rb_gcp_priced machine;
    struct rb_err err;
    struct rb_rate rate;
    char next[512];
    require(rb_gcp_priced_begin("g2-standard-4", &machine, &err));
    if (rb_gcp_priced_machine(body, n, "us-central1", &machine, &err))
        require(machine.cpus > 0 && machine.memory_mib > 0 && machine.gpus > 0);
    if (rb_gcp_priced_page(body, n, "us-central1", &machine, 1, next, &err) && machine.cpus > 0 &&
        rb_gcp_priced_rate(&machine, RB_MARKET_ON_DEMAND, &rate, &err))
        require(rate.uusd_per_hour > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_aws((const char *)data, size);
    check_gcp((const char *)data, size);
    return 0;
}
