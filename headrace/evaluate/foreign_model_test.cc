#include "headrace/evaluate/foreign_model.h"

#include <gmock/gmock.h>

#include <mutex>

#include "headrace/base/digest.h"
#include "headrace/evaluate/tiny_run_test.h"
#include "headrace/store/layers/intercepting.h"

namespace headrace {
namespace {

using testing::HasSubstr;

/// Has the signature that the test sets. Answers with two numbers for each row, or, if rows of the first
/// input may have any length, with two numbers for each value of the row.
class SignedModel final : public Model {
 public:
  explicit SignedModel(Signature signature) : signatures_{{"serving_default", std::move(signature)}} {}
  const std::string& folder() const override { return folder_; }
  const std::map<std::string, Signature, std::less<>>& signatures() const override { return signatures_; }
  Status save_state(const std::string&) override { return {}; }
  Status restore_state(const std::string&) override { return {}; }
  Result<std::unique_ptr<Call>> prepare(std::string_view, std::vector<std::string>,
                                        std::vector<std::string>) override {
    return std::unique_ptr<Call>(std::make_unique<TwoNumbers>(is_open()));
  }

 private:
  bool is_open() const {
    const auto& shape = signatures_.at("serving_default").inputs.begin()->second.shape;
    return shape && shape->rank() == 2 && (*shape)[1] < 0;
  }

  class TwoNumbers final : public Call {
   public:
    Status run(std::span<const TensorView> inputs, std::span<Tensor> outputs) override {
      for (const TensorView& input : inputs) {
        const bool is_text = input.type == DataType::kBytes;
        if ((is_text ? input.strings.data() == nullptr : input.data == nullptr) ||
            input.shape.elements() > (std::uint64_t{1} << 20))
          return Error{Code::kInvalidArgument, "an input has no values"};
      }
      const std::int64_t rows = inputs[0].shape[0];
      const bool is_open = is_open_ && inputs[0].shape.rank() == 2;
      const Shape shape = is_open ? Shape{rows, inputs[0].shape[1], 2} : Shape{rows, 2};
      auto values = std::make_shared<std::vector<float>>(shape.elements());
      outputs[0] = Tensor(DataType::kFloat32, shape, values->data(), values);
      return {};
    }

   private:
    const bool is_open_;

   public:
    explicit TwoNumbers(bool is_open) : is_open_(is_open) {}
  };
  const std::string folder_;
  const std::map<std::string, Signature, std::less<>> signatures_;
};

class SignedEngine final : public Engine {
 public:
  explicit SignedEngine(Signature signature) : signature_(std::move(signature)) {}
  std::string version() const override { return "signed 1"; }
  Result<std::unique_ptr<Model>> load(const std::string&, const ModelOptions&) override {
    return std::unique_ptr<Model>(std::make_unique<SignedModel>(signature_));
  }

 private:
  const Signature signature_;
};

/// Simulates that another process writes another graph during each of the first reads.
class ReplacedModel final : public InterceptingStore {
 public:
  ReplacedModel(std::shared_ptr<Store> store, int times)
      : InterceptingStore(store), below_(std::move(store)), times_(times) {}

 protected:
  Status around(StoreCall& call, const std::function<Status()>& go_on) override {
    const Status status = go_on();
    const std::lock_guard lock(mutex_);
    if (call.operation != StoreOperation::kRead || replaced_ == times_) return status;
    EXPECT_TRUE(write_text(*below_, "m/saved_model.pb", concat("graph ", ++replaced_)));
    return status;
  }

 private:
  const std::shared_ptr<Store> below_;
  const int times_;
  std::mutex mutex_;
  int replaced_ = 0;
};

class ForeignModel : public TinyRun {
 protected:
  void write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(write_text(*store, name, content));
  }
  Result<ExportedModel> open(const Location& folder,
                             const TensorInfo& output = {DataType::kFloat32, Shape{-1, 2}}) {
    SignedEngine signed_engine(
        {.inputs = {{"x", {DataType::kFloat32, Shape{-1, 3}}}}, .outputs = {{"out", output}}});
    return open_foreign_model(folder, attributes(), {.labels = "y", .needs_labels = true}, signed_engine,
                              temporary_folder);
  }
  static std::string line_of(const std::string& name, const std::string& content) {
    return concat(sha256_hex(as_bytes(content)), "  ", name, "\n");
  }
};

TEST_F(ForeignModel, HasTheDigestOfItsFilesAlone) {
  write("m/saved_model.pb", "graph");
  write("m/variables/variables.index", "index");
  write("m/evaluations/1.json", "{}");
  write("m/notes.txt", "other");
  const auto model = open(at("m"));
  ASSERT_TRUE(model) << model.error().message;
  const std::string lines =
      line_of("saved_model.pb", "graph") + line_of("variables/variables.index", "index");
  EXPECT_EQ(model->digest, sha256_hex(as_bytes(lines)));
  EXPECT_TRUE(model->is_foreign());
  ASSERT_EQ(model->contract.binding.targets.size(), 1U);
  EXPECT_EQ(model->contract.binding.targets[0].kind, TargetKind::kClasses);
}

TEST_F(ForeignModel, RunsARowToLearnARankThatIsOpen) {
  write("m/saved_model.pb", "graph");
  const auto model = open(at("m"), {DataType::kFloat32, std::nullopt});
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->contract.binding.outputs[0].shape, std::vector<std::int64_t>{2});
}

TEST_F(ForeignModel, OfRowsOfAnyLengthHasTheSizesOpenThatFollowIt) {
  write("m/saved_model.pb", "graph");
  DatasetAttributes data = attributes();
  data.features["words"] = {"bytes", std::nullopt};
  SignedEngine signed_engine({.inputs = {{"mask", {DataType::kFloat32, Shape{-1, -1}}},
                                         {"words", {DataType::kBytes, Shape{-1, -1}}}},
                              .outputs = {{"out", {DataType::kFloat32, std::nullopt}}}});
  const auto model =
      open_foreign_model(at("m"), data, {.features = "mask=words:mask"}, signed_engine, temporary_folder);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->contract.binding.outputs[0].shape, (std::vector<std::int64_t>{-1, 2}));
}

TEST_F(ForeignModel, IsNoRunAndNothingThatWasPublished) {
  write("m/saved_model.pb", "graph");
  EXPECT_TRUE(*is_foreign_model(at("m"), {}));
  EXPECT_FALSE(*is_foreign_model(at("nothing"), {}));
  publish_export("run/export");
  EXPECT_FALSE(*is_foreign_model(at("run"), {}));
  EXPECT_FALSE(*is_foreign_model(at("run/export"), {}));
}

TEST_F(ForeignModel, IsCopiedAsItWasAtOneTime) {
  write("m/saved_model.pb", "graph");
  write("m/variables/variables.index", "index");
  const auto model = open({std::make_shared<ReplacedModel>(store, 1), "m", at("m").url});
  ASSERT_TRUE(model) << model.error().message;
  const std::string lines =
      line_of("saved_model.pb", "graph 1") + line_of("variables/variables.index", "index");
  EXPECT_EQ(model->digest, sha256_hex(as_bytes(lines)));
}

TEST_F(ForeignModel, IsRefusedIfItIsReplacedAllTheTime) {
  write("m/saved_model.pb", "graph");
  const auto model = open({std::make_shared<ReplacedModel>(store, 1000), "m", at("m").url});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kAborted);
  EXPECT_THAT(model.error().message, HasSubstr("was replaced each time"));
}

}  // namespace
}  // namespace headrace
