// A kernel that makes a route, without code for anything that only some launches need.
#define ENTRY bare_routing
#define CODE SPACES
#include "routing.cpp"
