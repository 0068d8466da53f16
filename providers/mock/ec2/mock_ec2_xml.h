// Writes EC2's XML: elements without attributes, text escaped.
#ifndef RB_PROVIDERS_MOCK_EC2_XML_H
#define RB_PROVIDERS_MOCK_EC2_XML_H

#include "base/text/buf.h"

void rb_mock_xml_open(struct rb_buf *out, const char *name);
void rb_mock_xml_close(struct rb_buf *out, const char *name);
// Writes the elements that a template describes, such as "item{instanceId:%s code:%d state:pending tagSet/}":
//   name{...}      an element with elements in it
//   name:value     one with text: a word without spaces, 'several words with %s and %d', or a conversion:
//                  %s (NULL: the element is left out), %d, %jd (int64_t), %i (bool)
//   name@%jd       an instant, unix time in microseconds
//   name/          an empty one
// %s may also be a name.
void rb_mock_xml_put(struct rb_buf *out, const char *template, ...) __attribute__((format(printf, 2, 3)));

#endif
