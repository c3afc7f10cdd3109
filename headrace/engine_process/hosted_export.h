#pragma once

/// \file Loads an export of Headrace, or an external SavedModel, into an engine process.

#include <functional>
#include <memory>

#include "headrace/engine/engine.h"
#include "headrace/model/contract.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/serve/remote_engine/engine_host.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Makes the encoders that a contract names, by feature.
using MakeEncoders =
    std::function<Result<TextEncoders>(const std::map<std::string, EncoderDescription>& wanted)>;

/// The signatures that clients may call. A signature is batched if all its inputs and outputs have rows.
/// Leaves out the signatures for training and initialization, those without inputs or outputs, and those
/// with a tensor of unknown rank.
ServedModel served_signatures(const Model& model);

/// Loads the model in load.folder. If it is a model of Headrace whose schema is known, its default signature
/// takes raw rows. `before_load` is called after Headrace's own encoders are made and before untrusted code
/// is loaded: encoders that are SavedModels, and the model. `engine` and `stores` must outlive the result.
/// \error kDataLoss            load.attributes do not follow docs/formats/manifest.md
/// \error kFailedPrecondition  an encoder is not the one that the model was trained with
/// \error kInvalidArgument     the model has no signature that clients may call
/// \error those of Engine::load, `make_encoders` and `before_load`
Result<std::unique_ptr<HostedModel>> load_hosted_export(const EngineLoad& load, Engine& engine,
                                                        StoreRegistry& stores,
                                                        const MakeEncoders& make_encoders,
                                                        const std::function<Status()>& before_load);

}  // namespace headrace
