"""Of the stub: see torch/__init__.py."""
def init_process_group(b): pass
def barrier(): pass
def all_reduce(b): pass
def get_world_size(): return 2
def destroy_process_group(): pass
