"""`python -m service.cli`: the same as `tiptrace`."""

from service.cli import main

if __name__ == "__main__":
    main(prog_name="tiptrace")
