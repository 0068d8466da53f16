// Any bytes as JSON: refused with a place, or a sound document.
#include "doc_check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_doc doc;
    struct rb_err err = {0};
    if (rb_doc_parse_json(&doc, "fuzz.json", (const char *)bytes, n, &err)) {
        check_doc(&doc);
        rb_doc_finish(&doc);
    } else {
        check_error(&err, "fuzz.json");
    }
    return 0;
}
