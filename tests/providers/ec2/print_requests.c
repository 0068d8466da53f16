// Prints every kind of request body, one a line, for check_requests.py to compare with the API model.
#include "launches.h"
#include "providers/ec2/ec2_encode.h"

#include <stdio.h>

static void print(struct rb_buf *body)
{
    puts(rb_buf_str(body));
    rb_buf_clear(body);
}

int main(void)
{
    static const char *const types[] = {"g5.xlarge"};
    struct rb_launch by_arn = launch_full;
    by_arn.instance_profile = "arn:aws:iam::1:instance-profile/x";
    struct rb_buf body = RB_BUF_INIT;
    rb_ec2_encode_run(&launch_full, "ami-1", "/dev/sda1", &body);
    print(&body);
    rb_ec2_encode_run(&by_arn, "ami-1", "/dev/sda1", &body);
    print(&body);
    rb_ec2_encode_list("r-1", "page", &body);
    print(&body);
    rb_ec2_encode_terminate("i-1", &body);
    print(&body);
    by_arn.placement_group = "rb-r-g5";
    rb_ec2_encode_run(&by_arn, "ami-1", "/dev/sda1", &body);
    print(&body);
    rb_ec2_encode_create_group(&by_arn, &body);
    print(&body);
    rb_ec2_encode_groups(NULL, &body);
    print(&body);
    rb_ec2_encode_delete_group("rb-r-g5", &body);
    print(&body);
    rb_ec2_encode_image("ami-1", &body);
    print(&body);
    rb_ec2_encode_machines(types, 1, "page", &body);
    print(&body);
    rb_ec2_encode_machines(NULL, 0, NULL, &body);
    print(&body);
    rb_ec2_encode_spot_prices(types, 1, 0, "page", &body);
    print(&body);
    struct rb_reservation reserved = {.id = "cr-1"}; // no block: older models do not know its market
    by_arn.market = RB_MARKET_RESERVED;
    by_arn.reservation = &reserved;
    rb_ec2_encode_run(&by_arn, "ami-1", "/dev/sda1", &body);
    print(&body);
    rb_ec2_encode_reservations("page", &body);
    print(&body);
    rb_buf_finish(&body);
    return 0;
}
