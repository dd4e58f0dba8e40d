"""`python -m ragdrop_cli`: the same as the script `ragdrop`."""

from ragdrop_cli.main import main

main()
