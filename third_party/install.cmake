# A relocatable tree: bin/convscope with everything it needs in lib/ beside it, but for the C library and the GPU's driver.
include(GNUInstallDirs)
#install(TARGETS convscope RUNTIME DESTINATION bin)
