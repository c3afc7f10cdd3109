#include "headrace/stream/source.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"
#include "headrace/record/tfrecord.h"
#include "headrace/stream/record_finder.h"

namespace headrace {
namespace {

constexpr int kIndexThreads = 8;  // how many indexes are requested at the same time
// In exact order, records of a plain shard that lie closer together than this are fetched in one request.
constexpr std::uint64_t kGapBytes = 64 << 10;
// If the store keeps ranges and a window needs only a small part of a block, pieces of this size are fetched.
// In a disk cache each piece is a file, so smaller pieces would make too many files.
constexpr std::uint64_t kSmallPieceBytes = 256 << 10;
constexpr std::uint64_t kWholeBlock = std::uint64_t{1} << 62;  // larger than any block
constexpr std::uint64_t kMaxExactWindowRecords = 1 << 20;
// Memory for a kept record that is a block of its own: the number of the record, the members of Kept, the
// block, and the number of its first record.
constexpr double kKeptRecordBytes = 4 + 8 + 8 + 8 + sizeof(DatasetBlock) + sizeof(std::map<int, Error>);
// Memory for each record of a window that is arranged. Its value and its number count twice, because two
// windows may share the blocks of an epoch. The rest is the memory that arranging takes.
constexpr std::uint64_t kArrangedRecordBytes = 2 * (8 + 4) + 28;

// The index of a lost shard: its records are counted, but never read.
Result<ShardIndex> index_of_holes(std::uint64_t record_count) {
  ShardIndexBuilder builder(ShardEncoding::kPlain);
  for (std::uint64_t i = 0; i < record_count; ++i) builder.add_record(0);
  return std::move(builder).finish(record_count * kRecordFramingBytes, 0);
}

// The first record of the block that begins at or after `offset`. If there is none, one beyond the last
// record.
std::uint64_t first_record_from(const ShardIndex& index, const DatasetBlock& block, std::uint64_t offset) {
  std::uint64_t first = block.first_record, end = first + block.record_count;
  while (first < end) {
    const std::uint64_t middle = first + (end - first) / 2;
    if (index.record_offset(middle) < offset) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

double bytes_for_each(const OrderBlock& block) {
  return static_cast<double>(block.size_bytes) / static_cast<double>(block.record_count);
}

Status check_parts(const Dataset& dataset, const SourceOptions& options) {
  const std::uint64_t all = dataset.record_count();
  const RecordRange range = options.range.value_or(RecordRange{0, all});
  if (range.first > all || range.count > all - range.first)
    return Error{Code::kInvalidArgument,
                 concat(range.count, " records from record ", range.first, " on are not all in ",
                        dataset.describe(), ", which has ", all, " records")};
  if (!options.selection) return {};
  const std::vector<std::uint64_t>& numbers = options.selection->numbers;
  const bool is_ascending = std::ranges::adjacent_find(numbers, std::greater_equal<>()) == numbers.end();
  if (is_ascending && (numbers.empty() || numbers.back() < range.count)) return {};
  return Error{Code::kInvalidArgument, concat("the selection ", options.selection->name,
                                              " has a record twice, or a record that is not among the ",
                                              range.count, " records of ", dataset.describe())};
}

}  // namespace

Status Window::load(std::size_t i, BlockLoader& loader, ValueReader* values, const CallOptions& call) {
  HEADRACE_TRY(LoadedBlock block, loader.load(blocks_[i], call));
  if (values != nullptr) HEADRACE_CHECK(read_values(i, block, *values));
  if (kept_) return keep(i, block);
  loaded_[i] = std::make_shared<const LoadedBlock>(std::move(block));
  return {};
}

Status Window::load_values(std::size_t i, BlockLoader& loader, ValueReader& values, const CallOptions& call) {
  HEADRACE_TRY(const LoadedBlock block, loader.load(blocks_[i], call));
  return read_values(i, block, values);
}

Status Window::read_values(std::size_t i, const LoadedBlock& block, ValueReader& values) {
  for (std::uint64_t number = first_records_[i]; number < end_of(i); ++number) {
    const std::uint64_t record = in_block(i, number);
    if (block.hole(record) != nullptr) {
      values_[number] = kNoValue;
      continue;
    }
    HEADRACE_TRY(values_[number],
                 values.read(blocks_[i].shard, blocks_[i].first_record + record, block.data(record)));
  }
  return {};
}

// Copies the wanted records to their places. No other block writes to the same places.
Status Window::keep(std::size_t i, const LoadedBlock& block) {
  for (std::uint64_t number = first_records_[i]; number < end_of(i); ++number) {
    auto record = block.record(kept_->wanted[number]);
    const std::uint64_t begin = kept_->offsets[number];
    const MutableBytesView target = kept_->data.bytes().subspan(begin, kept_->offsets[number + 1] - begin);
    if (record && record->size() != target.size())
      return Error{Code::kDataLoss, concat("a record has ", record->size(), " bytes, but its index says ",
                                           target.size(), "; prepare the dataset again")};
    if (record) {
      std::ranges::copy(*record, target.begin());
    } else {
      kept_->holes[i].emplace(number, std::move(record).error());
    }
  }
  return {};
}

bool Window::is_same_epoch(const Window& other) const {
  const bool is_epoch = first_position_ == 0 && record_count_ == order_->record_count();
  return is_epoch && other.record_count_ == record_count_ && !kept_;
}

void Window::share(const Window& from) {
  // Both windows have the same blocks, in another order.
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto same = std::ranges::find_if(from.blocks_, [&](const DatasetBlock& block) {
      return block.shard == blocks_[i].shard && block.first_record == blocks_[i].first_record;
    });
    const auto number = static_cast<std::size_t>(same - from.blocks_.begin());
    loaded_[i] = from.loaded_[number];
    if (values_.empty()) continue;
    const auto values = std::span(from.values_).subspan(from.first_records_[number]);
    std::copy_n(values.begin(), end_of(i) - first_records_[i], values_.data() + first_records_[i]);
  }
}

// The number of the record at position `position` of the window.
std::uint64_t Window::number_at(std::uint64_t position) const {
  return numbers_.empty() ? order_->record_in_window(key_, record_count_, position) : numbers_[position];
}

std::size_t Window::block_of(std::uint64_t number) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(first_records_, number) - first_records_.begin()) -
         1;
}

// One beyond the number of the block's last record.
std::uint64_t Window::end_of(std::size_t block) const {
  return block + 1 < first_records_.size() ? first_records_[block + 1] : record_count_;
}

// The place of the record with this number within the block.
std::uint64_t Window::in_block(std::size_t block, std::uint64_t number) const {
  return kept_ ? kept_->wanted[number]
               : parts_[block].in_block(number - first_records_[block], selection_.get());
}

void Window::arrange() {
  std::vector<std::uint32_t> numbers(record_count_);
  std::vector<std::int64_t> values(record_count_);
  for (std::uint64_t i = 0; i < record_count_; ++i) {
    const std::uint64_t number = number_at(i);
    numbers[i] = static_cast<std::uint32_t>(number);
    values[i] = values_[number];
  }
  const bool is_balanced = to_arrange_.kind == ArrangementKind::kBalance;
  numbers_ = is_balanced ? balanced_order(values, to_arrange_.seed)
                         : bucketed_order(values, to_arrange_.seed, first_position_, to_arrange_.batch_size);
  for (std::uint32_t& place : numbers_) place = numbers[place];
}

Window::Place Window::place(std::uint64_t position) const {
  const std::uint64_t number = number_at(position - first_position_);
  const std::size_t block = block_of(number);
  if (!kept_) {
    const std::uint64_t record = in_block(block, number);
    const Error* hole = loaded_[block]->hole(record);
    return {hole == nullptr ? loaded_[block]->data(record) : BytesView(), hole};
  }
  const auto hole = kept_->holes[block].find(number);
  if (hole != kept_->holes[block].end()) return {{}, &hole->second};
  const std::uint64_t begin = kept_->offsets[number];
  return {kept_->data.view().subspan(begin, kept_->offsets[number + 1] - begin)};
}

SourceRecord Window::record(std::uint64_t position) const {
  const std::uint64_t number = number_at(position - first_position_);
  const std::size_t block = block_of(number);
  return {blocks_[block].shard, blocks_[block].first_record + in_block(block, number)};
}

Source::Source(std::shared_ptr<const Dataset> dataset, const SourceOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  const RecordRange range = options.range.value_or(RecordRange{0, dataset_->record_count()});
  const DataOrder order = dataset_->order(options_.order_version);
  const std::vector<std::uint64_t> begins = order.cut(range.first);
  const std::vector<std::uint64_t> ends = order.cut(range.first + range.count);
  std::uint64_t in_range = 0;  // records of the range in the blocks so far
  for (const std::uint32_t shard : order.shards()) {
    auto block = std::ranges::lower_bound(dataset_->blocks(), shard, {}, &DatasetBlock::shard);
    for (; block != dataset_->blocks().end() && block->shard == shard; ++block) {
      const std::uint64_t first = std::max(block->first_record, begins[shard]);
      const std::uint64_t end = std::min(block->first_record + block->record_count, ends[shard]);
      if (first >= end) continue;
      add_part({.block = static_cast<std::uint64_t>(block - dataset_->blocks().begin()),
                .record_count = end - first,
                .first = record_count_,
                .skipped = first - block->first_record,
                .begin = in_range});
      in_range += end - first;
    }
  }
}

// `part` covers all records of the block that lie in the range. A block without a selected record is left
// out.
void Source::add_part(BlockPart part) {
  if (options_.selection) {
    const std::vector<std::uint64_t>& numbers = options_.selection->numbers;
    const auto from = numbers.begin() + static_cast<std::ptrdiff_t>(record_count_);
    const auto to = std::lower_bound(from, numbers.end(), part.begin + part.record_count);
    part.record_count = static_cast<std::uint64_t>(to - from);
  }
  if (part.record_count == 0) return;
  parts_.push_back(part);
  order_blocks_.push_back({part.record_count, dataset_->blocks()[part.block].stream_bytes});
  record_count_ += part.record_count;
}

Result<std::unique_ptr<Source>> Source::create(std::shared_ptr<const Dataset> dataset,
                                               const SourceOptions& options, const CallOptions& call,
                                               std::vector<std::string>& remarks) {
  HEADRACE_CHECK(check_parts(*dataset, options));
  auto source = std::unique_ptr<Source>(new Source(std::move(dataset), options));
  const std::uint64_t most = (source->block_bytes() + options.window_bytes) / kRecordFramingBytes;
  if (options.arrangement != ArrangementKind::kNone && std::min(most, source->record_count()) >> 32 != 0)
    return Error{
        Code::kInvalidArgument,
        concat(arrangement_name(options.arrangement), " in windows of ", format_size(options.window_bytes),
               ", which may hold 2^32 records or more; make windows smaller")};
  if (options.mode != ShuffleMode::kExact) return source;
  if (source->dataset_->is_in_store() && source->dataset_->location().store->capabilities().keeps_ranges)
    source->piece_bytes_ = source->recurring_bytes();
  const Dataset& data = *source->dataset_;
  std::vector<Result<ShardIndex>> indexes(data.shards().size(), Error{});
  std::vector<std::string> found(indexes.size());
  HEADRACE_CHECK(parallel_for(kIndexThreads, indexes.size(), [&](std::size_t i) -> Status {
    const DatasetShard& shard = data.shards()[i];
    indexes[i] = shard.lost ? index_of_holes(shard.record_count)
                            : data.shard_index(static_cast<std::uint32_t>(i), call, found[i]);
    return indexes[i] ? Status{} : Status(indexes[i].error());
  }));
  for (Result<ShardIndex>& index : indexes) source->indexes_.push_back(*std::move(index));
  for (std::string& remark : found) {
    if (!remark.empty()) remarks.push_back(std::move(remark));
  }
  return source;
}

std::shared_ptr<const EpochOrder> Source::order(std::uint64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (last_order_ == nullptr || last_epoch_ != epoch) {
    // In dataset order, a window is one block: there is no reason to wait for more.
    const std::uint64_t window_bytes = options_.mode == ShuffleMode::kNone ? 0 : options_.window_bytes;
    last_order_ =
        std::make_shared<const EpochOrder>(options_.seed, epoch, order_blocks_, options_.mode, window_bytes);
    last_epoch_ = epoch;
  }
  return last_order_;
}

double Source::mean_record_bytes() const {
  std::uint64_t bytes = 0, records = 0;
  for (const BlockPart& part : parts_) {
    bytes += dataset_->blocks()[part.block].stream_bytes;
    records += dataset_->blocks()[part.block].record_count;
  }
  return records == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(records);
}

std::uint64_t Source::exact_window_records() const {
  const double fit = static_cast<double>(options_.window_bytes) / std::max(1.0, mean_record_bytes());
  return std::clamp(static_cast<std::uint64_t>(fit), std::uint64_t{1}, kMaxExactWindowRecords);
}

bool Source::is_held_whole() const {
  if (options_.mode == ShuffleMode::kExact) return false;
  if (options_.mode == ShuffleMode::kNone) return parts_.size() <= 1;
  // A window ends with the block that fills it, and that may be the smallest block.
  std::uint64_t all_bytes = 0, smallest = 0;
  for (const OrderBlock& block : order_blocks_) {
    smallest = all_bytes == 0 ? block.size_bytes : std::min(smallest, block.size_bytes);
    all_bytes += block.size_bytes;
  }
  return all_bytes - smallest < options_.window_bytes;
}

std::uint64_t Source::window_at(std::uint64_t epoch, std::uint64_t position) const {
  if (options_.mode == ShuffleMode::kExact) return position / exact_window_records();
  return order(epoch)->window_at(position);
}

std::unique_ptr<Window> Source::window(std::uint64_t epoch, std::uint64_t number, BufferPool& pool) const {
  auto window = options_.mode == ShuffleMode::kExact ? exact_window(epoch, number, pool)
                                                     : window_of_blocks(epoch, number);
  if (options_.arrangement != ArrangementKind::kNone) window->values_.resize(window->record_count_);
  window->to_arrange_ = {options_.arrangement, arrangement_seed(options_.seed, epoch, number),
                         options_.batch_size};
  return window;
}

std::unique_ptr<Window> Source::window_of_blocks(std::uint64_t epoch, std::uint64_t number) const {
  auto window = std::unique_ptr<Window>(new Window);
  window->order_ = order(epoch);
  const EpochOrder::Window& from = window->order_->windows()[number];
  window->epoch_ = epoch;
  window->first_position_ = from.first_position;
  window->record_count_ = from.record_count;
  window->key_ = window->order_->window_key(number);
  std::uint64_t records = 0;
  for (std::uint64_t i = from.first_block; i < from.first_block + from.block_count; ++i) {
    const BlockPart& part = parts_[window->order_->permuted_blocks()[i]];
    window->blocks_.push_back(dataset_->blocks()[part.block]);
    window->parts_.push_back(part);
    window->first_records_.push_back(records);
    records += part.record_count;
  }
  window->selection_ = options_.selection;
  window->loaded_.resize(window->blocks_.size());
  return window;
}

SourceRecord Source::record_of(const OrderedRecord& ordered) const {
  const BlockPart& part = parts_[ordered.block];
  const DatasetBlock& block = dataset_->blocks()[part.block];
  return {block.shard, block.first_record + part.in_block(ordered.record, options_.selection.get())};
}

SourceRecord Source::at(std::uint64_t epoch, std::uint64_t position) const {
  return record_of(order(epoch)->at(position));
}

// Returns true if the unit holds the record, or has been extended to hold it. REQUIRES: the record comes
// after the unit's first record
bool Source::joins(DatasetBlock& unit, const SourceRecord& record) const {
  if (record.shard != unit.shard) return false;
  if (record.record < unit.first_record + unit.record_count) return true;
  const ShardIndex& index = indexes_[record.shard];
  if (piece_bytes_ > 0 || is_compressed(index.encoding())) return false;
  const std::uint64_t begin = index.record_offset(record.record);
  const std::uint64_t end = begin + index.record_bytes(record.record);
  if (begin - (unit.stream_offset + unit.stream_bytes) > kGapBytes || end - unit.stream_offset > kBlockBytes)
    return false;
  unit.record_count = record.record + 1 - unit.first_record;
  unit.stored_bytes = unit.stream_bytes = end - unit.stream_offset;
  return true;
}

// The size of the pieces that recur in every epoch. If a window needs a record of nearly every piece, blocks
// are fetched whole.
std::uint64_t Source::recurring_bytes() const {
  const std::uint64_t records = std::min(exact_window_records(), record_count());
  // Do not compute this as the number of records times their mean size: a selection may have few records of
  // each block.
  std::uint64_t bytes = 0;
  for (const OrderBlock& block : order_blocks_) bytes += block.size_bytes;
  return bytes <= records * kSmallPieceBytes ? kWholeBlock : kSmallPieceBytes;
}

// The unit that is fetched for a record. Which other records a window needs is random, so joining them
// (`joins`) would make new ranges in each epoch, which no cache has. Compressed members never change. Neither
// do the groups of records of a block that begin in the same piece of it.
DatasetBlock Source::unit_around(const SourceRecord& record) const {
  const ShardIndex& index = indexes_[record.shard];
  if (piece_bytes_ == 0 || is_compressed(index.encoding()))
    return block_around(index, record.shard, record.record);
  const auto place = [](const DatasetBlock& block) { return std::pair(block.shard, block.first_record); };
  const DatasetBlock& block =
      *(std::ranges::upper_bound(dataset_->blocks(), std::pair(record.shard, record.record), {}, place) - 1);
  const std::uint64_t begin = index.record_offset(block.first_record);
  const std::uint64_t piece = (index.record_offset(record.record) - begin) / piece_bytes_;
  const std::uint64_t first = first_record_from(index, block, begin + piece * piece_bytes_);
  const std::uint64_t end = first_record_from(index, block, begin + (piece + 1) * piece_bytes_);
  const std::uint64_t offset = index.record_offset(first), bytes = index.record_offset(end) - offset;
  return {record.shard, first, end - first, offset, bytes, offset, bytes};
}

std::uint64_t Source::number_at(std::uint64_t epoch, std::uint64_t position) const {
  const OrderedRecord ordered = order(epoch)->at(position);
  return parts_[ordered.block].first + ordered.record;
}

std::unique_ptr<Window> Source::exact_window(std::uint64_t epoch, std::uint64_t number,
                                             BufferPool& pool) const {
  auto window = std::unique_ptr<Window>(new Window);
  const std::uint64_t each = exact_window_records();
  window->epoch_ = epoch;
  window->first_position_ = number * each;
  window->record_count_ = std::min(each, record_count() - window->first_position_);
  window->order_ = order(epoch);
  std::vector<SourceRecord> records(window->record_count_);
  for (std::uint64_t i = 0; i < records.size(); ++i)
    records[i] = record_of(window->order_->at(window->first_position_ + i));
  std::vector<std::uint32_t> by_place(records.size());
  std::iota(by_place.begin(), by_place.end(), 0U);
  std::ranges::sort(by_place, {},
                    [&](std::uint32_t i) { return std::pair(records[i].shard, records[i].record); });
  Window::Kept& kept = window->kept_.emplace();
  window->numbers_.resize(records.size());
  kept.wanted.reserve(records.size());
  kept.offsets.reserve(records.size() + 1);
  kept.offsets.push_back(0);
  for (std::uint32_t rank = 0; rank < by_place.size(); ++rank) {
    const SourceRecord& record = records[by_place[rank]];
    const ShardIndex& index = indexes_[record.shard];
    if (window->blocks_.empty() || !joins(window->blocks_.back(), record)) {
      window->blocks_.push_back(unit_around(record));
      window->first_records_.push_back(rank);
    }
    window->numbers_[by_place[rank]] = rank;
    kept.wanted.push_back(record.record - window->blocks_.back().first_record);
    kept.offsets.push_back(kept.offsets.back() + index.record_bytes(record.record) - kRecordFramingBytes);
  }
  window->blocks_.shrink_to_fit();
  window->first_records_.shrink_to_fit();
  kept.holes.resize(window->blocks_.size());
  kept.data = pool.take(kept.offsets.back());
  return window;
}

std::uint64_t Source::block_bytes() const {
  std::uint64_t most = 0;
  for (const BlockPart& part : parts_) most = std::max(most, dataset_->blocks()[part.block].stream_bytes);
  return most;
}

std::uint64_t Source::reading_bytes() const {
  std::uint64_t most = 0;
  for (const BlockPart& part : parts_) {
    const DatasetBlock& block = dataset_->blocks()[part.block];
    const DatasetShard& shard = dataset_->shards()[block.shard];
    most = std::max(most, shard.kind->reading_bytes(shard, block));
  }
  return most;
}

// Memory for the records besides their content, in bytes per 1,024 bytes of a block. This is the number for
// the block with the smallest records, which is the largest.
std::uint64_t Source::records_share() const {
  const bool is_arranged = options_.arrangement != ArrangementKind::kNone;
  const std::uint64_t each = sizeof(std::uint64_t) + (is_arranged ? kArrangedRecordBytes : 0);
  std::uint64_t most = 0;
  for (const BlockPart& part : parts_) {
    const DatasetBlock& block = dataset_->blocks()[part.block];
    most = std::max(most, block.record_count * each * 1024 / block.stream_bytes);
  }
  return most + 1;
}

// Memory for an average record in exact order.
double Source::kept_record_bytes() const {
  const bool is_arranged = options_.arrangement != ArrangementKind::kNone;
  return mean_record_bytes() + kKeptRecordBytes + (is_arranged ? kArrangedRecordBytes : 0);
}

std::uint64_t Source::selection_bytes() const {
  return options_.selection ? record_count_ * sizeof(std::uint64_t) : 0;
}

std::uint64_t Source::window_memory_bytes() const {
  if (options_.mode == ShuffleMode::kExact) {
    const double each = kept_record_bytes();
    const std::uint64_t records = std::min(exact_window_records(), record_count());
    return static_cast<std::uint64_t>(each * static_cast<double>(records));
  }
  std::uint64_t all_bytes = 0;
  for (const OrderBlock& block : order_blocks_) all_bytes += block.size_bytes;
  const std::uint64_t window_bytes = options_.mode == ShuffleMode::kNone ? 0 : options_.window_bytes;
  const std::uint64_t bytes = std::min(all_bytes, window_bytes + block_bytes());
  return bytes + bytes / 1024 * records_share();
}

// The largest size of blocks that together hold `records` records of one epoch. The blocks with the largest
// records count first.
double Source::bytes_of_scarcest(std::uint64_t records) const {
  std::vector<OrderBlock> blocks = order_blocks_;
  std::ranges::sort(blocks, std::greater<>(), bytes_for_each);
  double bytes = 0;
  for (const OrderBlock& block : blocks) {
    const std::uint64_t taken = std::min(records, block.record_count);
    bytes += bytes_for_each(block) * static_cast<double>(taken);
    records -= taken;
  }
  return bytes;
}

// The same for `records` consecutive records that may span several epochs. The blocks with the largest
// records may lie at the end of one epoch and at the beginning of the next. Within an epoch, more records
// never need more bytes per record. So the total is largest if each epoch has an equal share.
double Source::bytes_over_epochs(std::uint64_t records) const {
  double most_for_each = 0;
  for (const OrderBlock& block : order_blocks_)
    most_for_each = std::max(most_for_each, bytes_for_each(block));
  const std::uint64_t epochs = records / std::max<std::uint64_t>(record_count_, 1) + 2;
  const std::uint64_t part = records / epochs + (records % epochs == 0 ? 0 : 1);
  return std::min(most_for_each * static_cast<double>(records),
                  bytes_of_scarcest(part) * static_cast<double>(epochs));
}

std::uint64_t Source::span_memory_bytes(std::uint64_t records, bool reaches_over_epochs) const {
  double bytes = kept_record_bytes() * static_cast<double>(records);
  if (options_.mode != ShuffleMode::kExact)
    bytes = reaches_over_epochs ? bytes_over_epochs(records) : bytes_of_scarcest(records);
  // No machine has so much memory. Without this limit, later sums could wrap around.
  constexpr double kMostBytes = 1LL << 60;
  return static_cast<std::uint64_t>(
      std::min(bytes + bytes / 1024 * static_cast<double>(records_share()), kMostBytes));
}

}  // namespace headrace
