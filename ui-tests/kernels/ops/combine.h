// An operator that no host compiles.
#error "this operator is for devices only, and a host was given it"
