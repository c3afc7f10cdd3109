/// How fast do requests become rows of a batch, and answers text?
///
///   headrace_bench_decode_requests CALLS REPEATS
///
/// Each repeat reads a body CALLS times, binds it, reserves rows and fills them, in one thread; no
/// model runs. Writes JSON to standard output: for each case the bytes of the body and CPU seconds of each
/// repeat.

#include <algorithm>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <random>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/base/wire.h"
#include "headrace/serve/protocol/json_writer.h"
#include "headrace/serve/protocol/kserve_v2_grpc.h"
#include "headrace/serve/protocol/kserve_v2_request.h"
#include "headrace/serve/protocol/rest_v1_request.h"
#include "headrace/serve/protocol/tensorflow_predict.h"

namespace headrace {
namespace {

struct PlainMemory final : BatchMemory {
  explicit PlainMemory(std::uint64_t size_bytes) : memory(size_bytes) {}
  std::span<std::byte> bytes() override { return memory; }
  Bytes memory;
};

// Gives the same memory again and again, as a server would; drops the batches.
class NoRunner final : public BatchRunner {
 public:
  Result<std::shared_ptr<BatchMemory>> allocate(std::uint64_t size_bytes) override {
    if (!memory_ || memory_->memory.size() < size_bytes) memory_ = std::make_shared<PlainMemory>(size_bytes);
    return std::shared_ptr<BatchMemory>(memory_);
  }
  void run(ClosedBatch, Done done) override { done_ = std::move(done); }
  void answer() { std::exchange(done_, nullptr)(Error{Code::kCancelled, "not run"}); }

 private:
  std::shared_ptr<PlainMemory> memory_;
  Done done_;
};

// A batcher of one case.
struct Front {
  NoRunner runner{};
  Batcher batcher{runner, {.rows_max = 4}};

  void fill(const BoundRequest& bound) {
    auto rows = batcher.reserve(bound.rows(), bound.row(), {.texts_bytes = bound.texts_bytes()});
    if (!rows || !bound.fill(*rows)) std::abort();
    std::move(*rows).commit([](const Result<BatchAnswers>&) {});
    runner.answer();
  }
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

ServedSignature floats(const Shape& shape) {
  const std::vector<ServedTensor> tensors = {{"x", DataType::kFloat32, shape}};
  return {.name = "serving_default", .inputs = tensors, .outputs = tensors, .is_batched = true};
}

struct Case {
  std::string name;
  std::string body;
  std::uint64_t calls = 1;  // of one round
  std::function<void()> run{};
};

Case rest_case(std::string name, std::string lists, const Shape& shape, std::uint64_t calls) {
  const auto body = std::make_shared<std::string>(concat("{\"instances\":", lists, '}'));
  body->reserve(body->size() + kJsonPaddingBytes);
  return {std::move(name), *body, calls,
          [body, front = std::make_shared<Front>(), signature = floats(shape)] {
            const auto request = RestRequest::parse(*body, true);
            if (!request) std::abort();
            const auto bound = request->bind(signature);
            if (!bound) std::abort();
            front->fill(**bound);
          }};
}

Case binary_case(const std::vector<float>& image) {
  const std::string json =
      concat(R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,224,224,3],)",
             R"("parameters":{"binary_data_size":)", image.size() * sizeof(float), "}}]}");
  const auto body = std::make_shared<std::string>(json);
  body->append(reinterpret_cast<const char*>(image.data()), image.size() * sizeof(float));
  return {
      "KServe v2, binary, an image", *body, 1,
      [body, front = std::make_shared<Front>(), header = json.size(), signature = floats({-1, 224, 224, 3})] {
        const auto request = InferRequest::parse(*body, header);
        if (!request) std::abort();
        const auto bound = request->bind(signature);
        if (!bound) std::abort();
        front->fill(**bound);
      }};
}

// A PredictRequest with one input x: as tensor_content, or as float_val.
Bytes predict_message(std::span<const float> values, const Shape& shape, bool is_content) {
  Bytes out;
  WireWriter(out).message(1, [](WireWriter& model) { model.text(1, "m"); });
  WireWriter(out).message(2, [&](WireWriter& entry) {
    entry.text(1, "x");
    entry.message(2, [&](WireWriter& tensor) {
      tensor.varint(1, 1);
      tensor.message(2, [&](WireWriter& sizes) {
        for (const std::int64_t size : shape.sizes())
          sizes.message(2, [&](WireWriter& each) { each.varint(1, static_cast<std::uint64_t>(size)); });
      });
      tensor.bytes(is_content ? 4 : 5, std::as_bytes(values));
    });
  });
  return out;
}

// A ModelInferRequest with one input x, as raw bytes.
Bytes infer_message(std::span<const float> values, const Shape& shape) {
  Bytes out;
  WireWriter writer(out);
  writer.text(1, "m");
  writer.message(5, [&](WireWriter& input) {
    input.text(1, "x");
    input.text(2, "FP32");
    for (const std::int64_t size : shape.sizes()) input.varint(3, static_cast<std::uint64_t>(size));
  });
  writer.bytes(7, std::as_bytes(values));
  return out;
}

// `parse`: PredictRequest's or InferMessage's.
template <typename Parse>
Case message_case(std::string name, const Bytes& message, const ServedSignature& signature,
                  std::uint64_t calls, Parse parse) {
  const auto body = std::make_shared<Bytes>(message);
  return {std::move(name), to_string(message), calls,
          [body, parse, front = std::make_shared<Front>(), signature] {
            const auto request = parse(*body);
            if (!request) std::abort();
            const auto bound = request->bind(signature);
            if (!bound) std::abort();
            front->fill(**bound);
          }};
}

void add_message_cases(std::span<const float> image, std::vector<Case>& out) {
  const auto predict = [](BytesView message) { return PredictRequest::parse(message, 0); };
  const Shape whole{1, 224, 224, 3};
  const ServedSignature images = floats({-1, 224, 224, 3});
  const ServedSignature rows = floats({-1, 10});
  out.push_back(message_case("Predict, tensor_content, an image", predict_message(image, whole, true), images,
                             1, predict));
  out.push_back(
      message_case("Predict, float_val, an image", predict_message(image, whole, false), images, 1, predict));
  out.push_back(message_case("Predict, ten floats", predict_message(image.first(10), {1, 10}, false), rows,
                             100, predict));
  out.push_back(
      message_case("KServe v2, gRPC, an image", infer_message(image, whole), images, 1, InferMessage::parse));
}

Case answer_case(const std::vector<float>& values) {
  const auto outputs = std::make_shared<BatchOutputs>();
  outputs->tensors = {TensorView::of(values.data(), {64, 1000})};
  const BatchAnswers answers = {{outputs, 0, 64}};
  const ServedSignature signature = floats({-1, 1000});
  const auto write = [answers, signature] { return rest_answer(answers, signature, RestForm::kRow); };
  return {"REST v1, an answer of 64 x 1,000 floats", *write(), 1, [write] {
            if (!write()) std::abort();
          }};
}

Case predict_answer_case(const std::vector<float>& values) {
  const auto outputs = std::make_shared<BatchOutputs>();
  outputs->tensors = {TensorView::of(values.data(), {64, 1000})};
  const BatchAnswers answers = {{outputs, 0, 64}};
  const Bytes asked = predict_message({}, {}, false);
  const auto request = PredictRequest::parse(asked, sizeof(float));
  if (!request) std::abort();
  const auto write = [answers, signature = floats({-1, 1000}), request = *request] {
    return predict_response(answers, signature, request, "m", 1);
  };
  return {"Predict, an answer of 64 x 1,000 floats", to_string(*write()), 1, [write] {
            if (!write()) std::abort();
          }};
}

std::vector<Case> make_cases() {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> between(0, 1);
  static std::vector<float> image(224 * 224 * 3);
  for (float& value : image) value = between(random);
  const auto lists = [&](const Shape& shape) {
    std::string out;
    if (!append_json_tensor(out, TensorView::of(image.data(), shape), 0, shape, JsonBytesForm::kText))
      std::abort();
    return out;
  };
  std::vector<Case> out = {rest_case("REST v1, an image", lists({1, 224, 224, 3}), {-1, 224, 224, 3}, 1),
                           rest_case("REST v1, ten floats", lists({1, 10}), {-1, 10}, 100),
                           binary_case(image), answer_case(image), predict_answer_case(image)};
  add_message_cases(image, out);
  const std::string body = out[0].body;
  out.push_back({"base/json.h, an image", body, 1, [body] {
                   if (!parse_json(body)) std::abort();
                 }});
  return out;
}

Json measure(const Case& measured, std::uint64_t calls, std::uint64_t repeats) {
  const std::uint64_t rounds = calls * measured.calls;
  Json seconds = Json::array();
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const double begun = cpu_seconds();
    for (std::uint64_t k = 0; k < rounds; ++k) measured.run();
    seconds.push_back(cpu_seconds() - begun);
  }
  return Json{{"name", measured.name},
              {"calls", rounds},
              {"bytes", measured.body.size()},
              {"cpu_seconds", std::move(seconds)}};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  using namespace headrace;
  std::vector<std::uint64_t> numbers;
  for (int i = 1; i < argc; ++i) numbers.push_back(parse_number<std::uint64_t>(argv[i]).value_or(0));
  if (numbers.size() != 2 || std::ranges::find(numbers, 0) != numbers.end()) return 2;
  Json out = Json::array();
  for (const Case& each : make_cases()) out.push_back(measure(each, numbers[0], numbers[1]));
  std::cout << Json{{"cases", std::move(out)}}.dump() << "\n";
}
