// Links among the pages of a folder, and what may be passed over of them when pages are compared.
#include "lib/support/documents/PageLinks.h"
#include "lib/support/documents/AnswerFile.h"
#include "gtest/gtest.h"

using namespace accord;

namespace {

std::string page(const std::string &label, const std::string &links = "", const std::string &body = "") {
  return "<meta name=\"accord-page\" content=\"" + label + "\">\n<nav class=\"pages\" aria-label=\"others\">" + links +
         "</nav>\n" + body;
}

const std::vector<FolderPage> kPages = {
    {"report.html", "mining"}, {"placement-a/report.html", "placement"}, {"placement-b/report.html", "placement"}};

} // namespace

TEST(PageLinks, LeadToTheOthers) {
  EXPECT_EQ(labelOfPage(page("mining")), "mining");
  EXPECT_EQ(labelOfPage("<html>"), "");
  EXPECT_EQ(labelOfPage(page("<b>")), "");
  EXPECT_EQ(withPageLinks(page("mining"), "report.html", kPages),
            page("mining", "<a href=\"placement-a/report.html\">placement placement-a</a>"
                           "<a href=\"placement-b/report.html\">placement placement-b</a>"));
  EXPECT_EQ(withPageLinks(page("placement", "<a href=\"old.html\">old</a>"), "placement-b/report.html", kPages),
            page("placement", "<a href=\"../report.html\">mining</a>"
                              "<a href=\"../placement-a/report.html\">placement placement-a</a>"));
  EXPECT_EQ(withPageLinks("no page", "report.html", kPages), "no page");
  // Alone in its folder, and beside a file whose name would need an escape.
  EXPECT_EQ(withPageLinks(page("plan"), "report.html", {{"report.html", "plan"}, {"a\" b.html", "plan"}}),
            page("plan"));
}

TEST(PageLinks, AreNotCompared) {
  AnswerFile given = {"report.html", page("plan", "", "5 s")};
  auto isSame = [&](const std::string &text) { return !differenceFrom(given, text, "report.html"); };
  EXPECT_TRUE(isSame(page("plan", "<a href=\"cores.html\">cores</a><a href=\"../report.html\">mining b-1</a>", "5 s")));
  EXPECT_FALSE(isSame(page("plan", "", "4 s")));
  EXPECT_FALSE(isSame(page("mining", "", "5 s")));
  // What `withPageLinks` would not write is no link.
  for (const char *links :
       {"x", "<a href=\"https://a.b/c.html\">plan</a>", "<a href=\"/etc/a.html\">plan</a>",
        "<a href=\"javascript:x.html\">plan</a>", "<a href=\"a.html\">a<b></a>", "<a href=\"a.html\">a",
        "<a href=\"a.html\" onclick=\"b()\">a</a>", "<script>1</script>", "<a href=\"a.htm\">a</a>"})
    EXPECT_FALSE(isSame(page("plan", links, "5 s"))) << links;
  // Of another kind of file each byte counts.
  EXPECT_TRUE(differenceFrom({"a.csv", page("plan")}, page("plan", "<a href=\"b.html\">b</a>"), "a.csv"));
}
