#include "headrace/store/s3/s3_unfinished.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "headrace/base/hash.h"
#include "headrace/base/text.h"
#include "headrace/net/backoff.h"
#include "headrace/store/s3/s3_xml.h"

namespace headrace {
namespace {

constexpr int kMostPagesOfParts = 10;  // of 1,000 parts each; an upload has no more
constexpr int kMostAborts = 6;

using GiveUpAt = std::optional<std::chrono::steady_clock::time_point>;

bool is_gone(const S3Answer& answer) { return answer.error_code == "NoSuchUpload"; }

// A caller that may abort or list uploads may still lack the right to list their parts. Some servers cannot
// list parts at all.
bool cannot_list_parts(const S3Answer& answer) {
  const int status = answer.http.status;
  return status == 403 || status == 405 || status == 501;
}

}  // namespace

Result<SentParts> sent_parts(S3Client& client, std::string_view key, std::string_view id,
                             const CallOptions& call, GiveUpAt give_up_at) {
  S3PartsPage all;
  std::uint64_t last_part = 0;
  for (int page_number = 0; page_number < kMostPagesOfParts; ++page_number) {
    S3Request request{.key = std::string(key),
                      .query = {{"uploadId", std::string(id)}},
                      .call = call,
                      .give_up_at = give_up_at};
    if (last_part > 0) request.query.emplace_back("part-number-marker", concat(last_part));
    HEADRACE_TRY(const S3Answer answer, client.perform(request));
    if (is_gone(answer)) return SentParts{};
    if (!answer.ok() && cannot_list_parts(answer)) return SentParts{.are_listed = false};
    if (!answer.ok()) return client.explain(request, answer).in("listing the parts of an unfinished upload");
    Result<S3PartsPage> page = parse_parts_page(answer.http.body);
    if (!page) return std::move(page).error().in(client.describe(key));
    const bool goes_on = page->truncated && page->last_part() > last_part;
    last_part = std::max(last_part, page->last_part());
    all.parts.insert(all.parts.end(), page->parts.begin(), page->parts.end());
    all.modified = std::max(all.modified, page->modified);
    if (!goes_on) break;
  }
  return SentParts{all};
}

namespace {

// Calls `visit` for each upload that the server lists for `asked_prefix`. Returns false if `visit` has
// returned false.
Result<bool> list_shown_uploads(S3Client& client, std::string_view asked_prefix, const CallOptions& call,
                                const std::function<Result<bool>(const S3PendingUpload&)>& visit) {
  S3UploadsPage page;
  while (true) {
    const auto marker = std::pair(page.next_key, page.next_id);
    S3Request request{.query = {{"uploads", ""}, {"encoding-type", "url"}}, .call = call};
    if (!asked_prefix.empty()) request.query.emplace_back("prefix", asked_prefix);
    if (!page.next_key.empty()) request.query.emplace_back("key-marker", page.next_key);
    if (!page.next_id.empty()) request.query.emplace_back("upload-id-marker", page.next_id);
    HEADRACE_TRY(const S3Answer answer, client.perform(request));
    const std::string doing =
        concat(client.describe(""), ": listing the unfinished uploads of ", asked_prefix);
    if (!answer.ok()) return client.explain(request, answer).in(doing);
    Result<S3UploadsPage> next = parse_uploads_page(answer.http.body);
    if (!next) return std::move(next).error().in(doing);
    page = *std::move(next);
    for (const S3PendingUpload& upload : page.uploads) {
      HEADRACE_TRY(const bool more, visit(upload));
      if (!more) return false;
    }
    if (!page.truncated) return true;
    if (std::pair(page.next_key, page.next_id) == marker)
      return Error{Code::kDataLoss, concat(doing, ": the server repeats the same page")};
  }
}

}  // namespace

Status list_pending_uploads(S3Client& client, std::string_view prefix, const CallOptions& call,
                            const std::function<bool(const UnfinishedWrite&)>& visit) {
  std::set<std::uint64_t> seen;  // hashes of ids, of the first listing
  for (const std::string_view asked : {prefix, std::string_view()}) {
    const auto visit_upload = [&](const S3PendingUpload& upload) -> Result<bool> {
      const std::uint64_t hash = siphash({1, 2}, as_bytes(upload.id));
      if (!upload.key.starts_with(prefix) || seen.contains(hash)) return true;
      if (!asked.empty()) seen.insert(hash);
      HEADRACE_TRY(const SentParts sent, sent_parts(client, upload.key, upload.id, call));
      if (!sent.parts && sent.are_listed) return true;  // ended meanwhile
      UnfinishedWrite write{.key = upload.key, .id = upload.id};
      if (sent.parts) {
        write.size_bytes = sent.parts->size_bytes();
        write.modified = std::max(upload.initiated, sent.parts->modified);
      }
      return visit(write);
    };
    HEADRACE_TRY(const bool more, list_shown_uploads(client, asked, call, visit_upload));
    if (!more || asked.empty()) break;
  }
  return {};
}

Status abort_upload(S3Client& client, std::string_view key, std::string_view id, const CallOptions& call,
                    GiveUpAt give_up_at) {
  const S3Request request{.method = "DELETE",
                          .key = std::string(key),
                          .query = {{"uploadId", std::string(id)}},
                          .call = call,
                          .give_up_at = give_up_at};
  Backoff backoff(client.options().backoff, siphash({1, 2}, as_bytes(id)));
  for (int attempt = 0; attempt < kMostAborts; ++attempt) {
    HEADRACE_TRY(const S3Answer answer, client.perform(request));
    if (!answer.ok() && !is_gone(answer))
      return client.explain(request, answer).in("aborting an unfinished upload");
    HEADRACE_TRY(const SentParts sent, sent_parts(client, key, id, call, give_up_at));
    if (!sent.parts || sent.parts->parts.empty()) return {};
    if (give_up_at && std::chrono::steady_clock::now() >= *give_up_at) break;
    if (!sleep_unless_stopped(backoff.next(), call.stop))
      return Error{Code::kCancelled,
                   concat("aborting an unfinished upload of ", client.describe(key), " was stopped")};
  }
  return Error{Code::kUnavailable,
               concat(client.describe(key),
                      ": an unfinished upload still has parts after it was aborted several times"
                      "; is it still being written? Try again when it is not")};
}

}  // namespace headrace
