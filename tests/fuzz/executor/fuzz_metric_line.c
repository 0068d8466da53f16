// Any bytes from a node as a metric line: ordinary output, or a report with a resource that counts and a
// metric.
#include "executor/metrics/metric_line.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_metric_line line, again;
    rb_metric_line_parse((const char *)bytes, n, "epoch", "val_acc", &line);
    if (line.is_report)
        require(line.resource >= 0 && line.resource <= (INT64_C(1) << 53));
    // A report needs both names to stand in the line.
    if (line.is_report && bytes[0] != '{' && !memmem(bytes, n, "{", 1))
        require(memmem(bytes, n, "val_acc=", 8) && (memmem(bytes, n, "epoch=", 6) || memmem(bytes, n, "resource=", 9)));
    rb_metric_line_parse((const char *)bytes, n, "step", "loss", &again);
    if (again.is_report && !memmem(bytes, n, "\\", 1)) // JSON may escape a name's letters
        require(memmem(bytes, n, "loss", 4) != NULL);
    return 0;
}
