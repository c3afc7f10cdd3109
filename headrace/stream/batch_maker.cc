#include "headrace/stream/batch_maker.h"

#include <algorithm>
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

// A column with one row in the place of each whose weight is 0.
template <typename T>
void repeat_rows(std::vector<T>& values, std::vector<std::int64_t>& offsets, std::span<const float> weights,
                 std::size_t good) {
  std::vector<T> filled;
  std::vector<std::int64_t> filled_offsets = {0};
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const std::size_t from = weights[row] != 0 ? row : good;
    filled.insert(filled.end(), values.begin() + offsets[from], values.begin() + offsets[from + 1]);
    filled_offsets.push_back(static_cast<std::int64_t>(filled.size()));
  }
  values = std::move(filled);
  offsets = std::move(filled_offsets);
}

// Of a byte column the strings, `length` in a row, or as `offsets` says.
void repeat_strings(std::vector<BytesView>& strings, std::optional<std::uint32_t> length,
                    std::vector<std::int64_t>& offsets, std::span<const float> weights, std::size_t good) {
  if (!length) return repeat_rows(strings, offsets, weights, good);
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (weights[row] == 0)
      std::copy_n(strings.begin() + good * *length, *length, strings.begin() + row * *length);
  }
}

void repeat_fixed(std::byte* values, std::uint64_t size_bytes, std::span<const float> weights,
                  std::size_t good) {
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (weights[row] != 0) continue;
    if (good < weights.size()) {
      std::memcpy(values + row * size_bytes, values + good * size_bytes, size_bytes);
    } else {
      std::memset(values + row * size_bytes, 0, size_bytes);
    }
  }
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
      if (!string.empty()) std::memcpy(to, string.data(), string.size());
      to += string.size();
    }
  }
}

void BatchMaker::note(std::string message) {
  ++corrupt_records_;
  if (remarks_.size() < kRemarks) remarks_.push_back(std::move(message));
}

Status BatchMaker::make(std::span<const Window::Place> places, const Describe& describe, Batch& batch) {
  point_to(batch);
  batch.records = 0;
  std::size_t good = batch.rows;  // the first good row
  for (std::size_t row = 0; row < batch.rows; ++row) {
    bool is_good = false;
    if (row + 1 < places.size()) prefetch(places[row + 1]);
    if (row < places.size()) {
      const Window::Place& place = places[row];
      if (place.hole != nullptr) {
        note(place.hole->message);
      } else {
        Status status = decoder_.decode(place.data, buffers_, row);
        is_good = status.has_value();
        if (!is_good) {
          Error error = std::move(status).error().in(describe(row));
          if (policy_ == CorruptionPolicy::kFail) return with_advice(std::move(error));
          note(std::move(error.message));
        }
      }
    }
    end_row(batch, row, is_good);
    batch.records += is_good ? 1 : 0;
    if (is_good && good == batch.rows) good = row;
  }
  if (batch.records < batch.rows) fill_empty_places(batch, good);
  gather_strings(batch);
  return {};
}

void BatchMaker::fill_empty_places(const Batch& batch, std::size_t good) {
  const std::span<const float> weights(batch.weights(), batch.rows);
  for (std::size_t i = 0; i < decoder_.columns().size(); ++i) {
    const Column& column = decoder_.columns()[i];
    VariableColumn& variable = batch.variable(i);
    if (is_fixed(column)) {
      repeat_fixed(batch.column(i), row_bytes(column), weights, good);
    } else if (good == batch.rows) {
      std::ranges::fill(strings_[i], BytesView());  // what is not fixed stays empty
    } else if (column.type == FeatureType::kBytes) {
      repeat_strings(strings_[i], column.length, variable.row_offsets, weights, good);
    } else if (column.type == FeatureType::kFloat32) {
      repeat_rows(variable.floats, variable.row_offsets, weights, good);
    } else {
      repeat_rows(variable.integers, variable.row_offsets, weights, good);
    }
  }
}

}  // namespace headrace
