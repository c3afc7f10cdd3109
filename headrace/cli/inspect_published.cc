#include <atomic>
#include <set>

#include "headrace/base/text.h"
#include "headrace/cli/inspection.h"
#include "headrace/stream/tfrecord_object.h"

namespace headrace {
namespace {

std::string describe_values(const FeatureSchema& schema) {
  if (!schema.shape) return schema.dtype + "[any]";
  if (schema.shape->empty()) return schema.dtype;
  std::vector<std::string> sizes;
  for (const std::int64_t size : *schema.shape) sizes.push_back(concat(size));
  return concat(schema.dtype, "[", join(sizes, ", "), "]");
}

std::string describe_schema(const FeatureSchema& schema) {
  return describe_values(schema) + (schema.is_optional ? ", optional" : "");
}

Status read_attributes(const PublishedFolder& published, Inspection& inspection) {
  if (published.manifest.kind != "dataset") {
    inspection.attributes_json = published.manifest.attributes_json;
    return {};
  }
  auto attributes = parse_dataset_attributes(published.manifest.attributes_json);
  if (!attributes) return std::move(attributes).error().in(inspection.url);
  for (const auto& [name, schema] : attributes->features) inspection.features[name] = describe_schema(schema);
  inspection.splits = std::move(attributes->splits);
  inspection.labels = std::move(attributes->labels);
  for (const auto& [feature, encoder] : attributes->encoders) inspection.encoders[feature] = encoder.name;
  inspection.counts = std::move(attributes->counts);
  inspection.reasons = std::move(attributes->reasons);
  return {};
}

// Reads the first records of the first shard of each split. The checksums report a shard that cannot be read.
Status read_first_records(CommandContext& context, const PublishedFolder& published,
                          const InspectOptions& options, Inspection& inspection) {
  std::set<std::string> splits;
  for (const ManifestPart& part : published.manifest.parts) {
    if (part.role != "shard" || options.first_records == 0 || !splits.insert(part.split).second) continue;
    const Location shard = published.folder.at(part.key);
    const auto object = shard.store->stat(shard.key, context.call());
    if (!object) continue;
    TfrecordSummary summary;
    std::uint64_t shown = 0;
    const Status read = read_tfrecord(
        shard, *object, options.record_limit_bytes, context.call(), summary,
        [&](BytesView record) {
          inspection.first_records.push_back(concat(part.split, " ", shown, ": ", describe_record(record)));
          return ++shown < options.first_records;
        },
        [](std::uint64_t) {});
    if (!read && read.error().code == Code::kCancelled) return read;
  }
  return {};
}

}  // namespace

Result<Inspection> inspect_published(CommandContext& context, const PublishedFolder& published,
                                     const InspectOptions& options) {
  const Manifest& manifest = published.manifest;
  Inspection inspection = {.url = published.folder.url.text(),
                           .kind = manifest.kind,
                           .manifest = published.number,
                           .digest = published.digest,
                           .created_by = manifest.created_by};
  HEADRACE_CHECK(read_attributes(published, inspection));
  for (const ManifestPart& part : manifest.parts) {
    ++inspection.objects[part.split.empty() ? part.role : concat(part.split, " ", part.role)];
    inspection.size_bytes += part.size_bytes;
  }
  if (options.compares_checksums) {
    std::atomic<std::uint64_t> done = 0;
    HEADRACE_TRY(
        inspection.bad,
        verify_parts(published.folder, manifest.parts, options.jobs, context.call(), [&](std::uint64_t more) {
          context.console.progress("comparing checksums", done += more, inspection.size_bytes, "bytes");
        }));
  }
  HEADRACE_CHECK(read_first_records(context, published, options, inspection));
  return inspection;
}

}  // namespace headrace
