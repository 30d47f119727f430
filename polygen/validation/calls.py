"""A call of a function gives it what the kernel's call gives, and the function does what is called.

That a function does what its kernel means is checked as for any kernel.  Here: that a call has that
function, that numbers are those of the kernel, and that parts of arrays begin, and go on, where
those of the kernel do.
"""

from __future__ import annotations

from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.expression import Expression
from polygen.ir.instruction import KernelCall, first_element
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Strided
from polygen.ir.library_call import LibraryCall
from polygen.validation.copy_of import Copy
from polygen.validation.faults import fault
from polygen.validation.polynomial import Polynomial, constant, of_atom, plus, times
from polygen.validation.readings import KernelTerms
from polygen.validation.terms import Terms, key
from polygen.validation.view import View
from polygen.validation.works import Work


def check_call(view: View, work: Work, copy: Copy) -> None:
    """Check a statement that carries out a call of a kernel.

    Raises:
        WrongStatement: if it calls something else, or gives it something else.
    """
    found, insn = copy.statement.call, work.insn
    if found is None or not isinstance(insn, KernelCall) or insn.callee is None:
        raise fault(
            WrongStatement, view.kernel, f"{work.what} is no call of a function", work.origin
        )
    _Check(view, work, copy, insn, insn.callee).run(found.function, found.arguments)


class _Check:
    def __init__(
        self, view: View, work: Work, copy: Copy, insn: KernelCall, function: Kernel
    ) -> None:
        self._view, self._work = view, work
        self._insn, self._function = insn, function
        self._wanted: Terms = copy.terms
        self._terms: Terms = view.terms(copy.statement.frame)
        self._values = copy.values

    def run(self, name: str, arguments: tuple[Expression, ...]) -> None:
        if isinstance(self._insn, LibraryCall):
            self._check_library(name, self._insn)
        if name != self._function.name:
            raise self._refused(f"'{name}' is called instead of '{self._function.name}'")
        parameters = self._function.arguments
        if len(arguments) != len(parameters) or len(arguments) != len(self._insn.arguments):
            raise self._refused(f"'{name}' is given {len(arguments)} arguments")
        strides = {
            parameter.name: self._terms.index(given)
            for parameter, given in zip(parameters, arguments, strict=True)
            if not isinstance(parameter, GlobalArg)
        }
        for parameter, given, said in zip(parameters, arguments, self._insn.arguments, strict=True):
            if isinstance(parameter, GlobalArg) != isinstance(said, ex.SubArrayRef):
                raise self._refused(f"'{parameter.name}' is given something of another kind")
            if isinstance(parameter, GlobalArg) and isinstance(said, ex.SubArrayRef):
                self._check_part(parameter, given, said, strides)
            elif key(self._terms.value(given)) != key(self._wanted.value(said)):
                raise self._refused(f"'{parameter.name}' is given another number")
        names = {ex.name_of(p) for p in self._insn.arguments if isinstance(p, ex.SubArrayRef)}
        if not names.issuperset(self._insn.written_names):
            raise self._refused("a part of an array that is written is not given")

    def _check_library(self, name: str, insn: LibraryCall) -> None:
        """Check that a function of this name calls the routine, for the type of the arrays."""
        known = [f for f in self._view.program.libraries if f.name == name]
        types = [a.dtype for a in self._function.arguments if isinstance(a, GlobalArg)]
        if not (
            len(known) == 1
            and (known[0].routine, known[0].options) == (insn.function, insn.options)
            and known[0].arguments == self._function.arguments
            and known[0].dtype in types
        ):
            raise self._refused(f"'{name}' does not call {insn.function} as it should")

    def _check_part(
        self,
        parameter: GlobalArg,
        given: Expression,
        said: ex.SubArrayRef,
        strides: dict[str, Polynomial],
    ) -> None:
        """Check where a part begins, and how far its elements are apart along each axis."""
        array = ex.Variable(ex.name_of(said))
        first = ex.element(array, first_element(said))
        if key(self._terms.value(given)) != key(self._wanted.value(first)):
            raise self._refused(f"'{parameter.name}' begins elsewhere")
        names = said.swept_inames
        # Each axis at an unknown place: polynomials that agree there agree everywhere.
        places = {n: ex.Variable(f"{n}'{a}") for a, n in enumerate(names)}
        known = {**self._values, **{place.name: of_atom(place.name) for place in places.values()}}
        terms = KernelTerms(self._view.layouts, known)
        whole = self._offset(walk.substitute(said.subscript, places), terms)
        expected = self._offset(first, terms)
        for place, tag in zip(places.values(), parameter.dim_tags or (), strict=True):
            assert isinstance(tag, Strided)
            size = self._stride(tag, strides)
            expected = plus(expected, times(of_atom(place.name), size))
        if whole != expected:
            raise self._refused(f"'{parameter.name}' goes on elsewhere")

    def _stride(self, tag: Strided, strides: dict[str, Polynomial]) -> Polynomial:
        """Return a stride of a parameter: a number, or what is given for one."""
        if isinstance(tag.stride, ex.Variable):
            return strides[tag.stride.name]
        assert isinstance(tag.stride, int)
        return constant(tag.stride)

    def _offset(self, node: Expression, terms: Terms) -> Polynomial:
        name = ex.name_of(node)
        found: Polynomial = {}
        layout = self._view.layouts.strides(name)
        for index, stride in zip(ex.index_of(node), layout, strict=True):
            if stride is None:
                raise self._refused(f"'{name}' has axes that no function knows")
            found = plus(found, times(terms.index(index), stride))
        return found

    def _refused(self, why: str) -> WrongStatement:
        return fault(
            WrongStatement, self._view.kernel, f"for {self._work.what}: {why}", self._work.origin
        )
