#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/tar_script.h"
#include "headrace/base/text.h"
#include "headrace/record/example.h"
#include "headrace/record/tfrecord.h"
#include "headrace/stream/tar_sample.h"

namespace headrace {
namespace {

constexpr std::array<std::string_view, 8> kFields = {"a", "b", "cls", "left.cls", "id", "", "jpg", "__key__"};

// The columns to read; empty: all.
std::vector<Column> make_columns(Script& script) {
  std::vector<Column> columns;
  for (unsigned count = script.byte() % 5; count > 0; --count) {
    const std::string name(kFields[script.byte() % kFields.size()]);
    columns.push_back({.name = name, .type = kFeatureTypes[script.byte() % 3]});
  }
  return columns;
}

// A path that fits into a header, with its prefix or without; or one that takes a header of its own.
void append_file(Bytes& tar, const std::string& path, const TarHeader& with, bool is_pax) {
  TarHeader header = with;
  const std::size_t slash = path.rfind('/', 155);
  if (path.size() <= 100) {
    header.path = path;
  } else if (slash != path.npos && path.size() - slash - 1 <= 100) {
    header.prefix = std::string_view(path).substr(0, slash);
    header.path = std::string_view(path).substr(slash + 1);
  } else {
    // "<length> path=<path>\n": the length counts itself.
    std::size_t size = path.size() + 8;
    while (concat(size, " path=", path, '\n').size() > size) ++size;
    const std::string record = is_pax ? concat(size, " path=", path, '\n') : path;
    append_tar_header(tar, {.path = "long", .data_bytes = record.size(), .type = is_pax ? 'x' : 'L'});
    append_tar_data(tar, as_bytes(record));
    header.path = std::string_view(path).substr(0, 100);
  }
  append_tar_header(tar, header);
}

// Samples of a few files, with what lies between them.
Bytes make_tar(Script& script) {
  constexpr std::string_view kTypes = "00000000000000005xgS";
  Bytes tar;
  for (int files = 0; files < 20 && !script.empty(); ++files) {
    std::string path = script.byte() % 8 == 0 ? "./" : "";
    if (const unsigned folder = script.byte(); folder > 200) path.append(folder, 'f').push_back('/');
    path.append(1 + script.byte() % 2 * 90, static_cast<char>('A' + script.byte() % 3)).push_back('.');
    path.append(kFields[script.byte() % kFields.size()]);
    if (script.byte() % 8 == 0) path.append(script.byte(), 'X');
    const std::size_t size = script.word() % 1100;
    Bytes data(size, std::byte{'7'});
    const BytesView begin = script.take(std::min<std::size_t>(size, script.byte() % 64));
    std::ranges::copy(begin, data.begin());
    const std::size_t overlay_bytes = script.byte() % 16 == 0 ? script.byte() % 64 : 0;
    append_file(tar, path,
                {.data_bytes = size,
                 .type = kTypes[script.byte() % kTypes.size()],
                 .overlay = script.take(overlay_bytes),
                 .overlay_at = script.byte() * 2 % (kTarBlockBytes - 64)},
                script.byte() % 2 == 0);
    append_tar_data(tar, data);
  }
  tar.resize(tar.size() + 2 * kTarBlockBytes);
  return tar;
}

struct Sample {
  std::string key;
  std::map<std::string, std::string> files;  // by field
};

// The same with copies. None where the tar is damaged, or has what is not a sample.
std::optional<std::vector<Sample>> read_samples(BytesView tar, std::uint64_t offset) {
  std::vector<Sample> samples;
  TarWalker walker(tar, offset);
  while (true) {
    const auto entry = walker.next();
    if (!entry) return std::nullopt;
    if (!*entry) break;
    const TarEntry& file = **entry;
    const auto name = split_sample_path(file.path);
    if (!name || file.kind == TarEntryKind::kFolder || file.kind == TarEntryKind::kOther) continue;
    if (file.kind != TarEntryKind::kFile) return std::nullopt;
    if (samples.empty() || samples.back().key != name->key) samples.push_back({std::string(name->key), {}});
    const std::string field = to_lower(name->field);
    const BytesView data = tar.subspan(file.data_offset_bytes - offset, file.data_bytes);
    if (field == kSampleKeyFeature || !samples.back().files.emplace(field, to_string(data)).second)
      return std::nullopt;
  }
  if (samples.empty()) return std::nullopt;
  return samples;
}

void check_feature(const Feature& feature, const std::string& expected) {
  if (const auto* bytes = std::get_if<std::vector<BytesView>>(&feature.values)) {
    if (bytes->size() != 1 || as_text(bytes->front()) != expected) std::abort();
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&feature.values)) {
    if (numbers->size() != 1 || numbers->front() != std::strtoll(expected.c_str(), nullptr, 10)) std::abort();
  } else {
    std::abort();
  }
}

// The record has the sample's files that are wanted, and nothing else.
void check_record(BytesView record, Sample sample, const std::vector<Column>& columns) {
  const auto features = parse_example(record);
  if (!features) std::abort();
  sample.files.emplace(kSampleKeyFeature, sample.key);
  std::erase_if(sample.files, [&](const auto& file) {
    return !columns.empty() && std::ranges::find(columns, file.first, &Column::name) == columns.end();
  });
  if (features->size() != sample.files.size()) std::abort();
  for (const Feature& feature : *features) {
    const auto file = sample.files.find(feature.name);
    if (file == sample.files.end()) std::abort();
    check_feature(feature, file->second);
  }
}

void check_converted(BytesView tar, std::uint64_t offset, bool is_end, const std::vector<Column>& columns) {
  // A copy of exactly this size, so that writes outside of it are noticed.
  const auto copy = std::make_unique<std::byte[]>(tar.size());
  const MutableBytesView part(copy.get(), tar.size());
  std::ranges::copy(tar, part.begin());
  TarSampleConverter converter(columns);
  std::vector<std::uint64_t> offsets;
  const Status status = converter.convert({part, offset, is_end}, offsets);
  const auto samples = read_samples(tar, offset);
  if (!status) {
    if (status.error().code != Code::kDataLoss || (samples && !is_end)) std::abort();
    return;
  }
  if (!samples || offsets.size() != samples->size() || offsets.front() != 0) std::abort();
  offsets.push_back(part.size());
  for (std::size_t i = 0; i < samples->size(); ++i) {
    const BytesView stretch = BytesView(part).first(offsets[i + 1]).subspan(offsets[i]);
    check_record(stretch.subspan(kRecordFramingBytes), (*samples)[i], columns);
  }
}

}  // namespace
}  // namespace headrace

// The first bytes say which columns are wanted and of what part; then comes what to write into the tar.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  Script script(std::as_bytes(std::span(data, size)));
  const std::vector<Column> columns = make_columns(script);
  const unsigned mode = script.byte();
  const std::size_t first_block = mode % 4 == 0 ? script.byte() : 0;
  const std::size_t cut_bytes = mode % 4 == 1 ? script.word() : 0;
  const Bytes tar = make_tar(script);
  const BytesView from = BytesView(tar).subspan(std::min(tar.size(), first_block * kTarBlockBytes));
  check_converted(from.first(from.size() - std::min(from.size(), cut_bytes)), tar.size() - from.size(),
                  (mode & 16) != 0, columns);
  return 0;
}
