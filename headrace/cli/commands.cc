#include "headrace/cli/command.h"

namespace headrace {

extern const Command kPrepareCommand;
extern const Command kPlanCommand;
extern const Command kExecuteCommand;
extern const Command kPublishCommand;
extern const Command kTrainCommand;
extern const Command kEvaluateCommand;
extern const Command kPredictCommand;
extern const Command kServeCommand;
extern const Command kServeMlflowCommand;
extern const Command kLearningCurveCommand;
extern const Command kLsCommand;
extern const Command kCatCommand;
extern const Command kCpCommand;
extern const Command kSyncCommand;
extern const Command kRmCommand;
extern const Command kGcCommand;
extern const Command kStatCommand;
extern const Command kPresignCommand;
extern const Command kDoctorCommand;
extern const Command kStoresCommand;
extern const Command kTensorboardCommand;
extern const Command kInspectCommand;
extern const Command kVerifyCommand;
extern const Command kRepairCommand;
extern const Command kModelsLsCommand;
extern const Command kModelsShowCommand;
extern const Command kModelsAliasCommand;
extern const Command kModelsExportCommand;
extern const Command kArtifactsLsCommand;
extern const Command kArtifactsShowCommand;
extern const Command kArtifactsGetCommand;
extern const Command kArtifactsAliasCommand;
extern const Command kArtifactsVerifyCommand;
extern const Command kRunsLsCommand;
extern const Command kRunsShowCommand;
extern const Command kRunsRepairCommand;
extern const Command kRunsMetricsCommand;
extern const Command kRunsTailCommand;
extern const Command kRunsChartCommand;
extern const Command kRunsCompareCommand;
extern const Command kRunsCurveCommand;
extern const Command kRunsExportCommand;
extern const Command kRunsConsoleCommand;
extern const Command kRunsImportCommand;
extern const Command kRunsRecoverCommand;
extern const Command kLineageCommand;
extern const Command kTensorflowEnableCommand;
extern const Command kTensorflowDisableCommand;
extern const Command kTensorflowStatusCommand;

std::span<const Command* const> all_commands() {
  // The only list of commands.
  static constexpr const Command* kCommands[] = {
      &kPrepareCommand,
      &kPlanCommand,
      &kExecuteCommand,
      &kPublishCommand,
      &kTrainCommand,
      &kEvaluateCommand,
      &kPredictCommand,
      &kServeCommand,
      &kServeMlflowCommand,
      &kLearningCurveCommand,
      &kInspectCommand,
      &kVerifyCommand,
      &kRepairCommand,
      &kModelsLsCommand,
      &kModelsShowCommand,
      &kModelsAliasCommand,
      &kModelsExportCommand,
      &kArtifactsLsCommand,
      &kArtifactsShowCommand,
      &kArtifactsGetCommand,
      &kArtifactsAliasCommand,
      &kArtifactsVerifyCommand,
      &kRunsLsCommand,
      &kRunsShowCommand,
      &kRunsMetricsCommand,
      &kRunsTailCommand,
      &kRunsConsoleCommand,
      &kRunsChartCommand,
      &kRunsCompareCommand,
      &kRunsCurveCommand,
      &kRunsExportCommand,
      &kRunsImportCommand,
      &kRunsRecoverCommand,
      &kRunsRepairCommand,
      &kLineageCommand,
      &kLsCommand,
      &kCatCommand,
      &kCpCommand,
      &kSyncCommand,
      &kRmCommand,
      &kGcCommand,
      &kStatCommand,
      &kPresignCommand,
      &kDoctorCommand,
      &kStoresCommand,
      &kTensorflowEnableCommand,
      &kTensorflowDisableCommand,
      &kTensorflowStatusCommand,
      &kTensorboardCommand,
  };
  return kCommands;
}

}  // namespace headrace
