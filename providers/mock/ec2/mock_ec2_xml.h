// Writing EC2's XML: elements without attributes, text escaped.
#ifndef RB_PROVIDERS_MOCK_EC2_XML_H
#define RB_PROVIDERS_MOCK_EC2_XML_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

void rb_mock_xml_open(struct rb_buf *out, const char *name);
void rb_mock_xml_close(struct rb_buf *out, const char *name);
void rb_mock_xml_text(struct rb_buf *out, const char *name, const char *text);
void rb_mock_xml_int(struct rb_buf *out, const char *name, int64_t value);
void rb_mock_xml_bool(struct rb_buf *out, const char *name, bool value);
void rb_mock_xml_instant(struct rb_buf *out, const char *name, int64_t unix_us); // 2026-08-01T12:00:00.250Z
void rb_mock_xml_second(struct rb_buf *out, const char *name, int64_t unix_us);  // likewise, of a whole second
void rb_mock_write_value(struct rb_buf *out, const char *name, const char *text); // <name><value>text</value></name>
void rb_mock_xml_empty(struct rb_buf *out, const char *name);

#endif
