#pragma once

/// \file Turns a text into the token ids that Universal Sentence Encoder reads: SentencePiece's unigram
/// segmentation (Kudo, 2018), which is the path with the highest total score, between the ids for beginning
/// and end.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/base/result.h"
#include "headrace/engine/use/normalizer.h"
#include "headrace/engine/use/sentencepiece_model.h"

namespace headrace {

/// Immutable and thread-safe.
class Tokenizer {
 public:
  static constexpr std::int32_t kUnknown = 0, kBegin = 1, kEnd = 2;

  /// \error kInvalidArgument  pieces 1 and 2 are not "<s>" and "</s>", or pieces are too many or too long
  /// \error kDataLoss         the character map is malformed
  static Result<Tokenizer> create(const SentencePieceModel& model);

  std::size_t vocabulary_size() const { return scores_.size(); }

  /// Passes the text's ids to `sink` in order, some at a time: kBegin, the pieces, kEnd. Each character that
  /// no piece covers is one kUnknown; a text with only white space has one kUnknown. Ill-formed bytes count
  /// as U+FFFD. If pieces overlap everywhere in a stretch of more than 16 KiB, the stretch is segmented in
  /// parts of that size. Linear time. Memory does not grow with the text, except that ill-formed text is
  /// copied.
  void tokenize(std::string_view text, const std::function<void(std::span<const std::int32_t>)>& sink) const;

 private:
  // The best path to one position of the normalised text, with the piece that ends there.
  struct Best {
    double score;
    std::uint32_t start;
    std::int32_t piece;
  };
  struct Window;
  void insert(std::string_view piece, std::int32_t id);
  std::uint32_t child(std::uint32_t node, char byte) const;
  void add_child(std::uint32_t node, char byte, std::uint32_t child);
  void extend_paths(Window& window, std::size_t start, std::size_t character_bytes) const;
  std::size_t segment(Window& window, bool is_last) const;

  Normalizer normalizer_;
  std::vector<float> scores_;
  double unknown_score_ = 0;
  std::size_t longest_piece_bytes_ = 0;
  // The pieces as a trie. Nodes are numbers, and 0 is the root. Edges are in a hash table with linear
  // probing.
  struct Edge {
    std::uint32_t key = 0;    // parent · 256 + byte
    std::uint32_t child = 0;  // 0: free
  };
  std::vector<Edge> edges_;
  std::vector<std::int32_t> piece_of_node_;  // −1: no piece ends at the node
};

}  // namespace headrace
