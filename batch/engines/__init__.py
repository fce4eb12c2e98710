"""Where the processes of a launch run: each module here has ``launch(options) -> exit status``."""
