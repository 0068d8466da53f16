// Any bytes as Systems Manager's answer to GetParameter: refused, or a value that fits.
#include "providers/ec2/ssm.c" // NOLINT: decode is no one else's business

#include "providers/aws/aws_errors.h"

#include "fuzz.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct question q = {.value = "?"};
    struct rb_err err = {0};
    if (decode(&q, (const char *)bytes, n, &err))
        require(memchr(q.value, '\0', sizeof q.value) != NULL);
    else
        require(err.code != RB_ERR_NONE && err.message[0] && strcmp(q.value, "?") == 0);
    for (long status = 400; status <= 503; status += 103) {
        rb_aws_json_judge(status, (const char *)bytes, n, &err);
        require(err.code != RB_ERR_NONE && err.message[0]);
    }
    return 0;
}
