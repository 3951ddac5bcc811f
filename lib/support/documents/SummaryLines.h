// Lines of a summary: a label and a value.
#pragma once
#include "lib/support/documents/TextTable.h"

namespace accord {

class SummaryLines {
public:
  explicit SummaryLines(const TextStyle &style) : style(style) {}
  void add(const std::string &label, const std::string &value) {
    std::string pad(label.size() < 14 ? 14 - label.size() : 1, ' ');
    text += "  " + inked(style, Ink::Dim, label) + pad + value + "\n";
  }
  std::string text;

private:
  const TextStyle &style;
};

} // namespace accord
