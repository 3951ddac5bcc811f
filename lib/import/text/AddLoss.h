// The loss of an output, which files of networks that infer do not state. Internal to lib/import.
#pragma once
#include "lib/import/text/DnnTextBuilder.h"

namespace accord::import {

struct NetworkOutput {
  std::string output; ///< its name in the file, for notes
  std::string prefix; ///< of the names of the loss and its labels
  std::string wanted; ///< the kind of loss, or "" to choose
  std::string before; ///< what ended the network and is part of the loss: "Softmax", "Softmax over
                      ///< channels" or "Sigmoid"; else ""
};

/// Classes are what softmax ends in, and what one or two dimensions of numbers are taken for; a
/// sigmoid ends in yes or no; everything else is compared with a target. Adds to `notes`.
void addLoss(DnnTextBuilder &textBuilder, DnnTextBuilder::Id x, const NetworkOutput &ending,
             std::vector<std::string> &notes);

} // namespace accord::import
