#include "headrace/store/s3/s3_read.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/store/s3/checksum.h"
#include "headrace/store/s3/s3_xml.h"

namespace headrace {
namespace {

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t size_bytes = 0;
};

// "bytes 0-9/100"
std::optional<ContentRange> parse_content_range(std::string_view text) {
  const std::size_t dash = text.find('-'), slash = text.find('/');
  if (!text.starts_with("bytes ") || dash == text.npos || slash == text.npos || dash > slash)
    return std::nullopt;
  const auto first = parse_number<std::uint64_t>(text.substr(6, dash - 6));
  const auto last = parse_number<std::uint64_t>(text.substr(dash + 1, slash - dash - 1));
  const auto size = parse_number<std::uint64_t>(text.substr(slash + 1));
  if (!first || !last || !size || *first > *last || *last >= *size) return std::nullopt;
  return ContentRange{*first, *last, *size};
}

// Returns the result if the answer contains the whole requested range.
Result<ReadResult> result_of(const S3Client& client, const S3Range& range, const S3Answer& answer) {
  const auto wrong = [&](std::string_view what) {
    return Error{Code::kDataLoss,
                 concat(client.describe(range.key), ", from byte ", range.offset_bytes, ": ", what)};
  };
  if (answer.http.left_body) {
    const auto size = parse_number<std::uint64_t>(answer.http.header("Content-Length").value_or(""));
    if (!size) return wrong("the server does not say how long it is");
    return ReadResult{0, object_info_of(range.key, *size, answer.http)};
  }
  ReadResult result{static_cast<std::size_t>(answer.http.body_bytes),
                    object_info_of(range.key, answer.http.body_bytes, answer.http)};
  if (answer.http.status == 206) {
    const auto said = parse_content_range(answer.http.header("Content-Range").value_or(""));
    if (!said || said->first != range.offset_bytes || said->last - said->first + 1 != result.bytes_read)
      return wrong("the server did not send the requested range");
    result.object.size_bytes = said->size_bytes;
  } else if (range.offset_bytes != 0) {
    return wrong("the server ignores ranges");
  }
  const std::uint64_t expected =
      std::min<std::uint64_t>(range.target.size(), result.object.size_bytes - range.offset_bytes);
  if (result.bytes_read != expected)
    return wrong(concat("the server sent ", result.bytes_read, " bytes instead of ", expected));
  if (range.is_whole && result.object.crc32c && answer.http.body_crc32c != result.object.crc32c) {
    return wrong(concat("the received bytes have the CRC32C ", hex32(answer.http.body_crc32c),
                        ", but the store has ", hex32(*result.object.crc32c)));
  }
  return result;
}

S3Request request_of(const S3Client& client, const S3Range& range, const CallOptions& call,
                     bool with_crc32c) {
  const bool is_checked = range.is_whole && client.options().send_checksums;
  S3Request request{.key = range.key,
                    .target_memory = range.target,
                    .with_crc32c = with_crc32c || is_checked,
                    .leaves_longer_body = range.is_whole,
                    .call = call};
  request.check = [&](const S3Answer& answer) -> Status {
    HEADRACE_CHECK(result_of(client, range, answer));
    return {};
  };
  request.headers = if_match(range.if_version);
  if (is_checked) request.headers.push_back({"x-amz-checksum-mode", "ENABLED"});
  if (range.is_whole) return request;
  const std::uint64_t last = range.offset_bytes + range.target.size() - 1;
  request.headers.push_back({"Range", concat("bytes=", range.offset_bytes, '-', last)});
  return request;
}

}  // namespace

void read_ranges(S3Client& client, std::span<S3Range> ranges, const CallOptions& call, bool with_crc32c) {
  client.perform_many(
      ranges.size(), call, [&](std::size_t i) { return request_of(client, ranges[i], call, with_crc32c); },
      [&](std::size_t i, Result<S3Answer> answer) {
        S3Range& range = ranges[i];
        range.answer = std::move(answer);
        return *range.answer && (*range.answer)->ok();
      });
}

Result<std::optional<ReadResult>> check_range(const S3Client& client, const S3Range& range) {
  const Result<S3Answer>& answer = *range.answer;
  if (!answer) return answer.error();
  if (answer->http.status == 416) return std::optional<ReadResult>();
  if (!answer->ok()) return read_error(client, {.key = range.key}, *answer);
  HEADRACE_TRY(ReadResult result, result_of(client, range, *answer));
  if (range.if_version && result.object.version != *range.if_version) {
    return Error{Code::kFailedPrecondition,
                 concat(client.describe(range.key), ": it has changed since its version was read")};
  }
  return std::optional<ReadResult>(std::move(result));
}

std::vector<S3Range> split_into_ranges(std::string_view key, MutableBytesView target,
                                       std::uint64_t offset_bytes, const std::optional<Version>& version,
                                       std::size_t range_bytes) {
  std::vector<S3Range> ranges;
  while (!target.empty()) {
    const std::size_t size = target.size() <= most_in_one_range(range_bytes) ? target.size() : range_bytes;
    ranges.push_back({.key = std::string(key),
                      .offset_bytes = offset_bytes,
                      .target = target.first(size),
                      .if_version = version});
    target = target.subspan(size);
    offset_bytes += size;
  }
  return ranges;
}

HttpHeaders if_match(const std::optional<Version>& version) {
  if (!version) return {};
  return {{"If-Match", concat('"', version->token, '"')}};
}

namespace {

// Returns the checksum of the whole content. For an object of parts, the header may be a checksum of the
// parts' checksums, which is not used.
std::optional<std::uint32_t> crc32c_of(const HttpResponse& http) {
  if (http.header("x-amz-checksum-type").value_or("FULL_OBJECT") != "FULL_OBJECT") return std::nullopt;
  return parse_crc32c_field(http.header("x-amz-checksum-crc32c").value_or(""));
}

}  // namespace

ObjectInfo object_info_of(std::string_view key, std::uint64_t size_bytes, const HttpResponse& http) {
  return {.key = std::string(key),
          .size_bytes = size_bytes,
          .version = {unquoted_etag(http.header("ETag").value_or(""))},
          .modified = parse_http_date(http.header("Last-Modified").value_or("")),
          .crc32c = crc32c_of(http)};
}

Error read_error(const S3Client& client, const S3Request& request, const S3Answer& answer) {
  if (answer.http.status == 412) {
    return {Code::kFailedPrecondition,
            concat(client.describe(request.key), ": it has changed since its version was read")};
  }
  return client.explain(request, answer);
}

}  // namespace headrace
