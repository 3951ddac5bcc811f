#include "lib/report/ReportPage.h"
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

std::string pageOf(Page which, StringRef title, const json::Value &data) {
  StringRef html, script;
  switch (which) {
  case Page::OneDevice:
    html = part(kPage_report_html), script = part(kPage_report_js);
    break;
  case Page::Placement:
    html = part(kPage_placement_html), script = part(kPage_placement_js);
    break;
  case Page::Mining:
    html = part(kPage_mining_html), script = part(kPage_mining_js);
    break;
  case Page::Sparsity:
    html = part(kPage_sparsity_html), script = part(kPage_sparsity_js);
    break;
  case Page::Ensemble:
    html = part(kPage_ensemble_html), script = part(kPage_ensemble_js);
    break;
  }
  std::string page = html.str();
  replace(page, "/*accord:style*/", part(kPage_style));
  replace(page, "//accord:script", script);
  replace(page, "<!--accord:title-->", escapeHtml(json::fixUTF8(title)));
  replace(page, "<!--accord:data-->", escapeForScript(jsonLine(data)));
  return page;
}

} // namespace accord
