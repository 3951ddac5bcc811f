// What was chosen of offers with all options, as certificate/choose.json, and the files of its answer.
#pragma once
#include "lib/offers/output/OfferOutput.h"
#include "lib/support/documents/AnswerFile.h"
#include "lib/support/documents/Fields.h"

namespace accord::offers {

/// All of a report but what was proved of it, which verifiers say, and the certificate's own hash.
void describe(JsonFields &f, OfferReport &report);

/// Text that is not UTF-8 is made so.
std::string offerCertificate(const OfferReport &report);
/// Reads what `offerCertificate` writes. Offers and options that it names exist; whether the choice holds is
/// `verifyOffers`'s to say. Else what is wrong, and where: "choose.json:3:12: unknown key at choose.color" (A1106).
Result<OfferReport> offersFromCertificate(llvm::StringRef text, const std::string &file);

/// The certificate within the folder of an answer.
constexpr const char *kOfferCertificate = "certificate/choose.json";
/// choose.json (for programs, with the hash of the certificate), choose.txt (what the terminal shows), and the
/// certificate, from which both follow.
AnswerFiles filesOf(const OfferReport &report);

} // namespace accord::offers
