// The examples of docs/language.md, for the tests of the parser and the formatter.
#pragma once
#include "test/support/SourcePath.h"
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

struct Example {
  std::string language, text;
};

inline std::vector<Example> languageExamples() {
  std::ifstream in(accord::sourcePath("docs/language.md"));
  std::vector<Example> result;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (inside && line == "```")
      inside = false;
    else if (line == "```accel" || line == "```dnn") {
      inside = true;
      result.push_back({line.substr(3), ""});
    } else if (inside)
      result.back().text += line + "\n";
  }
  return result;
}
