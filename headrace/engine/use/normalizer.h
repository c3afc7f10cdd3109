#pragma once

/// \file SentencePiece's text normalisation: replaces byte sequences by a map (a double-array trie as in
/// darts-clone, and a pool of zero-terminated texts), and collapses white space, which is written as U+2581.

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
  /// Reads normalizer_spec.precompiled_charsmap: the size of the trie in bytes (u32), the trie, the texts.
  /// Empty: no replacements. A wrong trie in a well-formed frame is harmless: bytes that it does not map are
  /// unchanged.
  /// \error kDataLoss  malformed
  static Result<Normalizer> create(BytesView character_map);

  /// The rest of a text that is being normalised. `text` is valid UTF-8 and must outlive the cursor.
  struct Cursor {
    std::string_view text;
    bool after_space = true, started = false;
    std::size_t pending_spaces = 0;  // written when something follows them, so trailing ones are dropped

    bool at_end() const { return text.empty(); }
  };

  /// Normalises more of the text and appends it to `out`, until `out` has `size` bytes or slightly more, or
  /// the text ends. A text with only white space gives nothing; the result of any other text begins with
  /// U+2581.
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
