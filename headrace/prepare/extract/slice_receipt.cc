#include "headrace/prepare/extract/slice_receipt.h"

#include "headrace/base/json.h"
#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::string_view kComplaint = "the receipt of a slice is damaged; start over with --overwrite";

}  // namespace

std::string slice_receipt_to_json(const SliceReceipt& receipt) {
  Json document = {{"counts",
                    {{"in", receipt.counts.in},
                     {"kept", receipt.counts.kept},
                     {"rejected", receipt.counts.rejected},
                     {"ignored", receipt.counts.ignored}}},
                   {"reasons", receipt.reasons},
                   {"label_values", receipt.label_values},
                   {"first_rejection", receipt.first_rejection},
                   {"retried", receipt.retried},
                   {"splits", Json::object()},
                   {"spills", Json::array()}};
  for (const auto& [name, totals] : receipt.splits) {
    document["splits"][name] = {
        {"rows", totals.rows}, {"bytes", totals.bytes}, {"referenced_bytes", totals.referenced_bytes}};
  }
  for (const KeptSpill& spill : receipt.spills)
    document["spills"].push_back({{"key", spill.key}, {"size_bytes", spill.size_bytes}});
  if (receipt.inputs) document["inputs"] = manifest_part_to_json(*receipt.inputs);
  if (receipt.report) document["report"] = manifest_part_to_json(*receipt.report);
  return document.dump() + "\n";
}

Result<SliceReceipt> parse_slice_receipt(std::string_view text) {
  return read_json(text, kComplaint, [](const Json& document) -> Result<SliceReceipt> {
    SliceReceipt receipt;
    const Json& counts = document.at("counts");
    counts.get_to("in", receipt.counts.in);
    counts.get_to("kept", receipt.counts.kept);
    counts.get_to("rejected", receipt.counts.rejected);
    counts.get_to("ignored", receipt.counts.ignored);
    document.get_to("reasons", receipt.reasons);
    document.get_to("label_values", receipt.label_values);
    document.get_to("retried", receipt.retried);
    document.get_to("first_rejection", receipt.first_rejection);
    for (const auto& [name, totals] : document.at("splits").members()) {
      SplitTotals& split = receipt.splits[name];
      totals.get_to("rows", split.rows);
      totals.get_to("bytes", split.bytes);
      totals.get_to("referenced_bytes", split.referenced_bytes);
    }
    for (const Json& spill : document.at("spills").values())
      receipt.spills.push_back({spill.get<std::string>("key"), spill.get<std::uint64_t>("size_bytes")});
    if (document.contains("inputs")) receipt.inputs = manifest_part_from_json(document.at("inputs"));
    if (document.contains("report")) receipt.report = manifest_part_from_json(document.at("report"));
    return receipt;
  });
}

}  // namespace headrace
