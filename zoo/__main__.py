"""`python -m zoo`: the command `zoo`, where scripts are not on the path."""

from zoo.cli.app import main

if __name__ == "__main__":
    main()
