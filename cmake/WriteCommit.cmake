# SPDX-License-Identifier: BSD-3-Clause
# cmake -DSOURCE=FOLDER -DOUTPUT=FILE -P WriteCommit.cmake: writes the sources' commit id as C++, if it has changed.
# A release tarball has no repository; git archive writes the id into cmake/commit.txt.
file(STRINGS ${SOURCE}/cmake/commit.txt commit LIMIT_COUNT 1)
if(commit MATCHES "Format")
  set(commit unknown)
  if(EXISTS ${SOURCE}/.git)
    execute_process(COMMAND git -C ${SOURCE} -c safe.directory=* describe --always --dirty --abbrev=10 --exclude=*
                    OUTPUT_VARIABLE found RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(status EQUAL 0)
      set(commit ${found})
    endif()
  endif()
endif()
set(text "// Written by cmake/WriteCommit.cmake.\nnamespace weft::tools {\nextern const char* const kCommit;\nconst char* const kCommit = \"${commit}\";\n}  // namespace weft::tools\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT "${before}" STREQUAL "${text}")
  file(WRITE ${OUTPUT} "${text}")
endif()
