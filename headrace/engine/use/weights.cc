#include "headrace/engine/use/weights.h"

#include <cmath>
#include <map>
#include <string>

#include "headrace/base/text.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

constexpr std::uint64_t kMaxTotalBytes = 512 << 20;
constexpr std::array<std::size_t, kBranches> kOrders = {2, 3, 5};

// A row-major matrix, as in the file.
struct Matrix {
  std::size_t rows, columns;
  const float* data;
};

// Takes arrays out of the file by name. Remembers the first array that is missing, or has another type or
// shape than expected.
class Arrays {
 public:
  explicit Arrays(std::map<std::string, NpyArray> arrays) : arrays_(std::move(arrays)) {}

  const NpyArray& get(const std::string& name, std::string_view dtype,
                      const std::vector<std::uint64_t>& shape) {
    static const NpyArray kNone;
    const auto found = arrays_.find(name);
    if (found != arrays_.end() && found->second.dtype == dtype && found->second.shape == shape)
      return found->second;
    if (wrong_.empty()) wrong_ = name;
    return kNone;
  }
  Matrix matrix(const std::string& name, std::size_t rows, std::size_t columns) {
    const NpyArray& array = get(name, "<f4", {rows, columns});
    if (!wrong_.empty()) return {0, columns, nullptr};
    return {rows, columns, reinterpret_cast<const float*>(array.data().data())};
  }
  /// The vectors that `parts` names, one after another.
  AlignedFloats vector(const std::vector<std::string>& parts, std::size_t size) {
    AlignedFloats out(parts.size() * size);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const BytesView data = get(parts[i], "<f4", {size}).data();
      if (!data.empty()) std::memcpy(out.data() + i * size, data.data(), data.size());
    }
    return out;
  }
  NpyArray take(const std::string& name, std::string_view dtype) {
    const auto found = arrays_.find(name);
    const bool fits = found != arrays_.end() && found->second.dtype == dtype &&
                      found->second.shape.size() == 2 && found->second.shape[0] > 0 &&
                      found->second.shape[1] == kEmbeddingSize;
    if (fits) return std::move(found->second);
    if (wrong_.empty()) wrong_ = name;
    NpyArray none;
    none.shape = {0, 0};
    return none;
  }
  void reject(const std::string& name) { wrong_ = name; }
  const std::string& wrong() const { return wrong_; }

 private:
  std::map<std::string, NpyArray> arrays_;
  std::string wrong_;
};

// Packs the matrices side by side into panels. All have the same number of rows.
PackedMatrix pack(const std::vector<Matrix>& parts) {
  PackedMatrix packed;
  packed.rows = parts[0].rows;
  for (const Matrix& part : parts) packed.columns += part.columns;
  packed.panels.reserve(packed.rows * packed.columns);
  float* to = packed.panels.data();
  for (const Matrix& part : parts) {
    for (std::size_t column = 0; column < part.columns; column += kPanelColumns) {
      for (std::size_t row = 0; row < part.rows; ++row, to += kPanelColumns) {
        std::memcpy(to, part.data + row * part.columns + column, kPanelColumns * sizeof(float));
      }
    }
  }
  return packed;
}

BranchWeights branch(Arrays& arrays, std::size_t order) {
  const std::string n = concat(order);
  BranchWeights weights;
  weights.order = order;
  weights.left = (order - 1) / 2;
  const Matrix first = arrays.matrix("w1_" + n, order * kBranchSize, kBranchSize);
  std::vector<Matrix> shares;
  for (std::size_t i = 0; i < order && first.data != nullptr; ++i) {
    shares.push_back({kBranchSize, kBranchSize, first.data + i * kBranchSize * kBranchSize});
  }
  if (!shares.empty()) weights.first = pack(shares);
  weights.second = pack({arrays.matrix("w2_" + n, order * kBranchSize, kBranchSize)});
  weights.first_bias = arrays.vector({"b1_" + n}, kBranchSize);
  weights.second_bias = arrays.vector({"b2_" + n}, kBranchSize);
  return weights;
}

std::vector<std::string> per_branch(const std::string& prefix) {
  std::vector<std::string> names;
  for (const std::size_t order : kOrders) names.push_back(concat(prefix, order));
  return names;
}

Result<std::map<std::string, NpyArray>> read_all(BytesView npz, int threads) {
  HEADRACE_TRY(const NpzFile file, NpzFile::open(npz, kMaxTotalBytes));
  const std::vector<std::string> names = file.names();
  std::vector<NpyArray> arrays(names.size());
  HEADRACE_CHECK(parallel_for(threads, names.size(), [&](std::size_t i) -> Status {
    HEADRACE_TRY(arrays[i], file.read(names[i]));
    return {};
  }));
  std::map<std::string, NpyArray> by_name;
  for (std::size_t i = 0; i < names.size(); ++i) by_name.emplace(names[i], std::move(arrays[i]));
  return by_name;
}

void take_tables(Arrays& arrays, UseWeights& weights) {
  const AlignedFloats scale = arrays.vector({"scale"}, UseWeights::kTables);
  const AlignedFloats low = arrays.vector({"lo"}, UseWeights::kTables);
  for (std::size_t i = 0; i < UseWeights::kTables; ++i) {
    const std::string name = concat("q", i + 1);
    weights.tables[i] = arrays.take(name, "|u1");
    weights.scale[i] = scale.data()[i];
    weights.low[i] = low.data()[i];
    if (weights.tables[i].shape[0] != weights.tables[0].shape[0]) arrays.reject(name);
  }
}

}  // namespace

Result<UseWeights> parse_use_weights(BytesView npz, int threads) {
  HEADRACE_TRY(auto by_name, read_all(npz, threads));
  Arrays arrays(std::move(by_name));
  UseWeights weights;
  take_tables(arrays, weights);
  std::vector<Matrix> projections;
  for (const std::string& name : per_branch("proj")) {
    projections.push_back(arrays.matrix(name, kEmbeddingSize, kBranchSize));
  }
  weights.projection = pack(projections);
  weights.projection_bias = arrays.vector(per_branch("proj_b"), kBranchSize);
  weights.projected = {arrays.vector(per_branch("ln_g"), kBranchSize),
                       arrays.vector(per_branch("ln_b"), kBranchSize)};
  for (std::size_t i = 0; i < kBranches; ++i) weights.branches[i] = branch(arrays, kOrders[i]);
  weights.features = {arrays.vector({"ln_g"}, kFeatureSize), arrays.vector({"ln_b"}, kFeatureSize)};
  weights.pooled = pack({arrays.matrix("cnn_W", kFeatureSize, kOutputSize)});
  weights.pooled_bias = arrays.vector({"cnn_b"}, kOutputSize);
  weights.d0 = pack({arrays.matrix("d0", kOutputSize, kHiddenSize)});
  weights.d1 = pack({arrays.matrix("d1", kHiddenSize, kHiddenSize)});
  weights.d2 = pack({arrays.matrix("d2", kHiddenSize, kOutputSize)});
  weights.d3 = pack({arrays.matrix("d3", kOutputSize, kOutputSize)});
  weights.p1 = pack({arrays.matrix("p1", kOutputSize, kHiddenSize)});
  weights.p3 = pack({arrays.matrix("p3", kHiddenSize, kOutputSize)});
  const NpyArray& epsilon = arrays.get("eps", "<f8", {});
  if (!arrays.wrong().empty()) {
    return Error{Code::kInvalidArgument, concat("array \"", arrays.wrong(),
                                                "\" is missing, or does not belong to USE multilingual v3")};
  }
  weights.epsilon = static_cast<float>(load_little_endian<double>(epsilon.data().data()));
  return weights;
}

}  // namespace headrace
