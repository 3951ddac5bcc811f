// accord verify: re-proves a plan with code that shares nothing with what made it.
#include "lib/verify/Verify.h"
#include "lib/emit/JsonText.h"
#include "lib/support/Version.h"
#include "tools/accord/Commands.h"
#include "tools/accord/PlanFile.h"
#include "tools/accord/Session.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace accord {
namespace {

llvm::json::Array strings(const std::vector<std::string> &texts) {
  llvm::json::Array array;
  for (const std::string &text : texts)
    array.push_back(jsonString(text));
  return array;
}

int verifyCommand(const std::string &path, bool json) {
  auto plan = readPlan(path, json, "verify");
  if (!plan)
    return kWrongInput;
  Verification proof = verify(*plan);
  if (json) {
    llvm::json::Array findings;
    for (const Issue &finding : proof.findings)
      findings.push_back(
          llvm::json::Object{{"code", finding.code}, {"message", jsonString(finding.message)}});
    llvm::outs() << jsonText(llvm::json::Object{{"command", "verify"},
                                                {"version", kVersion},
                                                {"status", proof.holds() ? "done" : "error"},
                                                {"holds", proof.holds()},
                                                {"findings", std::move(findings)},
                                                {"checked", strings(proof.checked)},
                                                {"trusted", strings(proof.trusted)}})
                 << "\n";
  } else {
    for (const std::string &line : proof.checked)
      llvm::outs() << "  checked  " << line << "\n";
    for (const std::string &line : proof.trusted)
      llvm::outs() << "  rests on " << line << "\n";
  }
  for (const Issue &finding : proof.findings)
    fmt::print(stderr, "{}: error[{}]: {}\n", path, finding.code, finding.message);
  if (!json)
    llvm::outs() << (proof.holds() ? "the plan holds\n"
                                   : fmt::format("the plan does not hold: {} findings\n",
                                                 proof.findings.size()));
  return proof.holds() ? kDone : kWrongInput;
}

} // namespace

void addVerify(CLI::App &app, int &status) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App *command =
      app.add_subcommand("verify", "Check a plan and its certificate independently");
  command->add_option("plan", *path, "A folder that `accord compile` wrote, or a plan.json")
      ->required();
  addJson(*command, *json);
  command->footer("Example: accord verify out/");
  command->callback([path, json, &status] { status = verifyCommand(*path, *json); });
}

} // namespace accord
