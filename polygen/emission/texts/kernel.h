/* Kernel '@name@', as polygen generated it for target '@target@'. */
#ifndef POLYGEN_@NAME@_H
#define POLYGEN_@NAME@_H

#include "polygen_geometry.h"

/* Arguments, in order; shapes and strides in elements:
@about@
   Arrays may not overlap, unless both are only read or one is declared may_alias. */

@functions@

#endif
