#pragma once

/// \file Folders of event files as runs to import: docs/formats/run-record.md, "Imported runs".

#include <vector>

#include "headrace/run_import/imported_record.h"
#include "headrace/run_import/imported_run.h"
#include "headrace/store/location.h"

namespace headrace {

struct EventFolderRun {
  ImportedRun run;
  Location folder;
  std::vector<ObjectInfo> files;  // in it, not in folders below
};

struct EventFolderRuns {
  std::vector<EventFolderRun> runs;  // by folder
  /// Why a folder is no run, one message each.
  std::vector<std::string> problems;
};

/// Each folder, at and below `folder`, that holds event files. One listing, and the beginning of one file for
/// each. Empty files, and those below a folder `_headrace`, are left out.
Result<EventFolderRuns> event_folder_runs(const Location& folder, const CallOptions& call = {});

/// Copies the files to where the record keeps them, and reads from there the last values and the end.
/// \error kFailedPrecondition  a file has changed since an import was cut short
Status import_event_folder(const EventFolderRun& from, ImportedRecord& record, const CallOptions& call = {});

}  // namespace headrace
