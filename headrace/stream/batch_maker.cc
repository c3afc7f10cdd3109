#include "headrace/stream/batch_maker.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "headrace/base/text.h"

namespace headrace {
namespace {

constexpr std::size_t kRemarks = 100;

// Asks for a record that comes soon: records lie anywhere in a window, which no cache holds.
void prefetch(const Window::Place& place) {
  constexpr std::size_t kLineBytes = 64, kMostBytes = 4096;
  for (std::size_t at = 0; at < std::min(place.data.size(), kMostBytes); at += kLineBytes)
    __builtin_prefetch(place.data.data() + at);
}

// Large strings go past the caches, which hold no batch of them: half the traffic, and others' data stay.
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

}  // namespace

BatchMaker::BatchMaker(ExampleDecoder decoder, CorruptionPolicy policy)
    : decoder_(std::move(decoder)), policy_(policy), strings_(decoder_.columns().size()) {}

Result<BatchMaker> BatchMaker::create(const std::vector<Column>& columns, CorruptionPolicy policy) {
  HEADRACE_TRY(ExampleDecoder decoder, ExampleDecoder::create(columns));
  return BatchMaker(std::move(decoder), policy);
}

// Lets the decoder write into the batch: numbers in their place, strings as views until they are gathered.
void BatchMaker::point_to(const Batch& batch) {
  buffers_.clear();
  for (std::size_t i = 0; i < decoder_.columns().size(); ++i) {
    const Column& column = decoder_.columns()[i];
    VariableColumn& variable = batch.variable(i);
    const bool is_float = column.type == FeatureType::kFloat32;
    if (column.type == FeatureType::kBytes) {
      strings_[i].assign(batch.rows * column.length.value_or(0), {});
      if (column.length) {
        buffers_.emplace_back(strings_[i].data());
      } else {
        buffers_.emplace_back(&strings_[i]);
      }
    } else if (is_fixed(column)) {
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
  for (std::size_t i = 0; i < decoder_.columns().size(); ++i) {
    const Column& column = decoder_.columns()[i];
    if (column.length) continue;
    VariableColumn& variable = batch.variable(i);
    const std::size_t size = column.type == FeatureType::kBytes     ? strings_[i].size()
                             : column.type == FeatureType::kFloat32 ? variable.floats.size()
                                                                    : variable.integers.size();
    variable.row_offsets.push_back(static_cast<std::int64_t>(size));
  }
}

// Copies what the views of byte columns show, since the records go.
void BatchMaker::gather_strings(const Batch& batch) {
  for (std::size_t i = 0; i < decoder_.columns().size(); ++i) {
    if (decoder_.columns()[i].type != FeatureType::kBytes) continue;
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

Status BatchMaker::make(std::span<const Window::Place> places, const RecordOfBatch& record,
                        const Describe& describe, Batch& batch) {
  point_to(batch);
  batch.records = 0;
  std::uint64_t first_good = 0;  // of all ranks' records, as far as that was looked for
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (row + 1 < places.size()) prefetch(places[row + 1]);
    bool is_good = false;
    if (row < places.size()) {
      HEADRACE_TRY(is_good, decode(places[row], describe, row));
    }
    if (!is_good && !repeat(record, first_good, row)) clear(batch, row);
    end_row(batch, row, is_good);
    batch.records += is_good ? 1 : 0;
  }
  gather_strings(batch);
  return {};
}

// False if it is a hole.
Result<bool> BatchMaker::decode(const Window::Place& place, const Describe& describe, std::size_t row) {
  if (place.hole != nullptr) {
    note(place.hole->message);
    return false;
  }
  Status status = decoder_.decode(place.data, buffers_, row);
  if (status) return true;
  Error error = std::move(status).error().in(describe(row));
  if (policy_ == CorruptionPolicy::kFail) return with_advice(std::move(error));
  note(std::move(error.message));
  return false;
}

// The batch's first good record again, looked for from number `first_good` on; false if there is none.
bool BatchMaker::repeat(const RecordOfBatch& record, std::uint64_t& first_good, std::size_t row) {
  for (; const std::optional<Window::Place> place = record(first_good); ++first_good) {
    if (place->hole == nullptr && decoder_.decode(place->data, buffers_, row)) return true;
  }
  return false;
}

void BatchMaker::clear(const Batch& batch, std::size_t row) {
  for (std::size_t i = 0; i < decoder_.columns().size(); ++i) {
    const Column& column = decoder_.columns()[i];
    if (is_fixed(column)) {
      std::memset(batch.column(i) + row * row_bytes(column), 0, row_bytes(column));
    } else if (column.length) {
      std::fill_n(strings_[i].begin() + static_cast<std::ptrdiff_t>(row * *column.length), *column.length,
                  BytesView());
    }
  }
}

}  // namespace headrace
