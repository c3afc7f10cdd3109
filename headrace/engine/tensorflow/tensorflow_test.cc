// Needs TensorFlow. ctest passes HEADRACE_PYTHON, an interpreter that has it.
#include "headrace/engine/tensorflow/tensorflow.h"
#include "headrace/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "headrace/base/text.h"
#include "headrace/engine/tensorflow/encoder.h"
#include "headrace/engine/tensorflow/trace.h"
#include "headrace/os/child_process.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/store/staging.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

// TensorFlow, a traced dense_classifier and the toy models. They are made once for all tests.
class Shared final : public testing::Environment {
 public:
  void SetUp() override {
    set_tensorflow_environment();
    environment = headrace::Environment::capture();
    ASSERT_TRUE(environment.get("HEADRACE_PYTHON")) << "run by ctest, or set HEADRACE_PYTHON";
    folder = (fs::temp_directory_path() / "headrace-tensorflow-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const auto library = find_tensorflow("", environment);
    ASSERT_TRUE(library) << library.error().message;
    auto opened = open_tensorflow(*library);
    ASSERT_TRUE(opened) << opened.error().message;
    engine = *opened;
    const auto interpreter = find_interpreter(environment, library->folder);
    ASSERT_TRUE(interpreter) << interpreter.error().message;
    options = {.interpreter = *interpreter,
               .package_folder = HEADRACE_SOURCE_FOLDER "/python",
               .cache_folder = folder + "/cache",
               .tensorflow_version = engine->version().substr(std::string("tensorflow ").size())};
    auto traced = trace_model(request, options, environment);
    ASSERT_TRUE(traced) << traced.error().message;
    model = *traced;
    const auto toys = run_child(
        {*interpreter, HEADRACE_SOURCE_FOLDER "/headrace/engine/tensorflow/toy_models.py", folder + "/toys"},
        environment.variables, {.deadline = std::chrono::minutes(2)});
    ASSERT_TRUE(toys) << toys.error().message;
    ASSERT_EQ(toys->exit_status, 0) << toys->error_tail;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::unique_ptr<Model> load(const std::string& path, const ModelOptions& model_options = {}) const {
    auto loaded = engine->load(path, model_options);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return std::move(*loaded);
  }

  const TraceRequest request{
      .model = "headrace.models:dense_classifier",
      .features = {{.name = "sentence", .type = DataType::kFloat32, .shape = {512}}},
      .labels = {{.name = "label", .type = DataType::kInt64, .shape = {2}, .classes = 2, .is_one_hot = true}},
      .seed = 44};
  headrace::Environment environment;
  TraceOptions options;
  std::string folder;
  std::shared_ptr<Engine> engine;
  TracedModel model;
};
auto* const shared = dynamic_cast<Shared*>(testing::AddGlobalTestEnvironment(new Shared));

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

// Rows of random features whose mean indicates their class.
struct Batch {
  explicit Batch(std::int64_t row_count, unsigned seed)
      : rows(row_count),
        features(static_cast<float*>(std::aligned_alloc(kTensorAlignment, row_count * 512 * sizeof(float)))),
        labels(static_cast<std::size_t>(row_count) * 2),
        weights(static_cast<std::size_t>(row_count), 1.0F) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::int64_t row = 0; row < rows; ++row) {
      const bool positive = (random() & 1) != 0;
      labels[row * 2 + (positive ? 0 : 1)] = 1;
      for (int i = 0; i < 512; ++i)
        features.get()[row * 512 + i] = normal(random) + (positive ? 0.2F : -0.2F);
    }
  }
  std::array<TensorView, 3> views() const {
    return {TensorView::of(features.get(), {rows, 512}), TensorView::of(labels.data(), {rows, 2}),
            TensorView::of(weights.data(), {rows})};
  }

  std::int64_t rows;
  std::unique_ptr<float[], FreeDeleter> features;
  std::vector<std::int64_t> labels;
  std::vector<float> weights;
};

// A model with its calls.
struct Trainer {
  explicit Trainer(const ModelOptions& options = {})
      : model(shared->load(shared->model.saved_model_folder, options)) {}

  std::vector<Tensor> run(const std::string& signature, const Batch& batch,
                          std::vector<std::string> outputs) {
    auto call = model->prepare(signature, {"features", "labels", "weights"}, outputs);
    EXPECT_TRUE(call) << call.error().message;
    std::vector<Tensor> results(outputs.size());
    const Status status = (*call)->run(batch.views(), results);
    EXPECT_TRUE(status) << status.error().message;
    return results;
  }
  float train(int from, int to) {
    float loss = 0;
    for (int i = from; i < to; ++i) {
      loss = run("train_step", Batch(128, static_cast<unsigned>(i)), {"loss"})[0].values<float>()[0];
    }
    return loss;
  }
  std::map<std::string, std::string> state() {
    auto variables = read_variables(*model);
    EXPECT_TRUE(variables) << variables.error().message;
    std::map<std::string, std::string> bytes;
    for (const auto& [name, value] : *variables) {
      bytes[name].assign(static_cast<const char*>(value.data()),
                         value.shape().elements() * data_type_size_bytes(value.type()));
    }
    return bytes;
  }

  std::unique_ptr<Model> model;
};

TEST(TracedModel, HasTheSignaturesAndVariablesOfItsDescription) {
  const Trainer trainer;
  const auto& signatures = trainer.model->signatures();
  for (const char* const name : {"train_step", "eval_step", "predict", "serving_default", "gradients",
                                 "apply_gradients", "variables", "set_learning_rate"}) {
    EXPECT_TRUE(signatures.contains(name)) << name;
  }
  const Signature& step = signatures.at("train_step");
  EXPECT_EQ(step.inputs.at("features").shape, Shape({-1, 512}));
  EXPECT_EQ(step.inputs.at("labels").type, DataType::kInt64);
  const TracedModel& description = shared->model;
  EXPECT_EQ(description.metric_names, (std::vector<std::string>{"examples", "accuracy"}));
  EXPECT_EQ(description.parameters, 512U * 256 + 256 + 256 * 16 + 16 + 16 * 2 + 2);
  EXPECT_EQ(description.layers.size(), 5U);
  EXPECT_EQ(description.gradients.size(), 6U);
  for (const TracedVariable& variable : description.variables) {
    ASSERT_TRUE(signatures.at("variables").outputs.contains(variable.name)) << variable.name;
    EXPECT_EQ(signatures.at("variables").outputs.at(variable.name).shape, variable.shape);
  }
  EXPECT_TRUE(fs::exists(description.graph_file));
}

TEST(TracedModel, LearnsAndContinuesFromACheckpointToTheLastBit) {
  Trainer trainer;
  const float first = trainer.train(0, 1);
  EXPECT_LT(trainer.train(1, 20), 0.7F * first);
  const std::string prefix = shared->folder + "/checkpoints/new/step-20";
  const Status saved = trainer.model->save_state(prefix);
  ASSERT_TRUE(saved) << saved.error().message;
  const auto saved_state = trainer.state();
  const float loss = trainer.train(20, 30);

  Trainer resumed;
  EXPECT_NE(resumed.state(), saved_state);
  const Status restored = resumed.model->restore_state(prefix);
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(resumed.state(), saved_state);
  EXPECT_EQ(resumed.train(20, 30), loss);
  EXPECT_EQ(resumed.state(), trainer.state());
}

TEST(TracedModel, GradientsThenApplyEqualATrainStepToTheLastBit) {
  Trainer whole;
  Trainer split;
  whole.train(0, 3);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shared->model.gradients.size(); ++i) names.push_back(concat("gradient_", i));
  auto apply = split.model->prepare("apply_gradients", names, {"iteration"});
  ASSERT_TRUE(apply) << apply.error().message;
  Tensor iteration;
  for (unsigned step = 0; step < 3; ++step) {
    const std::vector<Tensor> gradients = split.run("gradients", Batch(128, step), names);
    std::vector<TensorView> views;
    for (const Tensor& gradient : gradients) views.push_back(gradient.view());
    const Status applied = (*apply)->run(views, {&iteration, 1});
    ASSERT_TRUE(applied) << applied.error().message;
  }
  EXPECT_EQ(iteration.values<std::int64_t>()[0], 3);
  EXPECT_EQ(split.state(), whole.state());
}

TEST(TracedModel, RowsOfWeightZeroCountNowhere) {
  Trainer padded;
  Trainer plain;
  Batch with_padding(128, 7);
  const Batch same_rows(128, 7);
  Batch fewer(100, 7);
  std::memcpy(fewer.features.get(), same_rows.features.get(), 100 * 512 * sizeof(float));
  std::copy_n(same_rows.labels.begin(), 200, fewer.labels.begin());
  std::fill(with_padding.weights.begin() + 100, with_padding.weights.end(), 0.0F);
  std::fill(with_padding.features.get() + 100 * 512, with_padding.features.get() + 128 * 512, 1e30F);
  for (const char* const signature : {"eval_step", "train_step"}) {
    const auto from_padded = padded.run(signature, with_padding, {"loss", "metrics"});
    const auto from_plain = plain.run(signature, fewer, {"loss", "metrics"});
    EXPECT_EQ(from_padded[0].values<float>()[0], from_plain[0].values<float>()[0]);
    EXPECT_EQ(from_padded[1].values<float>()[0], 100.0F);
    EXPECT_EQ(from_padded[1].values<float>()[1], from_plain[1].values<float>()[1]);
  }
  EXPECT_EQ(padded.state(), plain.state());
}

TEST(TracedModel, MetricsAreSumsThatTheConfusionOfItsPredictionsConfirms) {
  Trainer trainer;
  trainer.train(0, 10);
  const Batch batch(300, 99);
  const auto results = trainer.run("eval_step", batch, {"metrics", "predictions"});
  const auto predictions = results[1].values<float>();
  ASSERT_EQ(results[1].shape(), Shape({300, 2}));
  float right = 0;
  for (std::size_t row = 0; row < 300; ++row) {
    right += (predictions[row * 2] > predictions[row * 2 + 1]) == (batch.labels[row * 2] == 1) ? 1.0F : 0.0F;
  }
  EXPECT_EQ(results[0].values<float>()[0], 300.0F);
  EXPECT_EQ(results[0].values<float>()[1], right);
}

TEST(TracedModel, WithALearningRateOfZeroNoWeightMoves) {
  Trainer trainer;
  const auto call = trainer.model->prepare("set_learning_rate", {"learning_rate"}, {"learning_rate"});
  ASSERT_TRUE(call) << call.error().message;
  const auto before = trainer.state();
  float rate = 0.0F;
  const TensorView view = TensorView::of(&rate, {});
  Tensor now;
  ASSERT_TRUE((*call)->run({&view, 1}, {&now, 1}));
  rate = 123.0F;  // the model took a copy
  trainer.train(0, 2);
  const auto after = trainer.state();
  for (const TracedVariable& variable : shared->model.variables) {
    if (variable.role != "trainable") continue;
    EXPECT_EQ(after.at(variable.name), before.at(variable.name));
  }
  float stored = 1.0F;
  std::memcpy(&stored, after.at(shared->model.learning_rate).data(), sizeof stored);
  EXPECT_EQ(stored, 0.0F);
}

TEST(TracedModel, WithItsStateSavedInPlaceTensorFlowAndKerasReadIt) {
  Trainer trainer;
  trainer.train(0, 5);
  const std::string folder = shared->folder + "/export";
  fs::create_directories(folder);
  fs::copy(shared->model.saved_model_folder + "/saved_model.pb", folder);
  ASSERT_TRUE(trainer.model->save_state(folder + "/variables/variables"));
  const Batch batch(16, 3);
  std::ofstream(shared->folder + "/features", std::ios::binary)
      .write(reinterpret_cast<const char*>(batch.features.get()), 16 * 512 * sizeof(float));
  const auto child = run_child(
      {shared->options.interpreter, HEADRACE_SOURCE_FOLDER "/headrace/engine/tensorflow/check_export.py",
       folder, shared->folder + "/features"},
      shared->environment.variables, {.deadline = std::chrono::minutes(2)});
  ASSERT_TRUE(child) << child.error().message;
  ASSERT_EQ(child->exit_status, 0) << child->error_tail;
  const Json answer = *parse_json(child->output);
  const auto results = trainer.run("eval_step", batch, {"predictions"});
  const auto predictions = results[0].values<float>();
  for (std::size_t row = 0; row < 16; ++row) {
    EXPECT_NEAR(answer["loaded"].at(row).at(0).as<float>(), predictions[row * 2], 1e-6F);
    EXPECT_NEAR(answer["layer"].at(row).at(0).as<float>(), predictions[row * 2], 1e-6F);
  }
  const auto keys = answer.get<std::vector<std::string>>("keys");
  for (const TracedVariable& variable : shared->model.variables) {
    EXPECT_THAT(keys, testing::Contains(variable.checkpoint_key));
  }
}

TEST(TracedModel, IsTakenFromTheCacheUntilItsSourceChanges) {
  const std::string file = shared->folder + "/mine.py";
  const std::string source =
      "from headrace.models import dense_classifier\n"
      "def build(features, classes):\n"
      "    model = dense_classifier(features, classes)\n";
  std::ofstream(file) << source << "    return model\n";
  const TraceRequest request{
      .model = file + ":build",
      .features = {{.name = "x", .type = DataType::kFloat32, .shape = {8}}},
      .labels = {{.name = "y", .type = DataType::kInt64, .shape = {3}, .classes = 3, .is_one_hot = true}}};
  const auto traced = [&] { return trace_model(request, shared->options, shared->environment); };
  const auto first = traced();
  ASSERT_TRUE(first) << first.error().message;
  const auto time = fs::last_write_time(first->description_file);
  const auto second = traced();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->digest, first->digest);
  EXPECT_EQ(fs::last_write_time(second->description_file), time);
  std::ofstream(file) << source << "    return model.layers\n";
  const auto third = traced();
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, Code::kInvalidArgument);
  EXPECT_THAT(third.error().message, testing::HasSubstr("returned list, not a keras.Model"));
}

TEST(TracedModel, IsTracedAgainIfItsSourceMayReadFiles) {
  const std::string file = shared->folder + "/reads.py", words = shared->folder + "/words.txt";
  std::ofstream(words) << "4";
  std::ofstream(file) << "from headrace.models import dense_classifier\n"
                         "def build(features, classes):\n"
                         "    classes += int(open('"
                      << words << "').read()) - 4\n    return dense_classifier(features, classes)\n";
  const TraceRequest request{
      .model = file + ":build",
      .features = {{.name = "x", .type = DataType::kFloat32, .shape = {8}}},
      .labels = {{.name = "y", .type = DataType::kInt64, .shape = {3}, .classes = 3, .is_one_hot = true}}};
  std::string folder;
  {
    const auto first = trace_model(request, shared->options, shared->environment);
    ASSERT_TRUE(first) << first.error().message;
    folder = first->folder;
    EXPECT_TRUE(fs::exists(first->description_file));
  }
  EXPECT_FALSE(fs::exists(folder)) << "nobody would ever use it again";
  std::ofstream(words) << "5";
  const auto second = trace_model(request, shared->options, shared->environment);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("the last layer must have 3 units"));
}

TEST(SessionCall, RefusesWhatTheSignatureDoesNotTake) {
  Trainer trainer;
  const auto no_signature = trainer.model->prepare("train", {}, {});
  ASSERT_FALSE(no_signature);
  EXPECT_THAT(no_signature.error().message, testing::HasSubstr("train_step"));
  const auto no_output = trainer.model->prepare("predict", {"features"}, {"probabilities"});
  ASSERT_FALSE(no_output);
  EXPECT_THAT(no_output.error().message, testing::HasSubstr("it has: predictions"));
  EXPECT_FALSE(trainer.model->prepare("train_step", {"features", "labels"}, {"loss"}));

  const auto call = trainer.model->prepare("predict", {"features"}, {"predictions"});
  ASSERT_TRUE(call);
  const std::vector<float> values(400);
  Tensor predictions;
  const TensorView narrow = TensorView::of(values.data(), {1, 400});
  const Status refused = (*call)->run({&narrow, 1}, {&predictions, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_THAT(refused.error().message,
              testing::AllOf(testing::HasSubstr("float32[1, 400]"), testing::HasSubstr("float32[?, 512]")));
  EXPECT_FALSE((*call)->run({}, {&predictions, 1}));
}

TEST(SessionModel, ACheckpointThatIsMissingOrCutShortIsAnError) {
  Trainer trainer;
  EXPECT_EQ(trainer.model->restore_state(shared->folder + "/nothing").error().code, Code::kNotFound);
  const std::string prefix = shared->folder + "/short/step";
  ASSERT_TRUE(trainer.model->save_state(prefix));
  fs::resize_file(prefix + ".data-00000-of-00001", 1000);
  EXPECT_FALSE(trainer.model->restore_state(prefix));
}

TEST(SessionModel, AFolderWithoutAModelIsNotFound) {
  const auto model = shared->engine->load(shared->folder, {});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, Code::kNotFound);
  fs::create_directories(shared->folder + "/broken");
  std::ofstream(shared->folder + "/broken/saved_model.pb") << "not a protobuf";
  EXPECT_FALSE(shared->engine->load(shared->folder + "/broken", {}));
}

class OddSignatures : public testing::Test {
 protected:
  Status run(const std::string& signature, const std::string& input, const std::string& output,
             const TensorView& value, const ModelOptions& options = {}) {
    const bool is_of_types = signature.starts_with("reshape_");
    model_ = shared->load(shared->folder + (is_of_types ? "/toys/types" : "/toys/odd"), options);
    auto call = model_->prepare(signature, {input}, {output});
    if (!call) return std::move(call).error();
    return (*call)->run({&value, 1}, {&result_, 1});
  }
  std::unique_ptr<Model> model_;
  Tensor result_;
  alignas(kTensorAlignment) std::array<float, 1024> values_{1.5F, 2.5F};
};

TEST_F(OddSignatures, AnInputThatIsHandedBackIsCopied) {
  ASSERT_TRUE(run("echo", "values", "values", TensorView::of(values_.data(), {1024})));
  EXPECT_NE(result_.data(), values_.data());
  values_[1] = 0;
  EXPECT_EQ(result_.values<float>()[1], 2.5F);
}

// This test also shows that inputs are read in place: TensorFlow could keep a copy.
TEST_F(OddSignatures, AnInputThatIsKeptIsAnError) {
  const Status kept = run("keep", "values", "first", TensorView::of(values_.data(), {1024}));
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kInternal);
  EXPECT_THAT(kept.error().message, testing::HasSubstr("keeps an input"));
}

TEST_F(OddSignatures, StringsGoInAndComeOut) {
  const std::string long_text(1000, 'a');
  const std::array<std::string_view, 3> texts = {"ab", "", long_text};
  ASSERT_TRUE(run("upper", "texts", "texts", TensorView::of(texts, {3})));
  EXPECT_EQ(result_.strings(), (std::vector<std::string>{"AB", "", std::string(1000, 'A')}));
}

TEST_F(OddSignatures, AResultOfStringsIsAnInputWhereverItIsMovedTo) {
  const std::array<std::string_view, 2> texts = {"ab", "a longer one than fits into the string itself"};
  ASSERT_TRUE(run("upper", "texts", "texts", TensorView::of(texts, {2})));
  const Tensor moved = std::move(result_);
  ASSERT_TRUE(run("reshape_string", "values", "values", moved.view()));
  EXPECT_EQ(result_.shape(), Shape({2, 1}));
  EXPECT_EQ(result_.strings()[0], "AB");
  EXPECT_EQ(result_.strings()[1], moved.strings()[1]);
}

// Small values of every type. 3 values are copied, and 100 are read in place.
TEST_F(OddSignatures, ValuesOfEveryTypeGoInAndComeOut) {
  alignas(kTensorAlignment) std::array<std::byte, 1600> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte{i % 2 == 0};
  for (std::size_t number = 0; number < kDataTypes; ++number) {
    const auto type = static_cast<DataType>(number);
    if (type == DataType::kBytes) continue;
    const std::string name = concat("reshape_", data_type_name(type));
    for (const std::int64_t count : {3, 100}) {
      const Status done = run(name, "values", "values", {type, {count}, bytes.data(), {}});
      ASSERT_TRUE(done) << done.error().message;
      EXPECT_EQ(result_.type(), type) << name;
      EXPECT_EQ(result_.shape(), Shape({count, 1})) << name;
      const std::size_t size = static_cast<std::size_t>(count) * data_type_size_bytes(type);
      EXPECT_EQ(std::memcmp(result_.data(), bytes.data(), size), 0) << name;
    }
  }
}

TEST_F(OddSignatures, ACallThatDoesNotEndIsStopped) {
  const std::int32_t one = 1;
  for (const int threads : {1, 2}) {
    const Status stopped =
        run("forever", "step", "sum", TensorView::of(&one, {}),
            {.inter_op_threads = threads, .call_deadline = std::chrono::milliseconds(200)});
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, Code::kDeadlineExceeded) << stopped.error().message;
  }
}

class SavedModelEncoder : public testing::Test {
 protected:
  Result<std::unique_ptr<TextEncoder>> open(const std::string& toy) {
    const Location location{store_, toy, Url{"memory", "models", toy}};
    if (fs::exists(shared->folder + "/toys/" + toy)) {
      EXPECT_TRUE(upload_folder(shared->folder + "/toys/" + toy, *store_, toy, "saved_model.pb"));
    }
    return open_saved_model_encoder(*shared->engine, location,
                                    {.temporary_folder = shared->folder + "/staged"});
  }
  static std::vector<float> encode(const TextEncoder& encoder, const std::vector<std::string_view>& texts) {
    std::vector<float> out(texts.size() * static_cast<std::size_t>(encoder.dimension()));
    const Status status = encoder.encode(texts, out);
    EXPECT_TRUE(status) << status.error().message;
    return out;
  }
  std::shared_ptr<Store> store_ = make_memory_store("models");
};

TEST_F(SavedModelEncoder, AVectorDoesNotDependOnTheTextsBesideIt) {
  const auto encoder = open("encoder");
  ASSERT_TRUE(encoder) << encoder.error().message;
  EXPECT_EQ((*encoder)->name(), "saved_model:memory://models/encoder");
  EXPECT_EQ((*encoder)->dimension(), 5);
  const auto alone = encode(**encoder, {"a fine film"});
  const auto together = encode(**encoder, {"", "a fine film", "\xff not utf-8", "dull"});
  EXPECT_EQ(std::vector<float>(together.begin() + 5, together.begin() + 10), alone);
  EXPECT_NE(alone, std::vector<float>(5, 0.0F));
  EXPECT_EQ(std::vector<float>(together.begin() + 10, together.begin() + 15),
            encode(**encoder, {"\xef\xbf\xbd not utf-8"}));
  EXPECT_TRUE(fs::is_empty(shared->folder + "/staged"));
}

TEST_F(SavedModelEncoder, TheDigestIsThatOfTheWeights) {
  const auto first = open("encoder");
  const auto again = open("encoder");
  const auto other = open("other_encoder");
  ASSERT_TRUE(first && again && other);
  EXPECT_EQ((*first)->weights_digest(), (*again)->weights_digest());
  EXPECT_NE((*first)->weights_digest(), (*other)->weights_digest());
  EXPECT_EQ((*first)->weights_digest().size(), 64U);
}

TEST_F(SavedModelEncoder, AModelThatTakesNoTextsIsRefused) {
  const auto odd = open("odd");
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, Code::kInvalidArgument);
  EXPECT_THAT(odd.error().message, testing::HasSubstr("its signatures are echo, forever, keep, upper"));
  EXPECT_EQ(open("nothing").error().code, Code::kNotFound);
}

}  // namespace
}  // namespace headrace
