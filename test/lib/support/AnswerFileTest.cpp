// Where a file differs from what an answer gives.
#include "lib/support/documents/AnswerFile.h"
#include "gtest/gtest.h"

using namespace accord;

TEST(AnswerFile, Sha256OfThePublishedExample) { // FIPS 180-4, examples of the NIST
  EXPECT_EQ(sha256Of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256Of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(AnswerFile, DocumentsDifferByTheirValues) {
  AnswerFile given = {"a.json", R"({"gap": 0.5, "list": [1, {"x": true}]})"};
  auto difference = [&](const char *text) { return differenceFrom(given, text, "out/a.json").value_or("none"); };
  EXPECT_EQ(difference(R"({"list":[1,{"x":true}],
                           "gap":5e-1})"),
            "none");
  EXPECT_EQ(difference(R"({"gap": 0.25, "list": [1, {"x": true}]})"),
            "out/a.json: 0.25 at gap, the certificate gives 0.5");
  EXPECT_EQ(difference(R"({"gap": 0.5, "list": [1, {"x": false}]})"),
            "out/a.json: false at list[1].x, the certificate gives true");
  EXPECT_EQ(difference(R"({"gap": 0.5, "list": [1]})"), "out/a.json: 1 elements at list, the certificate gives 2");
  EXPECT_EQ(difference(R"({"list": [1, {"x": true}]})"), "out/a.json: missing value at gap");
  EXPECT_EQ(difference(R"({"gap": 0.5, "gain": 1, "list": [1, {"x": true}]})"), "out/a.json: unknown key at gain");
  EXPECT_NE(difference("{").find("out/a.json:1:2"), std::string::npos);
}

TEST(AnswerFile, OtherFilesDifferByTheirBytes) {
  AnswerFile given = {"a.csv", "a,b\n1,2\n3,4\n"};
  EXPECT_EQ(differenceFrom(given, given.text, "a.csv"), std::nullopt);
  EXPECT_EQ(differenceFrom(given, "a,b\n1,2\n3,5\n", "a.csv"), "a.csv: line 3 is not what the certificate gives");
  EXPECT_EQ(differenceFrom(given, "", "a.csv"), "a.csv: line 1 is not what the certificate gives");
  EXPECT_EQ(differenceFrom(given, given.text + " ", "a.csv"), "a.csv: line 4 is not what the certificate gives");
}
