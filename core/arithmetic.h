/* SPDX-License-Identifier: Apache-2.0 */
/* What haul asks of floating point: NaN, which stands for "not known", is told from numbers.
 * cmake/HaulMath.cmake sees to it; here a build by other means is refused. */
#ifndef HAUL_CORE_ARITHMETIC_H
#define HAUL_CORE_ARITHMETIC_H

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "haul needs NaN: compile without -ffast-math and -ffinite-math-only (icx: -fp-model=precise)"
#endif

#endif
