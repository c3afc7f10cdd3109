#include "bindings/tensorflow/plugin.h"

#include <unistd.h>
#include <cctype>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>

#include "bindings/tensorflow/tensorflow_status.h"
#include "headrace/base/crc32c.h"
#include "headrace/base/text.h"
#include "headrace/os/large_memory.h"
#include "headrace/record/event.h"
#include "headrace/record/tfrecord.h"
#include "headrace/store/registry.h"

namespace headrace::tensorflow {
namespace {

FileSystem& (*process_file_system)() = nullptr;

constexpr std::string_view kTaken[] = {"file", "gs", "ram"};
constexpr std::string_view kOwn = "hr";

// Returns a message of the store with its URLs as TensorFlow's paths: "hrfile:///data" for "file:///data".
std::string with_own_schemes(std::string message) {
  for (const std::string_view scheme : kTaken) {
    const std::string store_url = concat(scheme, "://");
    for (std::size_t at = 0; (at = message.find(store_url, at)) != message.npos; at += store_url.size()) {
      const bool begins_here = at == 0 || std::isalnum(static_cast<unsigned char>(message[at - 1])) == 0;
      if (!begins_here) continue;  // "hrfile://", "profile://"
      message.insert(at, kOwn);
      at += kOwn.size();
    }
  }
  return message;
}

void* allocate(std::size_t bytes) { return std::calloc(1, bytes); }

// Calls `work`, which returns a Status or a Result, reports the outcome to TensorFlow, and returns the value,
// or `otherwise` after an error.
template <typename Work, typename Value>
Value run(TF_Status* status, Value otherwise, Work&& work) {
  Error error{Code::kResourceExhausted, "out of memory"};
  try {
    auto outcome = work(process_file_system());
    if (outcome) {
      tell(status, {});
      return static_cast<Value>(*std::move(outcome));
    }
    error = std::move(outcome).error();
  } catch (const std::bad_alloc&) {
  } catch (const std::exception& exception) {
    error = {Code::kInternal, exception.what()};
  }
  error.message = with_own_schemes(std::move(error.message));
  tell(status, std::move(error));
  return otherwise;
}

template <typename Work>
void run(TF_Status* status, Work&& work) {
  run(status, false, [&](FileSystem& files) -> Result<bool> {
    HEADRACE_CHECK(work(files));
    return true;
  });
}

// A file that TensorFlow has open, and the process that it belongs to: a fork's child has its memory, but
// neither its threads nor its connections.
template <typename File>
struct Handle {
  explicit Handle(std::unique_ptr<File> opened) : file(std::move(opened)) {}

  static Result<File*> of(void* handle) {
    auto& self = *static_cast<Handle*>(handle);
    if (self.process == getpid()) return self.file.get();
    return Error{Code::kFailedPrecondition,
                 "this file was opened before the process was forked; open it in the child"};
  }
  static void free(void* handle) {
    auto* self = static_cast<Handle*>(handle);
    if (self != nullptr && self->process == getpid()) delete self;
  }

  const pid_t process = getpid();
  std::unique_ptr<File> file;
};
using Reading = Handle<ReadableFile>;
using Writing = Handle<WritableFile>;

template <typename File>
Result<void*> handle_of(Result<std::unique_ptr<File>> opened) {
  if (!opened) return std::move(opened).error();
  return static_cast<void*>(new Handle<File>(*std::move(opened)));
}

char* copy_of(std::string_view text) {
  auto* const out = static_cast<char*>(allocate(text.size() + 1));
  if (out == nullptr) throw std::bad_alloc();
  std::memcpy(out, text.data(), text.size());
  return out;
}

// Sets `*entries` to an array that TensorFlow frees, and returns the number of names.
int give(const std::vector<std::string>& names, char*** entries) {
  *entries = static_cast<char**>(allocate(std::max<std::size_t>(names.size(), 1) * sizeof(char*)));
  if (*entries == nullptr) throw std::bad_alloc();
  for (std::size_t i = 0; i < names.size(); ++i) (*entries)[i] = copy_of(names[i]);
  return static_cast<int>(names.size());
}

std::int64_t nanoseconds_of(const FileInfo& info) {
  if (!info.modified) return 0;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(info.modified->time_since_epoch()).count();
}

// ---- Files ---------------------------------------------------------------------------------------

// tf.data reads TFRecord files below s3:// in blocks of this size (TensorFlow's tf_record_dataset_op.cc,
// kS3BlockSize), one after another, each into new memory, and fetches nothing meanwhile. Its stream
// (io::BufferedInputStream) also accepts less than a block at a time, and continues. So a read returns the
// bytes that are there, while the next ones are fetched.
constexpr std::size_t kStreamBlockBytes = 127 << 20;
// New memory of at least this size is filled faster in huge pages.
constexpr std::size_t kLargeTargetBytes = 4 << 20;

// Other readers may ask for blocks of the same size: a reader of a whole file also asks for its end, and
// files of tensors are known by their names.
bool is_block_of_stream(const ReadableFile& file, std::uint64_t offset, std::size_t bytes) {
  return bytes == kStreamBlockBytes && offset + bytes != file.size_bytes() &&
         file.key().find(".data-") == std::string::npos;
}

std::int64_t read(const TF_RandomAccessFile* handle, std::uint64_t offset, std::size_t bytes, char* target,
                  TF_Status* status) {
  std::int64_t read_bytes = -1;
  run(status, [&](FileSystem&) -> Status {
    HEADRACE_TRY(ReadableFile* const file, Reading::of(handle->plugin_file));
    const MutableBytesView memory{reinterpret_cast<std::byte*>(target), bytes};
    if (bytes >= kLargeTargetBytes) ask_for_huge_pages(memory);
    if (is_block_of_stream(*file, offset, bytes)) {
      HEADRACE_TRY(const std::size_t taken, file->read_some(offset, memory));
      read_bytes = static_cast<std::int64_t>(taken);
      return taken > 0 ? Status{} : Status(Error{Code::kOutOfRange, "the end of the file"});
    }
    HEADRACE_TRY(const std::size_t taken, file->read(offset, memory));
    read_bytes = static_cast<std::int64_t>(taken);
    return taken == bytes ? Status{} : Status(Error{Code::kOutOfRange, "the end of the file"});
  });
  return read_bytes;
}

void append(const TF_WritableFile* handle, const char* data, std::size_t bytes, TF_Status* status) {
  run(status, [&](FileSystem&) -> Status {
    HEADRACE_TRY(WritableFile* const file, Writing::of(handle->plugin_file));
    return file->append(as_bytes({data, bytes}));
  });
}

std::int64_t tell_position(const TF_WritableFile* handle, TF_Status* status) {
  return run(status, std::int64_t{-1}, [&](FileSystem&) -> Result<std::uint64_t> {
    HEADRACE_TRY(const WritableFile* const file, Writing::of(handle->plugin_file));
    return file->size_bytes();
  });
}

void flush(const TF_WritableFile* handle, TF_Status* status) {
  run(status, [&](FileSystem&) -> Status {
    HEADRACE_TRY(WritableFile* const file, Writing::of(handle->plugin_file));
    return file->flush();
  });
}

void close(const TF_WritableFile* handle, TF_Status* status) {
  run(status, [&](FileSystem&) -> Status {
    HEADRACE_TRY(WritableFile* const file, Writing::of(handle->plugin_file));
    return file->close();
  });
}

void open_for_reading(const TF_Filesystem*, const char* path, TF_RandomAccessFile* file, TF_Status* status) {
  file->plugin_file = run(status, static_cast<void*>(nullptr), [&](FileSystem& files) {
    return handle_of(files.open_for_reading(driver_url(path)));
  });
}

void open_for_writing(const TF_Filesystem*, const char* path, TF_WritableFile* file, TF_Status* status) {
  file->plugin_file = run(status, static_cast<void*>(nullptr), [&](FileSystem& files) {
    return handle_of(files.open_for_writing(driver_url(path)));
  });
}

void open_for_appending(const TF_Filesystem*, const char* path, TF_WritableFile* file, TF_Status* status) {
  file->plugin_file = run(status, static_cast<void*>(nullptr), [&](FileSystem& files) {
    return handle_of(files.open_for_appending(driver_url(path)));
  });
}

// A region is a whole file in memory.
void open_region(const TF_Filesystem*, const char* path, TF_ReadOnlyMemoryRegion* region, TF_Status* status) {
  region->plugin_memory_region =
      run(status, static_cast<void*>(nullptr), [&](FileSystem& files) -> Result<void*> {
        HEADRACE_TRY(const auto file, files.open_for_reading(driver_url(path)));
        auto data = std::make_unique<Bytes>(file->size_bytes());
        HEADRACE_TRY(const std::size_t taken, file->read(0, *data));
        data->resize(taken);
        return static_cast<void*>(data.release());
      });
}

// ---- Folders -------------------------------------------------------------------------------------

void create_folder(const TF_Filesystem*, const char* path, TF_Status* status) {
  run(status, [&](FileSystem& files) { return files.create_folder(driver_url(path)); });
}
void create_folders(const TF_Filesystem*, const char* path, TF_Status* status) {
  run(status, [&](FileSystem& files) { return files.create_folders(driver_url(path)); });
}
void remove_file(const TF_Filesystem*, const char* path, TF_Status* status) {
  run(status, [&](FileSystem& files) { return files.remove_file(driver_url(path)); });
}
void remove_folder(const TF_Filesystem*, const char* path, TF_Status* status) {
  run(status, [&](FileSystem& files) { return files.remove_folder(driver_url(path)); });
}

void remove_all(const TF_Filesystem*, const char* path, std::uint64_t* undeleted_files,
                std::uint64_t* undeleted_folders, TF_Status* status) {
  *undeleted_files = *undeleted_folders = 0;
  run(status, [&](FileSystem& files) {
    Status removed = files.remove_all(driver_url(path));
    if (!removed) *undeleted_folders = 1;
    return removed;
  });
}

void rename(const TF_Filesystem*, const char* from, const char* to, TF_Status* status) {
  run(status, [&](FileSystem& files) { return files.rename(driver_url(from), driver_url(to)); });
}
void copy(const TF_Filesystem*, const char* from, const char* to, TF_Status* status) {
  run(status, [&](FileSystem& files) { return files.copy(driver_url(from), driver_url(to)); });
}

FileInfo info_of(const char* path, TF_Status* status) {
  return run(status, FileInfo{}, [&](FileSystem& files) { return files.stat(driver_url(path)); });
}

void path_exists(const TF_Filesystem*, const char* path, TF_Status* status) { info_of(path, status); }

void stat(const TF_Filesystem*, const char* path, TF_FileStatistics* statistics, TF_Status* status) {
  const FileInfo info = info_of(path, status);
  *statistics = {.length = static_cast<std::int64_t>(info.size_bytes),
                 .mtime_nsec = nanoseconds_of(info),
                 .is_directory = info.is_folder};
}

bool is_folder(const TF_Filesystem*, const char* path, TF_Status* status) {
  return run(status, false, [&](FileSystem& files) -> Result<bool> {
    HEADRACE_TRY(const FileInfo info, files.stat(driver_url(path)));
    if (!info.is_folder) return Error{Code::kFailedPrecondition, concat(path, " is not a folder")};
    return true;
  });
}

std::int64_t file_size(const TF_Filesystem*, const char* path, TF_Status* status) {
  return run(status, std::int64_t{-1}, [&](FileSystem& files) -> Result<std::uint64_t> {
    HEADRACE_TRY(const FileInfo info, files.stat(driver_url(path)));
    if (info.is_folder) return Error{Code::kFailedPrecondition, concat(path, " is a folder")};
    return info.size_bytes;
  });
}

char* translate_name(const TF_Filesystem*, const char* uri) { return copy_of(FileSystem::clean(uri)); }

int children(const TF_Filesystem*, const char* path, char*** entries, TF_Status* status) {
  return run(status, -1, [&](FileSystem& files) -> Result<int> {
    HEADRACE_TRY(const std::vector<std::string> names, files.children(driver_url(path)));
    return give(names, entries);
  });
}

int matches(const TF_Filesystem*, const char* pattern, char*** entries, TF_Status* status) {
  return run(status, -1, [&](FileSystem& files) -> Result<int> {
    const std::string url = driver_url(pattern);
    HEADRACE_TRY(std::vector<std::string> paths, files.matches(url));
    const std::size_t scheme = std::string_view(pattern).find("://");
    for (std::string& found : paths) found.replace(0, found.find("://"), pattern, scheme);
    return give(paths, entries);
  });
}

void forget_reads(const TF_Filesystem*) { process_file_system().forget_reads(); }

// ---- The tables ----------------------------------------------------------------------------------

constexpr TF_RandomAccessFileOps kReading = {
    .cleanup = [](TF_RandomAccessFile* file) { Reading::free(file->plugin_file); }, .read = read};

constexpr TF_WritableFileOps kWriting = {
    .cleanup = [](TF_WritableFile* file) { Writing::free(file->plugin_file); },
    .append = append,
    .tell = tell_position,
    .flush = flush,
    .sync = flush,
    .close = close};

constexpr TF_ReadOnlyMemoryRegionOps kRegion = {
    .cleanup =
        [](TF_ReadOnlyMemoryRegion* region) { delete static_cast<Bytes*>(region->plugin_memory_region); },
    .data = [](const TF_ReadOnlyMemoryRegion* region) -> const void* {
      return static_cast<Bytes*>(region->plugin_memory_region)->data();
    },
    .length = [](const TF_ReadOnlyMemoryRegion* region) -> std::uint64_t {
      return static_cast<Bytes*>(region->plugin_memory_region)->size();
    }};

constexpr TF_FilesystemOps kFileSystem = {.init = [](TF_Filesystem*, TF_Status* status) { tell(status, {}); },
                                          .cleanup = [](TF_Filesystem*) {},
                                          .new_random_access_file = open_for_reading,
                                          .new_writable_file = open_for_writing,
                                          .new_appendable_file = open_for_appending,
                                          .new_read_only_memory_region_from_file = open_region,
                                          .create_dir = create_folder,
                                          .recursively_create_dir = create_folders,
                                          .delete_file = remove_file,
                                          .delete_dir = remove_folder,
                                          .delete_recursively = remove_all,
                                          .rename_file = rename,
                                          .copy_file = copy,
                                          .path_exists = path_exists,
                                          .paths_exist = nullptr,
                                          .stat = stat,
                                          .is_directory = is_folder,
                                          .get_file_size = file_size,
                                          .translate_name = translate_name,
                                          .get_children = children,
                                          .get_matching_paths = matches,
                                          .flush_caches = forget_reads,
                                          .unused = {}};

template <typename Table>
Table* table(const Table& from) {
  static_assert(std::is_trivially_copyable_v<Table>);
  auto* const out = static_cast<Table*>(allocate(sizeof(Table)));
  if (out != nullptr) std::memcpy(out, &from, sizeof(Table));
  return out;
}

}  // namespace

std::vector<std::string> schemes() {
  std::vector<std::string> names = StoreRegistry::schemes();
  for (std::string& name : names)
    if (std::ranges::find(kTaken, name) != std::end(kTaken)) name.insert(0, kOwn);
  return names;
}

std::string driver_url(std::string_view path) {
  const std::string_view scheme = path.substr(0, path.find("://"));
  const bool is_own =
      scheme.starts_with(kOwn) && std::ranges::find(kTaken, scheme.substr(kOwn.size())) != std::end(kTaken);
  return std::string(is_own ? path.substr(kOwn.size()) : path);
}

Bytes segment_header(double now_s) {
  Bytes out;
  EventEncoder().begin_file(out, now_s, "");  // as short as possible: every flush writes it
  return out;
}

std::optional<std::uint64_t> record_size(BytesView beginning) {
  if (beginning.size() < kRecordHeaderBytes) return std::nullopt;
  const auto length = load_little_endian<std::uint64_t>(beginning.data());
  const auto checksum = load_little_endian<std::uint32_t>(beginning.data() + sizeof length);
  const bool is_record =
      length <= kNoRecordLimitBytes && checksum == masked_crc32c(crc32c(beginning.first(sizeof length)));
  return is_record ? kRecordFramingBytes + length : beginning.size();
}

void describe_plugin(TF_FilesystemPluginInfo* info, FileSystem& (*file_system)()) {
  *info = {.plugin_memory_allocate = allocate, .plugin_memory_free = std::free};
  if (!find_status_function()) return;
  process_file_system = file_system;
  const std::vector<std::string> names = schemes();
  info->ops = static_cast<TF_FilesystemPluginOps*>(allocate(names.size() * sizeof(TF_FilesystemPluginOps)));
  if (info->ops == nullptr) return;
  info->num_schemes = names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    info->ops[i] = {.scheme = copy_of(names[i]),
                    .filesystem_ops_size = sizeof(TF_FilesystemOps),
                    .filesystem_ops = table(kFileSystem),
                    .random_access_file_ops_size = sizeof(TF_RandomAccessFileOps),
                    .random_access_file_ops = table(kReading),
                    .writable_file_ops_size = sizeof(TF_WritableFileOps),
                    .writable_file_ops = table(kWriting),
                    .read_only_memory_region_ops_size = sizeof(TF_ReadOnlyMemoryRegionOps),
                    .read_only_memory_region_ops = table(kRegion)};
  }
}

bool is_registered() { return process_file_system != nullptr; }

}  // namespace headrace::tensorflow
