#include "test/fuzz/Corpus.h"
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace fs = std::filesystem;

namespace accord::fuzz {

std::vector<std::string_view> tokens(std::string_view text) {
  std::vector<std::string_view> result;
  auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
      continue;
    }
    if (std::isdigit(static_cast<unsigned char>(c))) {
      // A dot belongs to a number unless it starts a range.
      while (at < text.size() && (word(text[at]) || (text[at] == '.' && text.substr(at, 2) != "..")))
        ++at;
    } else if (word(c)) {
      while (at < text.size() && word(text[at]))
        ++at;
    } else if (c == '"') {
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n';)
        ++at;
      at = std::min(at + 1, text.size());
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else {
      ++at;
    }
    result.push_back(text.substr(begin, at - begin));
  }
  return result;
}

const char *extension(Kind kind) { return kind == Kind::Accel ? ".accel" : kind == Kind::Dnn ? ".dnn" : ".json"; }

std::optional<Kind> kindOf(std::string_view path) {
  for (Kind kind : {Kind::Accel, Kind::Dnn, Kind::Plan})
    if (path.ends_with(extension(kind)))
      return kind;
  return std::nullopt;
}

static std::string contents(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

static void addFenced(const std::string &name, const std::string &text, std::vector<Program> &into) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    if (line != "```accel" && line != "```dnn")
      continue;
    Program program{name, line == "```dnn" ? Kind::Dnn : Kind::Accel, {}};
    while (std::getline(lines, line) && line != "```")
      program.text += line + '\n';
    into.push_back(std::move(program));
  }
}

void Corpus::add(const std::string &path) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_regular_file(path, error)) {
    files.emplace_back(path);
  } else {
    for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error))
      if (at->is_regular_file(error))
        files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files) {
    std::optional<Kind> kind = kindOf(file.native());
    if (file.extension() == ".md")
      addFenced(file, contents(file), programs);
    else if (kind && (*kind != Kind::Plan || file.filename() == "plan.json"))
      programs.push_back({file, *kind, contents(file)});
  }
}

void Corpus::finish() {
  std::set<std::string> distinct(words.begin(), words.end());
  for (const Program &program : programs)
    for (std::string_view token : tokens(program.text))
      if (token.substr(0, 2) != "//")
        distinct.emplace(token);
  words.assign(distinct.begin(), distinct.end());
}

} // namespace accord::fuzz
