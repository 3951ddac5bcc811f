#include "lib/exploration/distributed/RankMessage.h"
#include "test/fuzz/readers/Reader.h"

void accord::fuzz::readRankMessage(std::string_view input) {
  std::optional<RankMessage> message = decoded(input);
  if (!message)
    return;
  std::string text = encoded(*message);
  std::optional<RankMessage> again = decoded(text);
  if (!again || encoded(*again) != text)
    broken("a message changes when it is written and read again");
}
