"""Of the stub: see torch/__init__.py."""
