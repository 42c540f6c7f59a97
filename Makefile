# Every command a person needs.  `make` alone lists them.

PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $(name))))
VENV := .venv/bin
RUNS := $(VENV)/python -m lib.local_run.run

export PORT

.DEFAULT_GOAL := help
.PHONY: help run manage demo reset test nightly coverage judge-coverage check fix docs texts strings bench shots chaos lock install install-dev

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: install ## Serve on this machine until Ctrl-C, with an embedded PostgreSQL and demo data; PORT= chooses the port
	@exec $(RUNS)

manage: install ## Run a management command on the same database, e.g. make manage CMD="showmigrations"
	@exec $(RUNS) manage $(CMD)

demo: install ## Load the demo data anew (stop the service first)
	@exec $(RUNS) demo

reset: install ## Remove everything below var/: data, secrets, logs
	@exec $(RUNS) reset

test: install-dev ## Run the whole suite on real PostgreSQL (embedded, unless DATABASE_URL is set); ARGS= goes to pytest
	@$(VENV)/python -m tests.browser.chromium # installs it where there is none and the machine lets it
	@$(VENV)/$(if $(COVERAGE),coverage run,python) -m pytest --numprocesses logical --maxprocesses 4 --dist worksteal \
		$(or $(ARGS),--ignore=tests/chaos)
	@$(if $(ARGS),,$(VENV)/python -m pytest tests/chaos) # alone: what they find is how long things wait

nightly: ## Run `make coverage` at full size: long races, a whole year, every case of the fuzzer, the full chaos tier
	@NIGHTLY=1 CHAOS=full $(MAKE) --no-print-directory coverage

coverage: install-dev ## Run the whole suite and fail below 95 % of lines and branches, or 100 % of rules/; ARGS= goes to pytest
	@$(VENV)/coverage erase
	@$(MAKE) --no-print-directory test COVERAGE=1
	@$(VENV)/coverage combine --quiet
	@$(MAKE) --no-print-directory judge-coverage

judge-coverage: # 95 % of everything, and every branch of the rules
	@$(VENV)/coverage report
	@$(VENV)/coverage report --include='apps/*/rules/*' --fail-under=100

check: install-dev ## Lint, format, types, layers, migrations, deployment settings, shape of the tree
	@exec $(VENV)/python -m tests.checks

fix: install-dev ## Mend what the linter and the formatter can mend
	$(VENV)/ruff check --fix .
	$(VENV)/ruff format .

docs: install-dev ## Write docs/openapi.json, docs/errors.md and docs/figures.md anew
	@exec env DJANGO_SETTINGS_MODULE=config.settings $(VENV)/python -c "from tests import environment; from django.core.management import execute_from_command_line as run; run(['manage.py', 'write_docs'])"

texts: install-dev ## Bring locale/ in line with what is marked in the tree, and name what is not translated
	@exec $(VENV)/python -m tests.texts

strings: install-dev ## Write every visible text with its places to var/strings.txt, for a review
	@exec $(VENV)/python -m tests.strings

bench: install-dev ## Measure speed and memory against bare floors; ONLY= chooses one
	@exec $(VENV)/python -m tests.bench $(ONLY)

shots: install-dev ## Take pictures of every screen, as each role sees it, in light, dark and on a phone; ONLY= chooses roles
	@$(VENV)/python -m tests.browser.chromium
	@$(VENV)/python -m tests.browser.shots $(ONLY)

chaos: install-dev ## Kill workers and brokers, poison and drip, and see that nothing is lost; CHAOS=nightly for 10,000 kills
	@env -u DATABASE_URL CHAOS=$(or $(CHAOS),full) $(VENV)/python -m pytest -s --durations=0 tests/chaos $(ARGS)

lock: install-dev ## Compile requirements/*.in to pinned, hashed lists
	cd requirements && for list in install base dev; do \
		../$(VENV)/pip-compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links \
			--strip-extras --allow-unsafe --output-file=$$list.txt $$list.in || exit 1; done

install: python
	@$(PYTHON) lib/local_run/install.py base

install-dev: python
	@$(PYTHON) lib/local_run/install.py base dev

.PHONY: python
python:
	@test -n "$(PYTHON)" || { echo "Carelane needs Python 3.11 or newer; python3 here is older, or missing." >&2; exit 1; }
