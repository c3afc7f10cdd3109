#include "headrace/engine/use/network.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headrace/engine/use/tanh.h"

namespace headrace {
namespace {

constexpr std::int32_t kPadding = -1;
constexpr std::size_t kHalo = 2;  // how far a window extends beyond the token in its middle
// With a stride of whole pages, the rows would compete for the same lines of the first-level cache.
constexpr std::size_t kEmbeddedStride = kEmbeddingSize + 16;
// The number of rows at the cut edge of a text whose features depend on tokens beyond the edge: the reach of
// two convolutions.
constexpr std::size_t kUnsettled = 2 * kHalo;

void add_rows(const float* from, float* to, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) to[i] += from[i];
}

void relu(float* values, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) values[i] = values[i] > 0 ? values[i] : 0;
}

}  // namespace

void Network::begin_text(float* out) {
  if (rows_.size() + 2 * kHalo + 2 * kUnsettled + 1 >= kRows) compute();
  start_segment({.out = out});
}

void Network::start_segment(const Segment& segment) {
  rows_.resize(segments_.empty() ? kHalo : rows_.size(), kPadding);
  segments_.push_back(segment);
  segments_.back().first = segments_.back().last = rows_.size();
}

void Network::add(std::span<const std::int32_t> ids) {
  while (!ids.empty()) {
    if (rows_.size() + kHalo >= kRows) compute();
    const std::size_t count = std::min(ids.size(), kRows - kHalo - rows_.size());
    rows_.insert(rows_.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    segments_.back().last = rows_.size();
    ids = ids.subspan(count);
  }
}

void Network::end_text() {
  segments_.back().ended = true;
  rows_.resize(rows_.size() + kHalo, kPadding);
}

void Network::finish() {
  if (!segments_.empty()) compute();
}

// Computes the batch and clears it. If the last text is not finished, its last rows begin the next batch.
void Network::compute() {
  const bool goes_on = !segments_.back().ended;
  if (goes_on) rows_.resize(rows_.size() + kHalo, kPadding);
  compute_distinct_tokens();
  for (std::size_t i = 0; i < kBranches; ++i) compute_branch(i);
  sums_.reserve((segments_.size() + kRowSlack) * kFeatureSize);
  for (std::size_t i = 0; i < segments_.size(); ++i) pool(segments_[i], sums_.data() + i * kFeatureSize);
  const std::size_t texts = segments_.size() - (goes_on ? 1 : 0);
  if (texts > 0) compute_outputs(texts);
  std::vector<std::int32_t> rows;
  rows.swap(rows_);
  Segment open = segments_.back();
  segments_.clear();
  if (!goes_on) return;
  std::copy_n(sums_.data() + texts * kFeatureSize, kFeatureSize, carried_sum_.data());
  const std::size_t counted_end = open.first + open.counted;
  const std::size_t kept = std::min(open.last - open.first, 2 * kUnsettled);
  open.counted = counted_end - std::min(counted_end, open.last - kept);
  const std::span<const std::int32_t> tail(rows.data() + open.last - kept, kept);
  start_segment(open);
  add(tail);
}

void Network::compute_distinct_tokens() {
  distinct_.clear();
  std::ranges::copy_if(rows_, std::back_inserter(distinct_),
                       [](std::int32_t token) { return token != kPadding; });
  std::ranges::sort(distinct_);
  distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
  place_.resize(rows_.size());
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const auto found = std::ranges::lower_bound(distinct_, rows_[row]);
    place_[row] = static_cast<std::uint32_t>(found - distinct_.begin());
  }
  embedded_.reserve((distinct_.size() + kRowSlack) * kEmbeddedStride);
  for (std::size_t i = 0; i < distinct_.size(); ++i) {
    const std::size_t table = distinct_[i] % UseWeights::kTables;
    kernels_.dequantise(weights_.codes(distinct_[i]), weights_.scale[table], weights_.low[table],
                        kEmbeddingSize, embedded_.data() + i * kEmbeddedStride);
  }
  product(embedded_.data(), kEmbeddedStride, distinct_.size(), weights_.projection, projected_);
  const LayerNorm norm{weights_.projected.gain.data(), weights_.projected.offset.data(), weights_.epsilon};
  for (std::size_t i = 0; i < distinct_.size(); ++i) {
    kernels_.add_and_normalise(weights_.projection_bias.data(), norm, kProjectedSize,
                               projected_.data() + i * kProjectedSize);
  }
}

// Computes two convolutions, each with a residual connection. For the first one, a single product yields each
// distinct token's share in every window position; the shares are then added up by window.
void Network::compute_branch(std::size_t index) {
  const BranchWeights& branch = weights_.branches[index];
  const float* inputs = projected_.data() + index * kBranchSize;
  const float* shares = product(inputs, kProjectedSize, distinct_.size(), branch.first, shares_);
  hidden_.reserve((rows_.size() + kRowSlack) * kBranchSize);
  branches_.reserve((rows_.size() + kRowSlack) * kProjectedSize);
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    float* hidden = hidden_.data() + row * kBranchSize;
    if (rows_[row] == kPadding) {
      std::fill_n(hidden, kBranchSize, 0.0F);
      continue;
    }
    std::array<const float*, kMaxOrder> parts;
    std::size_t count = 0;
    for (std::size_t i = 0; i < branch.order; ++i) {
      const std::size_t neighbour = row + i - branch.left;
      if (rows_[neighbour] == kPadding) continue;
      parts[count++] = shares + place_[neighbour] * branch.first.columns + i * kBranchSize;
    }
    kernels_.sum_relu_add(parts.data(), count, branch.first_bias.data(),
                          inputs + place_[row] * kProjectedSize, kBranchSize, hidden);
  }
  // Windows of neighbouring rows overlap in memory, so the hidden rows already are the matrix of windows.
  const float* windows = hidden_.data() + (kHalo - branch.left) * kBranchSize;
  float* out = branches_.data() + index * kBranchSize;
  kernels_.multiply({windows, rows_.size() - 2 * kHalo, branch.second.rows, kBranchSize},
                    branch.second.panels.data(), kBranchSize, out + kHalo * kProjectedSize, kProjectedSize);
  for (std::size_t row = kHalo; row < rows_.size() - kHalo; ++row) {
    const float* convolved = out + row * kProjectedSize;
    kernels_.sum_relu_add(&convolved, 1, branch.second_bias.data(), hidden_.data() + row * kBranchSize,
                          kBranchSize, out + row * kProjectedSize);
  }
}

// Adds the features of the segment's tokens to the sum of its text, one token after another.
void Network::pool(Segment& segment, float* sum) {
  if (segment.tokens > 0) {
    std::copy_n(carried_sum_.data(), kFeatureSize, sum);
  } else {
    std::fill_n(sum, kFeatureSize, 0.0F);
  }
  const LayerNorm norm{weights_.features.gain.data(), weights_.features.offset.data(), weights_.epsilon};
  const std::size_t last = segment.last - (segment.ended ? 0 : std::min(kUnsettled, segment.last));
  alignas(64) std::array<float, kFeatureSize> features;
  for (std::size_t row = segment.first + segment.counted; row < last; ++row) {
    std::copy_n(embedded_.data() + place_[row] * kEmbeddedStride, kEmbeddingSize, features.data());
    std::copy_n(branches_.data() + row * kProjectedSize, kProjectedSize, features.data() + kEmbeddingSize);
    kernels_.add_and_normalise(nullptr, norm, kFeatureSize, features.data());
    kernels_.accumulate(features.data(), kFeatureSize, sum);
    ++segment.counted;
    ++segment.tokens;
  }
}

// mean = pooled(sum) / √tokens; y0 = relu(mean·d0); y1 = relu(mean·p1 + y0·d1); y2 = relu(y1·d2);
// out = tanh(y1·p3 + y2·d3), scaled to length 1.
void Network::compute_outputs(std::size_t texts) {
  float* mean = product(sums_.data(), kFeatureSize, texts, weights_.pooled, mean_);
  for (std::size_t text = 0; text < texts; ++text) {
    const auto tokens = static_cast<float>(segments_[text].tokens);
    const float scale = 1 / std::sqrt(tokens);
    for (std::size_t i = 0; i < kOutputSize; ++i) {
      float& value = mean[text * kOutputSize + i];
      value = (value + tokens * weights_.pooled_bias.data()[i]) * scale;
    }
  }
  float* y0 = product(mean, kOutputSize, texts, weights_.d0, y0_);
  relu(y0, texts * kHiddenSize);
  float* y1 = product(y0, kHiddenSize, texts, weights_.d1, y1_);
  add_rows(product(mean, kOutputSize, texts, weights_.p1, direct_), y1, texts * kHiddenSize);
  relu(y1, texts * kHiddenSize);
  float* y2 = product(y1, kHiddenSize, texts, weights_.d2, y2_);
  relu(y2, texts * kOutputSize);
  float* z = product(y2, kOutputSize, texts, weights_.d3, z_);
  add_rows(product(y1, kHiddenSize, texts, weights_.p3, direct_), z, texts * kOutputSize);
  for (std::size_t text = 0; text < texts; ++text) {
    const float* from = z + text * kOutputSize;
    float* out = segments_[text].out;
    float squares = 0;
    for (std::size_t i = 0; i < kOutputSize; ++i) {
      out[i] = portable_tanh(from[i]);
      squares += out[i] * out[i];
    }
    const float scale = 1 / std::sqrt(std::max(squares, weights_.epsilon));
    for (std::size_t i = 0; i < kOutputSize; ++i) out[i] *= scale;
  }
}

float* Network::product(const float* a, std::size_t stride, std::size_t rows, const PackedMatrix& b,
                        AlignedFloats& out) const {
  out.reserve((rows + kRowSlack) * b.columns);
  kernels_.multiply({a, rows, b.rows, stride}, b.panels.data(), b.columns, out.data(), b.columns);
  return out.data();
}

}  // namespace headrace
