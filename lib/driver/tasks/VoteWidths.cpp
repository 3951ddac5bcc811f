#include "lib/driver/tasks/VoteWidths.h"
#include "dialects/dnn/Dnn.h"
#include "lib/driver/Session.h"
#include "lib/driver/tasks/Vote.h"
#include "lib/ensembles/solve/MemberWidths.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

// Wider models than this are not tried.
constexpr int64_t kWidest = 1 << 20;

/// Trained scalars of the session's model with a parameter set; nothing: there is no such model.
std::optional<double> scalarsOf(Session &session, const std::map<std::string, int64_t> &overrides = {}) {
  size_t errors = session.diagnostics().errors();
  dnn::ModelOp model = session.program().model(session.job(), overrides);
  if (!model || session.diagnostics().errors() > errors) {
    session.diagnostics().dropErrors(errors);
    return std::nullopt;
  }
  double scalars = 0;
  for (dnn::ParameterOp parameter : model.getBlock().getOps<dnn::ParameterOp>())
    scalars += parameter.getElements();
  model->erase();
  return scalars;
}

} // namespace

int voteWidths(const Options &options, const std::string &asked) {
  auto [name, stepText] = llvm::StringRef(asked).split(':');
  auto [member, parameter] = name.split('.');
  int64_t step = 1;
  if (member.empty() || parameter.empty() ||
      (!stepText.empty() && (stepText.getAsInteger(10, step) || step < 1 || step > kWidest)))
    return refuse(Code::BadCommandLine,
                  fmt::format("--widths '{}' is not MEMBER.PARAMETER or MEMBER.PARAMETER:STEP", asked), options.json,
                  "vote");
  Session base(options);
  if (!base.prepare())
    return base.finish(kWrongInput, "vote");
  Diagnostics &diags = base.diagnostics();
  auto request = base.program().ensemble();
  std::vector<std::string> assumptions;
  std::vector<unsigned> sizes;
  if (request)
    sizes = sizesOf(*request, assumptions, diags);
  auto budget = scalarsOf(base);
  if (!request || !budget || diags.hasErrors())
    return base.finish(kWrongInput, "vote");
  std::vector<std::string> known;
  for (const EnsembleRequest::Kind &kind : request->kinds)
    known.push_back(kind.name);
  if (!llvm::is_contained(known, member)) {
    diags
        .error(Code::UnknownName, rangeOf(diags, request->location),
               fmt::format("ensemble '{}' has no member '{}'", request->name, member.str()))
        .suggest(nearest(member, known));
    return base.finish(kWrongInput, "vote");
  }
  Options own = options;
  own.elaborate.ensemble = request->name;
  own.elaborate.member = member.str();
  Session narrow(own);
  if (!narrow.prepare())
    return narrow.finish(kWrongInput, "vote");
  auto written = narrow.program().parameter(narrow.job(), parameter);
  if (!written || *written < 1) {
    narrow.diagnostics().error(
        Code::UnknownName, {},
        fmt::format("the model of '{}' has no parameter '{}' that is a number from 1", member.str(), parameter.str()));
    return narrow.finish(kWrongInput, "vote");
  }
  auto cost = [&](int64_t width) { return scalarsOf(narrow, {{parameter.str(), width}}); };
  int64_t max = std::min(*written, kWidest);
  for (auto one = cost(max); one && *one <= *budget && max < kWidest; one = cost(max))
    max *= 2;
  std::vector<MemberWidth> widths = memberWidths(sizes, max, step, *budget, cost);
  if (options.json) {
    llvm::json::Array all;
    for (const MemberWidth &one : widths)
      all.push_back(llvm::json::Object{{"members", one.members}, {"width", one.width}, {"parameters", one.cost}});
    llvm::outs() << jsonText(llvm::json::Object{{"command", "vote"},
                                                {"version", kVersion},
                                                {"status", "done"},
                                                {"parameter", name.str()},
                                                {"budget", *budget},
                                                {"widths", std::move(all)}})
                 << "\n";
    return narrow.finish(kDone, "vote");
  }
  TextStyle style = TextStyle::of(llvm::outs());
  TextTable table("rrrr", {"members", parameter.str(), "parameters of all", "of the whole"});
  for (const MemberWidth &one : widths)
    table.row({std::to_string(one.members), std::to_string(one.width), formatSi(one.cost, ""),
               fmt::format("{:.1f} %", 100 * one.cost / *budget)});
  llvm::outs() << fmt::format("the widest {} of so many {} with at most the {} parameters of {}\n", parameter.str(),
                              member.str(), formatSi(*budget, ""), request->train)
               << table.text(style) << "  a heuristic: what the errors of such members are has to be measured\n";
  return narrow.finish(kDone, "vote");
}

} // namespace accord
