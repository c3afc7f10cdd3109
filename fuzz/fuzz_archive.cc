#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz/tar_script.h"
#include "headrace/codec/archive/archive_reader.h"
#include "headrace/codec/deflate.h"
#include "headrace/codec/tar.h"
#include "headrace/record/example.h"
#include "headrace/store/memory/memory_store.h"
#include "headrace/stream/block_loader.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLimitBytes = 1 << 16;

struct Item {
  std::string path;
  std::string data;
};

struct Tar {
  Bytes bytes;
  std::vector<Item> files;  // what must be read
  bool is_plain = true;     // nothing else is in it
};

// Entries as the script says: of a type, a name, data, and some bytes that are laid over the header.
Tar make_tar(Script& script) {
  constexpr std::string_view kTypes = "00000000125xgLKSVD";
  Tar tar;
  while (!script.empty() && tar.files.size() < 20) {
    const char type = kTypes[script.byte() % kTypes.size()];
    Item item{.path = std::string(1 + script.byte() % 90, static_cast<char>('a' + tar.files.size() / 2))};
    item.path[script.byte() % item.path.size()] = '.';
    item.data = to_string(script.take(script.byte()));
    const std::size_t overlay_bytes = script.byte() % 4 == 0 ? script.byte() % 64 : 0;
    const std::size_t overlay_at = script.byte() * 2 % (kTarBlockBytes - 64);
    append_tar_header(tar.bytes, {.path = item.path,
                                  .data_bytes = item.data.size(),
                                  .type = type,
                                  .overlay = script.take(overlay_bytes),
                                  .overlay_at = overlay_at});
    append_tar_data(tar.bytes, as_bytes(item.data));
    tar.is_plain = tar.is_plain && type == '0' && overlay_bytes == 0;
    tar.files.push_back(std::move(item));
  }
  tar.bytes.resize(tar.bytes.size() + 2 * kTarBlockBytes);
  return tar;
}

// Reads it all; what was found before the first error, and whether there was one.
bool read_archive(const Bytes& archive, std::vector<Item>& found) {
  const auto store = make_memory_store("fuzz");
  if (!store->write("archive", archive, {})) std::abort();
  const auto reader = open_archive(*store, "archive");
  if (!reader) return false;
  while (true) {
    const auto entry = (*reader)->next();
    if (!entry) return false;
    if (!*entry) return true;
    if ((*entry)->path.starts_with("./")) std::abort();
    if ((*reader)->consumed_bytes() > archive.size()) std::abort();
    Item& item = found.emplace_back(Item{(*entry)->path, {}});
    const auto read = (*reader)->read_data(item.data, kLimitBytes);
    if (item.data.size() > kLimitBytes) std::abort();
    if (!read) return false;
  }
}

// The same without libarchive.
bool walk_tar(const Bytes& tar, std::vector<Item>& found) {
  TarWalker walker(tar);
  while (true) {
    const auto entry = walker.next();
    if (!entry) return false;
    if (!*entry) return true;
    const TarEntry& file = **entry;
    if (file.offset_bytes >= file.data_offset_bytes) std::abort();
    found.push_back({file.path, to_string(BytesView(tar).subspan(file.data_offset_bytes, file.data_bytes))});
  }
}

// Opens it as a dataset, whatever it is, and reads every record; in the end all of it must be accounted for.
void read_samples(const Bytes& tar) {
  const std::shared_ptr<Store> store = make_memory_store("fuzz");
  if (!store->write("data.tar", tar, {})) std::abort();
  const Location location{store, "data.tar", Url{"memory", "fuzz", "data.tar"}};
  const auto opened = Dataset::open(location, {.on_corrupt = CorruptionPolicy::kSkipRecord});
  if (!opened) std::abort();
  const Dataset& dataset = **opened;
  BlockLoader loader(dataset, CorruptionPolicy::kSkipRecord, BufferPool::create());
  std::uint64_t end = 0;
  for (const DatasetBlock& block : dataset.blocks()) {
    if (block.stored_offset != end) std::abort();
    end += block.stored_bytes;
    const auto loaded = loader.load(block, {});
    if (!loaded || loaded->record_count() != block.record_count) std::abort();
    for (std::uint64_t i = 0; i < block.record_count; ++i) {
      if (loaded->hole(i) != nullptr) continue;
      const auto features = parse_example(loaded->data(i));
      if (!features || features->empty()) std::abort();
    }
  }
  if (end != 0 && end != tar.size()) std::abort();
}

}  // namespace
}  // namespace headrace

// The first byte says what the rest is: an archive as it stands, or a script of what to put into a tar, which
// may then be compressed.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace headrace;
  Script script(std::as_bytes(std::span(data, size)));
  const unsigned mode = script.byte() % 4;
  std::vector<Item> found;
  if (mode == 0) {
    const BytesView rest = script.take(size);
    const Bytes archive(rest.begin(), rest.end());
    (void)read_archive(archive, found);
    read_samples(archive);
    return 0;
  }
  const Tar tar = make_tar(script);
  const bool sound = read_archive(mode == 1 ? *gzip_compress(tar.bytes, 1) : tar.bytes, found);
  read_samples(tar.bytes);
  std::vector<Item> walked;
  const bool walks = walk_tar(tar.bytes, walked);
  if (!tar.is_plain || tar.files.empty()) return 0;
  const auto same = [](const Item& a, const Item& b) { return a.path == b.path && a.data == b.data; };
  if (!walks || !std::ranges::equal(walked, tar.files, same)) std::abort();
  if (!sound || !std::ranges::equal(found, tar.files, same)) std::abort();
  return 0;
}
