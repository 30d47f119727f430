"""Steps of z*z + c on complex numbers in a host kernel, frozen by a condition when they escape."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, t]: 0<=i<n and 0<=t<25 }",
    """
    for i
        <float64> zr = 0 {id=zr0}
        <float64> zi = 0 {id=zi0}
        <int32> count = 0 {id=n0}
        for t
            <> inside = zr*zr + zi*zi <= 4 {id=test, dep=zr0:zi0:n0}
            <> nr = zr*zr - zi*zi + cr[i] {id=nr, dep=test, if=inside}
            <> ni = 2*zr*zi + ci[i] {id=ni, dep=test, if=inside}
            zr = nr {id=zr, dep=nr:ni, if=inside}
            zi = ni {id=zi, dep=nr:ni:zr, if=inside}
            count = count + 1 {id=count, dep=zi, if=inside}
        end
        steps[i] = count {dep=count}
    end
    """,
    [
        lp.GlobalArg("cr, ci", np.float64, shape="n"),
        lp.GlobalArg("steps", np.int32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
rng = np.random.default_rng(11)
cr, ci = rng.uniform(-2, 1, 61), rng.uniform(-1, 1, 61)
evt, (steps,) = knl(cr=cr, ci=ci)

expected = []
for c in cr + 1j * ci:
    z, count = 0j, 0
    while count < 25 and abs(z) ** 2 <= 4:
        z, count = z * z + c, count + 1
    expected.append(count)
RESULTS = {"steps": steps}
EXPECTED = {"steps": np.array(expected)}
