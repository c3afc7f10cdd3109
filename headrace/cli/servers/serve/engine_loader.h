#pragma once

/// \file Loads versions of a model into engine processes, from files in a cache.

#include <optional>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/serve/live_model/live_model.h"
#include "headrace/serve/remote_engine/remote_engine.h"
#include "headrace/serve/version/export_cache.h"
#include "headrace/store/registry.h"

namespace headrace {

struct EngineLoaderOptions {
  StoreRegistry* stores = nullptr;  // for encoders that are SavedModels; borrowed
  std::string program;              // the path of `headrace`
  std::string encoder_weights{};
  /// A log of requests, for models without warm-up requests of their own.
  std::optional<Location> warm_up{};
  int intra_op_threads = 1;
  std::uint64_t lanes = 1;
  std::uint64_t rows_max = 64;
  RemoteEngineOptions engine{};
};

/// Makes a function that loads versions. The cache must outlive it. `model`: the name in messages. The
/// process gets only those environment variables that a model may know: not those of stores and clouds, which
/// hold secrets.
LoadVersion make_engine_loader(const std::string& model, ExportCache& cache, const Environment& environment,
                               const EngineLoaderOptions& options,
                               std::function<void(const std::string&)> remark);

}  // namespace headrace
