"""`polygen.reduce_online`."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from polygen.analysis.typing.expression_types import reduction_types
from polygen.analysis.typing.inference import kinds
from polygen.errors import NotOnline, Reassociated
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import InsnId, to_id, transformation
from polygen.transforms.fusion.loop_sharing import comes_after
from polygen.transforms.reductions._consecutive_loops import have_same_values

OPERATION = "rescaled(max)"


@transformation
def reduce_online(kernel: Kernel, greatest: InsnId, total: InsnId) -> Rearranged:
    """Compute a greatest value, and a sum of powers that are relative to it, in one pass.

    ``m = max(j, x[j])`` and ``s = sum(j, w[j]*exp(x[j] - m))`` need two: no power can be added up
    before the greatest value is known.  But a sum that is relative to another number is rescaled by
    one factor, ``exp(m - m')``, whatever was added up; so pairs of a greatest value so far, and of
    the sum relative to it, can be combined in any order.  They become one reduction of such pairs,
    ``rescaled(max)(j, x[j], w[j])``, for steps and for code as any other.

    Rounding differs, as it does between orders of a sum.  Where the greatest value is infinite, the
    sum is no number, as before.

    Kind: expression rewrite.

    Requires:
        1. One instruction assigns a greatest value, and nothing else; another one adds up, once.
           They are in the same loops, under no condition, and reduce over the same values.
        2. What is added up is a product with one factor ``exp(x[j] + ... - m)``: of what is
           compared, and less the greatest value, which stands nowhere else in it.
        3. What else it reads is complete when the greatest value is computed.
        4. The greatest value is a ``float32`` or ``float64``, and known to be; and the kernel
           permits that floating-point numbers are added up in another order (`set_options`).

    Parameters:
        greatest: the id of the instruction with the greatest value.
        total: the id of the one that adds up.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [j,k]: 0<=j,k<m }",
        ...     ["<> most = max(j, x[j])  {id=most}", "s[0] = sum(k, exp(x[k] - most))  {id=s}"],
        ... )
        >>> knl = pg.reduce_online(pg.add_dtypes(knl, {"x": "float32"}), "most", "s")
        >>> for insn in knl.instructions:
        ...     print(*insn.assignees, "=", *insn.values)
        most s_part = rescaled(max)(j, x[j], 1.0)[0] rescaled(max)(j, x[j], 1.0)[1]
        s[0] = s_part*exp(most + (-1)*most)

    Raises:
        UnknownInstruction: if the kernel has no such instruction.
        NotOnline: if 1, 2 or 3 does not hold, or the type is another one.
        TypeNotFound: if it is not known.
        Reassociated: if the kernel does not permit it.

    Source: Milakov, Gimelshein, Online normalizer calculation for softmax, 2018.
    """
    first, second = to_id(kernel, greatest), to_id(kernel, total)
    pair = _Pair(kernel, kernel.assignment(first), kernel.assignment(second))
    new = pair.kernel()
    # That is what the pair means; so what is left to see is that it has one result.
    check_made(new)
    return Rearranged(new, restated=new)


class _Pair:
    """A greatest value and a sum relative to it.

    Raises:
        NotOnline: if they are none.
    """

    def __init__(self, kernel: Kernel, first: Assigning, second: Assigning) -> None:
        self._kernel, self._first, self._second = kernel, first, second
        plain = kernel.without_rules
        self._most = plain.assignment(first.id)
        self._use = plain.assignment(second.id)
        self._greatest = self._the_greatest()
        self._sum = self._the_sum()
        self._check_loops()
        self._check_types()

    def _refused(self, why: str, remedy: str) -> NotOnline:
        return NotOnline(
            f"'{self._first.id}' and '{self._second.id}' cannot be one pass: {why}",
            where=caller_location(),
            excerpt=excerpt(self._kernel, self._first.id, self._second.id),
            remedy=remedy,
        )

    def _the_greatest(self) -> ex.Reduction:
        value = self._most.values[0] if len(self._most.values) == 1 else None
        if isinstance(value, ex.Reduction) and value.operation == "max":
            return value
        raise self._refused(
            f"'{self._first.id}' assigns something else than a greatest value",
            "name the instruction with max(j, x[j]), and then the one with the sum",
        )

    def _the_sum(self) -> ex.Reduction:
        found = [node for node in self._use.reductions if node.operation == "sum"]
        if len(self._use.reductions) != 1 or not found:
            raise self._refused(
                f"'{self._second.id}' has not one sum, and nothing else that it reduces",
                "let it add up in an instruction of its own",
            )
        return found[0]

    def _check_loops(self) -> None:
        one, other = self._most, self._use
        same = one.within_inames == other.within_inames
        inames = list(zip(self._greatest.inames, self._sum.inames, strict=False))
        same &= len(self._greatest.inames) == len(self._sum.inames)
        if not same or not all(a == b or have_same_values(self._kernel, a, b) for a, b in inames):
            raise self._refused(
                "they are not in the same loops, or reduce over other values",
                "fuse_reductions lets them be in the same loops",
            )
        if one.predicates or other.predicates:
            raise self._refused("there is a condition", "take it into what is reduced: if(c, a, b)")

    def _check_types(self) -> None:
        dtypes = reduction_types(self._greatest, dict(kinds(self._kernel)))
        if dtypes[0].name not in ("float32", "float64"):
            raise self._refused(
                f"the greatest value is a {dtypes[0].name}", "cast(float32, x[j]) makes it another"
            )
        if not self._kernel.options.allow_reassociation:
            raise Reassociated(
                "reduce_online would compute a sum in another order, which the kernel forbids",
                where=caller_location(),
                excerpt=excerpt(self._kernel, self._second.id),
                remedy="set_options(kernel, allow_reassociation=True)",
            )

    # --- what is added up

    def _contribution(self) -> Expression:
        """Return what is added up, relative to what is compared for the greatest value."""
        m = self._most.assignees[0]
        inames = zip(self._sum.inames, self._greatest.inames, strict=True)
        values = {old: ex.Variable(new) for old, new in inames}
        node = walk.substitute(self._sum.operand, values)
        factors = [*node.children] if isinstance(node, ex.Product) else [node]
        powers = [f for f in factors if _is_power(f) and _mentions(f, m)]
        if len(powers) != 1 or sum(_mentions(f, m) for f in factors) != 1:
            raise self._no_power(m)
        terms = _terms(powers[0].parameters[0])
        for term in (ex.negated(m), *_terms(self._greatest.operand)):
            if term not in terms:
                raise self._no_power(m)
            terms.remove(term)
        if any(_mentions(term, m) for term in terms):
            raise self._no_power(m)
        others = [f for f in factors if f is not powers[0]]
        if terms:
            left = ex.sum_of(*terms) if len(terms) > 1 else terms[0]
            others.append(ex.Call(ex.Variable("exp"), (left,)))
        return ex.product_of(*others) if len(others) > 1 else others[0] if others else 1.0

    def _no_power(self, m: Expression) -> NotOnline:
        compared = show_expression(self._greatest.operand)
        return self._refused(
            f"what is added up is no product with one factor exp({compared} + ... - "
            f"{show_expression(m)})",
            "write it as such a product, in which the greatest value stands nowhere else",
        )

    def _check_read(self, contribution: Expression) -> None:
        """Check that what a contribution reads is complete when the greatest value is computed."""
        for name in sorted(walk.free_variables(contribution)):
            for writer in self._kernel.writers.get(name, ()):
                if not comes_after(self._kernel, self._first.id, writer.id):
                    raise self._refused(
                        f"'{name}', which is added up, is written by '{writer.id}', which need not "
                        f"come before '{self._first.id}'",
                        f"let it: add_dependency(kernel, '{self._first.id}', '{writer.id}')",
                    )
        (m,) = self._most.written_names
        if len(self._kernel.writers[m]) > 1:
            raise self._refused(f"'{m}' is written more than once", "give it a name of its own")

    # --- the pair

    def kernel(self) -> Kernel:
        """Return the kernel with a reduction of pairs."""
        contribution = self._contribution()
        self._check_read(contribution)
        m = self._most.assignees[0]
        part = self._part(m)
        element = ex.element(ex.Variable(part.name), ex.index_of(m))
        operands = ex.Several((self._greatest.operand, contribution))
        pairs = ex.Reduction(OPERATION, self._greatest.inames, operands)
        common = {
            name: getattr(self._first, name)
            for name in ("within_inames", "depends_on", "happens_after", "location", "tags")
        }
        first = assigning(
            self._first.id,
            [m, element],
            [ex.Component(pairs, 0), ex.Component(pairs, 1)],
            **common,
        )
        # 1, or no number if the greatest value is infinite: so is the sum of the powers then.
        unit = ex.Call(ex.Variable("exp"), (ex.sum_of(m, ex.negated(m)),))
        found = ex.product_of(element, unit)
        second = self._use.map_expressions(
            lambda e: walk.rewrite(e, lambda node: found if node == self._sum else node)
        )
        second = second.copy(depends_on=second.depends_on | {first.id})
        new = {first.id: first, second.id: second}
        old = self._kernel
        return old.copy(
            instructions=tuple([new.get(insn.id, insn) for insn in old.instructions]),
            temporaries=(*old.temporaries, part),
        ).without_unused(old.rules)

    def _part(self, m: ex.Variable | ex.Subscript) -> TemporaryVariable:
        """Return a temporary for the sum, like that of the greatest value."""
        variable = self._kernel.variable(ex.name_of(m))
        name = self._kernel.new_name(f"{self._second.id}_part")
        if isinstance(variable, TemporaryVariable):
            return replace(variable, name=name)
        shape = self._kernel.array(variable.name).shape or ()
        return TemporaryVariable(name, None, shape, AddressSpace.GLOBAL)


def _is_power(node: Expression) -> TypeGuard[ex.Call]:
    return isinstance(node, ex.Call) and node.function == ex.Variable("exp")


def _terms(node: Expression) -> list[Expression]:
    """Return the terms of a sum, those of sums in it, too."""
    if not isinstance(node, ex.Sum):
        return [node]
    return [term for child in node.children for term in _terms(child)]


def _mentions(node: Expression, m: Expression) -> bool:
    return ex.name_of(m) in walk.free_variables(node)
