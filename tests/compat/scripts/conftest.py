"""The scripts are for Loo.py: ``../test_script_suite.py`` runs them."""

collect_ignore_glob = ["*/*.py"]
