"""What scripts import from ``loopy.kernel.data``: arguments, address spaces, tags of inames."""

from __future__ import annotations

from polygen import AddressSpace, auto
from polygen.compat._names import imported as __getattr__
from polygen.compat.arguments import (
    ArrayArg,
    ConstantArg,
    GlobalArg,
    ImageArg,
    KernelArgument,
    TemporaryVariable,
    ValueArg,
)
from polygen.compat.instructions import SubstitutionRule
from polygen.ir.tags import AutoLocalTag as AutoFitLocalInameTag
from polygen.ir.tags import ForTag as ForceSequentialTag
from polygen.ir.tags import GroupTag as GroupInameTag
from polygen.ir.tags import IlpTag as IlpBaseTag
from polygen.ir.tags import InameTag as InameImplementationTag
from polygen.ir.tags import LocalTag as LocalInameTag
from polygen.ir.tags import UnrollHintTag, UnrollTag
from polygen.ir.tags import VectorTag as VectorizeTag

__all__ = [
    "AddressSpace",
    "ArrayArg",
    "AutoFitLocalInameTag",
    "ConstantArg",
    "ForceSequentialTag",
    "GlobalArg",
    "GroupInameTag",
    "IlpBaseTag",
    "ImageArg",
    "InameImplementationTag",
    "KernelArgument",
    "LocalInameTag",
    "SubstitutionRule",
    "TemporaryVariable",
    "UnrollHintTag",
    "UnrollTag",
    "ValueArg",
    "VectorizeTag",
    "__getattr__",
    "auto",
]
