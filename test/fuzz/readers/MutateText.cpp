#include "test/fuzz/Mutator.h"
#include "test/fuzz/readers/Mutation.h"
#include "test/support/SourcePath.h"
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace fs = std::filesystem;

namespace accord::fuzz {

static std::string contents(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// All that `pattern` finds in the text of a file, by its first group.
static void addMatches(const fs::path &path, const std::regex &pattern, std::vector<std::string> &words) {
  std::string text = contents(path);
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
    words.push_back((*at)[1]);
}

Corpus materialOf(const std::string &reader, const std::string &files) {
  const fs::path root = accord::sourcePath("");
  Corpus material;
  for (const fs::directory_entry &file : fs::directory_iterator(root / "test/fuzz/readers/corpus" / reader))
    material.programs.push_back({.name = file.path(), .text = contents(file.path())});
  std::sort(material.programs.begin(), material.programs.end(),
            [](const Program &a, const Program &b) { return a.name < b.name; });
  const std::regex own(files), quoted("\"([A-Za-z][^\"\\\\\n{}%]{0,30})\""), keyword("'([A-Za-z_]{2,30})'");
  for (const fs::directory_entry &file : fs::recursive_directory_iterator(root / "lib"))
    if (file.path().extension() == ".cpp" && std::regex_search(file.path().lexically_relative(root).string(), own))
      addMatches(file, quoted, material.words);
  for (const char *grammar : {"Accel", "Dnn", "Common"})
    addMatches(root / "grammar" / (std::string(grammar) + ".g4"), keyword, material.words);
  material.finish();
  return material;
}

std::string mutateText(Random &random, const Corpus &material, std::string_view input) {
  return mutate(random, material, std::string(input));
}

} // namespace accord::fuzz
