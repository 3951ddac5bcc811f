# What others build on: `find_package(Accord)` finds MLIR and gives the target Accord::accord, from the build tree
# (CMAKE_PREFIX_PATH=build) and from an installed one (`cmake --install build --prefix …`) alike.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(ACCORD_CONFIG_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/accord")
# Two parts: the programs with what they need while they run, and what plugins and embedding programs are built with.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME accord)

target_compile_features(accord INTERFACE cxx_std_20)
target_include_directories(accord INTERFACE
  "$<BUILD_INTERFACE:${CMAKE_SOURCE_DIR};${CMAKE_BINARY_DIR}>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/accord>")
# `$ORIGIN`: it loads libaccord-mpi.so from beside itself.
set_target_properties(accord PROPERTIES BUILD_RPATH "$ORIGIN;${LLVM_LIBRARY_DIRS}" INSTALL_RPATH "$ORIGIN;${LLVM_LIBRARY_DIRS}")

set(config "${CMAKE_BINARY_DIR}/lib/cmake/accord") # not the root of the build folder: find_package looks there first
write_basic_package_version_file("${config}/AccordConfigVersion.cmake"
  VERSION "${PROJECT_VERSION}" COMPATIBILITY ExactVersion) # C++ has no stable binary interface
configure_file("${CMAKE_SOURCE_DIR}/cmake/AccordConfig.cmake.in" "${config}/AccordConfig.cmake" @ONLY)

install(TARGETS accord EXPORT AccordTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
export(EXPORT AccordTargets NAMESPACE Accord:: FILE "${config}/AccordTargets.cmake")
install(EXPORT AccordTargets NAMESPACE Accord:: DESTINATION "${ACCORD_CONFIG_DIR}" COMPONENT dev)
install(FILES "${config}/AccordConfig.cmake" "${config}/AccordConfigVersion.cmake"
  DESTINATION "${ACCORD_CONFIG_DIR}" COMPONENT dev)
foreach(room dialects lib passes)
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/${room}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/accord" COMPONENT dev
    FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.td" PATTERN catalog EXCLUDE PATTERN report EXCLUDE)
  install(DIRECTORY "${CMAKE_BINARY_DIR}/${room}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/accord" COMPONENT dev
    FILES_MATCHING PATTERN "*.h.inc" PATTERN CMakeFiles EXCLUDE PATTERN cmake EXCLUDE)
endforeach()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/lib/catalog" DESTINATION "${CMAKE_INSTALL_DATADIR}/accord"
  FILES_MATCHING PATTERN "*.accel" PATTERN "*.dnn" PATTERN "*.calibration" PATTERN "*.csv")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/tools/python" DESTINATION "${CMAKE_INSTALL_DATADIR}/accord"
  FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DATADIR}/accord")
install(FILES "${CMAKE_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
