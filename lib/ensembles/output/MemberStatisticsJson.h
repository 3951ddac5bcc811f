// What is known of errors of members as JSON.
#pragma once
#include "lib/ensembles/problem/MemberStatistics.h"
#include "lib/support/documents/Fields.h"

namespace accord {

void describe(JsonFields &f, MemberStatistics &statistics);
/// Fields of a rate, which are missing where it is not known.
void describeRate(JsonFields &f, ErrorRate &rate);
/// A fraction from 0 to 1.
void describeShare(JsonVisitor &v, Rational &share);

} // namespace accord
