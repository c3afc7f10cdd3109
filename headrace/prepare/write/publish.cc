#include "headrace/prepare/write/publish.h"

#include <algorithm>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/prepare/schema/described_features.h"
#include "headrace/prepare/write/part_keys.h"
#include "headrace/track/created_once.h"
#include "headrace/track/published_folder.h"

namespace headrace {
namespace {

// The feature that training and evaluation use as the class: the label called "label", or the only label.
const FeatureDefinition* class_feature(const Schema& schema) {
  std::vector<const FeatureDefinition*> labels;
  for (const FeatureDefinition& feature : schema.features) {
    if (feature.type != SchemaType::kLabel) continue;
    if (feature.name == "label") return &feature;
    labels.push_back(&feature);
  }
  return labels.size() == 1 ? labels.front() : nullptr;
}

DatasetAttributes describe_dataset(const TaskContext& context, const Arrangement& arrangement,
                                   std::span<const ShardReceipt> receipts) {
  const PreparePlan& plan = context.plan;
  DatasetAttributes out{.compression = plan.compression,
                        .compression_level = plan.compression == "none" ? 0 : plan.compression_level,
                        .vocabularies = arrangement.vocabularies,
                        .schema = schema_to_toml(plan.schema),
                        .reasons = arrangement.reasons,
                        .inputs = {{plan.input.url, plan.input.size_bytes, plan.input.version}},
                        .seed = plan.seed};
  describe_features(plan.schema, arrangement.vocabularies, context.encoders, out);
  const FeatureDefinition* const classes = class_feature(plan.schema);
  if (classes != nullptr) out.labels = arrangement.vocabularies.at(classes->name);
  out.counts = {{"in", arrangement.counts.in},
                {"written", 0},
                {"rejected", arrangement.counts.rejected},
                {"dropped", 0},
                {"ignored", arrangement.counts.ignored}};
  for (const ShardReceipt& receipt : receipts) {
    out.counts["written"] += receipt.written;
    out.counts["rejected"] += receipt.rejected;
    out.counts["dropped"] += receipt.dropped;
    for (const auto& [reason, count] : receipt.reasons) out.reasons[reason] += count;
    SplitCounts& split = out.splits[receipt.split];
    split.records += receipt.written;
    if (classes == nullptr || !receipt.labels.contains(classes->name)) continue;
    for (const auto& [value, count] : receipt.labels.at(classes->name)) split.labels[value] += count;
  }
  return out;
}

Status subtract(std::uint64_t& from, std::uint64_t count) {
  if (count > from) {
    return Error{Code::kInternal, concat(count, " rows were retried, but only ", from,
                                         " had been rejected. Nothing was published; please report this")};
  }
  from -= count;
  return {};
}

// Adds the counts and inputs of the dataset that the plan continues. Rows that were retried had been counted
// there as rejected.
Status add_base(DatasetAttributes& attributes, const BaseDataset& base, const Arrangement& arrangement) {
  const DatasetAttributes& before = base.attributes;
  for (const auto& [name, count] : before.counts) attributes.counts[name] += count;
  for (const auto& [reason, count] : before.reasons) attributes.reasons[reason] += count;
  for (const auto& [reason, count] : arrangement.retried) {
    HEADRACE_CHECK(subtract(attributes.counts["in"], count));
    HEADRACE_CHECK(subtract(attributes.counts["rejected"], count));
    HEADRACE_CHECK(subtract(attributes.reasons[reason], count));
  }
  std::erase_if(attributes.reasons, [](const auto& reason) { return reason.second == 0; });
  for (const auto& [name, split] : before.splits) {
    attributes.splits[name].records += split.records;
    for (const auto& [label, count] : split.labels) attributes.splits[name].labels[label] += count;
  }
  std::vector<InputDescription> inputs = before.inputs;
  std::erase_if(inputs,
                [&](const InputDescription& input) { return input.url == attributes.inputs.front().url; });
  attributes.inputs.insert(attributes.inputs.begin(), inputs.begin(), inputs.end());
  return {};
}

// Copies the parts that describe slices from the work objects to their final keys.
Result<std::vector<ManifestPart>> take_slice_parts(const TaskContext& context,
                                                   const std::vector<ManifestPart>& parts) {
  std::vector<ManifestPart> out;
  const Location& output = context.output;
  for (ManifestPart part : parts) {
    const Location from = context.work_folder().at(part.key);
    // The key is a name such as "report-00003.jsonl.gz", which arrange has checked.
    part.key = lines_key(part.role, context.tag(), part.key.substr(part.key.find('-') + 1));
    HEADRACE_CHECK(copy_once(from, output.at(part.key), part.size_bytes, part.crc32c));
    out.push_back(std::move(part));
  }
  return out;
}

Status check_rejects(const Arrangement& arrangement, std::span<const ShardReceipt> receipts,
                     std::uint64_t allowed) {
  std::uint64_t rejected = arrangement.counts.rejected;
  std::string first = arrangement.first_rejection;
  for (const ShardReceipt& receipt : receipts) {
    rejected += receipt.rejected;
    if (first.empty()) first = receipt.first_rejection;
  }
  if (rejected <= allowed) return {};
  return too_many_rejects(first, rejected, arrangement.counts.in, allowed);
}

Status check_sum(const std::map<std::string, std::uint64_t>& counts) {
  const std::uint64_t out =
      counts.at("written") + counts.at("rejected") + counts.at("dropped") + counts.at("ignored");
  if (counts.at("in") == out) return {};
  return Error{Code::kInternal, concat("of ", counts.at("in"), " rows read, ", out,
                                       " are accounted for. Nothing was published. ",
                                       "Run it again with --overwrite, and please report this")};
}

Status check_totals(const DatasetAttributes& attributes, const Arrangement& arrangement,
                    std::span<const ShardReceipt> receipts) {
  std::uint64_t merged = 0;
  for (const ShardReceipt& receipt : receipts) merged += receipt.in;
  if (merged == arrangement.counts.kept) return check_sum(attributes.counts);
  return Error{Code::kInternal, concat(arrangement.counts.kept, " rows were to be written, but ", merged,
                                       " reached shards. Nothing was published. Run it again with ",
                                       "--overwrite, and please report this")};
}

void count_shards(const Manifest& manifest, PrepareResult& result) {
  for (const ManifestPart& part : manifest.parts) {
    if (part.role != "shard") continue;
    ++result.shards;
    result.shard_bytes += part.size_bytes;
  }
}

Result<PrepareResult> describe_published(const TaskContext& context, const Manifest& manifest) {
  PrepareResult result{.was_published = true};
  auto attributes = parse_dataset_attributes(manifest.attributes_json);
  if (!attributes)
    return std::move(attributes).error().in(concat("the manifest of ", context.output.describe()));
  result.attributes = *std::move(attributes);
  count_shards(manifest, result);
  return result;
}

}  // namespace

Status remove_work(const TaskContext& context) {
  return remove_matching(context.output, concat(kWorkFolder, context.tag(), "/"));
}

Result<PrepareResult> read_result(const TaskContext& context, std::uint64_t number) {
  HEADRACE_TRY(const std::optional<PublishedFolder> published,
               read_published(context.output, kDatasetKind, {.number = number}));
  if (!published) {
    return Error{Code::kAborted, concat(context.output.describe(), " was removed meanwhile: its manifest ",
                                        number, " is gone")};
  }
  if (published->manifest.plan != context.plan_digest) {
    return Error{Code::kFailedPrecondition,
                 concat(context.output.describe(),
                        " holds a published dataset of another plan; name another output, or use --append ",
                        "to add new input, or --overwrite")};
  }
  HEADRACE_TRY(PrepareResult result, describe_published(context, published->manifest));
  result.manifest_number = published->number;
  result.manifest_digest = published->digest;
  HEADRACE_CHECK(remove_work(context));
  HEADRACE_CHECK(remove_superseded(context.output, prepare_output(), context.generation, context.entry));
  return result;
}

Result<std::optional<PrepareResult>> find_published(const TaskContext& context) {
  if (context.entry == 0) return std::optional<PrepareResult>();
  const std::uint64_t number = context.entry + 1;
  const auto there = read_published(context.output, kDatasetKind, {.number = number});
  if (!there && there.error().code == Code::kInvalidArgument) return lost_output(context.output, number);
  if (!there) return there.error();
  if (!*there) return std::optional<PrepareResult>();
  HEADRACE_TRY(PrepareResult result, read_result(context, number));
  return std::optional(std::move(result));
}

bool has_nothing_new(const PreparePlan& plan, const Arrangement& arrangement) {
  return plan.base != nullptr && arrangement.counts.in == 0;
}

Result<PrepareResult> leave_base(const TaskContext& context) {
  const BaseDataset& base = *context.plan.base;
  HEADRACE_TRY(PrepareResult result, describe_published(context, base.manifest));
  result.manifest_number = base.number;
  result.manifest_digest = base.digest;
  return result;
}

Result<PrepareResult> publish(const TaskContext& context, const Arrangement& arrangement,
                              std::span<const ShardReceipt> receipts, const RejectLimit& max_rejects,
                              Ownership& ownership, std::string_view run_id) {
  HEADRACE_CHECK(check_rejects(arrangement, receipts, max_rejects.of(arrangement.counts.in)));
  PrepareResult result{.attributes = describe_dataset(context, arrangement, receipts),
                       .row_bytes = arrangement.row_bytes};
  HEADRACE_CHECK(check_totals(result.attributes, arrangement, receipts));
  const BaseDataset* const base = context.plan.base.get();
  Manifest manifest{
      .kind = std::string(kDatasetKind), .created_by = std::string(run_id), .plan = context.plan_digest};
  const auto& counts = result.attributes.counts;
  if (context.plan.retries() && counts.at("rejected") == counts.at("in")) {
    HEADRACE_CHECK(remove_work(context));  // otherwise the next command would find these tasks done
    return leave_base(context);
  }
  if (base != nullptr) {
    HEADRACE_CHECK(add_base(result.attributes, *base, arrangement));
    HEADRACE_CHECK(check_sum(result.attributes.counts));
    manifest.parts = base->manifest.parts;
  }
  for (const ShardReceipt& receipt : receipts) {
    if (!receipt.shard) continue;
    manifest.parts.push_back(*receipt.shard);
    manifest.parts.push_back(*receipt.index);
  }
  HEADRACE_TRY(const std::vector<ManifestPart> of_slices, take_slice_parts(context, arrangement.slice_parts));
  manifest.parts.insert(manifest.parts.end(), of_slices.begin(), of_slices.end());
  for (const ShardReceipt& receipt : receipts) {
    if (receipt.report) manifest.parts.push_back(*receipt.report);
  }
  count_shards(manifest, result);
  manifest.attributes_json = dataset_attributes_to_json(result.attributes);
  auto published = ownership.publish(std::move(manifest));
  if (!published) return std::move(published).error().in("publishing the dataset");
  result.manifest_number = published->number;
  result.manifest_digest = published->digest;
  HEADRACE_CHECK(remove_work(context));
  HEADRACE_CHECK(remove_superseded(context.output, prepare_output(), context.generation, context.entry));
  return result;
}

}  // namespace headrace
