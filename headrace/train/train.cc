#include "headrace/train/train.h"

#include "headrace/train/train_run.h"

namespace headrace {

Result<TrainResult> train(const Location& data, const Location& run, const TrainOptions& options,
                          const TrainEnvironment& environment, const Actor& actor, const OnStep& on_step,
                          const OnEpoch& on_epoch, const std::stop_token& stop) {
  TrainRun opened{data, run, options, environment, actor, on_step, on_epoch, stop};
  HEADRACE_CHECK(open_run(opened));
  return options.loop == TrainLoop::kKeras ? train_with_keras(opened) : train_natively(opened);
}

}  // namespace headrace
