# The two functions of vcpkg that the port calls, so that it runs without vcpkg's tool.
function(vcpkg_extract_source_archive variable)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ARCHIVE" "")
  set(folder "${CURRENT_PACKAGES_DIR}/../vcpkg-source")
  file(REMOVE_RECURSE "${folder}")
  file(ARCHIVE_EXTRACT INPUT "${arg_ARCHIVE}" DESTINATION "${folder}")
  file(GLOB inside "${folder}/*")
  set(${variable} "${inside}" PARENT_SCOPE)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  foreach(file IN LISTS arg_FILE_LIST)
    file(READ "${file}" text)
    file(APPEND "${CURRENT_PACKAGES_DIR}/share/holdoff/copyright" "${text}")
  endforeach()
endfunction()

include("${PORT}/portfile.cmake")
