@indent@pg_next = @function@_grid(@given@);
@indent@if (pg_next.groups[0] && pg_next.groups[1] && pg_next.groups[2]) {
@indent@    pg_status = pg_start(pg_context, @number@, &pg_next, pg_loops);
@indent@    if (pg_status)
@indent@        return pg_status;
@indent@}
