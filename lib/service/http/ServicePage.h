// The web page of the scheduler: the files of lib/service/page, which are part of the program.
#pragma once
#include "lib/service/http/ApiServer.h"

namespace accord::service {

std::map<std::string, ApiPageFile> servicePage();

} // namespace accord::service
