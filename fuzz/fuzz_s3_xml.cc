#include <algorithm>
#include <cstdlib>

#include "headrace/base/text.h"
#include "headrace/store/s3/s3_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  const BytesView input = std::as_bytes(std::span(data, size));
  if (const auto error = parse_s3_error(input)) {
    for (const char character : error->message) {
      if (static_cast<unsigned char>(character) < ' ') std::abort();
    }
  }
  if (const auto page = parse_list_page(input)) {
    for (const ObjectInfo& entry : page->entries) {
      if (entry.key.size() > size) std::abort();  // nothing grows by being read
    }
    if (!std::ranges::is_sorted(page->entries, {}, &ObjectInfo::key)) std::abort();
    if (page->truncated && page->continuation.empty()) std::abort();
  }
  (void)parse_upload_id(input);
  (void)parse_result_etag(input);
  if (const auto failures = parse_delete_result(input)) {
    for (const S3DeleteFailure& failure : *failures) {
      if (failure.key.size() > size) std::abort();
    }
  }
  const std::string key(as_text(input));
  if (!is_valid_utf8(key) || !fits_into_xml(key)) return 0;
  const std::string quoted =
      delete_body({key});  // a key that would end its element could name another object
  const std::size_t begin = quoted.find("<Key>") + 5;
  const std::string_view inside = std::string_view(quoted).substr(begin, quoted.find("</Key>") - begin);
  if (inside.find('<') != std::string_view::npos) std::abort();
  return 0;
}
