#include "headrace/sweep/scratch.h"

#include <filesystem>

#include "headrace/store/file/file_store.h"
#include "headrace/store/layers/forwarding.h"

namespace headrace {
namespace {

class UnsyncedStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Result<ObjectInfo> write(std::string_view key, BytesView data, const WriteOptions& options) override {
    return inner().write(key, data, unsynced(options));
  }
  Result<std::unique_ptr<Upload>> start_upload(std::string_view key, const WriteOptions& options) override {
    return inner().start_upload(key, unsynced(options));
  }
  Result<ObjectInfo> copy(std::string_view from, std::string_view to, const WriteOptions& options) override {
    return inner().copy(from, to, unsynced(options));
  }

 private:
  static WriteOptions unsynced(WriteOptions options) {
    options.is_durable = false;
    return options;
  }
};

}  // namespace

Result<Scratch> make_scratch(const std::string& root) {
  HEADRACE_TRY(StagedFolder folder, StagedFolder::create(root));
  const std::string path = std::filesystem::absolute(folder.path()).string();
  const auto store = std::make_shared<UnsyncedStore>(make_file_store(path));
  return Scratch{std::move(folder), Location{store, "output", Url{"file", "", path + "/output"}}};
}

}  // namespace headrace
