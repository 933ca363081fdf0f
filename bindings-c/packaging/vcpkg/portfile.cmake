# An overlay port of the built library; its archive lies beside this file, because it is not published yet.
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${CMAKE_CURRENT_LIST_DIR}/@ARCHIVE@")
# The archive has no library of its own for debugging.
set(VCPKG_BUILD_TYPE release)
set(VCPKG_POLICY_MISMATCHED_NUMBER_OF_BINARIES enabled)
file(INSTALL "${SOURCE_PATH}/include/" DESTINATION "${CURRENT_PACKAGES_DIR}/include")
if(VCPKG_LIBRARY_LINKAGE STREQUAL "dynamic")
  file(GLOB libraries "${SOURCE_PATH}/lib/libholdoff.so*")
else()
  set(libraries "${SOURCE_PATH}/lib/libholdoff.a")
endif()
file(INSTALL ${libraries} "${SOURCE_PATH}/lib/pkgconfig" DESTINATION "${CURRENT_PACKAGES_DIR}/lib")
file(INSTALL "${SOURCE_PATH}/lib/cmake/holdoff/" DESTINATION "${CURRENT_PACKAGES_DIR}/share/holdoff")
vcpkg_install_copyright(FILE_LIST
  "${SOURCE_PATH}/share/doc/holdoff/LICENSE-MIT" "${SOURCE_PATH}/share/doc/holdoff/LICENSE-APACHE")
