# cmake -DOUT=file.inc -DFILE=… -DNAME=… -P embed.cmake: a file as a C++ byte array, which ends with a zero.
file(READ "${FILE}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE "${OUT}" "static constexpr unsigned char ${NAME}[] = {\n${bytes}0};\n")
