// Reads what EC2's machines cost on demand from AWS's Price List. It uses the query API (GetProducts), not the bulk
// files: a region's file has hundreds of megabytes, a page of the API a hundred machines. Pure; answers are untrusted.
#ifndef RB_PROVIDERS_AWS_PRICE_LIST_H
#define RB_PROVIDERS_AWS_PRICE_LIST_H

#include "base/arena.h"
#include "profiles/catalog/catalog.h"
#include "base/text/buf.h"

// Can the region's prices be read? PRICE: a partition whose list is not sold in USD or not to be had with its credentials.
bool rb_aws_price_list_check(const char *region, struct rb_err *err);

// Linux on shared hardware, nothing preinstalled. instance_type NULL: all types; page NULL: the first.
void rb_aws_price_list_encode(const char *region, const char *instance_type, const char *page, struct rb_buf *out);

struct rb_aws_price {
    const char *instance_type;
    struct rb_rate rate;
};
struct rb_aws_prices {
    struct rb_aws_price *prices; // [n]; each type once
    int n;
    const char *next_page;       // NULL: this was the last
};
// Values live in the arena. Skips products that were not requested, and prices of 0, which are for capacity that is
// paid for elsewhere. Errors: IO, naming the element; PRICE: one type at two prices, or not in USD by the hour.
bool rb_aws_price_list_decode(const char *body, size_t n, const char *region, struct rb_arena *arena,
                              struct rb_aws_prices *out, struct rb_err *err);

#endif
