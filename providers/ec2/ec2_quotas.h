// Reads the quotas of an EC2 account that a plan counts against: vCPUs by family and market, from Service Quotas.
#ifndef RB_PROVIDERS_EC2_QUOTAS_H
#define RB_PROVIDERS_EC2_QUOTAS_H

#include "providers/aws/aws_client.h"
#include "providers/provider.h"

// A client for rb_ec2_quotas: rb_aws_client_create with service and target filled in.
bool rb_service_quotas_client_create(const struct rb_aws_client_config *config, struct rb_aws_client **out,
                                     struct rb_err *err);

// Asks DescribeInstanceTypes for vCPUs that the demands lack, then ListServiceQuotas page by page, and
// ListAWSDefaultServiceQuotas for a quota that was never changed. Service Quotas does not report use: -1. A quota that
// neither lists, or of an unknown family, has a limit of -1. NOT_FOUND: a type that EC2 does not describe. fn as in
// provider.h.
void rb_ec2_quotas(struct rb_aws_client *ec2, struct rb_aws_client *quotas, const struct rb_demand *demands, int n,
                   rb_quotas_fn *fn, void *arg);

#endif
