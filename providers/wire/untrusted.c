#include "providers/wire/untrusted.h"

#include <arpa/inet.h>
#include <string.h>

enum { MAX_ID_LEN = 127 };

bool rb_is_instance_id(const char *s)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    const size_t n = strlen(s);
    return n > 0 && n <= MAX_ID_LEN && s[0] != '-' && strspn(s, allowed) == n;
}

bool rb_is_ip_address(const char *s)
{
    struct in6_addr address;
    return inet_pton(AF_INET, s, &address) == 1 || inet_pton(AF_INET6, s, &address) == 1;
}
