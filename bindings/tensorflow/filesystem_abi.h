#pragma once

/// \file TensorFlow's ABI for file systems, version 0, as far as it is used here: the layout of the structs
/// of its header tensorflow/c/experimental/filesystem/filesystem_interface.h, which has not changed from
/// TensorFlow 2.4 to 2.21, written down here so that building needs no TensorFlow. The order of members is
/// the ABI; what a null pointer means, where one is allowed, stands beside it.

#include <cstddef>
#include <cstdint>

extern "C" {

struct TF_Status;

struct TF_FileStatistics {
  std::int64_t length;
  std::int64_t mtime_nsec;
  bool is_directory;
};

struct TF_RandomAccessFile {
  void* plugin_file;
};
struct TF_WritableFile {
  void* plugin_file;
};
struct TF_ReadOnlyMemoryRegion {
  void* plugin_memory_region;
};
struct TF_Filesystem {
  void* plugin_filesystem;
};

struct TF_RandomAccessFileOps {
  void (*cleanup)(TF_RandomAccessFile*);
  std::int64_t (*read)(const TF_RandomAccessFile*, std::uint64_t offset, std::size_t bytes, char* target,
                       TF_Status*);
};

struct TF_WritableFileOps {
  void (*cleanup)(TF_WritableFile*);
  void (*append)(const TF_WritableFile*, const char* data, std::size_t bytes, TF_Status*);
  std::int64_t (*tell)(const TF_WritableFile*, TF_Status*);
  void (*flush)(const TF_WritableFile*, TF_Status*);
  void (*sync)(const TF_WritableFile*, TF_Status*);
  void (*close)(const TF_WritableFile*, TF_Status*);
};

struct TF_ReadOnlyMemoryRegionOps {
  void (*cleanup)(TF_ReadOnlyMemoryRegion*);
  const void* (*data)(const TF_ReadOnlyMemoryRegion*);
  std::uint64_t (*length)(const TF_ReadOnlyMemoryRegion*);
};

/// Strings and arrays that are given back come from `plugin_memory_allocate`; TensorFlow frees them.
struct TF_FilesystemOps {
  void (*init)(TF_Filesystem*, TF_Status*);
  void (*cleanup)(TF_Filesystem*);
  void (*new_random_access_file)(const TF_Filesystem*, const char* path, TF_RandomAccessFile*, TF_Status*);
  void (*new_writable_file)(const TF_Filesystem*, const char* path, TF_WritableFile*, TF_Status*);
  void (*new_appendable_file)(const TF_Filesystem*, const char* path, TF_WritableFile*, TF_Status*);
  void (*new_read_only_memory_region_from_file)(const TF_Filesystem*, const char* path,
                                                TF_ReadOnlyMemoryRegion*, TF_Status*);
  void (*create_dir)(const TF_Filesystem*, const char* path, TF_Status*);
  void (*recursively_create_dir)(const TF_Filesystem*, const char* path, TF_Status*);
  void (*delete_file)(const TF_Filesystem*, const char* path, TF_Status*);
  void (*delete_dir)(const TF_Filesystem*, const char* path, TF_Status*);
  void (*delete_recursively)(const TF_Filesystem*, const char* path, std::uint64_t* undeleted_files,
                             std::uint64_t* undeleted_folders, TF_Status*);
  void (*rename_file)(const TF_Filesystem*, const char* from, const char* to, TF_Status*);
  void (*copy_file)(const TF_Filesystem*, const char* from, const char* to, TF_Status*);
  void (*path_exists)(const TF_Filesystem*, const char* path, TF_Status*);
  bool (*paths_exist)(const TF_Filesystem*, char** paths, int count, TF_Status**);  // null: path_exists each
  void (*stat)(const TF_Filesystem*, const char* path, TF_FileStatistics*, TF_Status*);
  bool (*is_directory)(const TF_Filesystem*, const char* path, TF_Status*);
  std::int64_t (*get_file_size)(const TF_Filesystem*, const char* path, TF_Status*);
  char* (*translate_name)(const TF_Filesystem*, const char* uri);  // null would drop scheme and host
  int (*get_children)(const TF_Filesystem*, const char* path, char*** entries, TF_Status*);
  int (*get_matching_paths)(const TF_Filesystem*, const char* pattern, char*** entries, TF_Status*);
  void (*flush_caches)(const TF_Filesystem*);
  /// Transactions and options: null, there are none.
  void (*unused[11])();
};

struct TF_FilesystemPluginOps {
  char* scheme;
  int filesystem_ops_abi, filesystem_ops_api;
  std::size_t filesystem_ops_size;
  TF_FilesystemOps* filesystem_ops;
  int random_access_file_ops_abi, random_access_file_ops_api;
  std::size_t random_access_file_ops_size;
  TF_RandomAccessFileOps* random_access_file_ops;
  int writable_file_ops_abi, writable_file_ops_api;
  std::size_t writable_file_ops_size;
  TF_WritableFileOps* writable_file_ops;
  int read_only_memory_region_ops_abi, read_only_memory_region_ops_api;
  std::size_t read_only_memory_region_ops_size;
  TF_ReadOnlyMemoryRegionOps* read_only_memory_region_ops;
};

struct TF_FilesystemPluginInfo {
  std::size_t num_schemes;
  TF_FilesystemPluginOps* ops;
  void* (*plugin_memory_allocate)(std::size_t);
  void (*plugin_memory_free)(void*);
};

}  // extern "C"
