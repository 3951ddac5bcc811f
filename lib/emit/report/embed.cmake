# cmake -DOUT=file.inc -DFOLDER=… -P embed.cmake: the page's parts as C++ byte arrays (no limit on string length, no escapes).
set(text "// Generated from lib/emit/report by embed.cmake.\n")
foreach(part html css js)
  file(READ "${FOLDER}/report.${part}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  string(APPEND text "static constexpr unsigned char kReport_${part}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
