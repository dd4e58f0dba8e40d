"""What ragdrop needs of the outside world: one Protocol each; adapters implement them, contract suites check them.

Every adapter lives as long as its execution environment and is safe to share between threads, unless it says otherwise.
Import a port from its module: a function that starts needs few of them.
"""
