# cmake -DOUT=file.cpp -DROOT=project "-DFILES=a.cu|b.cu" -DHEADER=h -DFUNCTION=f -P embed_sources.cmake: texts as one
# table, which the function returns.
string(REPLACE "|" ";" FILES "${FILES}")
set(table)
foreach(file ${FILES})
  file(READ ${file} text)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND table "    {\"${name}\", R\"convscope_source(${text})convscope_source\"},\n")
endforeach()
file(WRITE ${OUT}.new "#include \"${HEADER}\"\n\nnamespace convscope {\nconst std::vector<KernelSource>& ${FUNCTION}() {\n  static const std::vector<KernelSource> all = {\n${table}  };\n  return all;\n}\n}  // namespace convscope\n")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUT}.new ${OUT})
