#include "headrace/prepare/extract/slice_receipt.h"

#include <nlohmann/json.hpp>

#include "headrace/base/json_depth.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

using nlohmann::json;

// What one of ours cannot be, an altered one may.
ManifestPart part_from(const json& document) {
  auto part = parse_manifest_part(document.dump());
  if (!part) throw std::invalid_argument(part.error().message);
  return *std::move(part);
}

}  // namespace

std::string slice_receipt_to_json(const SliceReceipt& receipt) {
  json document = {{"counts",
                    {{"in", receipt.counts.in},
                     {"kept", receipt.counts.kept},
                     {"rejected", receipt.counts.rejected},
                     {"ignored", receipt.counts.ignored}}},
                   {"reasons", receipt.reasons},
                   {"label_values", receipt.label_values},
                   {"first_rejection", receipt.first_rejection},
                   {"retried", receipt.retried},
                   {"splits", json::object()},
                   {"runs", json::array()}};
  for (const auto& [name, totals] : receipt.splits) {
    document["splits"][name] = {
        {"rows", totals.rows}, {"bytes", totals.bytes}, {"referenced_bytes", totals.referenced_bytes}};
  }
  for (const KeptRun& run : receipt.runs)
    document["runs"].push_back({{"key", run.key}, {"size_bytes", run.size_bytes}});
  if (receipt.inputs) document["inputs"] = json::parse(manifest_part_to_json(*receipt.inputs));
  if (receipt.report) document["report"] = json::parse(manifest_part_to_json(*receipt.report));
  return document.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<SliceReceipt> parse_slice_receipt(std::string_view text) {
  HEADRACE_CHECK(check_json_depth(text));
  try {
    const json document = json::parse(text);
    const json& counts = document.at("counts");
    SliceReceipt receipt{
        .counts = {counts.at("in"), counts.at("kept"), counts.at("rejected"), counts.at("ignored")},
        .reasons = document.at("reasons"),
        .label_values = document.at("label_values"),
        .retried = document.at("retried"),
        .first_rejection = document.at("first_rejection")};
    for (const auto& [name, totals] : document.at("splits").items())
      receipt.splits[name] = {totals.at("rows"), totals.at("bytes"), totals.at("referenced_bytes")};
    for (const json& run : document.at("runs")) receipt.runs.push_back({run.at("key"), run.at("size_bytes")});
    if (document.contains("inputs")) receipt.inputs = part_from(document.at("inputs"));
    if (document.contains("report")) receipt.report = part_from(document.at("report"));
    return receipt;
  } catch (const std::exception& exception) {
    return Error{Code::kDataLoss, concat("the receipt of a slice is damaged (", exception.what(),
                                         "); start over with --overwrite")};
  }
}

}  // namespace headrace
