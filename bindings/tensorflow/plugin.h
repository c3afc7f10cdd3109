#pragma once

/// \file The file-system plug-in: docs/tensorflow-file-systems.md. A library that contains it defines
/// TF_InitPlugin, which calls `describe_plugin`.

#include <functional>
#include <string>
#include <vector>

#include "bindings/tensorflow/filesystem_abi.h"
#include "headrace/filesystem/file_system.h"

namespace headrace::tensorflow {

/// The schemes that TensorFlow gets: each driver's, with "hr" before those that TensorFlow has itself.
std::vector<std::string> schemes();

/// The driver's URL of a path with such a scheme.
std::string driver_url(std::string_view path);

/// The record that each segment of an event file begins with. `now_s`: seconds since 1970.
Bytes segment_header(double now_s);
/// Size of a TFRecord, for FileSystemOptions::record_size.
std::optional<std::uint64_t> record_size(BytesView beginning);

/// Fills what TensorFlow asks for. `file_system` gives the one of this process, for as long as the process
/// lives; it is called from any thread, and at every call. No schemes, if TensorFlow is not in this process.
void describe_plugin(TF_FilesystemPluginInfo* info, FileSystem& (*file_system)());

/// Whether TensorFlow has asked already.
bool is_registered();

}  // namespace headrace::tensorflow
