//# What generated C calls BLAS and LAPACK with.  $t is the type of the elements, $p the letter that
//# names of routines begin with, $r the type of their real parts.

//: library
#include <limits.h>
#include <stddef.h>

// What the first call of a library that failed on this thread was: its number, why, and more.
static _Thread_local int pg_library_failed[3];

static inline void pg_library_fails(int call, int why, int info)
{
    if (pg_library_failed[0] == 0) {
        pg_library_failed[0] = call;
        pg_library_failed[1] = why;
        pg_library_failed[2] = info;
    }
}

static inline int pg_is_large(ptrdiff_t size)
{
    return size > INT_MAX;
}

// Whether neighbours along an axis lie side by side, and those along the other far enough apart.
static inline int pg_is_dense(ptrdiff_t count, ptrdiff_t step, ptrdiff_t others, ptrdiff_t apart)
{
    return (step == 1 || count <= 1) && (apart >= count || others <= 1);
}

typedef struct { int rows; int leading; } pg_matrix;

// How an array lies in memory: by rows (1), by columns (0), or otherwise (-1).
static inline pg_matrix pg_matrix_of(
    int rows, ptrdiff_t m, ptrdiff_t step0, ptrdiff_t n, ptrdiff_t step1)
{
    for (int tried = 0; tried < 2; ++tried, rows = !rows)
        if (rows ? pg_is_dense(n, step1, m, step0) : pg_is_dense(m, step0, n, step1)) {
            ptrdiff_t const least = rows ? n : m, others = rows ? m : n;
            ptrdiff_t leading = others <= 1 ? least : rows ? step0 : step1;
            leading = leading < 1 ? 1 : leading;
            pg_matrix const found = {pg_is_large(leading) ? -1 : rows, (int) leading};
            return found;
        }
    pg_matrix const none = {-1, 1};
    return none;
}

// What BLAS is told of an operand: of one that lies otherwise than the result, the opposite.
static inline char pg_taken(char said, int otherwise, int is_complex)
{
    if (!otherwise)
        return said;
    return said == 'N' ? 'T' : said == 'C' && is_complex ? 0 : 'N';
}

//: copy2
static inline void pg_copy2_$p(
    ptrdiff_t m, ptrdiff_t n, $t const *from, ptrdiff_t f0, ptrdiff_t f1,
    $t *to, ptrdiff_t t0, ptrdiff_t t1)
{
    for (ptrdiff_t i = 0; i < m; ++i)
        for (ptrdiff_t j = 0; j < n; ++j)
            to[i*t0 + j*t1] = from[i*f0 + j*f1];
}

//: gemm
static inline void pg_gemm_$p(
    int call, char trans_a, char trans_b, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, $t alpha,
    $t const *a, ptrdiff_t a0, ptrdiff_t a1, $t const *b, ptrdiff_t b0, ptrdiff_t b1,
    $t beta, $t *c, ptrdiff_t c0, ptrdiff_t c1)
{
    if (k <= 0) // then libraries differ in what they look at
        for (ptrdiff_t i = 0; i < m; ++i)
            for (ptrdiff_t j = 0; j < n; ++j)
                c[i*c0 + j*c1] = beta == 0 ? 0 : beta*c[i*c0 + j*c1];
    if (m <= 0 || n <= 0 || k <= 0)
        return;
    ptrdiff_t const a_rows = trans_a == 'N' ? m : k, a_columns = trans_a == 'N' ? k : m;
    ptrdiff_t const b_rows = trans_b == 'N' ? k : n, b_columns = trans_b == 'N' ? n : k;
    pg_matrix in_a, in_b, in_c;
    char op_a = 0, op_b = 0;
    // A result of one row or column lies both by rows and by columns.
    for (int rows = 1; rows >= 0 && !(op_a && op_b); --rows) {
        in_c = pg_matrix_of(rows, m, c0, n, c1);
        in_a = pg_matrix_of(in_c.rows, a_rows, a0, a_columns, a1);
        in_b = pg_matrix_of(in_c.rows, b_rows, b0, b_columns, b1);
        op_a = in_a.rows < 0 ? 0 : pg_taken(trans_a, in_a.rows != in_c.rows, $c);
        op_b = in_b.rows < 0 ? 0 : pg_taken(trans_b, in_b.rows != in_c.rows, $c);
    }
    if (in_c.rows < 0 || !op_a || !op_b) {
        pg_library_fails(call, 1, in_c.rows < 0 ? 2 : !op_b ? 1 : 0);
        return;
    }
    if (pg_is_large(m) || pg_is_large(n) || pg_is_large(k)) {
        pg_library_fails(call, 2, 0);
        return;
    }
    int rows = (int) m, columns = (int) n, inner = (int) k;
    int a_leading = in_a.leading, b_leading = in_b.leading, c_leading = in_c.leading;
    $t *first = ($t *) a, *second = ($t *) b;
    if (in_c.rows)
        $pgemm_(&op_b, &op_a, &columns, &rows, &inner, &alpha, second, &b_leading,
            first, &a_leading, &beta, c, &c_leading);
    else
        $pgemm_(&op_a, &op_b, &rows, &columns, &inner, &alpha, first, &a_leading,
            second, &b_leading, &beta, c, &c_leading);
}

//: gemv
static inline void pg_gemv_$p(
    int call, char trans, ptrdiff_t m, ptrdiff_t n, $t alpha,
    $t const *a, ptrdiff_t a0, ptrdiff_t a1, $t const *x, ptrdiff_t x0,
    int adds, $t beta, $t *y, ptrdiff_t y0)
{
    ptrdiff_t const count = trans == 'N' ? m : n, inner = trans == 'N' ? n : m;
    if (!adds || inner <= 0)
        for (ptrdiff_t i = 0; i < count; ++i)
            y[i*y0] = adds ? beta*y[i*y0] : 0;
    if (count <= 0 || inner <= 0)
        return;
    pg_matrix const in_a = pg_matrix_of(0, m, a0, n, a1);
    char op = pg_taken(trans, in_a.rows, $c);
    if (in_a.rows == 1 && !op && (x0 >= 1 || inner == 1) && (y0 >= 1 || count == 1)) {
        // Of a conjugate transpose by rows, only products of matrices know.
        pg_gemm_$p(call, trans, 'N', count, 1, inner, alpha, a, a0, a1, x, x0, 1, adds ? beta : 1,
            y, y0, 1);
        return;
    }
    if (in_a.rows < 0 || !op || (x0 < 1 && inner > 1) || (y0 < 1 && count > 1)) {
        pg_library_fails(call, 1, in_a.rows < 0 || !op ? 0 : x0 < 1 ? 1 : 2);
        return;
    }
    if (pg_is_large(m) || pg_is_large(n) || pg_is_large(x0) || pg_is_large(y0)) {
        pg_library_fails(call, 2, 0);
        return;
    }
    int rows = (int) (in_a.rows ? n : m), columns = (int) (in_a.rows ? m : n);
    int leading = in_a.leading, step_x = x0 < 1 ? 1 : (int) x0, step_y = y0 < 1 ? 1 : (int) y0;
    $t one = 1;
    $pgemv_(&op, &rows, &columns, &alpha, ($t *) a, &leading, ($t *) x, &step_x,
        adds ? &beta : &one, y, &step_y);
}

//: triangle
// A triangle of a square array is copied, or scaled.
static inline void pg_triangle_$p(
    char uplo, ptrdiff_t n, $t const *from, ptrdiff_t f0, ptrdiff_t f1, $t factor,
    $t *to, ptrdiff_t t0, ptrdiff_t t1)
{
    for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t j = uplo == 'L' ? 0 : i; j < (uplo == 'L' ? i + 1 : n); ++j)
            to[i*t0 + j*t1] = factor == 0 ? 0 : factor == 1 ? from[i*f0 + j*f1]
                : factor*from[i*f0 + j*f1];
}

//: flipped
static inline char pg_flipped(char said, int is_other, char one, char other)
{
    return !is_other ? said : said == one ? other : one;
}

//: syrk
static inline void pg_syrk_$p(
    int call, char uplo, char trans, ptrdiff_t n, ptrdiff_t k, $t alpha,
    $t const *a, ptrdiff_t a0, ptrdiff_t a1, $t beta, $t *c, ptrdiff_t c0, ptrdiff_t c1)
{
    if (k <= 0)
        pg_triangle_$p(uplo, n, c, c0, c1, beta, c, c0, c1);
    if (n <= 0 || k <= 0)
        return;
    pg_matrix const in_c = pg_matrix_of(1, n, c0, n, c1);
    pg_matrix const in_a = trans == 'N' ? pg_matrix_of(1, n, a0, k, a1)
        : pg_matrix_of(1, k, a0, n, a1);
    if (in_a.rows < 0 || in_c.rows < 0) {
        pg_library_fails(call, 1, in_a.rows < 0 ? 0 : 2);
        return;
    }
    if (pg_is_large(n) || pg_is_large(k)) {
        pg_library_fails(call, 2, 0);
        return;
    }
    char half = pg_flipped(uplo, in_c.rows, 'L', 'U');
    char op = pg_flipped(trans, in_a.rows, 'N', 'T');
    int count = (int) n, inner = (int) k, a_leading = in_a.leading, c_leading = in_c.leading;
    $psyrk_(&half, &op, &count, &inner, &alpha, ($t *) a, &a_leading, &beta, c, &c_leading);
}

//: herk
static inline void pg_herk_$p(
    int call, char uplo, char trans, ptrdiff_t n, ptrdiff_t k, $r alpha,
    $t const *a, ptrdiff_t a0, ptrdiff_t a1, $r beta, $t *c, ptrdiff_t c0, ptrdiff_t c1)
{
    if (k <= 0) {
        pg_triangle_$p(uplo, n, c, c0, c1, beta, c, c0, c1);
        for (ptrdiff_t i = 0; i < n; ++i)
            c[i*(c0 + c1)] = creal(c[i*(c0 + c1)]);
    }
    if (n <= 0 || k <= 0)
        return;
    pg_matrix in_a, in_c;
    int found = 0;
    // What has one row or column lies both by rows and by columns.
    for (int rows = 1; rows >= 0 && !found; --rows) {
        in_c = pg_matrix_of(rows, n, c0, n, c1);
        in_a = pg_matrix_of(in_c.rows, trans == 'N' ? n : k, a0, trans == 'N' ? k : n, a1);
        found = in_c.rows >= 0 && in_a.rows == in_c.rows;
    }
    if (!found) {
        pg_library_fails(call, 1, in_c.rows < 0 ? 2 : 0);
        return;
    }
    if (pg_is_large(n) || pg_is_large(k)) {
        pg_library_fails(call, 2, 0);
        return;
    }
    char half = pg_flipped(uplo, in_c.rows, 'L', 'U');
    char op = pg_flipped(trans, in_a.rows, 'N', 'C');
    int count = (int) n, inner = (int) k, a_leading = in_a.leading, c_leading = in_c.leading;
    $pherk_(&half, &op, &count, &inner, &alpha, ($t *) a, &a_leading, &beta, c, &c_leading);
}

//: trsm
static inline void pg_trsm_$p(
    int call, char side, char uplo, char trans, char diag, ptrdiff_t m, ptrdiff_t n, $t alpha,
    $t const *a, ptrdiff_t a0, ptrdiff_t a1, $t *x, ptrdiff_t x0, ptrdiff_t x1)
{
    if (m <= 0 || n <= 0)
        return;
    ptrdiff_t const order = side == 'L' ? m : n;
    pg_matrix in_a, in_x;
    char op = 0;
    // What has one row or column lies both by rows and by columns.
    for (int rows = 1; rows >= 0 && !op; --rows) {
        in_x = pg_matrix_of(rows, m, x0, n, x1);
        in_a = pg_matrix_of(in_x.rows, order, a0, order, a1);
        op = in_a.rows < 0 ? 0 : pg_taken(trans, in_a.rows != in_x.rows, $c);
    }
    if (in_x.rows < 0 || !op) {
        pg_library_fails(call, 1, in_x.rows < 0 ? 2 : 0);
        return;
    }
    if (pg_is_large(m) || pg_is_large(n)) {
        pg_library_fails(call, 2, 0);
        return;
    }
    char half = pg_flipped(uplo, in_a.rows, 'L', 'U');
    char from = pg_flipped(side, in_x.rows, 'L', 'R');
    int rows = (int) (in_x.rows ? n : m), columns = (int) (in_x.rows ? m : n);
    int a_leading = in_a.leading, x_leading = in_x.leading;
    $ptrsm_(&from, &half, &op, &diag, &rows, &columns, &alpha, ($t *) a, &a_leading,
        x, &x_leading);
}

//: potrf
static inline void pg_potrf_$p(
    int call, char uplo, ptrdiff_t n, $t *a, ptrdiff_t a0, ptrdiff_t a1)
{
    if (n <= 0)
        return;
    pg_matrix const in_a = pg_matrix_of(1, n, a0, n, a1);
    if (in_a.rows < 0 || pg_is_large(n)) {
        pg_library_fails(call, in_a.rows < 0 ? 1 : 2, 2);
        return;
    }
    char half = pg_flipped(uplo, in_a.rows, 'L', 'U');
    int count = (int) n, leading = in_a.leading, info = 0;
    $ppotrf_(&half, &count, a, &leading, &info);
    if (info > 0)
        pg_library_fails(call, 4, info);
}

//: by_columns
#include <stdlib.h>

// Memory for an array by columns, with what an array holds; none if there is not as much.
static inline $t *pg_by_columns_$p(
    ptrdiff_t m, ptrdiff_t n, $t const *a, ptrdiff_t a0, ptrdiff_t a1)
{
    $t *made = malloc((size_t) m*(size_t) n*sizeof($t));
    if (made)
        pg_copy2_$p(m, n, a, a0, a1, made, 1, m);
    return made;
}

//: gesv
// The factors of a matrix, the rows that were exchanged, and the solutions of m systems.
static inline void pg_gesv_$p(
    int call, ptrdiff_t n, ptrdiff_t m, $t *a, ptrdiff_t a0, ptrdiff_t a1,
    int *p, ptrdiff_t p0, $t *x, ptrdiff_t x0, ptrdiff_t x1)
{
    if (n <= 0)
        return;
    if (pg_is_large(n) || pg_is_large(m)) {
        pg_library_fails(call, 2, 0);
        return;
    }
    $t *factors = pg_by_columns_$p(n, n, a, a0, a1);
    $t *solutions = m > 0 ? pg_by_columns_$p(n, m, x, x0, x1) : NULL;
    int *pivots = malloc((size_t) n*sizeof(int));
    if (factors && pivots && (solutions || m <= 0)) {
        int order = (int) n, count = (int) m, info = 0;
        $pgetrf_(&order, &order, factors, &order, pivots, &info);
        if (info == 0 && m > 0) {
            char op = 'N';
            $pgetrs_(&op, &order, &count, factors, &order, pivots, solutions, &order, &info);
            pg_copy2_$p(n, m, solutions, 1, n, x, x0, x1);
        }
        if (info > 0)
            pg_library_fails(call, 3, info - 1);
        pg_copy2_$p(n, n, factors, 1, n, a, a0, a1);
        for (ptrdiff_t i = 0; i < n; ++i)
            p[i*p0] = pivots[i] - 1;
    } else {
        pg_library_fails(call, 5, 0);
    }
    free(pivots);
    free(solutions);
    free(factors);
}

//: fft
static inline void pg_fft_$p(
    int call, int inverse, ptrdiff_t n, $t const *x, ptrdiff_t x0, $t *out, ptrdiff_t out0)
{
    if (n <= 0)
        return;
    if (n > 1 && (x0 < 1 || out0 < 1)) {
        pg_library_fails(call, 1, x0 < 1 ? 0 : 2);
        return;
    }
    if ($pfft_(inverse, n, ($t *) x, x0 < 1 ? 1 : x0, out, out0 < 1 ? 1 : out0))
        pg_library_fails(call, 5, 0);
}
