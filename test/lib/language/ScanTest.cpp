// Our scanner and the lexer that ANTLR generates from Common.g4 cut every text into the same
// tokens.
#include "ANTLRInputStream.h"
#include "grammar/DnnLexer.h"
#include "lib/language/syntax/Tokens.h"
#include "test/support/Random.h"
#include "test/support/SourcePath.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace accord;

namespace {

struct Cut {
  size_t type, begin, end;
  bool operator==(const Cut &) const = default;
};
void PrintTo(const Cut &cut, std::ostream *os) { *os << cut.type << " [" << cut.begin << ", " << cut.end << ")"; }

std::vector<Cut> ours(llvm::StringRef text) {
  std::vector<Cut> result;
  for (size_t at = 0; at < text.size();) {
    if (llvm::StringRef(" \t\r\n").contains(text[at])) {
      ++at;
      continue;
    }
    syntax::Scanned token = syntax::scan(text, at);
    result.push_back({token.type, at, token.end});
    at = token.end;
  }
  return result;
}

/// ANTLR counts characters, we count bytes.
std::vector<Cut> antlrs(llvm::StringRef text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      starts.push_back(i);
  starts.push_back(text.size());
  antlr4::ANTLRInputStream input(text.str());
  grammar::DnnLexer lexer(&input);
  std::vector<Cut> result;
  for (const auto &token : lexer.getAllTokens())
    result.push_back({token->getType(), starts[token->getStartIndex()], starts[token->getStopIndex() + 1]});
  return result;
}

TEST(Scan, CutsShippedFilesAsTheGrammarDoes) {
  unsigned files = 0;
  for (const char *folder : {"/lib/catalog", "/examples", "/test"})
    for (const auto &entry : std::filesystem::recursive_directory_iterator(accord::sourcePath("") + folder)) {
      std::string extension = entry.path().extension();
      if (extension != ".accel" && extension != ".dnn")
        continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      if (text.str().empty())
        continue;
      EXPECT_EQ(ours(text.str()), antlrs(text.str())) << entry.path();
      ++files;
    }
  EXPECT_GT(files, 10u);
}

TEST(Scan, CutsRandomTextsAsTheGrammarDoes) {
  // Pieces that begin, end or break some token, so that every longest match is tried.
  const char *pieces[] = {"a",
                          "if",
                          "then",
                          "else",
                          "and",
                          "or",
                          "not",
                          "true",
                          "false",
                          "x",
                          "_",
                          "0",
                          "12",
                          ".",
                          "..",
                          "e",
                          "E",
                          "+",
                          "-",
                          ">",
                          "<",
                          "=",
                          "!",
                          "/",
                          "//",
                          "*",
                          "%",
                          "^",
                          "\"",
                          "\\",
                          "\n",
                          "\r",
                          " ",
                          "\t",
                          "{",
                          "}",
                          "(",
                          ")",
                          "[",
                          "]",
                          ",",
                          ":",
                          ";",
                          "#",
                          "'",
                          "\xC3\xB6",
                          "\xE2\x82\xAC",
                          "\xF0\x9F\x98\x80",
                          "1e",
                          "1_0",
                          "0x",
                          "0XfF_",
                          "3.5",
                          "->"};
  fuzz::Random random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text = " "; // so that no byte order mark can stand first
    for (size_t i = random.below(12) + 1; i > 0; --i)
      text += pieces[random.below(std::size(pieces))];
    ASSERT_EQ(ours(text), antlrs(text)) << text;
  }
}

} // namespace
