/* The grid of @function@@where@. */
static inline pg_launch @function@_grid(@parameters@)
{
@unused@
    pg_launch pg_next = {{1, 1, 1}, {1, 1, 1}, 0};
@each axis@    pg_next.groups[@axis@] = pg_max(0, @groups@);
@each axis@    pg_next.items[@axis@] = @items@;
    pg_next.shared_bytes = @shared@;
    return pg_next;
}

