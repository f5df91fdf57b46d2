# SPDX-License-Identifier: BSD-3-Clause
# CPack runs this after it has installed a package's files and before it packs them. Makes changes that Debian requires:
# compresses man pages, removes search paths from programs and libraries, and sets permissions of libraries.
file(GLOB_RECURSE files LIST_DIRECTORIES false ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
foreach(file IN LISTS files)
  if(IS_SYMLINK ${file})
    continue()
  endif()
  if(file MATCHES "/man1/[^/]*\\.1$")
    execute_process(COMMAND gzip -9n ${file})
  elseif(file MATCHES "/usr/bin/|\\.so(\\.[0-9.]+)?$")
    file(RPATH_REMOVE FILE ${file})
  endif()
  if(file MATCHES "\\.so(\\.[0-9.]+)?$")
    file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endif()
endforeach()
