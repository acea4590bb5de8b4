"""Multi-class support vector machines: the dual of Crammer and Singer, by samples."""

from multikernel.machines.crammer_singer.machine import CrammerSinger

__all__ = ["CrammerSinger"]
