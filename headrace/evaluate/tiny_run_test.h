#pragma once

/// \file For tests: a run and a dataset in a memory store, and an engine whose model is known.

#include <filesystem>

#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/evaluate/exported_model.h"
#include "headrace/record/example.h"
#include "headrace/record/index.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/memory/memory_store.h"

namespace headrace {

inline constexpr std::size_t kTinyWidth = 3;
inline constexpr std::size_t kTinyClasses = 2;

/// The scores of a row are its first two features. The loss of a batch is the mean of its rows' last
/// features. Rows of weight 0 are left out, as a traced model does.
class TinyModel final : public Model {
 public:
  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return signatures_; }
  Status save_state(const std::string&) override { return {}; }
  Status restore_state(const std::string&) override { return {}; }

  Result<std::unique_ptr<Call>> prepare(std::string_view signature, std::vector<std::string>,
                                        std::vector<std::string>) override {
    return std::unique_ptr<Call>(std::make_unique<TinyCall>(signature == "eval_step"));
  }

 private:
  class TinyCall final : public Call {
   public:
    explicit TinyCall(bool evaluates) : evaluates_(evaluates) {}

    Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) override {
      const auto rows = static_cast<std::size_t>(inputs[0].shape[0]);
      const auto* features = static_cast<const float*>(inputs[0].data);
      const auto* labels = evaluates_ ? static_cast<const std::int64_t*>(inputs[1].data) : nullptr;
      const auto* weights = evaluates_ ? static_cast<const float*>(inputs[2].data) : nullptr;
      std::vector<float> scores;
      float loss = 0, right = 0;
      for (std::size_t row = 0; row < rows; ++row) {
        if (weights != nullptr && weights[row] == 0) continue;
        const float* x = features + row * kTinyWidth;
        scores.insert(scores.end(), x, x + kTinyClasses);
        loss += x[2];
        if (labels != nullptr && labels[row * kTinyClasses + (x[1] > x[0] ? 1 : 0)] == 1) ++right;
      }
      const auto kept = static_cast<std::int64_t>(scores.size() / kTinyClasses);
      outputs.back() = tensor(scores, {kept, static_cast<std::int64_t>(kTinyClasses)});
      if (!evaluates_) return {};
      outputs[0] = tensor({loss / static_cast<float>(kept)}, {});
      outputs[1] = tensor({static_cast<float>(kept), right}, {2});
      return {};
    }

   private:
    static Tensor tensor(std::vector<float> values, const Shape& shape) {
      auto owner = std::make_shared<const std::vector<float>>(std::move(values));
      return {DataType::kFloat32, shape, owner->data(), owner};
    }
    const bool evaluates_;
  };

  const std::string folder_;
  const std::map<std::string, Signature, std::less<>> signatures_{};
};

/// Loads a TinyModel from any folder that has a saved_model.pb.
class TinyEngine final : public Engine {
 public:
  std::string version() const override { return "tiny 1"; }
  Result<std::unique_ptr<Model>> load(const std::string& folder, const ModelOptions&) override {
    if (!std::filesystem::exists(folder + "/saved_model.pb"))
      return Error{Code::kNotFound, "no saved_model.pb in " + folder};
    return std::unique_ptr<Model>(std::make_unique<TinyModel>());
  }
};

struct TinyRecord {
  std::vector<float> features;
  std::vector<std::int64_t> label;
};

/// A record whose last feature is `loss`. Its true class is `truth`, and the model answers `answer`.
inline TinyRecord tiny_record(int truth, int answer, float loss = 0) {
  return {{answer == 0 ? 0.75F : 0.25F, answer == 0 ? 0.25F : 0.75F, loss}, {1 - truth, truth}};
}

class TinyRun : public testing::Test {
 protected:
  TinyRun()
      : store(make_memory_store("test")),
        temporary_folder((std::filesystem::temp_directory_path() / "headrace-evaluate-test").string()) {}

  Location at(const std::string& key) const { return {store, key, Url{"memory", "test", key}}; }

  void publish(const std::string& folder, const Manifest& manifest) {
    ASSERT_TRUE(write_text(*store, folder + "/_headrace/manifest-00000001", serialize_manifest(manifest)));
  }

  /// Publishes an export of two classes at `folder`.
  void publish_export(const std::string& folder, const std::string& encoder = "hash:3") {
    Manifest manifest{.kind = "saved_model", .created_by = "run", .plan = "p"};
    const std::string graph = "a graph";
    ASSERT_TRUE(write_text(*store, folder + "/saved_model.pb", graph));
    manifest.parts = {{.key = "saved_model.pb",
                       .size_bytes = graph.size(),
                       .crc32c = crc32c(as_bytes(graph)),
                       .role = "model"}};
    ModelContract made = contract();
    made.encoders["x"].name = encoder;
    manifest.attributes_json = to_json(made).dump();
    publish(folder, manifest);
  }

  /// The contract of TinyModel.
  ModelContract contract() const {
    const DatasetAttributes data = attributes();
    const ModelBinding binding{
        .inputs = {{"features", "x", *model_feature(data, "x")}},
        .targets = {{"labels", "predictions", *model_feature(data, "y"), TargetKind::kClasses}},
        .outputs = {{"predictions", "predictions", {static_cast<std::int64_t>(kTinyClasses)}}}};
    return make_contract(binding, {"examples", "accuracy"}, data);
  }

  ExportedModel open_model(const std::string& run = "run") {
    auto model = open_exported_model(at(run), engine, temporary_folder);
    EXPECT_TRUE(model) << model.error().message;
    return std::move(*model);
  }

  DatasetAttributes attributes() const {
    DatasetAttributes out{.compression = "gzip", .labels = {"pos", "neg"}};
    out.vocabularies = {{"y", {"pos", "neg"}}};
    out.encoders = {{"x", {"hash:3", "w", 3}}};
    out.features = {{"x", {"float32", std::vector<std::int64_t>{kTinyWidth}}},
                    {"y", {"int64", std::vector<std::int64_t>{kTinyClasses}}},
                    {"id", {"bytes", std::vector<std::int64_t>{}}}};
    return out;
  }

  /// Publishes a split "test" at data: one shard for each list of records, with ids "a0", "a1" … over all.
  void publish_data(const std::vector<std::vector<TinyRecord>>& shards, DatasetAttributes with) {
    Manifest manifest{.kind = "dataset", .created_by = "run", .plan = "p"};
    std::size_t records = 0;
    for (std::size_t s = 0; s < shards.size(); ++s) {
      const std::string key = concat("test-", zero_padded(s, 5));
      ShardIndexBuilder builder(ShardEncoding::kGzip);
      Bytes framed;
      for (const TinyRecord& record : shards[s]) append_example(record, records++, framed, builder);
      Bytes data;
      builder.add_member(GzipCompressor::create(1)->append_member(framed, data), framed.size());
      const auto index = std::move(builder).finish(data.size(), crc32c(data));
      ASSERT_TRUE(index) << index.error().message;
      ASSERT_TRUE(store->write("data/" + key, data, {}));
      const Bytes index_bytes = index->serialize();
      ASSERT_TRUE(store->write(concat("data/", key, ".index"), index_bytes, {}));
      manifest.parts.push_back({.key = key,
                                .size_bytes = data.size(),
                                .crc32c = crc32c(data),
                                .role = "shard",
                                .split = "test",
                                .records = shards[s].size(),
                                .index = key + ".index",
                                .blocks = index->blocks()});
      manifest.parts.push_back({.key = key + ".index", .size_bytes = index_bytes.size(), .role = "index"});
    }
    with.splits["test"].records = records;
    manifest.attributes_json = dataset_attributes_to_json(with);
    publish("data", manifest);
  }

  std::shared_ptr<Store> store;
  TinyEngine engine;
  const std::string temporary_folder;

 private:
  static void append_example(const TinyRecord& record, std::size_t number, Bytes& framed,
                             ShardIndexBuilder& index) {
    const std::string id = concat("a", number);
    ExampleBuilder builder;
    builder.add_floats("x", record.features);
    builder.add_int64s("y", record.label);
    builder.add_bytes("id", as_bytes(id));
    Bytes example;
    builder.append_to(example);
    index.add_record(example.size());
    append_record(framed, example);
  }
};

}  // namespace headrace
