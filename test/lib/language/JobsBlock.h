// Reads `jobs` blocks, for the tests of what they say and of their messages.
#pragma once
#include "lib/language/requests/Jobs.h"
#include "lib/language/syntax/Parser.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace accord {

inline const std::string kBeforeJobs =
    "model m() { }\ntrain train_one = m() { batch = 1 }\ntrain t = m() { batch = 1 }\n";

/// The last `jobs` block of a text, of one with syntax errors only with `always`; `constants` are what its `let` would
/// bind.
struct JobsBlock {
  SourceManager sources;
  Diagnostics diags{sources};
  std::unique_ptr<ast::File> file;
  std::optional<jobs::JobsRequest> request;

  explicit JobsBlock(const std::string &text, const std::map<std::string, Quantity> &constants = {},
                     bool always = false) {
    file = parse(diags, sources.add("d/t.dnn", text));
    Lookup lookup = [&](llvm::StringRef name, SourceRange at) -> std::optional<Constant> {
      auto found = constants.find(name.str());
      return found == constants.end() ? std::nullopt : std::optional(Constant{at, found->second});
    };
    for (const ast::Declaration &declaration : file->declarations)
      if (declaration.kind == ast::DeclarationKind::Jobs && (always || file->complete))
        request = jobsRequest(declaration, *file, diags, lookup);
  }
  /// The first message with its place.
  std::string error() const {
    if (!diags.hasErrors())
      return "";
    const Diagnostic first = diags.sorted().front();
    Position at = sources.position(first.range);
    return fmt::format("{}:{}: error[{}]: {}", at.line, at.column, entryOf(first.code).number.str(), first.message);
  }
  const jobs::JobsRequest::Job &job(const std::string &name) const {
    for (const jobs::JobsRequest::Job &one : request->jobs)
      if (one.name == name)
        return one;
    static const jobs::JobsRequest::Job none;
    ADD_FAILURE() << "no job " << name;
    return none;
  }
};

inline JobsBlock jobsBlock(const std::string &body) { return JobsBlock(kBeforeJobs + "jobs j {\n" + body + "\n}\n"); }

} // namespace accord
