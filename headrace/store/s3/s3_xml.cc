#include "headrace/store/s3/s3_xml.h"

#include <algorithm>
#include <cstring>
#include <pugixml.hpp>

#include "headrace/base/iso_time.h"
#include "headrace/base/text.h"
#include "headrace/net/url_encoding.h"
#include "headrace/store/s3/checksum.h"

namespace headrace {
namespace {

// Returns the root element of `body` if it has that name. The name must have no namespace prefix: no known
// server sends one.
pugi::xml_node root_of(pugi::xml_document& document, BytesView body, const char* name) {
  const auto parsed =
      document.load_buffer(body.data(), body.size(), pugi::parse_default, pugi::encoding_utf8);
  return parsed ? document.child(name) : pugi::xml_node();
}

Error unexpected(std::string_view what) {
  return {Code::kDataLoss, concat("the server's answer is not ", what, "; does the endpoint speak S3?")};
}

// Shortens a text that goes into messages.
std::string clean(std::string_view text) { return printable_line(text, 300); }

// Returns a key of a listing, decoded if the server says that it is encoded.
Result<std::string> key_text(const pugi::xml_node& parent, const char* name, bool encoded) {
  const char* text = parent.child_value(name);
  if (!encoded) return std::string(text);
  std::optional<std::string> decoded = percent_decode(text, true);
  if (!decoded) return unexpected("a listing: a key is wrongly encoded");
  return *std::move(decoded);
}

void append_escaped(std::string& xml, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      case '\r':
        xml += "&#13;";
        break;
      default:
        xml += c;
    }
  }
}

}  // namespace

std::string unquoted_etag(std::string_view etag) {
  if (etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"'))
    etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

std::optional<S3ErrorBody> parse_s3_error(BytesView body) {
  pugi::xml_document document;
  const pugi::xml_node root = root_of(document, body, "Error");
  if (!root) return std::nullopt;
  return S3ErrorBody{clean(root.child_value("Code")), clean(root.child_value("Message")),
                     clean(root.child_value("Region"))};
}

Result<S3ListPage> parse_list_page(BytesView body) {
  pugi::xml_document document;
  const pugi::xml_node root = root_of(document, body, "ListBucketResult");
  if (!root) return unexpected("a listing");
  const bool encoded = std::strcmp(root.child_value("EncodingType"), "url") == 0;
  S3ListPage page;
  for (const pugi::xml_node& child : root.children()) {
    ObjectInfo entry;
    if (std::strcmp(child.name(), "Contents") == 0) {
      HEADRACE_TRY(entry.key, key_text(child, "Key", encoded));
      if (entry.key.empty()) return unexpected("a listing: an object has no key");
      if (entry.is_folder()) continue;
      const auto size = parse_number<std::uint64_t>(child.child_value("Size"));
      if (!size) return unexpected("a listing: an object has no size");
      entry.size_bytes = *size;
      entry.version.token = unquoted_etag(child.child_value("ETag"));
      entry.modified = parse_iso_time(child.child_value("LastModified"));
    } else if (std::strcmp(child.name(), "CommonPrefixes") == 0) {
      HEADRACE_TRY(entry.key, key_text(child, "Prefix", encoded));
      if (!entry.is_folder()) return unexpected("a listing: a common prefix does not end in '/'");
    } else {
      continue;
    }
    page.entries.push_back(std::move(entry));
  }
  std::ranges::stable_sort(page.entries, {}, &ObjectInfo::key);
  page.truncated = std::strcmp(root.child_value("IsTruncated"), "true") == 0;
  page.continuation = root.child_value("NextContinuationToken");
  if (page.truncated && page.continuation.empty())
    return unexpected("a listing: more follows, but it does not say how");
  return page;
}

Result<S3UploadsPage> parse_uploads_page(BytesView body) {
  pugi::xml_document document;
  const pugi::xml_node root = root_of(document, body, "ListMultipartUploadsResult");
  if (!root) return unexpected("a listing of uploads");
  const bool encoded = std::strcmp(root.child_value("EncodingType"), "url") == 0;
  S3UploadsPage page;
  for (const pugi::xml_node& child : root.children("Upload")) {
    S3PendingUpload upload;
    HEADRACE_TRY(upload.key, key_text(child, "Key", encoded));
    upload.id = child.child_value("UploadId");
    upload.initiated = parse_iso_time(child.child_value("Initiated"));
    if (upload.key.empty() || upload.id.empty())
      return unexpected("a listing of uploads: one has no key or no id");
    page.uploads.push_back(std::move(upload));
  }
  page.truncated = std::strcmp(root.child_value("IsTruncated"), "true") == 0;
  HEADRACE_TRY(page.next_key, key_text(root, "NextKeyMarker", encoded));
  page.next_id = root.child_value("NextUploadIdMarker");
  return page;
}

Result<S3PartsPage> parse_parts_page(BytesView body) {
  pugi::xml_document document;
  const pugi::xml_node root = root_of(document, body, "ListPartsResult");
  if (!root) return unexpected("a listing of parts");
  S3PartsPage page;
  for (const pugi::xml_node& child : root.children("Part")) {
    const auto number = parse_number<std::uint64_t>(child.child_value("PartNumber"));
    const auto size = parse_number<std::uint64_t>(child.child_value("Size"));
    if (!number || *number == 0 || *number > kMaxParts || !size)
      return unexpected("a listing of parts: one has no number that a part can have, or no size");
    page.parts.push_back({*number, unquoted_etag(child.child_value("ETag")), *size});
    page.modified = std::max(page.modified, parse_iso_time(child.child_value("LastModified")));
  }
  page.truncated = std::strcmp(root.child_value("IsTruncated"), "true") == 0;
  return page;
}

std::uint64_t S3PartsPage::size_bytes() const {
  std::uint64_t size = 0;
  for (const S3SentPart& part : parts) size += part.size_bytes;
  return size;
}

std::uint64_t S3PartsPage::last_part() const {
  std::uint64_t last = 0;
  for (const S3SentPart& part : parts) last = std::max(last, part.number);
  return last;
}

Result<std::string> parse_upload_id(BytesView body) {
  pugi::xml_document document;
  std::string id = root_of(document, body, "InitiateMultipartUploadResult").child_value("UploadId");
  if (id.empty()) return unexpected("a new multipart upload");
  return id;
}

Result<std::string> parse_result_etag(BytesView body) {
  pugi::xml_document document;
  for (const char* name : {"CopyObjectResult", "CopyPartResult", "CompleteMultipartUploadResult"}) {
    std::string etag = unquoted_etag(root_of(document, body, name).child_value("ETag"));
    if (!etag.empty()) return etag;
  }
  return unexpected("a result with an ETag");
}

Result<std::vector<S3DeleteFailure>> parse_delete_result(BytesView body) {
  pugi::xml_document document;
  const pugi::xml_node root = root_of(document, body, "DeleteResult");
  if (!root) return unexpected("the result of deleting");
  std::vector<S3DeleteFailure> failures;
  for (const pugi::xml_node& child : root.children("Error")) {
    failures.push_back(
        {child.child_value("Key"), clean(child.child_value("Code")), clean(child.child_value("Message"))});
  }
  return failures;
}

bool fits_into_xml(std::string_view key) {
  return std::ranges::none_of(key, [](char c) { return static_cast<unsigned char>(c) < 0x20; }) &&
         key.find("\xef\xbf\xbe") == std::string_view::npos &&
         key.find("\xef\xbf\xbf") == std::string_view::npos;
}

std::string delete_body(const std::vector<std::string>& keys) {
  std::string xml = "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>";
  for (const std::string& key : keys) {
    xml += "<Object><Key>";
    append_escaped(xml, key);
    xml += "</Key></Object>";
  }
  return xml + "</Delete>";
}

std::string complete_body(const std::vector<S3Part>& parts) {
  std::string xml = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (std::size_t i = 0; i < parts.size(); ++i) {
    xml += concat("<Part><PartNumber>", i + 1, "</PartNumber><ETag>");
    append_escaped(xml, parts[i].etag);
    xml += "</ETag>";
    if (parts[i].crc32c)
      xml += concat("<ChecksumCRC32C>", crc32c_field(*parts[i].crc32c), "</ChecksumCRC32C>");
    xml += "</Part>";
  }
  return xml + "</CompleteMultipartUpload>";
}

}  // namespace headrace
