// Names the network of every region of the mock: a default VPC, a default subnet a zone, a default security group.
// Their ids follow from the names of region and zone. The addresses are loopback's, and nothing is filtered.
#ifndef RB_PROVIDERS_MOCK_EC2_NETWORK_H
#define RB_PROVIDERS_MOCK_EC2_NETWORK_H

#define RB_MOCK_EC2_ID 32 // bytes of an id such as subnet-0123456789abcdef0, the NUL included

void rb_mock_vpc_id(const char *region, char out[static RB_MOCK_EC2_ID]);
void rb_mock_subnet_id(const char *zone, char out[static RB_MOCK_EC2_ID]);
void rb_mock_security_group_id(const char *region, char out[static RB_MOCK_EC2_ID]);

#endif
