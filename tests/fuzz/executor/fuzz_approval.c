// An approval: refused in one line that names the file, or read, and then written and signed the same again.
#include "executor/approval/approval.h"

#include "doc_check.h"
#include "fuzz.h"
#include "require.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static struct rb_approval a, b;
    struct rb_err err = {0};
    struct rb_buf text = RB_BUF_INIT, signed_once = RB_BUF_INIT, signed_again = RB_BUF_INIT;
    if (!rb_approval_parse("approval.json", (const char *)bytes, n, &a, &err)) {
        check_error(&err, "approval.json");
        return 0;
    }
    require(a.n_infra > 0 && strlen(a.nonce) == RB_APPROVAL_NONCE && !strchr(a.nonce, '/'));
    rb_approval_write(&a, &text);
    require(rb_approval_parse("approval.json", text.data, text.len, &b, NULL));
    rb_approval_signed_bytes(&a, &signed_once);
    rb_approval_signed_bytes(&b, &signed_again);
    require(signed_once.len == signed_again.len && memcmp(signed_once.data, signed_again.data, signed_once.len) == 0);
    rb_buf_finish(&text);
    rb_buf_finish(&signed_once);
    rb_buf_finish(&signed_again);
    return 0;
}
