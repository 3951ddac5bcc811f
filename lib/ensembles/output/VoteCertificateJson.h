// The certificate of a vote's guarantee as JSON: a document of its own for `toDocument` and `readDocument`. Whether
// what was read makes sense is for `verify` to say (lib/ensembles/verify/Vote.h).
#pragma once
#include "lib/ensembles/problem/VoteCertificate.h"
#include "lib/support/documents/Fields.h"

namespace accord {

void describe(JsonFields &f, VoteCertificate &certificate);

} // namespace accord
