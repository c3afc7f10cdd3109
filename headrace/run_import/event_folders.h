#pragma once

/// \file Imports folders of event files as runs. docs/formats/run-record.md, "Imported runs".

#include <vector>

#include "headrace/run_import/imported_record.h"
#include "headrace/run_import/imported_run.h"
#include "headrace/store/location.h"

namespace headrace {

struct EventFolderRun {
  ImportedRun run;
  Location folder;
  std::vector<ObjectInfo> files;  // directly in `folder`
};

struct EventFolderRuns {
  std::vector<EventFolderRun> runs;  // by folder
  /// One message for each folder that could not become a run, and for each file that was left out.
  std::vector<std::string> problems;
};

/// Finds each folder with event files: `folder` itself and the folders below it. Empty files and files below
/// a folder `_headrace` are ignored. Cost: one listing, and a read of up to 1 MiB from one file of each
/// folder.
/// \error of the store
Result<EventFolderRuns> event_folder_runs(const Location& folder, const CallOptions& call = {});

/// Copies the event files into the run's media folder, then reads the final metrics and the end of the run
/// from the copies.
/// \error kFailedPrecondition  a file has changed since an earlier import was cut short
Status import_event_folder(const EventFolderRun& from, ImportedRecord& record, const CallOptions& call = {});

}  // namespace headrace
