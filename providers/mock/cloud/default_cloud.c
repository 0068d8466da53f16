// The cloud that rbmock is without --cloud: a few GPU machines in two regions of EC2 and one of Compute Engine, and a
// Kubernetes cluster of EC2's.
// On-demand prices: AWS's us-east-1 list as of 2026-07-20; spot: that price less the 30-day average saving that the Spot
// Instance Advisor of 2025-06-28 names for us-east-1. Both are taken for us-west-2 too. Disk: gp3 at $0.08 a GB-month of
// 730 h. Compute Engine: us-central1 as of 2026-08-03, on demand as the sum of the parts that Google prices (gcp_skus.h),
// with pd-balanced at $0.10 a GB-month. Boot delays are assumptions, not measurements: a median of 20 s to `running` and
// 45 s more to a login, 60 s and 150 s for machines with 8 GPUs.
#include "providers/mock/cloud/cloud_config.h"

static const char prices[] =
    "infra,instance_type,accelerator,gpus,gpu_memory_gb,vcpus,memory_gb,market,usd_per_hour,source,fetched_at\n"
#define REGION(r)                                                                                     \
    "aws/" r ",g4dn.xlarge,T4,1,16,4,16,on_demand,0.526,aws,2026-07-20T00:00:00Z\n"                   \
    "aws/" r ",g4dn.xlarge,T4,1,16,4,16,spot,0.1894,spot-advisor,2025-06-28T00:00:00Z\n"              \
    "aws/" r ",g4dn.12xlarge,T4,4,16,48,192,on_demand,3.912,aws,2026-07-20T00:00:00Z\n"               \
    "aws/" r ",g4dn.12xlarge,T4,4,16,48,192,spot,1.4083,spot-advisor,2025-06-28T00:00:00Z\n"          \
    "aws/" r ",g5.xlarge,A10G,1,22.3515625,4,16,on_demand,1.006,aws,2026-07-20T00:00:00Z\n"           \
    "aws/" r ",g5.xlarge,A10G,1,22.3515625,4,16,spot,0.4125,spot-advisor,2025-06-28T00:00:00Z\n"      \
    "aws/" r ",g5.12xlarge,A10G,4,22.3515625,48,192,on_demand,5.672,aws,2026-07-20T00:00:00Z\n"       \
    "aws/" r ",g5.12xlarge,A10G,4,22.3515625,48,192,spot,2.3822,spot-advisor,2025-06-28T00:00:00Z\n"  \
    "aws/" r ",g5.48xlarge,A10G,8,22.3515625,192,768,on_demand,16.288,aws,2026-07-20T00:00:00Z\n"     \
    "aws/" r ",g5.48xlarge,A10G,8,22.3515625,192,768,spot,4.7235,spot-advisor,2025-06-28T00:00:00Z\n" \
    "aws/" r ",g6.xlarge,L4,1,22.3515625,4,16,on_demand,0.8048,aws,2026-07-20T00:00:00Z\n"            \
    "aws/" r ",g6.xlarge,L4,1,22.3515625,4,16,spot,0.4104,spot-advisor,2025-06-28T00:00:00Z\n"        \
    "aws/" r ",g6.12xlarge,L4,4,22.3515625,48,192,on_demand,4.6016,aws,2026-07-20T00:00:00Z\n"        \
    "aws/" r ",g6.12xlarge,L4,4,22.3515625,48,192,spot,1.8867,spot-advisor,2025-06-28T00:00:00Z\n"    \
    "aws/" r ",p4d.24xlarge,A100,8,40,96,1152,on_demand,21.957642,aws,2026-07-20T00:00:00Z\n"         \
    "aws/" r ",p4d.24xlarge,A100,8,40,96,1152,spot,7.2460,spot-advisor,2025-06-28T00:00:00Z\n"        \
    "aws/" r ",disk,,,,,,,0.000109589041,aws,2026-07-20T00:00:00Z\n"
    REGION("us-east-1") REGION("us-west-2")
#undef REGION
// clang-format off
#define GCP(row) "gcp/us-central1," row ",gcp,2026-08-03T00:00:00Z\n"
    GCP("g2-standard-4,L4,1,24,4,16,on_demand,0.706824")
    GCP("g2-standard-4,L4,1,24,4,16,spot,0.397")
    GCP("n1-standard-8+nvidia-tesla-t4:1,T4,1,16,8,30,on_demand,0.729998")
    GCP("n1-standard-8+nvidia-tesla-t4:1,T4,1,16,8,30,spot,0.299")
    GCP("a2-highgpu-1g,A100,1,40,12,85,on_demand,3.673385")
    GCP("a2-highgpu-1g,A100,1,40,12,85,spot,1.928")
    GCP("a2-highgpu-8g,A100,8,40,96,680,on_demand,29.38708")
    GCP("a2-highgpu-8g,A100,8,40,96,680,spot,15.424")
    "k8s/rbmock,g5.12xlarge,A10G,4,22.3515625,48,192,on_demand,5.672,aws,2026-07-20T00:00:00Z\n"
    "k8s/rbmock,g5.12xlarge,A10G,4,22.3515625,48,192,spot,2.3822,spot-advisor,2025-06-28T00:00:00Z\n"
    "gcp/us-central1,disk,,,,,,,0.000136986301,gcp,2026-08-03T00:00:00Z\n";
#undef GCP
// clang-format on

static const char behaviour[] = "format: rb-mock/1\n"
                                "prices: built-in prices\n"
                                "provisioning:\n"
                                "  - infra: aws\n"
                                "    instance_type: g5.48xlarge\n"
                                "    market: \"*\"\n"
                                "    queue_s: {distribution: lognormal, mu: 4.0943, sigma: 0.6}\n"
                                "    init_s: {distribution: lognormal, mu: 5.0106, sigma: 0.4}\n"
                                "    capacity_failure: 0.0\n"
                                "  - infra: aws\n"
                                "    instance_type: p4d.24xlarge\n"
                                "    market: \"*\"\n"
                                "    queue_s: {distribution: lognormal, mu: 4.0943, sigma: 0.6}\n"
                                "    init_s: {distribution: lognormal, mu: 5.0106, sigma: 0.4}\n"
                                "    capacity_failure: 0.0\n"
                                "  - infra: gcp\n"
                                "    instance_type: a2-highgpu-8g\n"
                                "    market: \"*\"\n"
                                "    queue_s: {distribution: lognormal, mu: 4.0943, sigma: 0.6}\n"
                                "    init_s: {distribution: lognormal, mu: 5.0106, sigma: 0.4}\n"
                                "    capacity_failure: 0.0\n"
                                "  - infra: \"*\"\n"
                                "    instance_type: \"*\"\n"
                                "    market: \"*\"\n"
                                "    queue_s: {distribution: lognormal, mu: 2.9957, sigma: 0.5}\n"
                                "    init_s: {distribution: lognormal, mu: 3.8067, sigma: 0.35}\n"
                                "    capacity_failure: 0.0\n";

bool rb_cloud_config_default(struct rb_arena *arena, struct rb_cloud_config *out, struct rb_err *err)
{
    return rb_cloud_config_parse("built-in cloud", behaviour, prices, NULL, arena, out, err);
}
