#pragma once

/// \file The open list of kinds of inputs: files and folders in stores, and whatever else can be listed into
/// slices and read as rows. docs/how-to/write-an-input.md, docs/decisions/input-kinds.md.

#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/environment.h"
#include "headrace/prepare/source/input.h"
#include "headrace/store/location.h"
#include "headrace/store/registry.h"

namespace headrace {

/// The place of an input, opened: of a store, or of another kind.
struct InputPlace {
  InputPlace(Location of_store);  // NOLINT(google-explicit-constructor): a location is a place
  InputPlace(const InputKind& of_kind, Url of_url, Environment of_environment)
      : kind(&of_kind), url(std::move(of_url)), environment(std::move(of_environment)) {}

  const InputKind* kind;
  Url url;
  std::optional<Location> location{};  // of a store
  Environment environment{};           // where another kind finds credentials and addresses

  std::string describe() const { return location ? location->describe() : url.text(); }
};

struct InputRequest {
  std::optional<InputFormat> format{};  // none: guess it by names
  SliceLimits limits{};
  /// As in find_input (input.h).
  const KnownInputs* only = nullptr;
  std::stop_token stop{};
};

/// Data and functions of one kind. Immutable, hence thread-safe.
class InputKind {
 public:
  virtual ~InputKind() = default;

  /// Lower case letters, digits and '-': the scheme of the kind's URLs, and its name in plans and messages.
  virtual std::string_view name() const = 0;
  /// The form of its URLs. A plan records the URL, so it must hold no secret.
  virtual UrlForm url_form() const { return {.takes_query = true}; }

  /// Lists the input into slices; may ask servers, and may read rows to learn their digests. A kind other
  /// than that of stores returns what `input_of_slices` makes.
  /// \error kInvalidArgument  the URL cannot be understood, or the request asks for what the kind has not
  /// \error kNotFound         nothing is there
  virtual Result<Input> find(const InputPlace& place, const InputRequest& request) const = 0;

  /// Opens the rows of a slice, the same rows in the same order each time. Their ids are unique in the input.
  /// `stores`, and what `reading` points to, outlive the source.
  /// \error kDataLoss            `slice.place` is not as `find` wrote it: it may come from a file
  /// \error kFailedPrecondition  the slice has changed since it was listed; or so `RowSource::next` says
  virtual Result<std::unique_ptr<RowSource>> open(const Input& input, const Slice& slice,
                                                  StoreRegistry& stores,
                                                  const SliceReading& reading) const = 0;
};

/// The kind of everything in stores: the formats of input.h.
const InputKind& stored_input_kind();

using InputKinds = std::span<const InputKind* const>;
/// The kinds of this program. input_kinds.cc has the only list.
InputKinds input_kinds();

/// The place that a URL names: of the kind whose name is its scheme, else of a store. Sends no request.
/// \error kInvalidArgument  no URL; or a scheme that neither a kind nor a store has
Result<InputPlace> open_input_place(std::string_view url, StoreRegistry& stores,
                                    InputKinds kinds = input_kinds());

/// Cuts the input at a place into slices, as its kind does.
/// \error as InputKind::find; kInvalidArgument also if a format is named for a kind that has none
Result<Input> find_input(const InputPlace& place, const InputRequest& request);

/// An input of a kind other than that of stores, of slices with `name`, `size_bytes` and `digest`; `place` is
/// the kind's own. Leaves out the slices whose names `request.only` does not have. Its version is the SHA-256
/// over `name NUL size NUL digest NUL` of every slice.
/// \error kInternal  a slice has no name, or two have the same
Result<Input> input_of_slices(const InputPlace& place, std::vector<Slice> slices,
                              const InputRequest& request);

/// The input's name in plans and messages: its format's, or its kind's.
std::string_view input_name(const Input& input);
/// Gives the input the format or the kind of that name.
/// \error kInvalidArgument  neither has it
Status set_input_name(Input& input, std::string_view name, InputKinds kinds = input_kinds());

}  // namespace headrace
