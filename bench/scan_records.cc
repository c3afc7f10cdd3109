/// How fast does a TFRecord file in the page cache become checked records?
///
///   headrace_bench_scan_records write FILE_URL RECORD_BYTES COUNT   random records
///   headrace_bench_scan_records scan FILE_URL PIECE_BYTES REPEATS   through the file store; both CRCs
///   headrace_bench_scan_records read FILE_URL PIECE_BYTES REPEATS   read() alone, nothing is looked at
///
/// `scan` and `read` write JSON to standard output: bytes, records, seconds of each repeat.
/// bench/scan_records.py pins it and runs the peers beside it.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <random>

#include "bench/measuring/repeats.h"
#include "headrace/base/text.h"
#include "headrace/os/file_descriptor.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

struct Counts {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t data_bytes = 0;
};

Status write(const Location& file, std::uint64_t record_bytes, std::uint64_t count) {
  std::mt19937_64 random(44);
  Bytes noise(record_bytes + (1 << 20)), stream;
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
  HEADRACE_TRY(const auto upload, file.store->start_upload(file.key, {}));
  for (std::uint64_t i = 0; i < count; ++i) {
    append_record(stream, BytesView(noise).subspan(random() % (1 << 20), record_bytes));
    if (stream.size() < (8 << 20) && i + 1 < count) continue;
    HEADRACE_CHECK(upload->append(stream));
    stream.clear();
  }
  HEADRACE_CHECK(upload->commit());
  return {};
}

// Pieces that fit the second-level cache are checked while they are still in it.
Result<Counts> scan(const Location& file, std::size_t piece_bytes) {
  Counts counts;
  Bytes buffer(piece_bytes);
  std::size_t held = 0;
  while (true) {
    if (held == buffer.size()) buffer.resize(2 * held);  // a record that is larger than a piece
    HEADRACE_TRY(const ReadResult read,
                 file.store->read_into(file.key, MutableBytesView(buffer).subspan(held),
                                       {.offset_bytes = counts.bytes}));
    if (read.bytes_read == 0) break;
    counts.bytes += read.bytes_read;
    held += read.bytes_read;
    RecordScanner scanner(BytesView(buffer).first(held));
    BytesView record;
    ScanOutcome outcome = ScanOutcome::kEnd;
    while ((outcome = scanner.next(record)) == ScanOutcome::kRecord) {
      ++counts.records;
      counts.data_bytes += record.size();
    }
    if (outcome != ScanOutcome::kEnd && outcome != ScanOutcome::kTruncated)
      return scan_error(outcome, file.describe(), counts.bytes - held + scanner.position(), counts.records);
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(scanner.position()),
              buffer.begin() + static_cast<std::ptrdiff_t>(held), buffer.begin());
    held -= scanner.position();
  }
  if (held > 0) return Error{Code::kDataLoss, "the file was cut"};
  return counts;
}

Result<Counts> read_plainly(const std::string& path, std::size_t piece_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Counts counts;
  Bytes buffer(piece_bytes);
  while (true) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0) return Error{Code::kUnknown, concat("cannot read ", path)};
    if (count == 0) return counts;
    counts.bytes += static_cast<std::uint64_t>(count);
  }
}

Status run(const std::vector<std::string>& arguments) {
  StoreRegistry registry(Environment::capture());
  HEADRACE_TRY(const Location file, registry.open(arguments.at(1)));
  const auto first = parse_number<std::uint64_t>(arguments.at(2));
  const auto second = parse_number<std::uint64_t>(arguments.at(3));
  if (!first || !second || *first < 1 || *second < 1) return Error{Code::kInvalidArgument, "not a number"};
  if (arguments[0] == "write") return write(file, *first, *second);
  Repeats repeats;
  Counts counts;
  for (std::uint64_t i = 0; i < *second; ++i) {
    HEADRACE_TRY(counts, repeats.time([&] {
      return arguments[0] == "scan" ? scan(file, *first)
                                    : read_plainly(arguments[1].substr(std::strlen("file://")), *first);
    }));
  }
  Json out = repeats.to_json();
  out["bytes"] = counts.bytes;
  if (arguments[0] == "scan") {
    out["records"] = counts.records;
    out["data_bytes"] = counts.data_bytes;
  }
  std::cout << out.dump() << "\n";
  return {};
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const headrace::Status status = headrace::run(std::vector<std::string>(argv + 1, argv + argc));
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
