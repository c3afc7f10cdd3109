#pragma once

/// \file Loads versions of a model in engine processes, from files in a cache.

#include <optional>
#include <string>

#include "headrace/base/environment.h"
#include "headrace/serve/live_model/live_model.h"
#include "headrace/serve/remote_engine/remote_engine.h"
#include "headrace/serve/version/export_cache.h"
#include "headrace/store/registry.h"

namespace headrace {

struct EngineLoaderOptions {
  StoreRegistry* stores = nullptr;  // where encoders lie that are SavedModels; borrowed
  std::string program;              // the path of `headrace`
  std::string encoder_weights{};
  /// A log of requests for models that carry no warm-up requests.
  std::optional<Location> warm_up{};
  int intra_op_threads = 1;
  std::uint64_t lanes = 1;
  std::uint64_t rows_max = 64;
  RemoteEngineOptions engine{};
};

/// Borrows the cache. `model` is its name in messages. The process gets the variables of the environment that
/// a model may know: not those of stores and clouds, which hold secrets.
LoadVersion make_engine_loader(const std::string& model, ExportCache& cache, const Environment& environment,
                               const EngineLoaderOptions& options,
                               std::function<void(const std::string&)> remark);

}  // namespace headrace
