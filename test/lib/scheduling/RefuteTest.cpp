#include "lib/scheduling/solve/Refute.h"
#include <gtest/gtest.h>

namespace accord {

TEST(Refute, SumsOfIntegers) {
  EXPECT_EQ(refute("(declare-const x Int)(assert (= (+ x 2) 5))(assert (not (= x 3)))").answer,
            "unsat");
  EXPECT_EQ(refute("(declare-const x Int)(assert (= (+ x 2) 5))(assert (= x 3))").answer, "sat");
  EXPECT_EQ(refute("(assert (not (= (+ 691181421 13984553761) 14675735182)))").answer, "unsat");
}

TEST(Refute, WhatIsNoScriptIsSaid) {
  std::string answer = refute("(assert (= x 3))").answer;
  EXPECT_NE(answer.find("unknown constant x"), std::string::npos) << answer;
}

/// A product of 20 digits is not factored within so little work.
TEST(Refute, WorkIsLimited) {
  EXPECT_EQ(refute("(declare-const p Int)(declare-const q Int)(assert (> p 1))(assert (> q p))"
                   "(assert (= (* p q) 1000000016000000063))",
                   1'000)
                .answer,
            "unknown");
}

} // namespace accord
