// The text of one model that a configuration describes, with what was assumed or left out. Internal to lib/import.
#pragma once
#include "lib/import/huggingface/HuggingFace.h"
#include "lib/import/huggingface/ImportConfig.h"

namespace accord::import {

/// Lines of the language, in which `$name` stands for what the configuration says.
class Draft {
public:
  explicit Draft(const HuggingFaceOptions &options) : options(options) {}

  std::string sentence; ///< what the model is

  /// A parameter of the model, with where its value comes from.
  void size(const std::string &name, int64_t value, const std::string &from);
  /// The same, by the first of these keys that is there; an error if none is.
  int64_t take(Config &c, const char *name, llvm::ArrayRef<llvm::StringRef> keys);
  /// A length of the inputs: the one that the user gave, else `positions` up to 8192, with a note if that is less.
  /// Positions with a learned row each cannot be exceeded. Gives the length.
  int64_t length(Config &c, const char *name, int64_t positions, const std::string &from, bool learned = false);
  /// Shapes and layers; what follows is text of the language.
  void add(const std::string &line) { body += line + "\n"; }
  void set(const std::string &name, const std::string &value) { replaced[name] = value; }
  void note(const std::string &text);
  /// A file of the catalogue of which the text uses modules, instead of `catalog/transformer.dnn`.
  void useCatalog(const std::string &file) { imported = file; }

  /// An error for each length that the user gave and the model has not.
  void checkLengths(Config &c) const;
  const std::vector<std::string> &notes() const { return said; }
  std::string text(const std::string &type, const std::string &unread) const;

private:
  struct Size {
    std::string name, value, from;
  };
  HuggingFaceOptions options;
  std::vector<Size> sizes;
  std::vector<std::string> lengths, said;
  std::map<std::string, std::string> replaced;
  std::string body, imported = "catalog/transformer.dnn";
};

/// Keys of a file, so that they can stand in a comment.
std::string readable(const std::vector<std::string> &keys);

/// What says nothing about a training step, in any family.
void ignoreUsual(Config &c);
/// A note of what was not understood of the settings below a key.
void noteUnread(Draft &d, Config &inner, llvm::StringRef key);

/// Tokens in, labels out.
void addTokens(Draft &d);
/// The token table, and how the head reads it. `factor`, if not empty: what the looked-up rows are multiplied with.
void embed(Draft &d, bool tied, const std::string &factor = "");
/// The loss of logits that are read from `last`; `cap`, if not empty, is what tanh limits them to.
void head(Draft &d, const std::string &last, bool tied, const std::string &cap = "");

/// Learned positions as rows of a table, `positions` of them before `skipped` rows that no position has.
std::string learnedPositions(int64_t positions, int64_t length, int64_t skipped = 0, const char *name = "seq");

/// An error unless the activation is known.
void refuseActivation(Config &c, llvm::StringRef key, llvm::StringRef missing, llvm::ArrayRef<llvm::StringRef> known);
extern const std::vector<llvm::StringRef> kGelu;

/// Heads of attention, which share the width evenly; the first of the keys that is there counts.
void takeHeads(Config &c, Draft &d, llvm::ArrayRef<llvm::StringRef> keys, llvm::ArrayRef<llvm::StringRef> widths,
               const char *name = "heads");
/// layers, hidden, heads and inner as most encoders and decoders name them; `inner`: its key.
void blockSizes(Config &c, Draft &d, const char *inner = "intermediate_size");

/// The module of attention: in one kernel, which is what transformers takes where it can, unless the configuration asks
/// for scores in memory. A dropout of the shares of attention is left out of the kernel, with a note.
std::string attentionModule(Config &c, Draft &d, llvm::StringRef dropout = "attention_dropout");
/// `, drop = $drop` for attention that keeps its scores.
std::string dropOf(const std::string &module);

/// The base of rotary positions, by either generation of its settings. Scaled angles are a note: they cost the same.
std::string rotaryBase(Config &c, Draft &d, llvm::StringRef key = "rope_theta", double missing = 10000);

} // namespace accord::import
