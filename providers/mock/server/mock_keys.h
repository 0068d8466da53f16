// Creates the access keys of a mock cloud.
#ifndef RB_PROVIDERS_MOCK_KEYS_H
#define RB_PROVIDERS_MOCK_KEYS_H

#include "base/arena.h"
#include "base/errors/err.h"

struct rb_mock_key {
    const char *access_key, *secret_key;
};

struct rb_mock_keys {
    const struct rb_mock_key *keys; // [n]
    int n;
};

// One new key, from the system's random numbers.
void rb_mock_keys_make(struct rb_arena *arena, struct rb_mock_keys *out);
// "ACCESS_KEY:SECRET". False: not of that form.
bool rb_mock_keys_parse(const char *text, struct rb_arena *arena, struct rb_mock_keys *out);

// A CSV as AWS's console gives it ("Access key ID,Secret access key") or an ini file like ~/.aws/credentials; every
// profile of it counts. Errors: INVALID with file and line, a file without any key included.
bool rb_mock_keys_read(const char *path, struct rb_arena *arena, struct rb_mock_keys *out, struct rb_err *err);

#endif
