#pragma once

/// \file Artifacts in Python: drafts, and versions that were found.

#include <nanobind/nanobind.h>

#include <mutex>
#include <string>

#include "bindings/python/process.h"
#include "headrace/artifact/artifact.h"

namespace headrace::python {

/// An artifact that is being put together. Threads may share it.
class PythonArtifactDraft {
 public:
  PythonArtifactDraft(const std::string& name, const std::string& type, const std::string& description,
                      const std::string& metadata_json);

  struct Guarded {
    ArtifactDraft draft;
    std::mutex mutex{};
  };
  /// \error kFailedPrecondition in a fork's child, raised
  Guarded& here() const { return draft_.here(); }

 private:
  const OfProcess<Guarded> draft_;
};

/// A version of an artifact below the tracking root of that URL. Never changes.
struct PythonArtifactVersion {
  std::string root;
  ArtifactVersion version;
};

/// Binds both.
void bind_artifact(nanobind::module_& module);

}  // namespace headrace::python
