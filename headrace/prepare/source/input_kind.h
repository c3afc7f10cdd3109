#pragma once

/// \file The open list of kinds of inputs: files and folders in stores, and everything else that can be
/// listed as slices and read as rows. docs/how-to/write-an-input.md, docs/decisions/input-kinds.md.

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

/// The place of an input, opened: in a store, or of another kind.
struct InputPlace {
  InputPlace(Location of_store);  // NOLINT(google-explicit-constructor): a location is a place
  InputPlace(const InputKind& of_kind, Url of_url, Environment of_environment)
      : kind(&of_kind), url(std::move(of_url)), environment(std::move(of_environment)) {}

  const InputKind* kind;
  Url url;
  std::optional<Location> location{};  // for a store
  Environment environment{};           // where another kind finds credentials and addresses

  std::string describe() const { return location ? location->describe() : url.text(); }
};

struct InputRequest {
  std::optional<InputFormat> format{};  // nullopt: guess it from names
  SliceLimits limits{};
  /// As in find_input (input.h).
  const KnownInputs* only = nullptr;
  std::stop_token stop{};
};

/// The data and functions of one kind. Immutable, hence thread-safe.
class InputKind {
 public:
  virtual ~InputKind() = default;

  /// Lower case letters, digits and '-'. The scheme of the kind's URLs, and its name in plans and messages.
  virtual std::string_view name() const = 0;
  /// The form of its URLs. A plan records the URL, so the URL must hold no secret.
  virtual UrlForm url_form() const { return {.takes_query = true}; }

  /// Lists the input as slices. May send requests to servers, and may read rows to compute their digests. A
  /// kind other than that of stores returns the result of `input_of_slices`.
  /// \error kInvalidArgument  the URL is malformed, or the kind does not have what the request asks for
  /// \error kNotFound         nothing is there
  virtual Result<Input> find(const InputPlace& place, const InputRequest& request) const = 0;

  /// Opens the rows of a slice: the same rows in the same order each time. Their ids are unique in the input.
  /// `stores`, and the objects to which `reading` points, must outlive the source.
  /// \error kDataLoss            `slice.place` is not as `find` wrote it: it may come from a file
  /// \error kFailedPrecondition  the slice has changed since it was listed; `RowSource::next` may also say so
  virtual Result<std::unique_ptr<RowSource>> open(const Input& input, const Slice& slice,
                                                  StoreRegistry& stores,
                                                  const SliceReading& reading) const = 0;
};

/// The kind of everything in stores: the formats of input.h.
const InputKind& stored_input_kind();

using InputKinds = std::span<const InputKind* const>;
/// The kinds of this program. input_kinds.cc has the only list.
InputKinds input_kinds();

/// Opens the place that a URL names. The URL's scheme is the name of a kind, or of a store. Sends no request.
/// \error kInvalidArgument  not a URL; or neither a kind nor a store has this scheme
Result<InputPlace> open_input_place(std::string_view url, StoreRegistry& stores,
                                    InputKinds kinds = input_kinds());

/// Cuts the input at a place into slices, as its kind does.
/// \error kInvalidArgument  the request names a format, but the kind has no formats
/// \error as InputKind::find
Result<Input> find_input(const InputPlace& place, const InputRequest& request);

/// Makes an input of a kind other than that of stores. Each slice has `name`, `size_bytes`, `digest`, and
/// `place`, which only the kind understands. Leaves out slices whose names `request.only` does not have. The
/// version of the input is the SHA-256 over `name NUL size NUL digest NUL` of every slice.
/// \error kInternal  a slice has no name, or two slices have the same name
Result<Input> input_of_slices(const InputPlace& place, std::vector<Slice> slices,
                              const InputRequest& request);

/// The input's name in plans and messages: that of its format or kind.
std::string_view input_name(const Input& input);
/// Sets the format or the kind of the input by its name.
/// \error kInvalidArgument  no format and no kind has this name
Status set_input_name(Input& input, std::string_view name, InputKinds kinds = input_kinds());

}  // namespace headrace
