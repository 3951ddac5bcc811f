// What importers of networks that infer share: the batch, notes, and the losses that their files do not state. Internal
// to lib/import.
#pragma once
#include "lib/import/text/DnnTextBuilder.h"
#include "lib/import/text/ImportedModel.h"

namespace accord::import {

/// Thrown once an error is reported; caught where one operation is imported.
struct Failed {};

struct Network {
  Network(Diagnostics &diags, FileId file, const NetworkOptions &options)
      : diags(diags), file(file), options(options) {}

  Diagnostics &diags;
  FileId file;
  const NetworkOptions &options;
  DnnTextBuilder textBuilder;
  std::vector<std::string> notes; ///< what a reader should know
  /// The batch as an extent: the file's own number, or a prime that no shape contains by chance.
  int64_t batch = 1'000'003;
  bool batchIsOpen = true;
  bool isOneSample = false; ///< no extent is a batch: all that the file states is one sample, such as a graph
  std::string lossFrom = "the file states no loss"; ///< behind how an output is trained

  void noteOnce(const std::string &note);
  std::string batchText() const;
  const Shape &shape(DnnTextBuilder::Id id) const { return textBuilder.shape(id); }

  /// The kind of loss that the options state for an output; empty if none.
  std::string lossOf(const std::string &output) const;
  /// Reports losses of outputs that there are none of; `owner`: "graph".
  void checkLosses(const std::vector<std::string> &outputs, const char *owner, SourceRange place) const;
  /// The loss of the value `x`, `of` so many outputs. `before` ended the network and is part of the loss: "Softmax",
  /// "Softmax over channels" or "Sigmoid"; else "". Classes are what softmax ends in, and what one or two dimensions of
  /// numbers are taken for; a sigmoid ends in yes or no; everything else is compared with a target.
  void addLoss(DnnTextBuilder::Id x, const std::string &output, size_t of, const std::string &before);
  void noteNoLoss(const std::string &output) { notes.push_back("the output '" + shown(output) + "' has no loss"); }
  /// Reports that no loss was added, if nothing else was wrong; `inputs`: "the inputs".
  void checkTrained(const char *inputs, SourceRange place) const;
};

/// The whole file with its notes, and `behind` the model; nothing after an error.
std::optional<ImportedModel> finished(Diagnostics &diags, FileId file, const DnnTextBuilder &textBuilder,
                                      const std::string &name, std::vector<std::string> lines,
                                      const std::vector<std::string> &notes, bool repeats = false,
                                      const std::string &behind = "");

} // namespace accord::import
