"""Options of a kernel: how it is compiled, called and transformed, not what it computes."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.errors import UnknownTarget, did_you_mean
from polygen.ir.target_facts import TARGET_FACTS, facts_of
from polygen.source import caller_location

TARGET_NAMES = tuple(TARGET_FACTS)
CONTRACTIONS = ("fast", "sums", "off")  # the values of the option `contract`


def unknown_target(name: str) -> UnknownTarget:
    """Return the error that says that there is no target of this name."""
    return UnknownTarget(
        f"there is no target '{name}'",
        where=caller_location(),
        remedy=did_you_mean(name, TARGET_NAMES),
    )


def is_sub_group_size(value: object) -> bool:
    """Tell whether a value is one of those of the option ``sub_group_size``."""
    if value is None or value is False or value is True:
        return value is None
    return isinstance(value, int) and (value == 0 or value in (2**n for n in range(8)))


@dataclass(frozen=True, slots=True)
class Options:
    """Set with `polygen.set_options`.

    Attributes:
        write_code: print the generated device source when the kernel is first run.
        write_wrapper: print the generated Python wrapper when the kernel is first run.
        return_dict: a call returns its outputs by name instead of in order.
        skip_arg_checks: do not check shapes, types and overlap at a call.
        build_options: passed on to the device's compiler.
        silenced_warnings: the names of the classes of warnings that are not issued.
        allow_reassociation: steps may change the order in which sums and products are added up
            and multiplied, and so how they are rounded.
        contract: ``"fast"`` if compilers may compute a product and the sum it goes into as one
            (fused multiply-add), which is rounded once; ``"off"`` if each of the two is rounded,
            as in NumPy; ``"sums"`` as ``"off"``, but tensor cores may add up products, as BLAS
            does.
        allow_tf32: tensor cores may round factors of type float32 to TF32, which has 10 bits behind
            the binary point (CUDA).
        resident_groups: how many work groups a multiprocessor is to run at once: the compiler
            leaves registers for them (CUDA, and NVIDIA's OpenCL); 0 if it decides.
        clusters: work items along ``l.2`` are blocks of a cluster, up to 8 (CUDA, from compute
            capability 9.0 on): so a work group has more of them than a block.
        fix_sizes: code is generated for the sizes of a call, which are numbers in it.
        fix_group_sizes: so it is where sizes decide how many work items a group has.
        vectorize_sums: innermost loops may add up (and multiply) floating-point numbers in several
            parts at once, and so in another order (C).
        serial_below: a parallel loop in which less often than that something is executed runs on
            one thread (C).
        force_scan: no code is generated for a reduction that is computed anew in each iteration of
            a loop around it: each has to be a scan.
        trust_data: a step that cannot be proved because data decides is taken all the same, on the
            user's word, with a warning, and noted in the kernel as one with ``unsafe=True``.
        convert_stores: what an instruction writes is converted to the type of its variable, as C
            does it: floating-point numbers lose what is behind the point, truth values are what is
            not 0.  Else, such a store is an error.
        deterministic: no code is generated for atomic updates whose result depends on which work
            item comes first: each run gives the same bits.
        sub_group_size: how many work items can read each other's registers: a power of two; 0 for
            code that makes no use of that; None for what is known of the target.
        check_every: before every so many iterations, a loop on the host that a condition ends reads
            whether it goes on, and waits for the device to tell (OpenCL, CUDA).  Results do not
            depend on it: in iterations beyond the end, launches do nothing.
    """

    write_code: bool = False
    write_wrapper: bool = False
    return_dict: bool = False
    skip_arg_checks: bool = False
    build_options: tuple[str, ...] = ()
    resident_groups: int = 0
    silenced_warnings: tuple[str, ...] = ()
    allow_reassociation: bool = True
    vectorize_sums: bool = False
    serial_below: int = 1 << 15
    force_scan: bool = False
    trust_data: bool = False
    convert_stores: bool = False
    clusters: bool = False
    fix_sizes: bool = False
    fix_group_sizes: bool = False
    deterministic: bool = False
    sub_group_size: int | None = None
    contract: str = "fast"
    check_every: int = 1
    allow_tf32: bool = False

    def shuffling_on(self, target: str | None) -> int:
        """Return how many work items of a target share their registers; 0 if none do.

        Parameters:
            target: its name; None if it is not known.
        """
        facts = facts_of(target)
        if not facts.has_grid:  # it has no work items
            return 0
        return facts.sub_group_size if self.sub_group_size is None else self.sub_group_size
