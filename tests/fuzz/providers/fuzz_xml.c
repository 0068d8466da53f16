// Any bytes as XML: refused with a reason, or a tree within its limits whose text came from those bytes.
#include "base/limits.h"
#include "providers/wire/xml.h"

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static size_t text_in(const struct rb_xml *x, int depth)
{
    size_t n = 0;
    for (; x; x = x->next) {
        require(depth <= RB_LIMIT_XML_DEPTH);
        require(!strchr(x->name, ':') && x->text);
        n += strlen(x->text) + text_in(x->first, depth + 1);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena = {0};
    struct rb_err err = {0};
    const struct rb_xml *root = NULL;
    if (rb_xml_parse((const char *)bytes, n, &arena, &root, &err)) {
        require(root && !root->next);
        require(text_in(root, 1) <= 3 * n); // nothing expands: at worst Latin-1 and UTF-16 grow into UTF-8
    } else {
        require(!root && err.code == RB_ERR_IO && err.message[0] != '\0');
    }
    rb_arena_finish(&arena);
    return 0;
}
