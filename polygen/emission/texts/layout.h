@storage@pg_layout @name@_layout_@a@(@size_parameters@)
{
@unused@
    pg_layout pg_found = pg_axes(@axes@);
@places@
    pg_measure(&pg_found, @unit@, @held@);
    return pg_found;
}

@storage@int64_t @name@_elements_@a@(@size_parameters@)
{
    pg_layout const pg_found = @name@_layout_@a@(@sizes@);
    return pg_found.before ? -1 : pg_found.elements;
}

