#include "headrace/prepare/plan/slice_past.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "headrace/base/hash.h"
#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"
#include "headrace/prepare/source/rejects.h"

namespace headrace {
namespace {

using nlohmann::json;

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
  json rejected_rows = json::object();
  for (const auto& [row, reason] : rejected.reasons_of_rows_) rejected_rows[*reason].push_back(row);
  const json document = {{"inputs", inputs.hashes()}, {"rejected", rejected_rows}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Status SlicePast::read_json(std::string_view text) {
  HEADRACE_CHECK(check_json_depth(text));
  try {
    const json document = json::parse(text);
    inputs = KnownInputs(document.at("inputs").get<std::vector<KnownInputs::Hashes>>());
    for (const auto& [reason, rows] : document.at("rejected").items()) {
      for (const json& row : rows) rejected.add(row.get<std::uint64_t>(), reason);
    }
    return {};
  } catch (const std::exception& exception) {
    return Error{Code::kDataLoss, concat("damaged (", exception.what(), "); begin anew with headrace plan")};
  }
}

}  // namespace headrace
