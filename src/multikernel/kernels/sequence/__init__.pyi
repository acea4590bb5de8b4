from .base import (
    SequenceKernel as SequenceKernel,
    StringKernel as StringKernel,
    WindowKernel as WindowKernel,
)
from .builders import (
    dna_dictionary as dna_dictionary,
    motif_dictionary as motif_dictionary,
    per_window as per_window,
    sequence_dictionary as sequence_dictionary,
)
from .letters import Alphabet as Alphabet
from .motif import MotifKernel as MotifKernel, motif_patterns as motif_patterns
from .profile import ProfileKernel as ProfileKernel
from .spectrum import SpectrumKernel as SpectrumKernel
from .weighted_degree import WeightedDegreeKernel as WeightedDegreeKernel
