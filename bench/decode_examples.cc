/// How fast do tf.Examples that lie in memory become batches of 128?
///
///   headrace_bench_decode_examples write FILE COUNT     Examples of about 3.4 kB, framed
///   headrace_bench_decode_examples decode FILE REPEATS
///
/// An Example holds 512 floats, a label and a text of about 1.3 kB. A batch is an array of floats, one of
/// labels, and the texts one after another with their offsets: everything is copied out of the records.
/// `decode` writes JSON to standard output: examples, seconds of each repeat, and a sum over what was
/// decoded. bench/decode_examples.py pins it and runs the peers beside it.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>

#include "bench/measuring/repeats.h"
#include "bench/measuring/review_examples.h"
#include "headrace/record/example_decoder.h"

namespace headrace {
namespace {

constexpr std::size_t kBatchSize = 128;

struct TextBatch {
  std::vector<float> sentences = std::vector<float>(kBatchSize * kSentenceDimension);
  std::vector<std::int64_t> labels = std::vector<std::int64_t>(kBatchSize);
  std::vector<BytesView> texts = std::vector<BytesView>(kBatchSize);
  std::vector<std::uint64_t> text_offsets = std::vector<std::uint64_t>(kBatchSize + 1);
  Bytes text_data;
  std::vector<ColumnBuffer> buffers{sentences.data(), labels.data(), texts.data()};

  void copy_texts() {
    text_data.clear();
    for (std::size_t row = 0; row < kBatchSize; ++row) {
      append(text_data, texts[row]);
      text_offsets[row + 1] = text_data.size();
    }
  }
};

bool write(const std::string& path, std::uint64_t count) {
  std::mt19937_64 random(44);
  Bytes stream;
  for (std::uint64_t i = 0; i < count; ++i) append_review_example(random, stream);
  std::ofstream file(path, std::ios::binary);
  file << as_text(stream);
  return file.flush().good();
}

Result<double> decode_all(const std::vector<BytesView>& records, ExampleDecoder& decoder, TextBatch& batch) {
  double sum = 0;
  for (std::size_t first = 0; first + kBatchSize <= records.size(); first += kBatchSize) {
    for (std::size_t row = 0; row < kBatchSize; ++row) {
      HEADRACE_CHECK(decoder.decode(records[first + row], batch.buffers, row));
    }
    batch.copy_texts();
    sum += static_cast<double>(batch.sentences[kSentenceDimension] + static_cast<float>(batch.labels[1])) +
           static_cast<double>(batch.text_offsets.back());
  }
  return sum;
}

Status decode(const std::string& path, std::uint64_t repeat_count) {
  std::ifstream file(path, std::ios::binary);
  const std::string stream{std::istreambuf_iterator<char>(file), {}};
  std::vector<BytesView> records;
  RecordScanner scanner(as_bytes(stream));
  BytesView record;
  ScanOutcome outcome = ScanOutcome::kEnd;
  while ((outcome = scanner.next(record)) == ScanOutcome::kRecord) records.push_back(record);
  if (outcome != ScanOutcome::kEnd) return scan_error(outcome, path, scanner.position(), records.size());
  HEADRACE_TRY(ExampleDecoder decoder,
               ExampleDecoder::create({{"embeddings", DataType::kFloat32, kSentenceDimension},
                                       {"label", DataType::kInt64, 1},
                                       {"sentence", DataType::kBytes, 1}}));
  TextBatch batch;
  Repeats repeats;
  double sum = 0;
  for (std::uint64_t i = 0; i < repeat_count; ++i) {
    HEADRACE_TRY(sum, repeats.time([&] { return decode_all(records, decoder, batch); }));
  }
  Json out = repeats.to_json();
  out["examples"] = records.size() / kBatchSize * kBatchSize;
  out["bytes"] = stream.size();
  out["sum"] = sum;
  std::cout << out.dump() << "\n";
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  using namespace headrace;
  const auto number = argc == 4 ? parse_number<std::uint64_t>(argv[3]) : std::nullopt;
  if (!number || *number < 1) return 2;
  if (std::string_view(argv[1]) == "write") return write(argv[2], *number) ? 0 : 1;
  const Status status = decode(argv[2], *number);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
