/// How fast is the encoder use-multilingual-v3, beside the matrix products of OpenBLAS and oneDNN?
///
///   headrace_bench_use_encoder core|cores FOLDER REPEATS < texts      (each: u32 length, bytes)
///
/// core: all texts in calls of 64, and the peers' sgemm on the network's shapes and a square one, taking
/// turns, in seconds of CPU time of the calling thread. cores: the same calls from one thread and from two,
/// in seconds of wall time. Writes JSON to standard output. bench/use_encoder.py pins, feeds and judges it.

#include <cblas.h>
#include <dnnl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <thread>

#include "headrace/base/json.h"
#include "headrace/base/text.h"
#include "headrace/engine/use/tokenizer.h"
#include "headrace/engine/use/use_encoder.h"

namespace headrace {
namespace {

constexpr std::size_t kTextsPerCall = 64, kDimension = 512;

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<std::string_view> split_frames(std::string_view input) {
  std::vector<std::string_view> texts;
  for (std::uint32_t size = 0; input.size() >= sizeof size; input.remove_prefix(size)) {
    std::memcpy(&size, input.data(), sizeof size);
    input.remove_prefix(sizeof size);
    texts.push_back(input.substr(0, size));
  }
  return texts;
}

void encode_all(const TextEncoder& encoder, const std::vector<std::string_view>& texts, int threads) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    std::vector<float> out(kTextsPerCall * kDimension);
    for (std::size_t first; (first = next.fetch_add(kTextsPerCall)) < texts.size();) {
      const std::size_t count = std::min(kTextsPerCall, texts.size() - first);
      if (!encoder.encode(std::span(texts).subspan(first, count), std::span(out).first(count * kDimension))) {
        std::abort();
      }
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
}

struct Shape {
  int rows, columns, inner;
};
constexpr Shape kShapes[] = {{384, 256, 1280}, {2048, 768, 512},  {2048, 256, 512},
                             {2048, 256, 768}, {2048, 256, 1280}, {1024, 1024, 1024}};

void openblas(const Shape& s, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, s.rows, s.columns, s.inner, 1, a, s.inner, b,
              s.columns, 0, c, s.columns);
}

void onednn(const Shape& s, const float* a, const float* b, float* c) {
  dnnl_sgemm('N', 'N', s.rows, s.columns, s.inner, 1, a, s.inner, b, s.columns, 0, c, s.columns);
}

// GFLOP per second of CPU time, over about 0.2 s.
double measure_product(void (*product)(const Shape&, const float*, const float*, float*),
                       const Shape& shape) {
  std::vector<float> a(shape.rows * shape.inner, 0.5F), b(shape.inner * shape.columns, 0.25F);
  std::vector<float> c(shape.rows * shape.columns);
  product(shape, a.data(), b.data(), c.data());
  const double start = seconds(CLOCK_THREAD_CPUTIME_ID);
  double elapsed = 0;
  double flop = 0;
  for (; elapsed < 0.2; elapsed = seconds(CLOCK_THREAD_CPUTIME_ID) - start) {
    product(shape, a.data(), b.data(), c.data());
    flop += 2.0 * shape.rows * shape.columns * shape.inner;
  }
  return flop / elapsed / 1e9;
}

std::size_t count_tokens(const std::string& folder, const std::vector<std::string_view>& texts) {
  const std::string path = folder + "/sp.model";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  std::string bytes(64 << 20, '\0');
  bytes.resize(file == nullptr ? 0 : std::fread(bytes.data(), 1, bytes.size(), file.get()));
  const auto model = parse_sentencepiece_model(as_bytes(bytes));
  const auto tokenizer = Tokenizer::create(*model);
  std::size_t count = 0;
  for (const std::string_view text : texts) {
    tokenizer->tokenize(text, [&](std::span<const std::int32_t> ids) { count += ids.size(); });
  }
  return count;
}

Json measure_core(const TextEncoder& encoder, const std::vector<std::string_view>& texts, int repeats) {
  Json out;
  encode_all(
      encoder,
      {texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(256, texts.size()))},
      1);
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds(CLOCK_THREAD_CPUTIME_ID);
    encode_all(encoder, texts, 1);
    out["encode_cpu_s"].push_back(seconds(CLOCK_THREAD_CPUTIME_ID) - start);
    for (const Shape& shape : kShapes) {
      const std::string name = concat(shape.rows, "x", shape.columns, "x", shape.inner);
      out["openblas_gflops"][name].push_back(measure_product(openblas, shape));
      out["onednn_gflops"][name].push_back(measure_product(onednn, shape));
    }
  }
  return out;
}

Json measure_cores(const TextEncoder& encoder, const std::vector<std::string_view>& texts, int repeats) {
  Json out;
  encode_all(encoder, texts, 2);
  for (int i = 0; i < repeats; ++i) {
    for (const int threads : {1, 2}) {
      const double start = seconds(CLOCK_MONOTONIC), start_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
      encode_all(encoder, texts, threads);
      out[concat("wall_s_", threads)].push_back(seconds(CLOCK_MONOTONIC) - start);
      out[concat("cpu_s_", threads)].push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - start_cpu);
    }
  }
  return out;
}

int run(const std::string& mode, const std::string& folder, int repeats) {
  const double start = seconds(CLOCK_PROCESS_CPUTIME_ID);
  const auto encoder = load_use_encoder(folder);
  if (!encoder) {
    std::cerr << encoder.error().message << "\n";
    return 1;
  }
  const double load_cpu_s = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
  const std::string input{std::istreambuf_iterator<char>(std::cin), {}};
  const std::vector<std::string_view> texts = split_frames(input);
  Json out =
      mode == "core" ? measure_core(**encoder, texts, repeats) : measure_cores(**encoder, texts, repeats);
  out["texts"] = texts.size();
  out["bytes"] = input.size() - 4 * texts.size();
  out["tokens"] = count_tokens(folder, texts);
  out["load_cpu_s"] = load_cpu_s;
  std::cout << out.dump() << "\n";
  return 0;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: headrace_bench_use_encoder core|cores FOLDER REPEATS < texts\n";
    return 2;
  }
  return headrace::run(argv[1], argv[2], std::atoi(argv[3]));
}
