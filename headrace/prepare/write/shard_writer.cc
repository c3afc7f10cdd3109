#include "headrace/prepare/write/shard_writer.h"

#include <algorithm>
#include <future>
#include <set>
#include <system_error>

#include "headrace/base/crc32c.h"
#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/prepare/arrange/other_splits.h"
#include "headrace/prepare/extract/report.h"
#include "headrace/prepare/extract/row_batch.h"
#include "headrace/prepare/sort/merged_rows.h"
#include "headrace/prepare/sort/spill_store.h"
#include "headrace/prepare/write/part_keys.h"
#include "headrace/prepare/write/record_maker.h"
#include "headrace/prepare/write/shard_body.h"
#include "headrace/track/created_once.h"

namespace headrace {
namespace {

constexpr SizeLimit kIndexLimit{.bytes = kIndexLimitBytes,
                                .what_to_do = "make smaller shards with --shard-records or --shard-size"};

std::string receipt_to_text(const ShardReceipt& receipt) {
  Json document = {{"split", receipt.split},     {"in", receipt.in},
                   {"written", receipt.written}, {"rejected", receipt.rejected},
                   {"dropped", receipt.dropped}, {"reasons", receipt.reasons},
                   {"labels", receipt.labels},   {"first_rejection", receipt.first_rejection}};
  const auto add = [&](const char* name, const std::optional<ManifestPart>& part) {
    if (part) document[name] = manifest_part_to_json(*part);
  };
  add("shard", receipt.shard);
  add("index", receipt.index);
  add("report", receipt.report);
  return document.dump() + "\n";
}

Result<ShardReceipt> parse_receipt(std::string_view text) {
  const auto read = [](const Json& document) -> Result<ShardReceipt> {
    ShardReceipt receipt;
    const auto part = [&](const char* name, std::optional<ManifestPart>& out) {
      if (document.contains(name)) out = manifest_part_from_json(document.at(name));
    };
    part("shard", receipt.shard);
    part("index", receipt.index);
    part("report", receipt.report);
    document.get_to("split", receipt.split);
    document.get_to("in", receipt.in);
    document.get_to("written", receipt.written);
    document.get_to("rejected", receipt.rejected);
    document.get_to("dropped", receipt.dropped);
    document.get_to("reasons", receipt.reasons);
    document.get_to("labels", receipt.labels);
    document.get_to("first_rejection", receipt.first_rejection);
    return receipt;
  };
  return read_json(text, "damaged; start over with --overwrite", read);
}

Location receipt_location(const TaskContext& context, const ShardTask& task) {
  return context.work_folder().at(concat("shard-", task.split, "-", zero_padded(task.number, 5)));
}

// The task of writing one shard.
class ShardTaskRun {
 public:
  ShardTaskRun(const TaskContext& context, const Arrangement& arrangement, const ShardTask& task,
               const ShardProgress& progress)
      : context_(context),
        arrangement_(arrangement),
        task_(task),
        progress_(progress),
        maker_(context.plan.schema, arrangement.vocabularies, context.encoders) {
    for (const FeatureDefinition& feature : context.plan.schema.features) {
      if (feature.type != SchemaType::kLabel) continue;
      label_features_.push_back(&feature);
      label_counts_.emplace_back(arrangement.vocabularies.at(feature.name).size());
    }
  }

  Result<ShardReceipt> write() {
    HEADRACE_TRY(MergedRows rows, open_rows());
    receipt_.split = task_.split;
    const std::string name = shard_name(task_, context_.tag(), context_.plan.compression);
    HEADRACE_TRY(OnceUpload upload, OnceUpload::start(context_.output.at(name), {.past_caches = true}));
    HEADRACE_TRY(ShardBody body, ShardBody::create(context_.plan.compression, context_.plan.compression_level,
                                                   std::move(upload)));
    HEADRACE_CHECK(write_rows(rows, body));
    if (receipt_.written > 0) HEADRACE_CHECK(finish_shard(name, body));
    HEADRACE_CHECK(finish_receipt());
    return std::move(receipt_);
  }

 private:
  Result<MergedRows> open_rows() {
    std::vector<SliceSpill> spills;
    for (std::size_t i = 0; i < arrangement_.spills.size(); ++i) {
      HEADRACE_TRY(readers_.emplace_back(), context_.spills.open(arrangement_.spills[i]));
      spills.push_back({readers_.back().get(), arrangement_.spill_slices[i]});
    }
    const OrderRange range{task_.first_order, task_.last_order};
    const CallOptions call{.stop = context_.stop};
    others_.emplace(spills, splits_before(context_.plan, arrangement_, task_.split), range, call);
    return MergedRows(spills, task_.split, {.range = range, .call = call});
  }

  // Fetches the next batch while the current batch is converted.
  Status write_rows(MergedRows& rows, ShardBody& body) {
    ReferenceReader first_reader(context_.stores, context_.plan.cell_limit_bytes, {.stop = context_.stop});
    ReferenceReader second_reader(context_.stores, context_.plan.cell_limit_bytes, {.stop = context_.stop});
    RowBatch current(context_.plan.schema, first_reader), next(context_.plan.schema, second_reader);
    RowBatch* ready = &current;
    RowBatch* waiting = &next;
    HEADRACE_CHECK(fill(rows, *ready));
    while (!ready->is_empty()) {
      if (context_.stop.stop_requested()) return Error{Code::kCancelled, "preparing was stopped"};
      std::future<Status> filled = start_filling(rows, *waiting);
      const Status made = make_records(*ready, body);
      const Status got = filled.get();
      HEADRACE_CHECK(made);
      tell();
      HEADRACE_CHECK(got);
      std::swap(ready, waiting);
    }
    return {};
  }

  // Fills the batch in another thread if there is something to wait for and the system provides a thread.
  std::future<Status> start_filling(MergedRows& rows, RowBatch& batch) {
    const auto policy = has_references_ ? std::launch::async : std::launch::deferred;
    try {
      return std::async(policy, [&] { return fill(rows, batch); });
    } catch (const std::system_error&) {
      return std::async(std::launch::deferred, [&] { return fill(rows, batch); });
    }
  }

  Status fill(MergedRows& rows, RowBatch& batch) {
    batch.clear();
    while (!batch.is_full()) {
      HEADRACE_TRY(const std::optional<MergedRow> row, rows.next());
      if (!row) break;
      HEADRACE_CHECK(check_place(*row));
      HEADRACE_CHECK(batch.add(row->row, row->slice));
      has_references_ = has_references_ || batch.has_references();
    }
    std::string base;
    return batch.follow([&](std::uint32_t slice, RowPlace place) -> std::string_view {
      base = base_of(context_.plan.input.slices[slice], place);
      return base;
    });
  }

  Status check_place(const MergedRow& row) const {
    const std::vector<InputFile>& files = context_.plan.input.slices[row.slice].files;
    if (files.empty() || row.row.place.file < files.size()) return {};
    return Error{Code::kDataLoss,
                 concat("the sorted row ", row.row.id, " names file ", row.row.place.file,
                        " of a slice that has ", files.size(), " files; start over with --overwrite")};
  }

  void tell() {
    if (progress_) progress_(receipt_.in - told_rows_, receipt_.rejected - told_rejected_);
    told_rows_ = receipt_.in;
    told_rejected_ = receipt_.rejected;
  }

  const Slice& slice_of(const BatchRow& row) const { return context_.plan.input.slices[row.slice]; }

  Status make_records(const RowBatch& batch, ShardBody& body) {
    chosen_.clear();
    cells_.clear();
    for (const BatchRow& row : batch.rows()) {
      ++receipt_.in;
      if (row.id == last_id_ && receipt_.in > 1) {
        HEADRACE_CHECK(reject(row, std::string(kRepeatedId), describe_other(last_slice_, last_place_)));
        continue;
      }
      last_id_ = row.id;
      last_slice_ = row.slice;
      last_place_ = row.place;
      HEADRACE_TRY(const auto other, others_->find(row.order, row.tie, row.id));
      if (other) {
        const std::string detail = concat(describe_other(other->slice, other->place), ", in ", other->split);
        HEADRACE_CHECK(reject(row, std::string(kIdOfOtherSplit), detail));
      } else if (is_duplicate(row) && context_.plan.duplicates == Duplicates::kDrop) {
        ++receipt_.dropped;
        HEADRACE_CHECK(remark(row, "dropped", "duplicate content", ""));
      } else if (row.failure) {
        HEADRACE_CHECK(reject(row, reason_of_fetch(*row.failure),
                              concat("column ", row.failed_column, ": ", row.failure->message)));
      } else {
        chosen_.push_back(&row);
        cells_.emplace_back(row.cells);
      }
    }
    return maker_.make(cells_,
                       [&](const MadeRecord& record) { return take(*chosen_[record.row], record, body); });
  }

  std::string describe_other(std::uint32_t slice, RowPlace place) const {
    const std::string source = source_of(context_.plan.input.slices[slice], place);
    return concat("column ", context_.plan.schema.id.value_or("id"), ": ",
                  source.empty() ? "another object" : concat(source, ", row ", place.row), " has it too");
  }

  Status take(const BatchRow& row, const MadeRecord& record, ShardBody& body) {
    if (record.remark.is_rejection) return reject(row, record.remark.reason, record.remark.detail);
    HEADRACE_CHECK(body.add(record.example));
    ++receipt_.written;
    count_thousandth(row.order);
    for (std::size_t i = 0; i < record.labels.size(); ++i)
      ++label_counts_[record.label_features[i]][static_cast<std::size_t>(record.labels[i])];
    if (record.remark) HEADRACE_CHECK(remark(row, "changed", record.remark.reason, record.remark.detail));
    if (is_duplicate(row)) HEADRACE_CHECK(remark(row, "duplicate", "duplicate content, kept", ""));
    return context_.plan.reports_all || context_.plan.retries() ? report(row, "written", "", "", record.image)
                                                                : Status{};
  }

  bool is_duplicate(const BatchRow& row) const {
    return !arrangement_.duplicates.empty() &&
           std::binary_search(arrangement_.duplicates.begin(), arrangement_.duplicates.end(),
                              DuplicateRow{row.slice, row.place});
  }

  Status reject(const BatchRow& row, const std::string& reason, std::string_view detail) {
    ++receipt_.rejected;
    if (receipt_.first_rejection.empty())
      receipt_.first_rejection = describe_rejection(row.id, slice_of(row), row.place, reason, detail);
    if (receipt_.rejected > context_.max_rejects)
      return too_many_rejects(receipt_.first_rejection, context_.max_rejects);
    return remark(row, "rejected", reason, detail);
  }

  Status remark(const BatchRow& row, std::string_view status, const std::string& reason,
                std::string_view detail) {
    ++receipt_.reasons[reason];
    return report(row, status, reason, detail, std::nullopt);
  }

  Status report(const BatchRow& row, std::string_view status, std::string_view reason,
                std::string_view detail, const std::optional<ConvertedImage>& image) {
    const std::string source = source_of(slice_of(row), row.place);
    return report_.add({.id = row.id,
                        .status = status,
                        .reason = reason,
                        .detail = detail,
                        .source = source,
                        .row = source.empty() ? 0 : row.place.row,
                        .image = image});
  }

  // See docs/formats/order.md, "Dataset order". The orders of the rows ascend.
  void count_thousandth(std::uint64_t order) {
    __extension__ using Wide = unsigned __int128;
    const auto thousandth = static_cast<std::uint64_t>(Wide{order} * kThousandths >> 64);
    if (thousandths_.records.empty()) thousandths_.first = thousandth;
    thousandths_.records.resize(thousandth - thousandths_.first + 1);
    ++thousandths_.records.back();
  }

  Status finish_shard(const std::string& name, ShardBody& body) {
    HEADRACE_TRY(const ShardIndex index, body.finish());
    const Bytes index_bytes = index.serialize();
    receipt_.index = ManifestPart{.key = index_key(name),
                                  .size_bytes = index_bytes.size(),
                                  .crc32c = crc32c(index_bytes),
                                  .role = "index",
                                  .records = receipt_.written};
    receipt_.shard = ManifestPart{.key = name,
                                  .size_bytes = index.shard_bytes(),
                                  .crc32c = index.shard_crc32c(),
                                  .role = "shard",
                                  .split = task_.split,
                                  .records = receipt_.written,
                                  .index = receipt_.index->key,
                                  .blocks = index.blocks(),
                                  .thousandths = thousandths_};
    const Location& output = context_.output;
    const Location index_place = output.at(receipt_.index->key);
    HEADRACE_CHECK(check_size(index_place, index_bytes.size(), kIndexLimit));
    return create_once(index_place, index_bytes);
  }

  Status finish_receipt() {
    HEADRACE_TRY(receipt_.report, report_.write(context_.output, shard_report_key(task_, context_.tag())));
    for (std::size_t i = 0; i < label_features_.size(); ++i) {
      const std::vector<std::string>& names = arrangement_.vocabularies.at(label_features_[i]->name);
      for (std::size_t id = 0; id < names.size(); ++id) {
        if (label_counts_[i][id] > 0)
          receipt_.labels[label_features_[i]->name][names[id]] = label_counts_[i][id];
      }
    }
    const Location place = receipt_location(context_, task_);
    const std::string text = receipt_to_text(receipt_);
    HEADRACE_CHECK(check_size(place, text.size(), kReceiptLimit));
    return write_unless_same(place, as_bytes(text));
  }

  const TaskContext& context_;
  const Arrangement& arrangement_;
  const ShardTask& task_;
  const ShardProgress& progress_;
  std::uint64_t told_rows_ = 0;
  std::uint64_t told_rejected_ = 0;
  std::vector<std::shared_ptr<const RowsReader>> readers_;
  std::optional<OtherSplits> others_;  // no row is written whose id is in one of these splits
  RecordMaker maker_;
  bool has_references_ = false;
  std::vector<const BatchRow*> chosen_;
  std::vector<std::span<const Cell>> cells_;
  // The id and place of the last row whose id differs from the one before.
  std::string last_id_;
  std::uint32_t last_slice_ = 0;
  RowPlace last_place_;
  std::vector<const FeatureDefinition*> label_features_;
  std::vector<std::vector<std::uint64_t>> label_counts_;
  ShardThousandths thousandths_;
  ReportBuilder report_;
  ShardReceipt receipt_;
};

// Whether the objects that a receipt names exist.
Result<bool> is_there(const Location& output, const ShardReceipt& receipt) {
  for (const std::optional<ManifestPart>* part : {&receipt.shard, &receipt.index, &receipt.report}) {
    if (!*part) continue;
    const auto object = output.store->stat(output.at((*part)->key).key, {});
    if (!object && object.error().code != Code::kNotFound) return object.error();
    if (!object || object->size_bytes != (*part)->size_bytes) return false;
    if (object->crc32c && *object->crc32c != (*part)->crc32c) return false;
  }
  return true;
}

}  // namespace

std::string shard_name(const ShardTask& task, std::string_view tag, const std::string& compression) {
  return concat(task.split, "-", tag, "-", zero_padded(task.number, 5), "-of-", zero_padded(task.shards, 5),
                ".tfrecord", compression == "none" ? "" : ".gz");
}

std::string shard_report_key(const ShardTask& task, std::string_view tag) {
  return lines_key("report", tag, concat(task.split, "-", zero_padded(task.number, 5), ".jsonl.gz"));
}

Result<std::optional<ShardReceipt>> find_shard(const TaskContext& context, const ShardTask& task) {
  const Location place = receipt_location(context, task);
  const auto read = read_object(*place.store, place.key, kReceiptLimit.bytes);
  if (!read && read.error().code == Code::kNotFound) return std::optional<ShardReceipt>();
  if (!read) return read.error();
  auto receipt = parse_receipt(as_text(read->data));
  if (!receipt) return std::move(receipt).error().in(place.describe());
  const std::string name = shard_name(task, context.tag(), context.plan.compression);
  const bool is_of_task =
      receipt->split == task.split && receipt->shard.has_value() == receipt->index.has_value() &&
      (!receipt->shard || (receipt->shard->key == name && receipt->index->key == index_key(name)));
  if (!is_of_task) {
    return Error{Code::kDataLoss, concat(place.describe(), " is damaged; start over with --overwrite")};
  }
  HEADRACE_TRY(const bool holds, is_there(context.output, *receipt));
  if (!holds) return std::optional<ShardReceipt>();
  return std::optional(*std::move(receipt));
}

Result<std::vector<std::uint64_t>> unwritten_shards(const TaskContext& context,
                                                    const std::vector<ShardTask>& tasks) {
  std::set<std::string> receipts;
  HEADRACE_CHECK(
      context.output.store->list(context.work_folder().at("shard-").key, {}, [&](const ObjectInfo& object) {
        receipts.insert(object.key);
        return true;
      }));
  std::vector<std::uint64_t> unwritten;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!receipts.contains(receipt_location(context, tasks[i]).key)) unwritten.push_back(i);
  }
  return unwritten;
}

Result<ShardReceipt> write_shard(const TaskContext& context, const Arrangement& arrangement,
                                 const ShardTask& task, const ShardProgress& progress) {
  return ShardTaskRun(context, arrangement, task, progress).write();
}

}  // namespace headrace
