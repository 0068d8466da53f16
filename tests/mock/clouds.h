// Small clouds for the tests of this folder: constant delays, so that every instant can be written down.
#ifndef RB_TESTS_MOCK_CLOUDS_H
#define RB_TESTS_MOCK_CLOUDS_H

#include "providers/mock/cloud/cloud.h"

#define T0 INT64_C(1767225600000000) // 2026-01-01T00:00:00Z
#define S  RB_US_PER_S

// g5.xlarge (1.006 and spot 0.4125 $/h) in us-east-1 and us-west-2, g5.12xlarge only on demand and only in us-east-1b;
// 5 s to running, 3 s more to the boot, 1 s to terminated; disk at 0.0001 $ per GB-hour in us-east-1 only.
struct small_cloud {
    struct rb_arena arena;
    struct rb_cloud_config config;
    struct rb_cloud *cloud;
};

// extra: more lines of rb-mock/1, "" for none; capacity_failure: of every request.
void small_cloud_setup(struct small_cloud *s, const char *extra, double capacity_failure);
void small_cloud_teardown(struct small_cloud *s);

// One g5.xlarge in us-east-1a, nothing special.
struct rb_cloud_launch plain_launch(void);

#endif
