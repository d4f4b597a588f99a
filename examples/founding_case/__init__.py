"""The founding case: a service that spent most of its CPU on looking up a version, before and after."""
