// Texts out of a cloud's answers that later stand on command lines, in paths or in URLs: their form is checked first.
#ifndef RB_PROVIDERS_UNTRUSTED_H
#define RB_PROVIDERS_UNTRUSTED_H

#include <stdbool.h>

bool rb_is_instance_id(const char *s); // 1 to 127 letters, digits, '-', '.', '_', none of them '-' at the start
bool rb_is_ip_address(const char *s);  // numeric, version 4 or 6

#endif
