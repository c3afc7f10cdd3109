#include "headrace/prepare/prepare.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include <nlohmann/json.hpp>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/io/digest.h"
#include "headrace/io/parallel.h"
#include "headrace/prepare/layout.h"
#include "headrace/store/numbered.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

constexpr std::string_view kKind = "dataset";
constexpr std::string_view kWork = "_headrace/work/";

// All that one run of the stage works with.
struct Job {
  const Location& output;
  const TextEncoder& encoder;
  const PrepareOptions& options;
  const PrepareProgress& progress;
  const std::stop_token& stop;
  SourceIdentity input;
  std::string plan_digest;

  std::string short_digest() const { return plan_digest.substr(0, 8); }
  Location work_folder() const { return output.at(concat(kWork, short_digest())); }
};

// Names: what ShardWriter and write_report call their objects, by any plan.
StageOutput prepare_output() {
  StageOutput out{
      .stage = "prepare", .claim = kPlanKey, .folders = {{"", kKind}}, .names = {"report-%%%%%%%%.jsonl.gz"}};
  for (const std::string& split : layout_splits()) {
    for (const char* ending : {".tfrecord", ".tfrecord.index", ".tfrecord.gz", ".tfrecord.gz.index"})
      out.names.push_back(concat(split, "-%%%%%%%%-#####-of-#####", ending));
  }
  return out;
}

// That of other plans, too: they are refused, so whoever began it does not go on.
Status remove_work(const Job& job) { return remove_matching(job.output, kWork); }

std::vector<ShardTask> plan_tasks(const RecordSpool& spool, std::uint64_t shard_records) {
  std::vector<ShardTask> tasks;
  for (std::size_t split_index = 0; split_index < layout_splits().size(); ++split_index) {
    const std::uint64_t records = spool.record_count(static_cast<int>(split_index));
    const std::uint64_t shards = (records + shard_records - 1) / shard_records;
    for (std::uint64_t number = 0; number < shards; ++number) {
      const std::uint64_t first = number * shard_records;
      tasks.push_back({static_cast<int>(split_index), layout_splits()[split_index], number, shards, first,
                       std::min(shard_records, records - first)});
    }
  }
  return tasks;
}

// Whether the objects that a receipt vouches for are there.
Result<bool> is_there(const Location& output, const ShardReceipt& receipt) {
  for (const ManifestPart* part : {&receipt.shard, &receipt.index}) {
    const auto object = output.store->stat(output.at(part->key).key, {});
    if (!object && object.error().code != Code::kNotFound) return object.error();
    if (!object || object->size_bytes != part->size_bytes) return false;
  }
  return true;
}

struct WrittenShards {
  std::vector<ShardReceipt> receipts;  // in data-set order
  std::uint64_t done_before = 0;
};

Result<WrittenShards> write_shards(const Job& job, const RecordSpool& spool,
                                   const std::vector<ShardTask>& tasks) {
  const ShardWriter writer(spool, job.encoder, job.options.format, job.output, job.work_folder(),
                           job.plan_digest);
  WrittenShards out;
  out.receipts.resize(tasks.size());
  std::uint64_t total = 0;
  for (const ShardTask& task : tasks) total += task.record_count;
  std::mutex mutex;
  std::uint64_t done = 0;
  HEADRACE_CHECK(parallel_for(job.options.workers, tasks.size(), [&](std::size_t i) -> Status {
    if (job.stop.stop_requested()) return Error{Code::kCancelled, "preparing was stopped"};
    HEADRACE_TRY(std::optional<ShardReceipt> receipt, writer.find_receipt(tasks[i]));
    if (receipt) {
      HEADRACE_TRY(const bool holds, is_there(job.output, *receipt));
      if (!holds) receipt.reset();
    }
    const bool was_done = receipt.has_value();
    if (!was_done) {
      HEADRACE_TRY(receipt, writer.write(tasks[i]));
    }
    out.receipts[i] = *std::move(receipt);
    const std::lock_guard lock(mutex);
    out.done_before += was_done ? 1 : 0;
    done += tasks[i].record_count;
    job.progress("writing", done, total, "records");
    return {};
  }));
  return out;
}

// One JSON document a line, gzip.
Result<ManifestPart> write_report(const Job& job, const std::vector<ReportLine>& lines) {
  std::string text;
  for (const ReportLine& line : lines) {
    const nlohmann::json document = {{"id", line.id}, {"status", line.status}, {"reason", line.reason}};
    text += document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  HEADRACE_TRY(const Bytes data, gzip_compress(as_bytes(text), 6));
  const std::string name = concat("report-", job.short_digest(), ".jsonl.gz");
  HEADRACE_CHECK(job.output.store->write(job.output.at(name).key, data, {}));
  return ManifestPart{.key = name,
                      .size_bytes = data.size(),
                      .crc32c = crc32c(data),
                      .role = "report",
                      .records = lines.size()};
}

DatasetAttributes describe_dataset(const Job& job, const ExtractCounts& counts) {
  DatasetAttributes out{
      .compression = job.options.format.compression,
      .compression_level =
          job.options.format.compression == "none" ? 0 : job.options.format.compression_level,
      .labels = layout_labels(),
      .encoder = {job.encoder.name(), job.encoder.weights_digest(), job.encoder.dimension()},
      .reasons = counts.reasons,
      .seed = job.options.seed};
  const auto label_count = static_cast<std::int64_t>(layout_labels().size());
  out.features["sentence"] = {"float32", std::vector<std::int64_t>{job.encoder.dimension()}};
  out.features["label"] = {"int64", std::vector<std::int64_t>{label_count}};
  if (job.options.format.keep_text) {
    out.features["text"] = {"bytes", std::vector<std::int64_t>{}};
    out.features["id"] = {"bytes", std::vector<std::int64_t>{}};
  }
  out.counts = {{"in", counts.in},
                {"written", counts.written},
                {"rejected", counts.rejected},
                {"dropped", counts.dropped},
                {"ignored", counts.ignored}};
  out.inputs = {{job.input.url, job.input.size_bytes, job.input.version}};
  return out;
}

Result<PrepareResult> publish(const Job& job, std::string_view run_id, const Extracted& extracted,
                              const WrittenShards& written) {
  PrepareResult result{.attributes = describe_dataset(job, extracted.counts),
                       .shards = written.receipts.size(),
                       .shards_done_before = written.done_before,
                       .text_bytes = extracted.counts.text_bytes};
  Manifest manifest{.kind = std::string(kKind), .created_by = std::string(run_id), .plan = job.plan_digest};
  std::uint64_t records = 0;
  for (const ShardReceipt& receipt : written.receipts) {
    manifest.parts.push_back(receipt.shard);
    manifest.parts.push_back(receipt.index);
    result.shard_bytes += receipt.shard.size_bytes;
    records += receipt.shard.records.value_or(0);
    SplitCounts& split_counts = result.attributes.splits[receipt.shard.split];
    split_counts.records += receipt.shard.records.value_or(0);
    for (const auto& [label, count] : receipt.labels)
      split_counts.labels[layout_labels()[static_cast<std::size_t>(label)]] += count;
  }
  if (records != extracted.counts.written) {
    return Error{
        Code::kInternal,
        concat("the shards hold ", records, " records, but ", extracted.counts.written,
               " were read; nothing was published. Run it again with --overwrite, and please report this")};
  }
  HEADRACE_TRY(const ManifestPart report, write_report(job, extracted.report));
  manifest.parts.push_back(report);
  manifest.attributes_json = dataset_attributes_to_json(result.attributes);
  const std::string text = serialize_manifest(manifest);
  result.manifest_number = 1;
  result.manifest_digest = sha256_hex(as_bytes(text));
  const auto created = create_numbered(*job.output.store, job.output.at(kManifestPrefix).key,
                                       result.manifest_number, as_bytes(text));
  if (!created) return created.error().in("publishing the data set");
  HEADRACE_CHECK(remove_work(job));
  return result;
}

// What a process that got as far as publishing made; none if none did. Removes what one left that died then.
Result<std::optional<PrepareResult>> find_published(const Job& job) {
  HEADRACE_TRY(const std::optional<PublishedFolder> latest, read_published(job.output, kKind));
  if (!latest) return std::optional<PrepareResult>();
  const Manifest& manifest = latest->manifest;
  if (manifest.plan != job.plan_digest) {
    return Error{Code::kFailedPrecondition,
                 concat(job.output.describe(),
                        " holds a published data set of another plan; give another output, or --overwrite")};
  }
  PrepareResult result{
      .manifest_number = latest->number, .manifest_digest = latest->digest, .was_published = true};
  auto attributes = parse_dataset_attributes(manifest.attributes_json);
  if (!attributes) return std::move(attributes).error().in(concat("the manifest of ", job.output.describe()));
  result.attributes = *std::move(attributes);
  for (const ManifestPart& part : manifest.parts) {
    if (part.role != "shard") continue;
    ++result.shards;
    result.shard_bytes += part.size_bytes;
  }
  HEADRACE_CHECK(remove_work(job));
  return std::optional(std::move(result));
}

Result<Extracted> read_input(const Job& job, const Location& input, RecordSpool& spool) {
  HEADRACE_TRY(const std::unique_ptr<TextSource> source, open_source(input, job.input));
  const auto reading = [&](std::uint64_t done, std::uint64_t total) {
    job.progress("reading", done, total, "bytes");
  };
  HEADRACE_TRY(Extracted extracted,
               extract(*source, input.describe(), job.options.extract, spool, reading, job.stop));
  // The plan names what was identified, so that must be what was read.
  HEADRACE_TRY(const SourceIdentity now, identify_source(input));
  if (now.version == job.input.version) return extracted;
  return Error{Code::kFailedPrecondition,
               concat(input.describe(),
                      " changed while being read; once nobody writes to it any more, run "
                      "the same command with --overwrite")};
}

Result<PrepareResult> make_dataset(const Job& job, std::string_view run_id, const Extracted& extracted,
                                   const RecordSpool& spool) {
  HEADRACE_TRY(const WrittenShards written,
               write_shards(job, spool, plan_tasks(spool, job.options.shard_records)));
  return publish(job, run_id, extracted, written);
}

}  // namespace

std::map<std::string, std::string> prepare_plan(const SourceIdentity& input, const TextEncoder& encoder,
                                                const PrepareOptions& options) {
  const ShardFormat& format = options.format;
  return {{"stage", "prepare 1"},
          {"input", input.url},
          {"input size", concat(input.size_bytes)},
          {"input version", input.version},
          {"layout", options.layout},
          {"encoder", encoder.name()},
          {"encoder weights", encoder.weights_digest()},
          {"shard-records", concat(options.shard_records)},
          {"compression", format.compression},
          {"compression-level", format.compression == "none" ? "" : concat(format.compression_level)},
          {"compressor", format.compression == "none" ? "" : deflate_fingerprint()},
          {"seed", concat(options.seed)},
          {"text", format.keep_text ? "kept" : "left out"},
          {"duplicates", options.extract.drop_duplicates ? "drop" : "report"},
          {"max-text", concat(options.extract.max_text_bytes)}};
}

Status check_places(const Location& input, const Location& output) {
  const bool one_store = input.url.scheme == output.url.scheme && input.url.authority == output.url.authority;
  const bool is_in = input.key == output.key || output.key.starts_with(folder_prefix(input.key));
  if (!one_store || !is_in) return {};
  return Error{Code::kInvalidArgument,
               concat(output.describe(), " lies in ", input.describe(),
                      ", so that it would be among the texts the next time; name a folder beside it")};
}

Result<PrepareResult> prepare(const Location& input, const Location& output, const TextEncoder& encoder,
                              const PrepareOptions& options, std::string_view run_id,
                              const PrepareProgress& progress, const std::stop_token& stop) {
  HEADRACE_TRY(const SourceIdentity identity, identify_source(input));
  const Configuration plan = prepare_plan(identity, encoder, options);
  const Job job{output, encoder, options, progress, stop, identity, configuration_digest(plan)};

  HEADRACE_CHECK(check_output(output, prepare_output(), plan, options.overwrite));
  if (options.overwrite) {
    // Receipts only: what is published stays until the input was read.
    HEADRACE_CHECK(remove_work(job));
  } else {
    HEADRACE_TRY(std::optional<PrepareResult> published, find_published(job));
    if (published) return *std::move(published);
  }
  RecordSpool spool(job.work_folder(), options.seed, static_cast<int>(layout_splits().size()),
                    options.memory_budget_bytes);
  HEADRACE_TRY(const Extracted extracted, read_input(job, input, spool));
  HEADRACE_CHECK(claim_output(output, prepare_output(), plan, options.overwrite));
  auto made = make_dataset(job, run_id, extracted, spool);
  if (made || made.error().code == Code::kCancelled) return made;
  // Another process with the same plan may have been faster: it has published the same bytes, and removed the
  // work objects of both.
  auto other = find_published(job);
  if (!other && made.error().code == Code::kAlreadyExists) return std::move(other).error();
  return other && *other ? Result(**std::move(other)) : std::move(made);
}

}  // namespace headrace
