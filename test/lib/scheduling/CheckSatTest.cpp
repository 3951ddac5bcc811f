#include "lib/scheduling/solve/Oracle.h"
#include <gtest/gtest.h>

namespace accord {

TEST(CheckSat, SumsOfIntegers) {
  EXPECT_EQ(checkSat("(declare-const x Int)(assert (= (+ x 2) 5))(assert (not (= x 3)))").answer, "unsat");
  EXPECT_EQ(checkSat("(declare-const x Int)(assert (= (+ x 2) 5))(assert (= x 3))").answer, "sat");
  EXPECT_EQ(checkSat("(assert (not (= (+ 691181421 13984553761) 14675735182)))").answer, "unsat");
}

TEST(CheckSat, WhatIsNoScriptIsSaid) {
  std::string answer = checkSat("(assert (= x 3))").answer;
  EXPECT_NE(answer.find("unknown constant x"), std::string::npos) << answer;
}

/// A product of 20 digits is not factored within so little work.
TEST(CheckSat, WorkIsLimited) {
  EXPECT_EQ(checkSat("(declare-const p Int)(declare-const q Int)(assert (> p 1))(assert (> q p))"
                     "(assert (= (* p q) 1000000016000000063))",
                     1'000)
                .answer,
            "unknown");
}

} // namespace accord
