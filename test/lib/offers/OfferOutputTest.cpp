#include "lib/offers/output/OfferCertificate.h"
#include "lib/offers/solve/OfferChooser.h"
#include "lib/offers/verify/OfferVerifier.h"
#include "test/lib/offers/OfferProblems.h"
#include <gtest/gtest.h>

namespace accord::offers {
namespace {

OfferReport reportOf(const OfferLimits &limits) {
  OfferReport report;
  InstanceOffer &offer = report.problem.offers.emplace_back();
  offer.provider = "Nebius", offer.instance = "gpu \"8\"", offer.region = "eu-north1", offer.accelerator = "H100";
  offer.devices = 8, offer.price = 24, offer.spotPrice = 10;
  InstanceOffer &own = report.problem.offers.emplace_back();
  own.provider = kOwnProvider, own.instance = "mine", own.accelerator = "h100", own.devices = 8, own.price = 30;
  own.available = 2;
  OfferTraining &training = report.problem.trainings.emplace_back();
  training.name = "bert";
  training.options = {optionOf(0, offer, 2, false, 36000, 12000, 0), optionOf(0, offer, 1, true, 90000, 6000, 0),
                      optionOf(1, own, 2, false, 40000, 12000, 0)};
  for (OfferOption &option : training.options)
    option.plan = "data 8", option.catalogue = "dgx_superpod_h100";
  report.problem.limits = limits;
  report.choice = chooseOffers(report.problem, {});
  report.offers = 2, report.compared = 2;
  report.leftOut = {{"", "L40S", "neither the catalogue nor an inventory describes it", 3, {"vms.csv", 7, 1}}};
  report.assumptions = {"a spot instance is replaced at once"};
  if (!report.choice.choice.empty())
    report.runnersUp.push_back(runnersUp(report.problem, report.choice, 0, kRunnersUp));
  return report;
}

TextStyle plain() {
  TextStyle style;
  style.unicode = false;
  return style;
}

TEST(OfferOutput, TextRanksOffersAndSaysWhatIsLeftOut) {
  OfferLimits limits;
  limits.deadline = 100'000;
  const std::string text = offerText(reportOf(limits), plain());
  for (const char *part : {"2 offers for 'bert': minimum cost, within 27.8 h", "1. Nebius eu-north1, spot",
                           "2. Nebius eu-north1", "+230.00 USD", "3. inventory", "proven minimal", "may be late",
                           "3 offers of L40S: neither the catalogue", "a spot instance is replaced at once"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST(OfferOutput, TextSaysWhatWouldDo) {
  OfferLimits limits;
  limits.deadline = 3600;
  const std::string text = offerText(reportOf(limits), plain());
  EXPECT_NE(text.find("infeasible"), std::string::npos) << text;
  EXPECT_NE(text.find("training 'bert' takes 10 h or more on each offer, and the deadline is 60 min"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("a deadline of 10 h"), std::string::npos) << text;
}

TEST(OfferOutput, TaskOfSkyPilotQuotesNames) {
  const auto task = skyTask(reportOf({}), 0);
  ASSERT_TRUE(task);
  for (const char *part :
       {"name: \"bert\"\n", "num_nodes: 1\n", "  infra: \"nebius/eu-north1\"\n", "  accelerators: \"H100:8\"\n",
        "  instance_type: \"gpu \\\"8\\\"\"\n", "  use_spot: true\n", "run: |\n"})
    EXPECT_NE(task->find(part), std::string::npos) << part << " in\n" << *task;
}

TEST(OfferOutput, OwnServersHaveNoTaskOfSkyPilot) {
  OfferReport report = reportOf({});
  report.choice.choice = {2};
  EXPECT_FALSE(skyTask(report, 0));
}

TEST(OfferOutput, DocumentHasWhatItsSchemaRequires) {
  OfferLimits limits;
  limits.deadline = 3600;
  for (const OfferReport &report : {reportOf({}), reportOf(limits)}) {
    const llvm::json::Value document = offerJson(report), schema = offerSchema();
    const llvm::json::Object &made = *document.getAsObject();
    EXPECT_EQ(made.getString("status"), llvm::StringRef(name(report.choice.status)));
    const llvm::json::Object &properties = *schema.getAsObject()->getObject("properties");
    for (const auto &[key, value] : made)
      EXPECT_TRUE(properties.get(key)) << llvm::StringRef(key).str();
    for (const llvm::json::Value &key : *schema.getAsObject()->getArray("required"))
      EXPECT_TRUE(made.get(*key.getAsString())) << key.getAsString()->str();
  }
}

TEST(OfferOutput, CertificateIsReadBackAndGivesTheSameFiles) {
  for (double deadline : {100'000.0, 3600.0}) {
    OfferLimits limits;
    limits.deadline = deadline;
    const OfferReport report = reportOf(limits);
    const std::string text = offerCertificate(report);
    auto read = offersFromCertificate(text, "choose.json");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(offerCertificate(*read), text);
    const AnswerFiles written = filesOf(report), again = filesOf(*read);
    ASSERT_EQ(written.size(), again.size());
    for (size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ(written[i].name, again[i].name);
      EXPECT_EQ(written[i].text, again[i].text);
    }
    EXPECT_NE(written.front().text.find(sha256Of(text)), std::string::npos);
  }
}

TEST(OfferOutput, CertificateOfWhatIsNotThereIsRefused) {
  OfferLimits limits;
  limits.deadline = 100'000;
  auto refused = [&](auto change) {
    OfferReport report = reportOf(limits);
    change(report);
    auto read = offersFromCertificate(offerCertificate(report), "choose.json");
    EXPECT_FALSE(read);
    return read ? "" : read.error().message;
  };
  using Report = OfferReport;
  EXPECT_NE(refused([](Report &r) { r.problem.trainings[0].options[0].offer = 2; }).find("no such offer"),
            std::string::npos);
  EXPECT_NE(refused([](Report &r) { r.choice.choice[0] = 3; }).find("expected an option of each training"),
            std::string::npos);
  refused([](Report &r) { r.choice.front[0].choice = {7}; });
  refused([](Report &r) { r.runnersUp[0][0].option = 3; });
  refused([](Report &r) { r.runnersUp.clear(); });
  EXPECT_FALSE(offersFromCertificate("{}", "choose.json"));
  EXPECT_FALSE(offersFromCertificate("", "choose.json"));
}

TEST(OfferOutput, RunnersUpAreProvedAgain) {
  OfferLimits limits;
  limits.deadline = 100'000;
  const OfferReport report = reportOf(limits);
  using Others = std::vector<std::vector<RunnerUp>>;
  auto holds = [&](auto change) {
    Others others = report.runnersUp;
    change(others);
    return verifyRunnersUp(report.problem, report.choice, others).holds();
  };
  ASSERT_EQ(report.runnersUp[0].size(), 2U);
  EXPECT_TRUE(holds([](Others &) {}));
  EXPECT_FALSE(holds([](Others &others) { others[0][0].loss *= 0.9; }));
  EXPECT_FALSE(holds([](Others &others) { others[0].pop_back(); }));
  EXPECT_FALSE(holds([](Others &others) { std::swap(others[0][0], others[0][1]); }));
  EXPECT_FALSE(holds([](Others &others) { others[0][1] = others[0][0]; }));
  EXPECT_FALSE(holds([&](Others &others) { others[0][0].option = report.choice.choice[0]; }));
  EXPECT_FALSE(holds([](Others &others) { others[0][0].option = 9; }));
  EXPECT_FALSE(holds([](Others &others) { others.clear(); }));
}

} // namespace
} // namespace accord::offers
