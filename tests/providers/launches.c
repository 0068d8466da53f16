#include "launches.h"

static const char *const groups[] = {"sg-1", "sg-2"};

const struct rb_launch launch_plain = {
    .token = "0123abcd",
    .region = "us-east-1",
    .instance_type = "g5.xlarge",
    .image_id = "ami-1",
};

const struct rb_launch launch_full = {
    .token = "tok",
    .region = "us-east-1",
    .zone = "us-east-1a",
    .instance_type = "g5.12xlarge",
    .market = RB_MARKET_SPOT,
    .image_id = "ami-2",
    .user_data = "#!/bin/sh\n",
    .disk_gb = 200,
    .tags = {.owner = "ann", .run_id = "r 1&2"},
    .security_groups = groups,
    .n_security_groups = 2,
    .subnet = "subnet-1",
    .instance_profile = "rb-node",
};
