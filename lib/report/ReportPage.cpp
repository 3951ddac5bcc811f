#include "lib/report/ReportPage.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/JsonText.h"

#include "lib/report/ReportPage.inc"

using namespace llvm;
namespace accord {
namespace {

template <size_t N> StringRef part(const unsigned char (&bytes)[N]) {
  return {reinterpret_cast<const char *>(bytes), N - 1};
}

void replace(std::string &page, StringRef mark, StringRef by) {
  size_t at = page.find(mark.str());
  if (at != std::string::npos)
    page.replace(at, mark.size(), by.str());
}

std::string escapeHtml(StringRef text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

} // namespace

std::string escapeForScript(StringRef text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else if (text.substr(i).starts_with("\xe2\x80\xa8"))
      out += "\\u2028", i += 2;
    else if (text.substr(i).starts_with("\xe2\x80\xa9"))
      out += "\\u2029", i += 2;
    else
      out += c;
  }
  return out;
}

std::string pageOf(Page which, StringRef title, StringRef document, const json::Value &data, StringRef model) {
  struct Parts {
    StringRef label, main, script, document;
  };
  const Parts all[] = {
      {"plan", part(kPage_report_html), part(kPage_report_js), "plan.json"},
      {"placement", part(kPage_placement_html), part(kPage_placement_js), "plan.json"},
      {"mining", part(kPage_mining_html), part(kPage_mining_js), "mine.json"},
      {"sparsity", part(kPage_sparsity_html), part(kPage_sparsity_js), "prune.json"},
      {"ensemble", part(kPage_ensemble_html), part(kPage_ensemble_js), "vote.json"},
      {"jobs", part(kPage_jobs_html), part(kPage_jobs_js), "jobs.json"},
      {"instructions", part(kPage_microarchitecture_html), part(kPage_microarchitecture_js), "time.json"},
      {"cores", part(kPage_microarchitecture_html), part(kPage_microarchitecture_js), "plan.json"},
      {"comparison", part(kPage_comparison_html), part(kPage_comparison_js), "the answer of accord compare --json"},
      {"difference", part(kPage_difference_html), part(kPage_difference_js), "accord diff --json"},
      {"ranks", part(kPage_ranks_html), part(kPage_ranks_js), "the answer of accord compare --json"},
      {"schedule", part(kPage_schedule_html), part(kPage_schedule_js), "accord schedule --json"},
      {"estimate", part(kPage_estimate_html), part(kPage_estimate_js), "accord estimate --json"},
      {"partition", part(kPage_partition_html), part(kPage_partition_js), "accord partition --json"},
      {"layers", part(kPage_layers_html), part(kPage_layers_js), "accord partition --json"},
      {"tuning", part(kPage_tuning_html), part(kPage_tuning_js), "tune.json"},
      {"simulation", part(kPage_simulation_html), part(kPage_simulation_js), "simulation.json"}};
  const Parts &parts = all[static_cast<size_t>(which)];
  std::string page = part(kPage_shell).str();
  replace(page, "/*accord:style*/", part(kPage_style));
  replace(page, "<!--accord:degrees-->",
          which == Page::OneDevice ? "" : "  <p id=\"degrees\" class=\"degrees\"></p>\n");
  replace(page, "<!--accord:page-->", parts.label);
  replace(page, "<!--accord:main-->", parts.main);
  replace(page, "<!--accord:document-->", parts.document);
  replace(page, "<!--accord:sha256-->", sha256Of(document));
  replace(page, "//accord:script", parts.script);
  replace(page, "<!--accord:model-->", model.empty() ? "" : "<script>\n" + model.str() + "</script>\n");
  replace(page, "<!--accord:title-->", escapeHtml(json::fixUTF8(title)));
  replace(page, "<!--accord:data-->", escapeForScript(jsonLine(data)));
  return page;
}

} // namespace accord
