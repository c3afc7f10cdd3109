#include "headrace/stream/batch_maker.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "headrace/base/text.h"
#include "headrace/record/example_decoder.h"

namespace headrace {
namespace {

constexpr std::size_t kRemarks = 100;

// Prefetches a record that is needed soon. Records lie anywhere in a window, and no cache holds a whole
// window.
void prefetch(const Window::Place& place) {
  constexpr std::size_t kLineBytes = 64, kMostBytes = 4096;
  for (std::size_t at = 0; at < std::min(place.data.size(), kMostBytes); at += kLineBytes)
    __builtin_prefetch(place.data.data() + at);
}

// Large strings bypass the caches, which cannot hold a batch of them. This halves the memory traffic, and
// other data stay in the caches.
void copy(std::byte* to, BytesView from) {
#if defined(__SSE2__)
  constexpr std::size_t kLargeBytes = 32 << 10, kLineBytes = 64;
  if (from.size() >= kLargeBytes) {
    const std::size_t head = (kLineBytes - reinterpret_cast<std::uintptr_t>(to) % kLineBytes) % kLineBytes;
    std::memcpy(to, from.data(), head);
    const std::size_t end = head + (from.size() - head) / kLineBytes * kLineBytes;
    for (std::size_t at = head; at < end; at += kLineBytes) {
      const auto* source = reinterpret_cast<const __m128i*>(from.data() + at);
      auto* target = reinterpret_cast<__m128i*>(to + at);
      const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a), _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c), _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
    return (void)std::memcpy(to + end, from.data() + end, from.size() - end);
  }
#endif
  std::memcpy(to, from.data(), from.size());
}

// The shard is intact: the image was already damaged when the dataset was made.
Error with_image_advice(Error error) {
  error.message += "; replace the image, or leave such records out with --on-corrupt skip-record";
  return error;
}

}  // namespace

BatchMaker::BatchMaker(std::unique_ptr<RecordDecoder> decoder, const LoaderOptions& options,
                       PictureMemory& pictures, std::string_view advice)
    : decoder_(std::move(decoder)),
      columns_(batch_columns(options.columns, options.images)),
      reader_(options.seed, options.images.augmentations, pictures),
      batch_size_(options.batch_size),
      policy_(options.on_corrupt),
      advice_(advice),
      strings_(columns_.size()) {
  for (const Column& column : decoder_->columns()) {
    const auto image = options.images.columns.find(column.name);
    images_.push_back(image == options.images.columns.end() ? std::nullopt : std::optional(image->second));
  }
}

Result<BatchMaker> BatchMaker::create(const LoaderOptions& options, PictureMemory& pictures) {
  HEADRACE_TRY(ExampleDecoder decoder, ExampleDecoder::create(options.columns));
  return BatchMaker(std::make_unique<ExampleDecoder>(std::move(decoder)), options, pictures);
}

// Lets the decoder write into the batch: numbers into their final place, strings as views until
// `gather_strings` copies them.
void BatchMaker::point_to(const Batch& batch) {
  buffers_.clear();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = decoder_->columns()[i];
    VariableColumn& variable = batch.variable(i);
    const bool is_float = column.type == DataType::kFloat32;
    if (column.type == DataType::kBytes) {
      strings_[i].assign(batch.rows * column.length.value_or(0), {});
      if (column.length) {
        buffers_.emplace_back(strings_[i].data());
      } else {
        buffers_.emplace_back(&strings_[i]);
      }
    } else if (column.length) {
      if (is_float) {
        buffers_.emplace_back(reinterpret_cast<float*>(batch.column(i)));
      } else {
        buffers_.emplace_back(reinterpret_cast<std::int64_t*>(batch.column(i)));
      }
    } else if (is_float) {
      buffers_.emplace_back(&variable.floats);
    } else {
      buffers_.emplace_back(&variable.integers);
    }
    if (!column.length) variable.row_offsets.push_back(0);
  }
}

void BatchMaker::end_row(const Batch& batch, std::size_t row, bool is_good) {
  batch.weights()[row] = is_good ? 1.0F : 0.0F;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].length) continue;
    VariableColumn& variable = batch.variable(i);
    const std::size_t size = columns_[i].type == DataType::kBytes     ? strings_[i].size()
                             : columns_[i].type == DataType::kFloat32 ? variable.floats.size()
                                                                      : variable.integers.size();
    variable.row_offsets.push_back(static_cast<std::int64_t>(size));
  }
}

// Removes the values that a row has appended, because the row turned out to be bad.
void BatchMaker::undo_row(const Batch& batch) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].length) continue;
    VariableColumn& variable = batch.variable(i);
    const auto size = static_cast<std::size_t>(variable.row_offsets.back());
    if (columns_[i].type == DataType::kBytes) {
      strings_[i].resize(size);
    } else if (columns_[i].type == DataType::kFloat32) {
      variable.floats.resize(size);
    } else {
      variable.integers.resize(size);
    }
  }
}

// Copies the strings that the views of byte columns refer to, since the records are released afterwards.
void BatchMaker::gather_strings(const Batch& batch) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i].type != DataType::kBytes) continue;
    VariableColumn& variable = batch.variable(i);
    variable.byte_offsets.reserve(strings_[i].size() + 1);
    variable.byte_offsets.push_back(0);
    for (const BytesView string : strings_[i])
      variable.byte_offsets.push_back(variable.byte_offsets.back() +
                                      static_cast<std::int64_t>(string.size()));
    variable.bytes.resize(static_cast<std::size_t>(variable.byte_offsets.back()));
    std::byte* to = variable.bytes.data();
    for (const BytesView string : strings_[i]) {
      if (!string.empty()) copy(to, string);
      to += string.size();
    }
  }
}

void BatchMaker::note(std::string message) {
  ++corrupt_records_;
  if (remarks_.size() < kRemarks) remarks_.push_back(std::move(message));
}

std::byte* BatchMaker::place_of(const Batch& batch, std::size_t column, std::size_t row) const {
  return batch.column(column) + row * row_bytes(columns_[column]);
}

Status BatchMaker::make(const Records& records, Batch& batch) {
  point_to(batch);
  decoder_->drop_strings();
  batch.records = 0;
  Repeated repeated;
  const std::span<const Window::Place> places = records.places;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (records.stop.stop_requested()) return Error{Code::kCancelled, "reading was stopped"};
    if (row + 1 < places.size()) prefetch(places[row + 1]);
    bool is_good = false;
    if (row < places.size()) {
      HEADRACE_TRY(is_good, make_row(records, batch, row));
    }
    if (!is_good && !repeat(records, batch, repeated, row)) clear(batch, row);
    end_row(batch, row, is_good);
    batch.records += is_good ? 1 : 0;
  }
  gather_strings(batch);
  return {};
}

// Returns false if the record is a hole.
Result<bool> BatchMaker::make_row(const Records& records, const Batch& batch, std::size_t row) {
  const Window::Place& place = records.places[row];
  if (place.hole != nullptr) {
    note(place.hole->message);
    return false;
  }
  Status status = decoder_->decode(place.data, buffers_, row);
  const bool is_decoded = static_cast<bool>(status);
  if (is_decoded) status = read_images(batch, records.first + row, row);
  if (status) return true;
  Error error = std::move(status).error().in(records.describe(row));
  if (!is_decoded && !is_error_of_record(error.code)) return error;
  if (policy_ == CorruptionPolicy::kFail)
    return is_decoded ? with_image_advice(std::move(error)) : with_advice(std::move(error), advice_);
  note(std::move(error.message));
  return false;
}

// Decodes the encoded images that the decoder has found. After an error, removes all values that the row has
// appended.
Status BatchMaker::read_images(const Batch& batch, std::uint64_t number, std::size_t row) {
  const DrawPosition at{batch.epoch, batch.number * batch_size_ + number};
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (!images_[i]) continue;
    Status status = reader_.read(strings_[i][row], *images_[i], at, place_of(batch, i, row));
    if (status) continue;
    undo_row(batch);
    return std::move(status).error().in(concat("feature \"", decoder_->columns()[i].name, "\""));
  }
  return {};
}

// Fills the row with the batch's first good record; returns false if there is none.
bool BatchMaker::repeat(const Records& records, const Batch& batch, Repeated& repeated, std::size_t row) {
  for (; const std::optional<Window::Place> place = records.find(repeated.number); ++repeated.number) {
    if (place->hole != nullptr || !decoder_->decode(place->data, buffers_, row)) continue;
    if (repeated.row) {
      copy_images(batch, *repeated.row, row);
    } else if (!read_images(batch, repeated.number, row)) {
      continue;
    }
    repeated.row = row;
    return true;
  }
  return false;
}

void BatchMaker::copy_images(const Batch& batch, std::size_t from_row, std::size_t row) {
  for (std::size_t i = 0; i < images_.size(); ++i) {
    if (!images_[i]) continue;
    std::memcpy(place_of(batch, i, row), place_of(batch, i, from_row), row_bytes(columns_[i]));
  }
}

void BatchMaker::clear(const Batch& batch, std::size_t row) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (is_fixed(columns_[i])) {
      std::memset(place_of(batch, i, row), 0, row_bytes(columns_[i]));
    } else if (columns_[i].length) {
      const std::uint32_t length = *columns_[i].length;
      std::fill_n(strings_[i].begin() + static_cast<std::ptrdiff_t>(row * length), length, BytesView());
    }
  }
}

}  // namespace headrace
