#include "clouds.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <cmocka.h>

static const char prices[] = "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour\n"
                             "aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006\n"
                             "aws/us-east-1,g5.xlarge,A10G,1,22.35,4,16,spot,0.4125\n"
                             "aws/us-east-1/us-east-1b,g5.12xlarge,A10G,4,22.35,48,192,on_demand,5.672\n"
                             "aws/us-east-1/us-east-1a,c5.xlarge,CPU,1,0,4,8,on_demand,0.17\n"
                             "aws/us-east-1,disk,,,,,,,0.0001\n"
                             "mock/us-west-2,g5.xlarge,A10G,1,22.35,4,16,on_demand,1.006\n"
                             "gcp/us-central1,g2-standard-4,L4,1,24,4,16,on_demand,0.707\n";

void small_cloud_setup(struct small_cloud *s, const char *extra, double capacity_failure)
{
    struct rb_err err;
    rb_arena_init(&s->arena);
    const char *yaml =
        rb_arena_printf(&s->arena,
                        "format: rb-mock/1\nprices: prices.csv\nprovisioning:\n"
                        "  - {infra: aws, instance_type: \"*\", market: \"*\", queue_s: 5.0, init_s: 3.0, "
                        "capacity_failure: %.3f}\n%s",
                        capacity_failure, extra);
    if (!rb_cloud_config_parse("cloud.yaml", yaml, prices, NULL, &s->arena, &s->config, &err))
        fail_msg("%s:%d: %s: %s", err.file, err.line, err.key, err.message);
    s->config.seed = 1;
    s->config.epoch_us = T0;
    s->config.first_address = 0x7f010002;
    s->config.n_addresses = 1000;
    s->cloud = rb_cloud_create(&s->config);
}

void small_cloud_teardown(struct small_cloud *s)
{
    rb_cloud_destroy(s->cloud);
    rb_arena_finish(&s->arena);
}

struct rb_cloud_launch plain_launch(void)
{
    return (struct rb_cloud_launch){.fingerprint = "same",
                                    .region = "us-east-1",
                                    .zone = "us-east-1a",
                                    .instance_type = "g5.xlarge",
                                    .min_count = 1,
                                    .max_count = 1,
                                    .image_id = "ami-00000000000000000",
                                    .terminate_on_shutdown = true};
}
