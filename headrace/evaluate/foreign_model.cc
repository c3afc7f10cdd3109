#include "headrace/evaluate/foreign_model.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "headrace/base/digest.h"
#include "headrace/base/text.h"
#include "headrace/engine/adapted_model.h"
#include "headrace/engine/tensor_cast.h"
#include "headrace/model/export_files.h"
#include "headrace/model/inferred_contract.h"
#include "headrace/track/published_folder.h"
#include "headrace/track/stage_output.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 3;
constexpr std::size_t kHashedBytes = 4 << 20;  // hashed at a time

struct Listed {
  std::string name;  // relative to the folder
  std::uint64_t size_bytes;
  Version version;
  bool operator==(const Listed&) const = default;
};

Result<std::vector<Listed>> list_files(const Location& folder) {
  const std::string prefix = folder_prefix(folder.key);
  HEADRACE_TRY(const std::vector<ObjectInfo> objects, list_all(*folder.store, prefix));
  std::vector<Listed> out;
  for (const ObjectInfo& object : objects) {
    std::string name = object.key.substr(prefix.size());
    if (is_saved_model_file(name)) out.push_back({std::move(name), object.size_bytes, object.version});
  }
  std::ranges::sort(out, {}, &Listed::name);
  return out;
}

// Copies a consistent set of files. A training may replace the model while it is copied.
Result<std::vector<Listed>> copy_files(const Location& folder, const std::string& to) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    HEADRACE_TRY(std::vector<Listed> before, list_files(folder));
    const auto copied = download_folder(*folder.store, folder.key, to, {.wanted = is_saved_model_file});
    HEADRACE_TRY(const std::vector<Listed> after, list_files(folder));
    if (copied && before == after) return before;
    if (before == after) return copied.error();
    std::error_code failure;
    for (const fs::directory_entry& entry : fs::directory_iterator(to, failure))
      fs::remove_all(entry.path(), failure);
  }
  return Error{Code::kAborted, concat("the model in ", folder.describe(),
                                      " was replaced each time while it was copied; try again, or copy it "
                                      "with headrace cp and name the copy")};
}

Result<std::string> digest_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 digest;
  Bytes piece(kHashedBytes);
  while (file) {
    file.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    digest.update(BytesView(piece).first(static_cast<std::size_t>(file.gcount())));
  }
  if (!file.eof()) return Error{Code::kUnknown, concat("reading ", path, " failed")};
  return hex(digest.finish());
}

// Returns the digest of the lines that the program sha256sum prints for the files.
Result<std::string> digest_of_files(const std::string& folder, const std::vector<Listed>& files) {
  std::string lines;
  for (const Listed& file : files) {
    HEADRACE_TRY(const std::string digest, digest_of_file(concat(folder, "/", file.name)));
    lines += concat(digest, "  ", file.name, "\n");
  }
  return sha256_hex(as_bytes(lines));
}

// Holds a row of zeros, or of empty byte strings, for each input. A row that may have any length gets
// `length` values.
class ZeroRow {
 public:
  ZeroRow(const std::vector<ModelInput>& inputs, std::int64_t length) {
    std::uint64_t most = 1;
    for (const ModelInput& input : inputs) most = std::max(most, shape_of(input.feature, length).elements());
    numbers_.resize(most);
    texts_.resize(most);
    for (const ModelInput& input : inputs) views_.push_back(view(input.feature, length));
  }
  std::span<const TensorView> views() const { return views_; }

  static Shape shape_of(const ModelFeature& feature, std::int64_t length) {
    std::vector<std::int64_t> sizes = {1};
    for (const std::int64_t size : feature.shape) sizes.push_back(size < 0 ? length : size);
    return Shape(sizes);
  }

 private:
  TensorView view(const ModelFeature& feature, std::int64_t length) const {
    const Shape shape = shape_of(feature, length);
    const DataType type = feature.is_mask ? DataType::kFloat32 : feature.type;
    if (type == DataType::kBytes) return TensorView::of(std::span(texts_).first(shape.elements()), shape);
    return {.type = type, .shape = shape, .data = numbers_.data()};
  }

  std::vector<std::int64_t> numbers_;  // zeros, enough for values of any type
  std::vector<std::string_view> texts_;
  std::vector<TensorView> views_;
};

// Runs the model on such a row, and returns the shapes of its outputs.
Result<std::vector<Shape>> shapes_of(Call& call, const ZeroRow& row, std::size_t outputs) {
  std::vector<Tensor> results(outputs);
  Status ran = call.run(row.views(), results);
  if (!ran)
    return std::move(ran).error().in(
        "the signature leaves the shape of outputs open, and the model cannot answer "
        "a row of zeros; export it with shapes. Its error");
  std::vector<Shape> out;
  for (const Tensor& result : results) out.push_back(result.shape());
  return out;
}

// Returns the shape that rows of two lengths have in common. A size that depends on the length is left open.
Shape common_shape(const Shape& shorter, const Shape& longer) {
  std::vector<std::int64_t> sizes(shorter.sizes().begin(), shorter.sizes().end());
  if (!sizes.empty() && sizes[0] == 1) sizes[0] = -1;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (i >= longer.rank() || longer[i] != sizes[i]) sizes[i] = -1;
  }
  return Shape(sizes);
}

// Runs the model on rows of zeros to learn the shapes of outputs whose rank the signature leaves open.
Status find_ranks(Model& model, const std::vector<ModelInput>& inputs, Signature& signature) {
  constexpr std::int64_t kShort = 16, kLong = 48;  // lengths of rows that may have any length
  constexpr std::uint64_t kMostValues = 1 << 24;
  std::vector<std::string> takes, open;
  for (const auto& [name, info] : signature.outputs) {
    if (!info.shape && is_castable(info.type)) open.push_back(name);
  }
  if (open.empty()) return {};
  for (const ModelInput& input : inputs) {
    takes.push_back(input.tensor);
    if (ZeroRow::shape_of(input.feature, kLong).elements() > kMostValues)
      return Error{Code::kInvalidArgument,
                   concat("the signature leaves the shape of outputs open, and a row of ",
                          describe(input.feature), " is too large to try; export the model with shapes")};
  }
  HEADRACE_TRY(const std::unique_ptr<Call> call, model.prepare("predict", takes, open));
  HEADRACE_TRY(const std::vector<Shape> shorter, shapes_of(*call, ZeroRow(inputs, kShort), open.size()));
  const bool has_length = std::ranges::any_of(inputs, [](const ModelInput& input) {
    return std::ranges::any_of(input.feature.shape, [](std::int64_t size) { return size < 0; });
  });
  std::vector<Shape> longer = shorter;
  if (has_length) {
    HEADRACE_TRY(longer, shapes_of(*call, ZeroRow(inputs, kLong), open.size()));
  }
  for (std::size_t i = 0; i < open.size(); ++i)
    signature.outputs[open[i]].shape = common_shape(shorter[i], longer[i]);
  return {};
}

Result<ModelContract> contract_of(Model& model, const std::optional<DatasetAttributes>& given,
                                  const ForeignModelOptions& options) {
  Signature signature = model.signatures().find(options.signature)->second;
  const auto taken = given ? Result<DatasetAttributes>(*given) : taken_features(signature, options.features);
  if (!taken) return taken.error();
  const DatasetAttributes& data = *taken;
  HEADRACE_TRY(const OfferedFeatures offered, options.needs_labels
                                                  ? offer_features(data, options.features, options.labels)
                                                  : offer_inputs(data, options.features, options.labels));
  HEADRACE_TRY(std::vector<ModelInput> inputs, bind_inputs(signature, offered));
  HEADRACE_CHECK(find_ranks(model, inputs, signature));
  HEADRACE_TRY(ModelContract contract, infer_contract(signature, std::move(inputs), data));
  if (options.needs_labels || !options.labels.empty()) HEADRACE_CHECK(add_targets(contract, offered, data));
  return contract;
}

}  // namespace

Result<bool> is_foreign_model(const Location& folder, const CallOptions& call) {
  for (const Location& place : {folder.at("export"), folder}) {
    HEADRACE_TRY(const auto published, read_published(place, {.call = call}));
    if (published) return false;
  }
  HEADRACE_TRY(const bool was_begun, is_begun(folder));
  if (was_begun) return false;
  const auto graph = folder.store->stat(folder.at(kSavedModelFile).key, call);
  if (!graph && graph.error().code != Code::kNotFound) return graph.error();
  return static_cast<bool>(graph);
}

Result<ExportedModel> open_foreign_model(const Location& folder, const std::optional<DatasetAttributes>& data,
                                         const ForeignModelOptions& options, Engine& engine,
                                         const std::string& temporary_folder) {
  HEADRACE_TRY(StagedFolder files, StagedFolder::create(temporary_folder));
  HEADRACE_TRY(const std::vector<Listed> copied, copy_files(folder, files.path()));
  HEADRACE_TRY(std::string digest, digest_of_files(files.path(), copied));
  const std::string doing = concat("the model in ", folder.describe());
  auto loaded = engine.load(files.path(), {.name = folder.describe()});
  if (!loaded) return std::move(loaded).error().in(doing);
  auto model = adapt_model(*std::move(loaded), options.signature);
  if (!model) return std::move(model).error().in(doing);
  auto contract = contract_of(**model, data, options);
  if (!contract) return std::move(contract).error().in(doing);
  return ExportedModel{.folder = folder,
                       .digest = std::move(digest),
                       .contract = *std::move(contract),
                       .files = std::move(files),
                       .model = *std::move(model),
                       .signature = options.signature};
}

}  // namespace headrace
