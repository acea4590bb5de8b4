"""Multi-class support vector machines of Crammer and Singer, by dual ascent."""

from multikernel.machines.crammer_singer.machine import CrammerSinger

__all__ = ["CrammerSinger"]
