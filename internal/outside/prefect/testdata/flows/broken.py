import no_such_module  # noqa
