#include "headrace/prepare/plan/slice_past.h"

#include <vector>

#include "headrace/base/hash.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/prepare/source/rejects.h"

namespace headrace {
namespace {

constexpr HashKey kRowKey{0x736f757263652c69, 0x646f66726f777320};

std::uint64_t row_hash(const RejectedRow& row) {
  if (row.source.empty()) return siphash(kRowKey, as_bytes(row.id));
  return siphash(kRowKey, as_bytes(concat(row.source, std::string_view("\0", 1), row.row)));
}

}  // namespace

void RejectedRows::add(std::uint64_t row_hash, std::string_view reason) {
  reasons_of_rows_[row_hash] = &*reasons_.emplace(reason).first;
}

void RejectedRows::take(const RejectedRow& row, std::string_view status, std::string_view reason) {
  if (status != "rejected" || reason == kRepeatedId || reason == kIdOfOtherSplit) {
    reasons_of_rows_.erase(row_hash(row));
    return;
  }
  add(row_hash(row), reason);
  sources_.emplace(row.source);
}

const std::string* RejectedRows::find(const RejectedRow& row) const {
  const auto found = reasons_of_rows_.find(row_hash(row));
  return found == reasons_of_rows_.end() ? nullptr : found->second;
}

std::string SlicePast::to_json() const {
  Json rejected_rows = Json::object();
  for (const auto& [row, reason] : rejected.reasons_of_rows_) rejected_rows[*reason].push_back(row);
  Json hashes = Json::array();
  for (const auto& [url, version] : inputs.hashes()) hashes.push_back(Json::array({url, version}));
  const Json document = {{"inputs", std::move(hashes)}, {"rejected", std::move(rejected_rows)}};
  return document.dump() + "\n";
}

Status SlicePast::read_json(std::string_view text) {
  const auto read = [&](const Json& document) -> Status {
    std::vector<KnownInputs::Hashes> hashes;
    for (const Json& pair : document.at("inputs").values())
      hashes.emplace_back(pair.at(0).as<std::uint64_t>(), pair.at(1).as<std::uint64_t>());
    inputs = KnownInputs(std::move(hashes));
    for (const auto& [reason, rows] : document.at("rejected").members()) {
      for (const Json& row : rows.values()) rejected.add(row.as<std::uint64_t>(), reason);
    }
    return {};
  };
  return headrace::read_json(text, "damaged; start over with headrace plan", read);
}

}  // namespace headrace
