"""`python -m radii`."""

from radii.cli import main

main()
