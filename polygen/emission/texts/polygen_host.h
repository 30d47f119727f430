/* What the host programs share that polygen writes beside kernels: arguments of the command line,
   arrays from .npy files or filled by a rule, results as a line of text or a .npy file.

       ./NAME_host n=1000 a=a.npy -o out=out.npy

   An array that is read, and not given, is filled: its element number k, counted in the order of its
   subscripts, the last running fastest, becomes v/64, where v = pg_mixed(k + 1000003*q) % 61 and q
   is the array's number among the arrays; an integer v % 8, a boolean v % 2; a complex number has
   (v + 5) % 61 / 64 for its imaginary part. */
#ifndef POLYGEN_HOST_H
#define POLYGEN_HOST_H

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "polygen_geometry.h"

typedef enum pg_kind { PG_BOOL, PG_INT, PG_UINT, PG_HALF, PG_BFLOAT16, PG_FLOAT, PG_COMPLEX } pg_kind;

/* A number of the command line. */
typedef struct pg_value {
    char const *name;
    pg_kind kind;
    int bits;
    int given;
    int64_t i;
    uint64_t u;
    double re, im;
} pg_value;

/* An array.  `data` is what the kernel is passed. */
typedef struct pg_array {
    char const *name;
    char const *type;  /* NumPy's name of it */
    char const *descr; /* what .npy files call it */
    pg_kind kind;
    size_t itemsize;
    int number;
    int takes, reads, writes; /* `takes`: what was in it before makes a difference */
    size_t alignment; /* of the memory that the kernel is passed */
    int needs_file; /* it has to be given: the kernel takes its elements for places */
    char const *input, *output;
    int axes;       /* of the file, with its shape; before `pg_make`, so that sizes follow from it */
    int64_t shape[PG_MOST_AXES];
    pg_layout layout;
    unsigned char *data;
} pg_array;

static inline void pg_fail(char const *what, char const *about)
{
    fprintf(stderr, "%s%s%s\n", what, about[0] ? ": " : "", about);
    exit(2);
}

/* --- the command line */

static inline int pg_is_named(char const *text, char const *name)
{
    size_t const length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == '=';
}

static inline void pg_parse(pg_value *value, char const *text)
{
    char *end = NULL;
    errno = 0;
    if (value->kind == PG_INT || value->kind == PG_BOOL) {
        value->i = strtoll(text, &end, 10);
        int64_t const most = value->kind == PG_BOOL ? 1
            : value->bits == 64 ? INT64_MAX : (INT64_C(1) << (value->bits - 1)) - 1;
        if (value->i > most || value->i < (value->kind == PG_BOOL ? 0 : -most - 1))
            errno = ERANGE;
    } else if (value->kind == PG_UINT) {
        value->u = strtoull(text, &end, 10);
        value->i = (int64_t) value->u;
        if (text[0] == '-' || (value->bits < 64 && value->u >> value->bits))
            errno = ERANGE;
    } else {
        value->re = strtod(text, &end);
        if (value->kind == PG_COMPLEX && (*end == '+' || *end == '-')) {
            value->im = strtod(end, &end);
            end += *end == 'j';
        } else if (value->kind == PG_COMPLEX && *end == 'j') {
            value->im = value->re;
            value->re = 0;
            ++end;
        }
    }
    if (end == text || *end != '\0' || errno == ERANGE)
        pg_fail("no value that the kernel takes", text);
    value->given = 1;
}

static inline void pg_usage(
    char const *program, pg_value *const *values, int value_count, pg_array *const *arrays, int array_count)
{
    fprintf(stderr, "usage: %s", program);
    for (int n = 0; n < value_count; ++n)
        fprintf(stderr, " %s=NUMBER", values[n]->name);
    for (int n = 0; n < array_count; ++n)
        if (arrays[n]->takes)
            fprintf(stderr, arrays[n]->needs_file ? " %s=FILE.npy" : " [%s=FILE.npy]", arrays[n]->name);
    for (int n = 0; n < array_count; ++n)
        if (arrays[n]->writes)
            fprintf(stderr, " [-o %s=FILE.npy]", arrays[n]->name);
    fprintf(stderr, "\n");
    exit(2);
}

static inline void pg_read_arguments(
    int argc, char **argv, pg_value *const *values, int value_count, pg_array *const *arrays, int array_count)
{
    for (int position = 1; position < argc; ++position) {
        int const saves = strcmp(argv[position], "-o") == 0 && position + 1 < argc;
        char const *text = argv[position += saves];
        int known = 0;
        for (int n = 0; n < value_count && !saves; ++n)
            if (pg_is_named(text, values[n]->name)) {
                pg_parse(values[n], text + strlen(values[n]->name) + 1);
                known = 1;
            }
        for (int n = 0; n < array_count; ++n)
            if (pg_is_named(text, arrays[n]->name) && (saves ? arrays[n]->writes : arrays[n]->takes)) {
                char const *file = text + strlen(arrays[n]->name) + 1;
                *(saves ? &arrays[n]->output : &arrays[n]->input) = file;
                known = 1;
            }
        if (!known)
            pg_usage(argv[0], values, value_count, arrays, array_count);
    }
    for (int n = 0; n < array_count; ++n)
        if (arrays[n]->needs_file && arrays[n]->input == NULL) {
            fprintf(stderr, "%s has to be given: the kernel takes its elements for places\n", arrays[n]->name);
            pg_usage(argv[0], values, value_count, arrays, array_count);
        }
}

static inline void pg_need_values(
    char const *program, pg_value *const *values, int value_count, pg_array *const *arrays, int array_count)
{
    for (int n = 0; n < value_count; ++n)
        if (!values[n]->given) {
            fprintf(stderr, "%s has no value\n", values[n]->name);
            pg_usage(program, values, value_count, arrays, array_count);
        }
}

/* --- .npy files */

/* Reads the head of an array's file: checks the type, and returns where the elements begin. */
static inline FILE *pg_open(pg_array *array, int *fortran)
{
    unsigned char start[12];
    FILE *file = fopen(array->input, "rb");
    if (file == NULL)
        pg_fail(array->input, strerror(errno));
    if (fread(start, 1, 10, file) != 10 || memcmp(start, "\x93NUMPY", 6) != 0)
        pg_fail(array->input, "no .npy file");
    size_t length = start[8] + 256u * start[9];
    if (start[6] >= 2) {
        if (fread(start + 10, 1, 2, file) != 2)
            pg_fail(array->input, "no .npy file");
        length += 65536u * start[10] + 16777216u * start[11];
    }
    char *head = calloc(length + 1, 1);
    if (head == NULL || fread(head, 1, length, file) != length)
        pg_fail(array->input, "no .npy file");
    char const *type = strstr(head, "'descr': '");
    size_t const count = strlen(array->descr + 1);
    if (type == NULL || strncmp(type + 11, array->descr + 1, count) != 0 || type[11 + count] != '\'' || type[10] == '>') {
        fprintf(stderr, "%s: '%s' is an array of %s\n", array->input, array->name, array->type);
        exit(2);
    }
    *fortran = strstr(head, "'fortran_order': True") != NULL;
    char *at = strstr(head, "'shape': (");
    if (at == NULL)
        pg_fail(array->input, "no .npy file");
    array->axes = 0;
    for (at += 10; *at != ')' && *at != '\0';) {
        char *end;
        int64_t const extent = strtoll(at, &end, 10);
        if (end == at || array->axes == PG_MOST_AXES)
            pg_fail(array->input, "too many axes");
        array->shape[array->axes++] = extent;
        for (at = end; *at == ',' || *at == ' ';)
            ++at;
    }
    free(head);
    return file;
}

/* A size follows from the array's file if the extent of an axis is factor * size + constant. */
static inline void pg_size_from(
    pg_value *size, pg_array *array, int axis, int axes, int64_t factor, int64_t constant)
{
    int fortran;
    if (size->given || array->input == NULL)
        return;
    fclose(pg_open(array, &fortran));
    if (array->axes == axes && (array->shape[axis] - constant) % factor == 0) {
        size->i = (array->shape[axis] - constant) / factor;
        size->u = (uint64_t) size->i;
        size->given = 1;
    }
}

static inline void pg_unless_given(pg_value *size, int64_t value)
{
    if (!size->given)
        size->i = value;
    size->given = 1;
}

/* The next place in an array, in the order of subscripts: the last one (or first) runs fastest. */
static inline int64_t pg_place(pg_layout const *layout, int64_t element, int fortran)
{
    int64_t place = layout->offset;
    for (int n = 0; n < layout->axes; ++n) {
        int const axis = fortran ? n : layout->axes - 1 - n;
        place += element % layout->shape[axis] * layout->strides[axis];
        element /= layout->shape[axis];
    }
    return place;
}

static inline void pg_load(pg_array *array)
{
    int fortran;
    FILE *file = pg_open(array, &fortran);
    int same = array->axes == array->layout.axes;
    for (int axis = 0; axis < array->layout.axes && same; ++axis)
        same = array->shape[axis] == array->layout.shape[axis];
    if (!same) {
        fprintf(stderr, "%s: '%s' has to have the shape (", array->input, array->name);
        for (int axis = 0; axis < array->layout.axes; ++axis)
            fprintf(stderr, "%s%" PRId64, axis ? ", " : "", array->layout.shape[axis]);
        fprintf(stderr, ")\n");
        exit(2);
    }
    for (int64_t k = 0; k < array->layout.size; ++k) {
        unsigned char *at = array->data + (size_t) pg_place(&array->layout, k, fortran) * array->itemsize;
        if (fread(at, array->itemsize, 1, file) != 1)
            pg_fail(array->input, "ends too early");
    }
    fclose(file);
}

static inline void pg_save(pg_array const *array)
{
    char head[512] = "";
    int length = snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': False, 'shape': (", array->descr);
    for (int axis = 0; axis < array->layout.axes; ++axis)
        length += snprintf(head + length, sizeof head - (size_t) length, "%" PRId64 ",", array->layout.shape[axis]);
    length += snprintf(head + length, sizeof head - (size_t) length, "), }");
    int const whole = (length + 11 + 63) / 64 * 64 - 10;
    memset(head + length, ' ', (size_t) (whole - length));
    head[whole - 1] = '\n';
    unsigned char const start[] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char) (whole % 256), (unsigned char) (whole / 256)};
    FILE *file = fopen(array->output, "wb");
    if (file == NULL)
        pg_fail(array->output, strerror(errno));
    int fine = fwrite(start, 1, 10, file) == 10 && fwrite(head, 1, (size_t) whole, file) == (size_t) whole;
    for (int64_t k = 0; k < array->layout.size && fine; ++k) {
        size_t const place = (size_t) pg_place(&array->layout, k, 0);
        fine = fwrite(array->data + place * array->itemsize, array->itemsize, 1, file) == 1;
    }
    if (fclose(file) != 0 || !fine)
        pg_fail(array->output, "cannot be written");
}

/* --- elements */

static inline double pg_half_value(uint16_t bits)
{
    int const exponent = bits >> 10 & 31, fraction = bits & 1023;
    double const value = exponent == 31 ? (fraction ? NAN : INFINITY)
        : exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return bits >> 15 ? -value : value;
}

/* The bits of a half that is v/64, where v is less than 64. */
static inline uint16_t pg_half_bits(int v)
{
    int exponent = 15;
    int fraction = v * 16;
    if (v == 0)
        return 0;
    for (; fraction < 1024; fraction *= 2)
        --exponent;
    return (uint16_t) (exponent << 10 | (fraction & 1023));
}

static inline void pg_set(pg_array const *array, unsigned char *at, int v)
{
    float const single[2] = {(float) v / 64, (float) ((v + 5) % 61) / 64};
    double const wide[2] = {v / 64.0, (v + 5) % 61 / 64.0};
    uint64_t const number = (uint64_t) (array->kind == PG_BOOL ? v % 2 : v % 8);
    uint16_t const half = pg_half_bits(v);
    uint32_t bits;
    if (array->kind == PG_FLOAT || array->kind == PG_COMPLEX) {
        size_t const part = array->itemsize / (array->kind == PG_COMPLEX ? 2 : 1);
        memcpy(at, part == 4 ? (void const *) single : (void const *) wide, array->itemsize);
    } else if (array->kind == PG_HALF) {
        memcpy(at, &half, 2);
    } else if (array->kind == PG_BFLOAT16) {
        memcpy(&bits, single, 4);
        bits >>= 16;
        memcpy(at, &bits, 2);
    } else {
        memcpy(at, &number, array->itemsize);
    }
}

static inline void pg_get(pg_array const *array, unsigned char const *at, double *parts)
{
    uint64_t number = 0;
    float single[2];
    uint32_t bits;
    parts[1] = 0;
    if (array->kind == PG_FLOAT || array->kind == PG_COMPLEX) {
        size_t const count = array->kind == PG_COMPLEX ? 2 : 1, part = array->itemsize / count;
        memcpy(part == 4 ? (void *) single : (void *) parts, at, array->itemsize);
        for (size_t n = 0; n < count && part == 4; ++n)
            parts[n] = single[n];
        return;
    }
    memcpy(&number, at, array->itemsize);
    if (array->kind == PG_HALF) {
        parts[0] = pg_half_value((uint16_t) number);
    } else if (array->kind == PG_BFLOAT16) {
        bits = (uint32_t) number << 16;
        memcpy(single, &bits, 4);
        parts[0] = single[0];
    } else if (array->kind == PG_INT) {
        int const unused_bits = 64 - 8 * (int) array->itemsize;
        parts[0] = (double) ((int64_t) (number << unused_bits) >> unused_bits);
    } else {
        parts[0] = (double) number;
    }
}

/* 32 bits that all depend on all bits of a number: differences of neighbours do not cancel. */
static inline uint32_t pg_mixed(int64_t number)
{
    uint32_t bits = (uint32_t) number;
    bits = (bits >> 16 ^ bits) * 0x45d9f3bu;
    bits = (bits >> 16 ^ bits) * 0x45d9f3bu;
    return bits >> 16 ^ bits;
}

/* Allocates an array's memory, and loads or fills it. */
static inline void pg_make(pg_array *array, pg_layout layout)
{
    array->layout = layout;
    if (layout.before)
        pg_fail(array->name, "elements would lie before its memory");
    if ((uint64_t) layout.elements > SIZE_MAX / 2 / array->itemsize)
        pg_fail(array->name, "there is no memory");
    size_t const step = array->alignment > 64 ? array->alignment : 64;
    size_t const bytes = ((size_t) layout.elements * array->itemsize + step - 1) / step * step;
    array->data = aligned_alloc(step, bytes);
    if (array->data == NULL)
        pg_fail(array->name, "there is no memory");
    memset(array->data, 0, bytes);
    if (array->input != NULL) {
        pg_load(array);
        return;
    }
    for (int64_t k = 0; k < layout.size && array->reads; ++k) {
        int const v = (int) (pg_mixed(k + 1000003 * (int64_t) array->number) % 61);
        pg_set(array, array->data + (size_t) pg_place(&layout, k, 0) * array->itemsize, v);
    }
}

/* Prints NAME TYPE [SHAPE] SUM MIXED FIRST...: the sum of all elements; their sum with weights, each
   1 + pg_mixed(k) % 61 for element k, so that elements that change places show; and the first eight.
   Of complex numbers, both parts. */
static inline void pg_show(pg_array const *array)
{
    int const parts = array->kind == PG_COMPLEX ? 2 : 1;
    double sum[2] = {0, 0}, mixed[2] = {0, 0}, element[2];
    for (int64_t k = 0; k < array->layout.size; ++k) {
        pg_get(array, array->data + (size_t) pg_place(&array->layout, k, 0) * array->itemsize, element);
        for (int part = 0; part < parts; ++part) {
            sum[part] += element[part];
            mixed[part] += (1 + pg_mixed(k) % 61) * element[part];
        }
    }
    printf("%s %s [", array->name, array->type);
    for (int axis = 0; axis < array->layout.axes; ++axis)
        printf("%s%" PRId64, axis ? "," : "", array->layout.shape[axis]);
    printf("] sum");
    for (int part = 0; part < parts; ++part)
        printf(" %.17g", sum[part]);
    printf(" mixed");
    for (int part = 0; part < parts; ++part)
        printf(" %.17g", mixed[part]);
    printf(" first");
    for (int64_t k = 0; k < array->layout.size && k < 8; ++k) {
        pg_get(array, array->data + (size_t) pg_place(&array->layout, k, 0) * array->itemsize, element);
        for (int part = 0; part < parts; ++part)
            printf(" %.9g", element[part]);
    }
    printf("\n");
    if (array->output != NULL)
        pg_save(array);
}

#endif
