// The access keys a mock cloud knows.
#ifndef RB_PROVIDERS_MOCK_KEYS_H
#define RB_PROVIDERS_MOCK_KEYS_H

#include "base/arena.h"
#include "base/err.h"

struct rb_mock_key {
    const char *access_key, *secret_key;
};

struct rb_mock_keys {
    const struct rb_mock_key *keys; // [n]
    int n;
};

// The key `test` with the secret `test`.
extern const struct rb_mock_keys rb_mock_default_keys;

// A CSV as AWS's console gives it ("Access key ID,Secret access key") or an ini file like ~/.aws/credentials; every
// profile of it counts. Errors: INVALID with file and line, a file without any key included.
bool rb_mock_keys_read(const char *path, struct rb_arena *arena, struct rb_mock_keys *out, struct rb_err *err);

#endif
