#include "headrace/prepare/arrange/arrange.h"

#include <algorithm>
#include <set>

#include "headrace/base/text.h"
#include "headrace/engine/encoder.h"
#include "headrace/prepare/extract/extract.h"
#include "headrace/prepare/schema/split_name.h"
#include "headrace/prepare/sort/spill_store.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMostShards = 99'999;  // in a split, because names have five digits
// Even a small dataset gets several shards, so that several processes can write and read it at once.
constexpr std::uint64_t kLeastShards = 8;
constexpr std::uint64_t kLeastShardRows = 1024;
constexpr std::uint64_t kRecordBytes = 64;  // frame, names, lengths

std::uint64_t divide_up(std::uint64_t number, std::uint64_t by) { return number / by + (number % by != 0); }

// Bytes by which each record is larger than its row.
std::uint64_t added_bytes(const TaskContext& context) {
  std::uint64_t bytes = kRecordBytes;
  for (const FeatureDefinition& feature : context.plan.schema.features) {
    if (feature.type == SchemaType::kVector)
      bytes += sizeof(float) * static_cast<std::uint64_t>(context.encoders.at(feature.encoder)->dimension());
  }
  return bytes;
}

// Returns the values in ascending order. Numbers are compared as numbers: 2 comes before 10.
std::vector<std::string> in_order(const std::map<std::string, LabelCounts>& splits) {
  std::vector<std::string> values;
  for (const auto& [split, counts] : splits) {
    for (const auto& [value, count] : counts) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const bool are_numbers = std::all_of(values.begin(), values.end(), [](const std::string& value) {
    return parse_number<std::int64_t>(value).has_value();
  });
  if (are_numbers) {
    std::stable_sort(values.begin(), values.end(), [](const std::string& a, const std::string& b) {
      return *parse_number<std::int64_t>(a) < *parse_number<std::int64_t>(b);
    });
  }
  return values;
}

Status check_classes(const std::string& feature, const std::map<std::string, LabelCounts>& splits,
                     const PreparePlan& plan) {
  const auto found = splits.find("train");
  if (found == splits.end() || found->second.size() != 1) return {};
  return Error{Code::kInvalidArgument,
               concat("the train split of ", plan.input.url, " holds only one class, ",
                      found->second.begin()->first, "; a classifier needs rows of several classes (feature ",
                      feature, "; if it is not a class, give it the type string or int64)")};
}

// The splits that must have rows.
std::vector<std::string> promised_splits(const PreparePlan& plan) {
  if (!plan.schema.splits.empty()) {
    std::vector<std::string> names;
    for (const auto& [name, share] : plan.schema.splits) names.push_back(name);
    return names;
  }
  if (plan.splits_as_they_are) return {};
  if (plan.input.format == InputFormat::kAclImdb) return {"train", "test"};
  return {"train"};
}

Status check_splits(const PreparePlan& plan, const Arrangement& arrangement) {
  if (arrangement.counts.in == 0) {
    return Error{Code::kInvalidArgument, concat("there are no rows in ", plan.input.url,
                                                ", which is read as ", input_name(plan.input))};
  }
  if (arrangement.splits.empty()) {
    std::vector<std::string> reasons;
    for (const auto& [reason, count] : arrangement.reasons) reasons.push_back(concat(count, " ", reason));
    return Error{Code::kInvalidArgument,
                 concat("none of the ", arrangement.counts.in, " rows of ", plan.input.url,
                        " can be written: ", arrangement.counts.rejected, " rejected, ",
                        arrangement.counts.ignored, " ignored (", join(reasons, ", "), "); ",
                        plan.map.empty() ? concat("check that its format is ", input_name(plan.input))
                                         : concat("check what the function ", plan.map, " returns"))};
  }
  for (const std::string& name : promised_splits(plan)) {
    const bool is_there = std::any_of(arrangement.splits.begin(), arrangement.splits.end(),
                                      [&](const ArrangedSplit& split) { return split.name == name; });
    if (is_there) continue;
    std::vector<std::string> names;
    for (const ArrangedSplit& split : arrangement.splits) names.push_back(split.name);
    return Error{
        Code::kInvalidArgument,
        concat("the ", name, " split of ", plan.input.url, " is empty, although the input has ",
               arrangement.counts.in, " rows; ",
               plan.schema.split ? concat("column ", *plan.schema.split) : "the input", " names the splits ",
               printable_line(join(names, ", "), 200), ": correct it, replace it with --split, or pass ",
               "--splits-as-they-are if the dataset needs no such split")};
  }
  return {};
}

Error damaged_receipt(std::size_t slice, std::string_view what) {
  return {Code::kDataLoss,
          concat("the receipt of slice ", slice, " is damaged: ", what, "; start over with --overwrite")};
}

bool may_repeat_ids(const Schema& schema) {
  // Without an id column, ids are places in the input, which differ.
  if (!schema.id) return false;
  return schema.splits.empty() ? schema.split.has_value() : schema.group.has_value();
}

// The number of splits before each split.
std::map<std::string_view, std::uint32_t> split_ranks(const PreparePlan& plan,
                                                      const Arrangement& arrangement) {
  std::map<std::string_view, std::uint32_t> ranks;
  for (const ArrangedSplit& split : arrangement.splits)
    ranks[split.name] = static_cast<std::uint32_t>(splits_before(plan, arrangement, split.name).size());
  return ranks;
}

Result<std::vector<DuplicateRow>> find_duplicates(const TaskContext& context,
                                                  const Arrangement& arrangement) {
  struct Content {
    ContentDigest digest;
    std::uint32_t split_rank;
    std::uint32_t slice;
    RowPlace place;
    auto operator<=>(const Content&) const = default;
  };
  const std::map<std::string_view, std::uint32_t> ranks = split_ranks(context.plan, arrangement);
  std::vector<Content> contents;
  for (std::size_t i = 0; i < arrangement.spills.size(); ++i) {
    HEADRACE_TRY(const std::shared_ptr<const RowsReader> spill, context.spills.open(arrangement.spills[i]));
    HEADRACE_TRY(const std::vector<ContentHash> of_spill, spill->content_hashes({.stop = context.stop}));
    std::vector<std::uint32_t> ranks_in_spill;
    for (const RowsSplit& split : spill->splits()) {
      const auto rank = ranks.find(split.name);
      if (rank == ranks.end())
        return damaged_receipt(arrangement.spill_slices[i],
                               "a spill has a split that the receipt does not name");
      ranks_in_spill.push_back(rank->second);
    }
    for (const ContentHash& content : of_spill)
      contents.push_back(
          {content.digest, ranks_in_spill[content.split], arrangement.spill_slices[i], content.place});
  }
  std::sort(contents.begin(), contents.end());
  std::vector<DuplicateRow> duplicates;
  for (std::size_t i = 1; i < contents.size(); ++i) {
    if (contents[i].digest == contents[i - 1].digest)
      duplicates.push_back({contents[i].slice, contents[i].place});
  }
  std::sort(duplicates.begin(), duplicates.end());
  return duplicates;
}

Status take_part(const std::optional<ManifestPart>& part, std::size_t slice, const std::string& name,
                 Arrangement& out) {
  if (!part) return {};
  if (part->key != name) return damaged_receipt(slice, concat(part->key, " instead of ", name));
  out.slice_parts.push_back(*part);
  return {};
}

// Adds the new values behind those of the base, which keep their ids.
Result<std::vector<std::string>> continue_vocabulary(const PreparePlan& plan,
                                                     const FeatureDefinition& feature,
                                                     std::vector<std::string> values) {
  if (plan.base == nullptr) return values;
  const auto before = plan.base->attributes.vocabularies.find(feature.name);
  if (before == plan.base->attributes.vocabularies.end()) return values;
  std::vector<std::string> out = before->second;
  const std::set<std::string> known(out.begin(), out.end());
  for (std::string& value : values) {
    if (known.contains(value)) continue;
    if (feature.one_hot) {
      return Error{Code::kFailedPrecondition,
                   concat("feature ", feature.name, " has the new value \"", printable_line(value, 60),
                          "\", but is one-hot with ", known.size(),
                          " places in the existing records; prepare everything again with --overwrite, or "
                          "without one_hot = true in the schema, so that values can be added later")};
    }
    out.push_back(std::move(value));
  }
  return out;
}

}  // namespace

std::vector<std::string_view> splits_before(const PreparePlan& plan, const Arrangement& arrangement,
                                            std::string_view split) {
  std::vector<std::string_view> names;
  if (!may_repeat_ids(plan.schema)) return names;
  const auto own = std::find_if(arrangement.splits.begin(), arrangement.splits.end(),
                                [&](const ArrangedSplit& arranged) { return arranged.name == split; });
  if (own == arrangement.splits.end()) return names;
  for (const ArrangedSplit& other : arrangement.splits) {
    if (std::tie(other.rows, other.name) < std::tie(own->rows, own->name)) names.push_back(other.name);
  }
  return names;
}

std::uint64_t shard_count(const PreparePlan& plan, std::uint64_t rows, std::uint64_t bytes) {
  if (plan.shard_records != 0)
    return std::clamp<std::uint64_t>(divide_up(rows, plan.shard_records), 1, kMostShards);
  const std::uint64_t of_shard = std::max<std::uint64_t>(plan.shard_bytes, 1);
  const std::uint64_t least = std::clamp<std::uint64_t>(rows / kLeastShardRows, 1, kLeastShards);
  return std::clamp(divide_up(bytes, of_shard), least, kMostShards);
}

std::vector<ShardTask> Arrangement::tasks() const {
  __extension__ using Wide = unsigned __int128;
  std::vector<ShardTask> out;
  for (const ArrangedSplit& split : splits) {
    const auto bound = [&](std::uint64_t number) {
      return static_cast<std::uint64_t>(((Wide{number} << 64) + split.shards - 1) / split.shards);
    };
    for (std::uint64_t number = 0; number < split.shards; ++number) {
      const bool is_last = number + 1 == split.shards;
      out.push_back({split.name, number, split.shards, bound(number),
                     is_last ? ~std::uint64_t{0} : bound(number + 1) - 1});
    }
  }
  return out;
}

Result<Arrangement> arrange(const TaskContext& context, std::span<const SliceReceipt> receipts,
                            const RejectLimit& max_rejects) {
  const PreparePlan& plan = context.plan;
  Arrangement out;
  std::map<std::string, SplitTotals> splits;
  std::map<std::string, std::map<std::string, LabelCounts>> labels;
  for (std::size_t slice = 0; slice < receipts.size(); ++slice) {
    const SliceReceipt& receipt = receipts[slice];
    out.counts.in += receipt.counts.in;
    out.counts.kept += receipt.counts.kept;
    out.counts.rejected += receipt.counts.rejected;
    out.counts.ignored += receipt.counts.ignored;
    for (const auto& [reason, count] : receipt.reasons) out.reasons[reason] += count;
    if (out.first_rejection.empty()) out.first_rejection = receipt.first_rejection;
    for (const auto& [name, totals] : receipt.splits) {
      if (!is_usable_split_name(name))
        return damaged_receipt(slice, concat("the split name ", printable_line(name, 60), " cannot be used"));
      out.row_bytes += totals.bytes + totals.referenced_bytes;
      splits[name].rows += totals.rows;
      splits[name].bytes += totals.bytes;
      splits[name].referenced_bytes += totals.referenced_bytes;
    }
    for (const auto& [feature, of_feature] : receipt.label_values) {
      for (const auto& [split, counts] : of_feature) {
        for (const auto& [value, count] : counts) labels[feature][split][value] += count;
      }
    }
    for (const KeptSpill& spill : receipt.spills) {
      out.spills.push_back(spill);
      out.spill_slices.push_back(static_cast<std::uint32_t>(slice));
    }
    for (const auto& [reason, count] : receipt.retried) out.retried[reason] += count;
    HEADRACE_CHECK(take_part(receipt.inputs, slice, slice_inputs_name(slice), out));
    HEADRACE_CHECK(take_part(receipt.report, slice, slice_report_name(slice), out));
  }
  const std::uint64_t allowed = max_rejects.of(out.counts.in);
  if (out.counts.rejected > allowed)
    return too_many_rejects(out.first_rejection, out.counts.rejected, out.counts.in, allowed);
  const std::uint64_t added = added_bytes(context);
  for (const auto& [name, totals] : splits) {
    const std::uint64_t bytes = totals.bytes + totals.referenced_bytes + totals.rows * added;
    out.splits.push_back({name, totals.rows, bytes, shard_count(plan, totals.rows, bytes)});
  }
  const bool is_part = plan.base != nullptr || context.trial_rows.has_value();
  if (!is_part) HEADRACE_CHECK(check_splits(plan, out));
  for (const FeatureDefinition& feature : plan.schema.features) {
    if (feature.type != SchemaType::kLabel) continue;
    const bool is_only_one_promised = feature.vocabulary.size() == 1;
    if (feature.name == "label" && !is_part && !is_only_one_promised)
      HEADRACE_CHECK(check_classes(feature.name, labels[feature.name], plan));
    out.vocabularies[feature.name] = feature.vocabulary;
    if (!feature.vocabulary.empty()) continue;
    HEADRACE_TRY(out.vocabularies[feature.name],
                 continue_vocabulary(plan, feature, in_order(labels[feature.name])));
  }
  if (plan.duplicates != Duplicates::kKeep) {
    HEADRACE_TRY(out.duplicates, find_duplicates(context, out));
  }
  return out;
}

}  // namespace headrace
