/* What the headers of kernels that polygen generated share: where elements lie, integer division. */
#ifndef POLYGEN_GEOMETRY_H
#define POLYGEN_GEOMETRY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PG_MOST_AXES 8

/* Complex numbers: the real part, then the imaginary one, as in C's own types and Fortran's. */
#ifdef __cplusplus
#include <complex>
typedef std::complex<float> pg_complex64;
typedef std::complex<double> pg_complex128;
#else
#include <complex.h>
#undef I
typedef float _Complex pg_complex64;
typedef double _Complex pg_complex128;
#endif

/* Where the elements of an array lie. All but `axes` counts elements.
   `elements`: how many the memory holds that is passed, from the pointer on: at least one, so that
   it can be allocated; -1 if nobody has as much.  `before`: how far elements lie ahead of the
   pointer, where strides are negative.  `size`: how many there are to be read or written, 0 for an
   empty array. */
typedef struct pg_layout {
    int axes;
    int64_t shape[PG_MOST_AXES];
    int64_t strides[PG_MOST_AXES];
    int64_t offset;
    int64_t elements;
    int64_t before;
    int64_t size;
} pg_layout;

/* The grid of a launch: numbers of work groups, and of work items in each, along three axes;
   `shared_bytes` of memory of the group's have to be asked for at the launch. */
typedef struct pg_launch {
    int64_t groups[3];
    int64_t items[3];
    int64_t shared_bytes;
} pg_launch;

static inline int64_t pg_floor_div(int64_t a, int64_t b)
{
    int64_t const quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t pg_floor_mod(int64_t a, int64_t b)
{
    return a - b * pg_floor_div(a, b);
}

static inline int64_t pg_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t pg_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t pg_magnitude(int64_t a)
{
    return a >= 0 ? a : a == INT64_MIN ? INT64_MAX : -a;
}

#define PG_FAR (INT64_C(1) << 61) /* further than any memory reaches */

/* The product; of what is further than PG_FAR, that. */
static inline int64_t pg_times(int64_t a, int64_t b)
{
    if (a != 0 && pg_magnitude(b) > PG_FAR / pg_magnitude(a))
        return (a < 0) == (b < 0) ? PG_FAR : -PG_FAR;
    return a * b;
}

static inline pg_layout pg_axes(int axes)
{
    pg_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.axes = axes;
    return layout;
}

/* Finds out how much memory an array with this shape, these strides and this offset takes.
   `unit`: it comes in so many elements at a time; `storage`: and has so many at least. */
static inline void pg_measure(pg_layout *layout, int64_t unit, int64_t storage)
{
    double far = (double) layout->offset + (double) storage, size = 1;
    int64_t first = layout->offset, last = layout->offset;
    layout->size = 1;
    for (int axis = 0; axis < layout->axes; ++axis) {
        double const span = (double) (layout->shape[axis] - 1) * (double) layout->strides[axis];
        size *= (double) layout->shape[axis];
        far += span < 0 ? -span : span;
        if (layout->shape[axis] <= 0) {
            layout->shape[axis] = 0;
            layout->size = 0;
        }
    }
    if (layout->size != 0 && (far > 1e18 || size > 1e18)) {
        layout->elements = -1;
        return;
    }
    for (int axis = 0; axis < layout->axes && layout->size != 0; ++axis) {
        int64_t const span = (layout->shape[axis] - 1) * layout->strides[axis];
        layout->size *= layout->shape[axis];
        first += pg_min(span, 0);
        last += pg_max(span, 0);
    }
    layout->before = layout->size == 0 ? 0 : pg_max(-first, 0);
    last = layout->size == 0 ? 0 : last + 1;
    layout->elements = pg_max(pg_max((last + unit - 1) / unit * unit, storage), unit);
}

/* Tells whether each element has a place of its own, as far as the strides show it: along some
   order of the axes, each step is further than all that the axes before it span. */
static inline int pg_is_distinct(pg_layout const *layout)
{
    int64_t span = 0;
    int seen[PG_MOST_AXES] = {0};
    for (int count = 0; count < layout->axes && layout->size != 0; ++count) {
        int next = -1;
        for (int axis = 0; axis < layout->axes; ++axis) {
            int64_t const step = pg_magnitude(layout->strides[axis]);
            if (!seen[axis] && (next < 0 || step < pg_magnitude(layout->strides[next])))
                next = axis;
        }
        seen[next] = 1;
        if (layout->shape[next] > 1) {
            int64_t const step = pg_magnitude(layout->strides[next]);
            if (step <= span)
                return 0;
            span += (layout->shape[next] - 1) * step;
        }
    }
    return 1;
}

#endif
