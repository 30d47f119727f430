//# Helper functions of whole vectors: `$T` is the type of the vectors, `$M` that of vectors of truth
//# values, `$chosen` the components of `a` where such a one says so, else of `b`.

//: select
$T $name($M chosen, $T a, $T b)
{
    return $chosen;
}

//: min, max
$T $name($T a, $T b)
{
    $M const chosen = $condition;
    return $chosen;
}
