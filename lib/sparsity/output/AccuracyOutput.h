// What is claimed of accuracy, in documents and summaries of every answer with zeros.
#pragma once
#include "lib/sparsity/problem/AccuracyReport.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/SummaryLines.h"

namespace accord {

/// An exact fraction, as text.
void describeExact(JsonVisitor &v, Rational &fraction);
void describe(JsonFields &f, AccuracyReport &report);
void addAccuracy(SummaryLines &lines, const AccuracyReport &report);

} // namespace accord
