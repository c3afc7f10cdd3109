#pragma once

/// \file An export of Headrace, or a SavedModel of another program, as an engine process hosts it.

#include <functional>
#include <memory>

#include "headrace/engine/engine.h"
#include "headrace/model/contract.h"
#include "headrace/prepare/schema/text_encoders.h"
#include "headrace/serve/remote_engine/engine_host.h"
#include "headrace/store/registry.h"

namespace headrace {

/// Makes encoders, by their names, of those that a contract names for features.
using MakeEncoders =
    std::function<Result<TextEncoders>(const std::map<std::string, EncoderDescription>& wanted)>;

/// The signatures that clients may call. A signature is batched if all its inputs and outputs have rows. Left
/// out are those that belong to training, and those of which a rank is open.
ServedModel served_signatures(const Model& model);

/// Loads the model in load.folder. A model of Headrace whose schema is known takes raw rows, too: as its
/// default signature. `before_load` is called when the encoders are made that are Headrace's own: then comes
/// code of somebody else, the encoders that are SavedModels and the model. Borrows `engine` and `stores`.
/// \error kDataLoss            load.attributes is not what docs/formats/manifest.md says
/// \error kFailedPrecondition  an encoder is not the one that the model was trained with
/// \error those of Engine::load, `make_encoders` and `before_load`
Result<std::unique_ptr<HostedModel>> load_hosted_export(const EngineLoad& load, Engine& engine,
                                                        StoreRegistry& stores,
                                                        const MakeEncoders& make_encoders,
                                                        const std::function<Status()>& before_load);

}  // namespace headrace
