# cmake -DOUT=fonts.cpp "-DFONTS=name=file|…" -P embed_fonts.cmake: font files as assembler includes, so no compiler parses megabytes.
string(REPLACE "|" ";" FONTS "${FONTS}")
set(assembler ".section .rodata\n")
foreach(font ${FONTS})
  string(REGEX MATCH "^([a-z_]+)=(.*)$" whole "${font}")
  string(APPEND assembler ".global ${CMAKE_MATCH_1}_begin\n.global ${CMAKE_MATCH_1}_end\n.balign 16\n${CMAKE_MATCH_1}_begin:\n.incbin \"${CMAKE_MATCH_2}\"\n${CMAKE_MATCH_1}_end:\n.byte 0\n")
endforeach()
string(APPEND assembler ".section .note.GNU-stack,\"\",%progbits\n")
file(WRITE ${OUT} "${assembler}")
