#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "fuzz/tar_script.h"
#include "headrace/base/text.h"
#include "headrace/codec/deflate.h"
#include "headrace/prepare/source/input.h"
#include "headrace/store/registry.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLimitBytes = 5000;

constexpr std::array<std::string_view, 6> kFolders = {"", "train/cats/", "./d/", "../", "val/", "cats/.x/"};
constexpr std::array<std::string_view, 8> kEndings = {"jpg", "JPG",     "txt", "cls",
                                                      "gif", "__key__", "",    "a.id"};

constexpr std::array<InputFormat, 4> kFormats = {InputFormat::kImageFolder, InputFormat::kTextFolder,
                                                 InputFormat::kAclImdb, InputFormat::kWebDataset};

struct Tar {
  Bytes bytes;
  bool is_plain = true;  // of files alone, as every program reads them
};

// Files in folders and samples; or other entries, with some bytes laid over their headers.
Tar make_tar(Script& script) {
  constexpr std::string_view kTypes = "00000000000000001235xgLKSV";
  Tar tar;
  for (int files = 0; files < 20 && !script.empty(); ++files) {
    const char type = kTypes[script.byte() % kTypes.size()];
    std::string path(kFolders[script.byte() % kFolders.size()]);
    path += concat(script.byte() % 4, '.', kEndings[script.byte() % kEndings.size()]);
    if (script.byte() % 16 == 0) path += static_cast<char>(script.byte());
    Bytes data = to_bytes(as_text(script.take(script.byte())));
    if (script.byte() % 8 == 0) data.resize(script.word() % 8192);
    const std::size_t overlay_bytes = script.byte() % 16 == 0 ? script.byte() % 64 : 0;
    append_tar_header(tar.bytes, {.path = path,
                                  .data_bytes = data.size(),
                                  .type = type,
                                  .overlay = script.take(overlay_bytes),
                                  .overlay_at = script.byte() * 2 % (kTarBlockBytes - 64)});
    append_tar_data(tar.bytes, data);
    const bool is_text = is_valid_utf8(path) && path.find('\0') == path.npos;
    tar.is_plain = tar.is_plain && type == '0' && overlay_bytes == 0 && is_text;
  }
  tar.bytes.resize(tar.bytes.size() + 2 * kTarBlockBytes);
  return tar;
}

// The bytes that the cell holds or refers to; references lie in `tar`.
std::string value_of(const Cell& cell, BytesView tar) {
  if (cell.kind != CellKind::kReference) return to_string(cell.data);
  const std::uint64_t offset = *cell.reference.offset_bytes, size = *cell.reference.size_bytes;
  if (offset > tar.size() || size > tar.size() - offset) std::abort();
  return to_string(tar.subspan(offset, size));
}

std::string check_row(const SourceRow& row, BytesView tar) {
  if (!is_valid_utf8(row.id)) std::abort();
  if ((row.verdict == RowVerdict::kRow) != row.reason.empty() || row.reason.empty() == row.cells.empty())
    std::abort();
  std::string text = concat(static_cast<int>(row.verdict), ' ', row.place.row, ' ', row.id, ' ', row.reason);
  std::set<std::string_view> names;
  for (const auto& [name, cell] : row.cells) {
    if (!names.insert(name).second || !is_valid_utf8(name)) std::abort();
    const std::string value = value_of(cell, tar);
    if (value.size() > kLimitBytes) std::abort();
    text += concat(' ', name, '=', cell.kind == CellKind::kInt64s, value);
  }
  return text;
}

struct RowsRead {
  std::vector<std::string> rows;
  bool is_whole = false;
};

RowsRead read_rows(const std::string& key, InputFormat format, StoreRegistry& stores, BytesView tar) {
  const auto input = find_input(*stores.open(concat("memory://fuzz/", key)), format);
  if (!input) std::abort();
  const auto source = open_slice(*input, input->slices.front(), stores, {.cell_limit_bytes = kLimitBytes});
  if (!source) std::abort();
  RowsRead read;
  RowPlace last{};
  while (true) {
    const auto row = (*source)->next();
    if (!row || !*row) {
      read.is_whole = row.has_value();
      return read;
    }
    if ((*row)->place <= last || (*source)->consumed_bytes() > input->size_bytes) std::abort();
    last = (*row)->place;
    read.rows.push_back(check_row(**row, tar));
  }
}

}  // namespace
}  // namespace headrace

// The first byte says whether the rest is an archive as it stands, or a script of what to put into a tar,
// which may be cut; and of what format.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  Script script(std::as_bytes(std::span(data, size)));
  const unsigned mode = script.byte();
  const std::size_t cut_bytes = mode % 8 == 1 ? script.word() : 0;
  Tar tar;
  if (mode % 8 == 0) {
    const BytesView rest = script.take(size);
    tar = {Bytes(rest.begin(), rest.end()), false};
  } else {
    tar = make_tar(script);
  }
  tar.bytes.resize(tar.bytes.size() - std::min(tar.bytes.size(), cut_bytes));
  tar.is_plain = tar.is_plain && cut_bytes == 0 && tar.bytes.size() > 2 * kTarBlockBytes;
  StoreRegistry stores{Environment{}};
  Store& store = *stores.open("memory://fuzz")->store;
  if (!store.write("plain", tar.bytes, {})) std::abort();
  if (!store.write("gzip", *gzip_compress(tar.bytes, 1), {})) std::abort();
  if (mode / 8 % 8 == 0) (void)guess_input_format(*stores.open("memory://fuzz/plain"));
  const InputFormat format = kFormats[mode / 64];
  const RowsRead plain = read_rows("plain", format, stores, tar.bytes);
  const RowsRead compressed = read_rows("gzip", format, stores, {});
  if (!tar.is_plain) return 0;
  if (!plain.is_whole || !compressed.is_whole || plain.rows != compressed.rows) std::abort();
  return 0;
}
