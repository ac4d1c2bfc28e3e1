# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

# Embedding of the page of `haul report --html`: page.html, with the files that it includes in their places, becomes two
# arrays of a C file, what stands before its data and what stands after it. It takes SOURCE, the folder of page.html,
# and OUT, the C file.
file(READ ${SOURCE}/page.html page)
string(REGEX MATCHALL "<!--include [^ >]+-->" includes "${page}")
foreach(include ${includes})
	string(REGEX REPLACE "<!--include ([^ >]+)-->" "\\1" name "${include}")
	file(READ ${SOURCE}/${name} text)
	string(REPLACE "${include}" "${text}" page "${page}")
endforeach()

set(marker "<!--data-->")
string(LENGTH "${marker}" marker_bytes)
string(FIND "${page}" "${marker}" before_bytes)
if(before_bytes LESS 0)
	message(FATAL_ERROR "page.html has no ${marker}")
endif()
math(EXPR after_at "${before_bytes} + ${marker_bytes}")
string(SUBSTRING "${page}" 0 ${before_bytes} before)
string(SUBSTRING "${page}" ${after_at} -1 after)

set(code "#include \"report/html/data.h\"\n")
foreach(part before after)
	string(HEX "${${part}}" bytes)
	string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
	string(APPEND code "const unsigned char page_${part}[] = {\n${bytes}\n};\n"
		"const size_t page_${part}_bytes = sizeof(page_${part});\n")
endforeach()
file(WRITE ${OUT} "${code}")
