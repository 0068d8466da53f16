// Checks the form of texts from a cloud's answers before they are used on command lines, in paths or in URLs.
#ifndef RB_PROVIDERS_UNTRUSTED_H
#define RB_PROVIDERS_UNTRUSTED_H

#include <stdbool.h>

bool rb_is_instance_id(const char *s); // 1 to 127 letters, digits, '-', '.', '_', none of them '-' at the start
bool rb_is_ip_address(const char *s);  // numeric, version 4 or 6

#endif
