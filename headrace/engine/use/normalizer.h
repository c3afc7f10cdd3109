#pragma once

/// \file SentencePiece's text normalisation: a map of byte sequences to their replacements (a double-array
/// trie, as of darts-clone, and a pool of zero-terminated texts), white space collapsed and written as
/// U+2581.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/base/bytes.h"
#include "headrace/base/result.h"

namespace headrace {

/// Immutable and thread-safe.
class Normalizer {
 public:
  /// From normalizer_spec.precompiled_charsmap: u32 size of the trie in bytes, trie, texts. Empty: no
  /// replacements. DATA_LOSS if malformed; a bad trie in a well-formed frame is harmless (what it does not
  /// map stays as it is).
  static Result<Normalizer> create(BytesView character_map);

  /// A text on its way through the normaliser. `text` is valid UTF-8 and outlives the cursor.
  struct Cursor {
    std::string_view text;
    bool after_space = true, started = false;
    std::size_t pending_spaces = 0;  // written once something follows them: trailing ones are dropped

    bool at_end() const { return text.empty(); }
  };

  /// Normalises more of the text and appends it to `out`, until `out` has `size` bytes or a little more, or
  /// the text ends. A text of nothing but white space gives nothing; any other begins with U+2581.
  void advance(Cursor& cursor, std::size_t size, std::string& out) const;

 private:
  struct Match {
    std::string_view replacement;
    std::size_t length;
  };
  Match match(std::string_view text) const;
  static void append(Cursor& cursor, std::string_view normalized, std::string& out);

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace headrace
