# Two commands for a newcomer: `make demo` and `make test`. Only python3 and make needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
PEERS := .venv-peers
# Real data sets: ../shared/data, unless the variable names another folder.
ifndef MULTIKERNEL_DATA
ifneq ($(wildcard ../shared/data),)
export MULTIKERNEL_DATA := $(abspath ../shared/data)
endif
endif
# Where Python may not write what it compiles, each of a hundred commands that tests start
# compiles the library again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test coverage test-data test-slow test-lowest test-portable attack interface docstrings models lint locked docs bench-smoke bench-peers peers-time bench-spicymkl spicymkl-time papers papers-time spot claims clean

demo: $(VENV)/.demo
	$(BIN)/multikernel demo

# One BLAS thread each: two processes that spin with two take twice as long.
test: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

# One figure, for TESTS="tests/losses tests/cli" that of some tests. Compiled loops and
# other processes count as not run.
coverage: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal \
		--cov multikernel --cov-report= $(TESTS)
	@echo "The tests run $$($(BIN)/python -m coverage report --format=total) % of the library's lines."

# Only the tests that read the data sets of MULTIKERNEL_DATA.
test-data: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal \
		-m "data and not slow" $$(grep -rl 'mark\.data(' tests)

test-slow: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m slow

test-lowest: $(LOWEST)/.test
	$(LOWEST)/bin/pytest -n 2 --dist worksteal

# As other processors and versions of Python run them; CONFIGURATIONS="Haswell generic"
# chooses some of them.
test-portable: $(VENV)/.dev
	$(BIN)/python .ci/portable.py --write docs/project/portable_table.csv $(CONFIGURATIONS)

attack: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m attack --write docs/project/reliability_table.txt

# The public interface as it is now, for a change that was meant.
interface: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m interface

# Shared descriptions of parameters and attributes, into the docstrings of estimators.
docstrings: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m docstrings

# Model files that every later version with the same first number has to read.
models: $(VENV)/.dev
	PYTHONPATH=tests $(BIN)/python -m fixtures

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell src tests docs benchmarks README.md CONTRIBUTING.md CHANGELOG.md CITATION.cff

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going docs docs/_build/html

bench-smoke: $(VENV)/.dev
	$(BIN)/pytest -n 0 -m "slow or not slow" tests/benchmarks

# Beside other packages: half an hour of one core from nothing for the first two parts,
# up to 15 s a model and split for the third, and 7 GB of disk.
# Rows that are known are kept, so that it can be stopped and goes on where it was.
bench-peers: peers-time $(PEERS)/.peers
	for part in comparison solvers choosing; do OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
		$(PEERS)/bin/python -m benchmarks.$$part.run || exit 1; done

peers-time:
	@echo "Packages of 7 GB are installed; then, from nothing, half an hour of one core, and"
	@echo "some hours more for 'choosing'. Rows that are there are kept: stop it, and it goes"
	@echo "on where it was."

# All that the papers' pages show, about 20 hours of one core from nothing. What is in
# results/ is kept: remove a file to measure it anew.
PAPERS := benchmarks/papers
SPICYMKL := figure1 figure2 figure3 figure4 target_speed
LP_NORM := figure1 sparsity speed search_speed smo_vs_libsvm on_the_fly curve_speed
RADEMACHER := generated ecoli acceptor

papers: papers-time bench-spicymkl \
		$(LP_NORM:%=$(PAPERS)/lp_norm/results/%.json) $(PAPERS)/group_omp/results/figure1.json
	cd $(PAPERS)/lp_norm && for part in table1 figure2 published; do \
		$(CURDIR)/$(BIN)/python $$part.py || exit 1; done
	cd $(PAPERS)/group_omp && $(CURDIR)/$(BIN)/python figure2.py
	cd $(PAPERS)/hkl && $(CURDIR)/$(BIN)/python table1.py --cv
	cd $(PAPERS)/hkl && $(CURDIR)/$(BIN)/python table1.py --kernels "rbf, PCA" \
		--methods HKL --scales 1 --sets boston abalone
	cd $(PAPERS)/hkl && for part in table2 figure2 recovery; do \
		$(CURDIR)/$(BIN)/python $$part.py || exit 1; done
	cd $(PAPERS)/local_rademacher && for set in $(RADEMACHER); do \
		$(CURDIR)/$(BIN)/python figure2.py measure --set $$set --splits 100 || exit 1; done
	cd $(PAPERS)/local_rademacher && for set in multiloc proteinfold; do \
		for kind in separate shared ufo; do $(CURDIR)/$(BIN)/python table1.py \
			measure --set $$set --kind $$kind || exit 1; done; done
	$(MAKE) claims

$(PAPERS)/spicymkl/results/target_speed.json: | $(VENV)/.dev
	$(BIN)/python $(PAPERS)/spicymkl/run.py --only targets

$(PAPERS)/spicymkl/results/%.json: | $(VENV)/.dev
	$(BIN)/python $(PAPERS)/spicymkl/run.py --only $*

$(PAPERS)/lp_norm/results/%.json: | $(VENV)/.dev
	cd $(PAPERS)/lp_norm && $(CURDIR)/$(BIN)/python $*.py

$(PAPERS)/group_omp/results/figure1.json: | $(VENV)/.dev
	cd $(PAPERS)/group_omp && $(CURDIR)/$(BIN)/python figure1.py

papers-time:
	@echo "About 20 hours of one core from nothing, less what is in results/ already:"
	@for folder in $(PAPERS)/*/results; do \
		echo "  $$folder: $$(ls $$folder | wc -l) files are kept"; done
	@echo "It can be stopped and goes on, but for parts of ten minutes that begin again;"
	@echo "remove a file to measure it anew."

# The part of it that is of SpicyMKL.
bench-spicymkl: spicymkl-time $(VENV)/.dev $(SPICYMKL:%=$(PAPERS)/spicymkl/results/%.json)
	$(BIN)/python $(PAPERS)/spicymkl/run.py --only rivals rival_sizes

spicymkl-time:
	@echo "SpicyMKL: two hours of one core from nothing; what is in results/ is kept."

# A tenth of the rows that other solvers measured, about an hour of one core; it goes on
# where it was stopped.
spot: $(VENV)/.dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python $(PAPERS)/spot.py
	$(MAKE) claims

# The pages alone, from the results that there are.
claims: $(VENV)/.dev
	$(BIN)/python $(PAPERS)/spicymkl/run.py --only report
	$(BIN)/python $(PAPERS)/lp_norm/report.py
	$(BIN)/python $(PAPERS)/hkl/report.py
	$(BIN)/python $(PAPERS)/claims.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e '.[cli,plot]'
	touch $@

$(VENV)/.dev: pyproject.toml requirements/dev.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -c requirements/dev.txt -e '.[dev]'
	touch $@

# The versions of the development tools, for any platform.
locked: $(VENV)/bin/python
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile -q --upgrade --universal --python-version 3.11 \
		--extra dev --extra docs --no-emit-package multikernel \
		--custom-compile-command "make locked" pyproject.toml -o requirements/dev.txt

# The lowest versions that pyproject.toml allows; needs Python 3.11 or 3.12.
$(LOWEST)/.test: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) .ci/lowest.py pyproject.toml > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install -q -c $(LOWEST)/constraints.txt -e '.[test]'
	touch $@

$(PEERS)/.peers: pyproject.toml benchmarks/peers.txt
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install -q -e '.[plot]' -r benchmarks/peers.txt
	touch $@

$(VENV)/.docs: pyproject.toml requirements/dev.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -c requirements/dev.txt -e '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-3.* $(LOWEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build
