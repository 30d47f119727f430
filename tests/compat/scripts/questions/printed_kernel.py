"""What a printed kernel tells: its name, arguments, tags, temporaries and instructions' ids."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [cell, node]: 0<=cell<ncells and 0<=node<8 }",
    """
    <> load = rho[cell]*gravity {id=weight}
    force[cell, node] = load*shape[node] {id=spread, dep=weight}
    """,
    [
        lp.GlobalArg("rho", np.float64, shape="ncells"),
        lp.GlobalArg("shape", np.float64, shape=(8,)),
        lp.GlobalArg("force", np.float64, shape=("ncells", 8)),
        lp.ValueArg("gravity", np.float64),
        lp.ValueArg("ncells", np.int32),
    ],
    name="body_force",
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, allow_terminal_colors=False)
knl = lp.tag_inames(knl, {"cell": "g.0", "node": "unr"})
text = str(knl)
WORDS = (
    "KERNEL: body_force",
    "ncells",
    "cell: g.0",
    "node: unr",
    "weight",
    "spread",
    "gravity",
)

RESULTS = {word: word in text for word in WORDS}
EXPECTED = dict.fromkeys(WORDS, True)
