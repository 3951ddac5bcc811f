# Debian packages: `ninja -C build deb` writes build/accord_VERSION_ARCH.deb, beside it accord-dev_… with headers for plugins,
# and accord-mpi_… with what `mpirun accord mine` needs.
# What they depend on is read from the libraries themselves (dpkg-shlibdeps). Included last, when all is installed that is.
find_program(ACCORD_SHLIBDEPS dpkg-shlibdeps)
if(NOT ACCORD_SHLIBDEPS)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME accord)
set(CPACK_PACKAGE_CONTACT "The Accord authors <accord@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "plans the training of neural networks on accelerators and clusters")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL accord dev)
if(TARGET accord-mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_ACCORD_PACKAGE_NAME accord)
set(CPACK_DEBIAN_ACCORD_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ACCORD_PACKAGE_RECOMMENDS z3)
set(CPACK_COMPONENT_ACCORD_DESCRIPTION
  "Accord reads descriptions of machines (.accel) and of trainings (.dnn) and answers with placement plans, schedules,
latency models and certificates that it can prove again.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME accord-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "accord (= ${PROJECT_VERSION}), libmlir-22-dev, mlir-22-tools, libfmt-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers and the CMake package with which plugins of Accord are built.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME accord-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "accord (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_MPI_DESCRIPTION "What accord loads when mpirun or srun starts it on several machines.")
include(CPack)

add_custom_target(deb
  COMMAND "${CMAKE_CPACK_COMMAND}" --config "${CMAKE_BINARY_DIR}/CPackConfig.cmake" -B "${CMAKE_BINARY_DIR}"
  USES_TERMINAL COMMENT "Writing Debian packages")
# Not `all`: nobody needs the tests for it.
get_property(folders DIRECTORY "${CMAKE_SOURCE_DIR}/tools" PROPERTY SUBDIRECTORIES)
foreach(folder ${folders})
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    add_dependencies(deb ${target})
  endforeach()
endforeach()
