from .files import Fasta as Fasta, read_fasta as read_fasta
from .gene_sets import GeneSets as GeneSets, read_gene_sets as read_gene_sets
from .generators import (
    make_additive_regression as make_additive_regression,
    make_epistasis as make_epistasis,
    make_ringnorm as make_ringnorm,
    make_sparse_means as make_sparse_means,
)
from .loaders import available as available, load as load
