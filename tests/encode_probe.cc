/// Reads texts from standard input and writes their vectors to standard output, so that tests and
/// measurements can compare an encoder with others:
///
///   headrace_encode_probe use FOLDER | hash N   [--set portable|avx2|avx512] [--threads T] [--batch B]
///
/// Input: for each text, its length as u32 little-endian and its bytes. Output: for each text, dimension
/// float32.

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>

#include "headrace/base/text.h"
#include "headrace/engine/hash/hash_encoder.h"
#include "headrace/engine/use/use_encoder.h"
#include "headrace/os/parallel.h"

namespace headrace {
namespace {

struct Arguments {
  std::string encoder, parameter;
  UseEncoderOptions use;
  int threads = 1;
  std::size_t batch = 64;
};

std::optional<Arguments> parse(const std::vector<std::string>& words) {
  if (words.size() < 2 || words.size() % 2 != 0) return std::nullopt;
  Arguments arguments{.encoder = words[0], .parameter = words[1]};
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const std::string& value = words[i + 1];
    if (words[i] == "--set") {
      if (value == "portable")
        arguments.use.instruction_set = InstructionSet::kPortable;
      else if (value == "avx2")
        arguments.use.instruction_set = InstructionSet::kAvx2;
      else if (value == "avx512")
        arguments.use.instruction_set = InstructionSet::kAvx512;
      else
        return std::nullopt;
    } else if (words[i] == "--threads") {
      arguments.threads = parse_number<int>(value).value_or(1);
    } else if (words[i] == "--batch") {
      arguments.batch = std::max<std::size_t>(1, parse_number<std::size_t>(value).value_or(64));
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

Result<std::shared_ptr<const TextEncoder>> make_encoder(const Arguments& arguments) {
  if (arguments.encoder == "use") return load_use_encoder(arguments.parameter, arguments.use);
  return make_hash_encoder(parse_number<int>(arguments.parameter).value_or(0));
}

Result<std::vector<std::string_view>> split_texts(std::string_view input) {
  std::vector<std::string_view> texts;
  while (!input.empty()) {
    std::uint32_t size = 0;
    if (input.size() < sizeof size) return Error{Code::kDataLoss, "the input ends within a length"};
    std::memcpy(&size, input.data(), sizeof size);
    input.remove_prefix(sizeof size);
    if (input.size() < size) return Error{Code::kDataLoss, "the input ends within a text"};
    texts.push_back(input.substr(0, size));
    input.remove_prefix(size);
  }
  return texts;
}

Status run(const Arguments& arguments) {
  HEADRACE_TRY(const auto encoder, make_encoder(arguments));
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  HEADRACE_TRY(const std::vector<std::string_view> texts, split_texts(input));
  const std::size_t dimension = encoder->dimension();
  std::vector<float> vectors(texts.size() * dimension);
  const std::size_t batches = (texts.size() + arguments.batch - 1) / arguments.batch;
  HEADRACE_CHECK(parallel_for(arguments.threads, batches, [&](std::size_t i) {
    const std::size_t first = i * arguments.batch;
    const std::size_t count = std::min(arguments.batch, texts.size() - first);
    return encoder->encode(std::span(texts).subspan(first, count),
                           std::span(vectors).subspan(first * dimension, count * dimension));
  }));
  if (std::fwrite(vectors.data(), sizeof(float), vectors.size(), stdout) != vectors.size()) {
    return Error{Code::kUnknown, "writing to standard output failed"};
  }
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  const auto arguments = headrace::parse(std::vector<std::string>(argv + 1, argv + argc));
  if (!arguments) {
    std::cerr
        << "usage: headrace_encode_probe use FOLDER | hash N [--set portable|avx2|avx512] [--threads T] "
           "[--batch B]\n";
    return 2;
  }
  const headrace::Status status = headrace::run(*arguments);
  if (!status) std::cerr << status.error().message << "\n";
  return status ? 0 : 1;
}
