#include "tests/interleave/world.h"

#include <algorithm>

#include "headrace/base/text.h"
#include "headrace/cli/objects.h"
#include "headrace/metrics/metric_log.h"
#include "headrace/record/manifest.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/url.h"
#include "headrace/track/run_keys.h"
#include "tests/interleave/output.h"

namespace headrace::interleave {
namespace {

void copy_all(Store& from, Store& to) {
  (void)from.list("", {}, [&](const ObjectInfo& object) {
    const auto read = read_object(from, object.key, ~std::uint64_t{0} >> 1);
    if (!read || !to.write(object.key, read->data, {})) give_up("a memory store cannot be copied");
    return true;
  });
}

// Files of an export that foreign readers find by fixed names: any owner's command makes them again.
bool has_fixed_name(std::string_view key) {
  return key.starts_with("x/export/") && !key.starts_with("x/export/o");
}

bool lies_in(std::string_view folder, std::string_view key) { return key.starts_with(concat(folder, "/")); }
bool is_of_metrics(std::string_view key) { return key.find(kMetricsPrefix) != std::string_view::npos; }
bool is_of_media(std::string_view key) { return key.find(kMediaPrefix) != std::string_view::npos; }

}  // namespace

Witness::Witness() : ForwardingStore(make_memory_store("out")) {}

class Witness::WitnessedUpload final : public Upload {
 public:
  WitnessedUpload(Witness& witness, std::unique_ptr<Upload> upload, std::string key)
      : witness_(witness), upload_(std::move(upload)), key_(std::move(key)) {}

  Status append(BytesView data) override { return upload_->append(data); }
  Result<ObjectInfo> commit() override {
    const bool was_there = witness_.inner().stat(key_, {}).has_value();
    Result<ObjectInfo> done = upload_->commit();
    if (done) witness_.created(key_, was_there);
    return done;
  }

 private:
  Witness& witness_;
  const std::unique_ptr<Upload> upload_;
  const std::string key_;
};

Status Witness::list(std::string_view prefix, const ListOptions& options,
                     const std::function<bool(const ObjectInfo&)>& visit) {
  return inner().list(prefix, options, [&](const ObjectInfo& object) {
    ObjectInfo dated = object;
    if (lies_in(kArtifacts, object.key) || is_of_metrics(object.key)) dated.modified.emplace();
    return visit(dated);
  });
}

Result<ObjectInfo> Witness::write(std::string_view key, BytesView data, const WriteOptions& options) {
  const bool was_there = inner().stat(key, {}).has_value();
  Result<ObjectInfo> done = inner().write(key, data, options);
  if (done) created(key, was_there);
  return done;
}

Result<std::unique_ptr<Upload>> Witness::start_upload(std::string_view key, const WriteOptions& options) {
  HEADRACE_TRY(std::unique_ptr<Upload> upload, inner().start_upload(key, options));
  return std::unique_ptr<Upload>(
      std::make_unique<WitnessedUpload>(*this, std::move(upload), std::string(key)));
}

Result<ObjectInfo> Witness::copy(std::string_view from, std::string_view to, const WriteOptions& options) {
  const bool was_there = inner().stat(to, {}).has_value();
  Result<ObjectInfo> done = inner().copy(from, to, options);
  if (done) created(to, was_there);
  return done;
}

Status Witness::remove_many(std::span<const std::string> keys, const CallOptions& options) {
  const std::scoped_lock lock(mutex_);
  for (const std::string& key : keys) {
    parts_.erase(key);
    if (!inner().stat(key, {})) continue;
    if (lies_in(kRequestLogs, key)) shortened_.emplace(kRequestLogs);
    if (lies_in(kCurveScores, key) || lies_in(kCurveReports, key)) shortened_.emplace(kCurveScores);
    if (lies_in(kRunRecords, key)) shortened_.emplace(kRunRecords);
    const bool is_given_up = inner().stat(concat(key, ".given-up"), {}).has_value();
    if (lies_in(kArtifacts, key) && !is_given_up) shortened_.emplace(kArtifacts);
    if (is_of_media(key)) shortened_.insert(parent_key(key));
    if (is_of_metrics(key) && !is_compacted(key)) shortened_.insert(parent_key(key));
  }
  return inner().remove_many(keys, options);
}

// Whether another segment of the log holds what this one does.
bool Witness::is_compacted(const std::string& key) const {
  const std::string prefix = concat(parent_key(key), "/");
  const auto range = parse_segment_name(std::string_view(key).substr(prefix.size()));
  const auto others = list_all(inner(), prefix);
  return range && std::ranges::any_of(*others, [&](const ObjectInfo& other) {
           const auto held = parse_segment_name(std::string_view(other.key).substr(prefix.size()));
           return held && other.key != key && held->first <= range->first && range->second <= held->second;
         });
}

std::vector<std::string> Witness::replaced() const {
  const std::scoped_lock lock(mutex_);
  return replaced_;
}

std::set<std::string> Witness::shortened() const {
  const std::scoped_lock lock(mutex_);
  return shortened_;
}

std::vector<std::string> Witness::manifests() const {
  const std::scoped_lock lock(mutex_);
  return manifests_;
}

void Witness::created(std::string_view key, bool was_there) {
  const std::scoped_lock lock(mutex_);
  const bool is_of_log = is_of_metrics(key) || is_of_media(key) || lies_in(kRequestLogs, key) ||
                         lies_in(kArtifacts, key) || lies_in(kCurveScores, key) ||
                         lies_in(kCurveReports, key);
  if (was_there && (parts_.contains(key) || is_of_log) && !has_fixed_name(key)) replaced_.emplace_back(key);
  if (!is_manifest_key(key)) return;
  const auto read = read_object(inner(), key, kManifestLimitBytes);
  const auto manifest = read ? parse_manifest(read->data) : Result<Manifest>(read.error());
  if (!manifest) return;
  manifests_.emplace_back(key);
  const std::string folder = parent_key(parent_key(key));
  for (const ManifestPart& part : manifest->parts)
    parts_.insert(folder.empty() ? part.key : folder + "/" + part.key);
}

Location location(const std::shared_ptr<Store>& store, const std::string& name, const std::string& key) {
  return {store, key, Url{"memory", name, key}};
}

World clone(const World& world) {
  World out;
  copy_all(*world.out, *out.out);
  copy_all(*world.copy, *out.copy);
  out.data = world.data;
  out.machine->copy_from(*world.machine);
  out.ledger = std::make_shared<Ledger>(world.ledger->logs());
  return out;
}

}  // namespace headrace::interleave
