"""The founding case: a service that spent most of its CPU on looking a version up, before and after."""
