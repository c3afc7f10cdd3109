#pragma once

/// \file Text → the token ids that Universal Sentence Encoder reads: SentencePiece's unigram segmentation
/// (Kudo, 2018; the path of the highest total score) between the ids for beginning and end.

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

  /// INVALID_ARGUMENT if pieces 1 and 2 are not "<s>" and "</s>", DATA_LOSS for a malformed character map.
  static Result<Tokenizer> create(const SentencePieceModel& model);

  std::size_t vocabulary_size() const { return scores_.size(); }

  /// Hands the text's ids to `sink`, some at a time, in order: kBegin, pieces, kEnd; a text of nothing but
  /// white space has one kUnknown between them, and each character that no piece covers is one. Ill-formed
  /// bytes count as U+FFFD. Linear time; memory does not grow with the text, unless it is ill-formed: then it
  /// is copied. A stretch of more than 16 KiB in which pieces overlap everywhere is segmented in parts of
  /// that size.
  void tokenize(std::string_view text, const std::function<void(std::span<const std::int32_t>)>& sink) const;

 private:
  // The best way to one position of the normalised text: along the piece that ends there.
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
  // The pieces as a trie: nodes are numbers, 0 the root; edges in a hash table with linear probing.
  struct Edge {
    std::uint32_t key = 0;    // parent · 256 + byte
    std::uint32_t child = 0;  // 0: free
  };
  std::vector<Edge> edges_;
  std::vector<std::int32_t> piece_of_node_;  // −1: none ends here
};

}  // namespace headrace
